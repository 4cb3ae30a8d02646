"""Is every fault caught with its exit code, however it is wrapped, and is no bug taken for an answer?"""

from __future__ import annotations

import click
import pytest

from fuzzer.cli.faults import exit_of_fault, faults_told
from fuzzer.errors import CtxfuzzError, Interrupted, RunStopped, TargetLost, UsageFault
from fuzzer.prompts.errors import PromptError, TokenizerLost
from fuzzer.store import NoSuchRun, NothingRecorded, StoreError, TargetLocked
from fuzzer.store.errors import Changed, Unreadable
from targets.base import Reply
from targets.errors import TargetUnusable, UnreadableEnvironment

CODES = [
    (UsageFault("x"), 2),
    (TargetLost("x"), 4),
    (RunStopped("x"), 3),
    (Interrupted("run"), 130),
    (TargetUnusable("x"), 4),
    (UnreadableEnvironment("x"), 2),
    (PromptError("x"), 2),
    (TokenizerLost(Reply(sent=True)), 4),
    (StoreError("x"), 2),
    (NoSuchRun("x"), 2),
    (NothingRecorded("x"), 2),
    (Unreadable("x"), 2),
    (Changed("x"), 2),
    (TargetLocked("x"), 3),
]


@pytest.mark.parametrize(("fault", "code"), CODES)
def test_a_fault_leaves_with_its_code_and_is_told_in_one_line(
    fault: Exception, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(click.exceptions.Exit) as left, faults_told():
        raise fault
    assert left.value.exit_code == code
    assert capsys.readouterr().err == f"Error: {fault}\n"


def test_a_fault_of_a_task_group_is_taken_out_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(click.exceptions.Exit), faults_told():
        raise ExceptionGroup("outer", [ExceptionGroup("inner", [UsageFault("no\x1b[2J such\nthing")])])
    assert capsys.readouterr().err == "Error: no[2J such thing\n"


@pytest.mark.parametrize(
    "bug", [ZeroDivisionError(), ExceptionGroup("two", [UsageFault("a"), ZeroDivisionError()]), KeyError("x")]
)
def test_a_bug_is_told_where_it_happened_and_is_no_answer(bug: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_of_fault(bug) is None
    with pytest.raises(click.exceptions.Exit) as left, faults_told():
        raise bug
    told = capsys.readouterr()
    assert left.value.exit_code == 3
    assert "Traceback" in told.err
    assert f"Error: ctxfuzz itself is at fault here, and nothing was decided ({type(bug).__name__}" in told.err
    assert told.out == ""


def test_a_bug_tells_no_secret_however_early_it_comes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["ctxfuzz", "--api-key", "sk-first-1", "--header=X-A: sk-second-2", "--api-key"])
    monkeypatch.setenv("CTXFUZZ_HEADER", "X-B: b\nAuthorization: Bearer sk-third-3")
    monkeypatch.setenv("all_proxy", "svc:sk-fourth-4#sk-fifth-5@proxy")
    with pytest.raises(click.exceptions.Exit), faults_told():
        raise KeyError("sk-first-1, sk-second-2, sk-third-3, port 'sk-fourth-4', sk-fifth-5")
    told = capsys.readouterr().err
    assert "KeyError" in told
    assert not any(secret in told for secret in ("first", "second", "third", "fourth", "fifth"))


def test_a_bug_in_what_hides_secrets_shows_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_text: str) -> str:
        raise KeyError("sk-first-1")

    monkeypatch.setattr("fuzzer.store.masking.masked_text", broken)
    with pytest.raises(click.exceptions.Exit) as left, faults_told():
        raise KeyError("sk-first-1")
    told = capsys.readouterr().err
    assert left.value.exit_code == 3
    assert "sk-first-1" not in told


@pytest.mark.parametrize("own", [click.UsageError("x"), click.exceptions.Exit(3), click.Abort()])
def test_what_click_says_is_left_to_click(own: Exception) -> None:
    with pytest.raises(type(own)), faults_told():
        raise own


def test_every_fault_of_ours_has_a_code() -> None:
    kinds = CtxfuzzError.__subclasses__() + StoreError.__subclasses__()
    assert set(kinds) <= {type(fault) for fault, _ in CODES}
