"""Which line of a dying engine's log names its bug, whatever stands before it, and whatever is said of it after?"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzer.lastwords import KEPT_CHARS, LastWords, beside, read, same_bug, since

CRASH = """\
(APIServer pid=71) INFO:     127.0.0.1:5 - "GET /health HTTP/1.1" 200 OK
(EngineCore pid=99) ERROR 11-29 16:36:03 [core.py:1512] EngineCore encountered a fatal error.
(EngineCore pid=99) ERROR 11-29 16:36:03 [core.py:1512] Traceback (most recent call last):
(EngineCore pid=99) ERROR 11-29 16:36:03 [core.py:1512]   File "rotary/base.py", line 173, in forward_static
(EngineCore pid=99) ERROR 11-29 16:36:03 [core.py:1512]     cos_sin = cache.index_select(0, positions)
(EngineCore pid=99) ERROR 11-29 16:36:03 [core.py:1512] IndexError: index out of range in self
(APIServer pid=71) ERROR 11-29 16:36:03 [async_llm.py:9] vllm.v1.engine.exceptions.EngineDeadError: EngineCore \
encountered an issue. See stack trace (above) for the root cause.
"""


def test_the_cause_is_told_from_those_who_only_heard_of_it() -> None:
    words = read(CRASH)
    assert words.signature == "IndexError: index out of range in self"
    assert "rotary/base.py" in words.lines
    assert "GET /health" not in words.lines


@pytest.mark.parametrize(
    ("line", "signature"),
    [
        ("RuntimeError: CUDA error: an illegal memory access was encountered", None),
        ("terminate called after throwing: cudaErrorIllegalAddress", None),
        ('/src/server-context.cpp:494: GGML_ASSERT(add_ok && "batch must be large enough") failed', None),
        ("python: loader.cc:12: void f(): Assertion `x < n' failed.", None),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", None),
        ("Fatal Python error: Segmentation fault", None),
        ("worker 3 was terminated by signal 9", None),
        ("2026-11-29T18:00:01.123456789Z stderr F ValueError: no room", "ValueError: no room"),
        ("Nov 29 18:00:00 gpu-3 vllm[123]: IndexError: out of range", "IndexError: out of range"),
        ("E1129 12:00:01.123 [model.py:3] KeyError: 'x'", "KeyError: 'x'"),
        ("[2026-11-29 18:00:00] ERROR: AssertionError", "AssertionError"),
    ],
)
def test_a_signature_is_the_line_without_what_loggers_put_before_it(line: str, signature: str | None) -> None:
    assert read(f"INFO: all is well\n{line}\n").signature == (signature or line)


@pytest.mark.parametrize(
    "line",
    [
        "INFO 11-29 16:36:03 [loggers.py:335] Engine 000: Avg prompt throughput: 26213.5 tokens/s",
        "asyncio.exceptions.CancelledError: the client went away",
        "WARNING: no error was found",
        "ConnectionResetError: [Errno 104] Connection reset by peer",
    ],
)
def test_what_names_no_bug_leaves_no_words(line: str) -> None:
    assert read(line) == LastWords()


def test_a_surer_sign_beats_an_earlier_one() -> None:
    assert read("ValueError: worker lost\nCUDA error: device-side assert triggered").signature.startswith("CUDA error")


def test_one_bug_has_one_signature_but_for_its_numbers() -> None:
    assert same_bug("fault at 0x7f00aa, token 262107", "fault at 0x10, token 3")
    assert not same_bug("IndexError: index out of range", "CUDA error: an illegal memory access")


def test_a_second_bug_is_named_beside_the_first() -> None:
    assert beside(()) == beside(("IndexError: a",)) == ""
    assert beside(("IndexError: a", "CUDA error: b")).endswith("CUDA error: b")


def test_what_was_printed_before_is_old() -> None:
    old = "".join(f"line {number}\n" for number in range(9))
    assert since(old + "new\n", old).strip() == "new"
    assert since("another log\n", old) == "another log\n"
    assert since("anything", "") == "anything"


@settings(deadline=None)  # a busy machine is no bug
@given(st.text(), st.text())
def test_any_text_can_be_read_and_little_is_kept(noise: str, more: str) -> None:
    words = read(f"{noise}\nIndexError: {more}\n" * 50)
    assert len(words.lines) <= KEPT_CHARS
    assert words.signature
