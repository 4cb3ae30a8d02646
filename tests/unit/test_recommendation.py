"""Is a cap that is written down for an engine never more than the cap, whatever the engine makes of the number?"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.finding import Finding, FindingKind
from fuzzer.report.recommendation import STEPS, Format, Recommendation, settable, setting, unsettable, written
from fuzzer.report.summary import Facts, as_text, summary
from fuzzer.store import Run, RunRecord
from targets.table import DIALECTS

ENGINES = sorted(DIALECTS)
RECORD = RunRecord("bisect", (), "http://host:8000", "tiny", "vllm", "bisect", "1.0", 4096, {"output_tokens": 32})
RUN = Run("1m8mcp0qyxwb", RECORD, "2026-11-29T17:00:00.000Z", "sre", "box", "0.1.0", "done")


def of(engine: str, cap: int) -> Recommendation | None:
    return Recommendation.of(replace(RUN, record=replace(RECORD, engine=engine)), cap, None)


def death(cap: int) -> Finding:
    return Finding(FindingKind.DEATH, "it dies", last_good=cap, first_bad=cap + 1, cap=cap)


def set_line(engine: str, finding: Finding) -> str:
    run = replace(RUN, record=replace(RECORD, engine=engine), finding=finding)
    lines = as_text(summary(Facts(run, finding, (), 1.0, "runs.db"))).splitlines()
    return next(line for line in lines if line.split()[:1] == ["set"])


@given(st.sampled_from(ENGINES), st.integers(-1, 2_000))
def test_what_an_engine_is_set_to_holds_some_and_no_more_than_the_cap(engine: str, cap: int) -> None:
    held = settable(engine, cap)
    step = STEPS.get(engine, 1)
    if held is None:
        assert cap < step or engine == "transformers"
    else:
        assert 0 < held <= cap
        assert -(-held // step) * step <= cap, "what the engine makes of it by rounding up"
        assert cap - held < step


@given(st.sampled_from(ENGINES), st.integers(-1, 1_024), st.sampled_from(get_args(Format)))
def test_no_form_of_it_says_0_which_is_the_whole_window(engine: str, cap: int, kind: Format) -> None:
    told = of(engine, cap)
    if told is not None:
        text = written(told, death(cap), kind)
        assert str(told.cap) in text
        assert not re.search(r'(?:^-c |=|maxModelLen: |^  - "|"cap": )(?:0|-\d+)\b', text, re.MULTILINE)


@pytest.mark.parametrize("cap", [1, 255])
def test_below_one_step_there_is_no_setting_and_that_is_said(cap: int) -> None:
    assert of("llamacpp", cap) is None
    assert set_line("llamacpp", death(cap)).split(maxsplit=1)[1] == (
        "none: llamacpp holds 256 tokens at least, in steps of 256, "
        f"so a cap of {cap} must be kept by what is before it"
    )
    assert settable("vllm", cap) == cap
    assert settable("llamacpp", 256) == 256


def test_an_engine_that_dies_where_its_blocks_run_out_has_no_setting() -> None:
    assert of("transformers", 2_048) is None
    assert "has no setting that turns longer requests away" in unsettable("transformers", 2_048)
    assert "--" not in set_line("transformers", death(2_048))


@pytest.mark.parametrize(
    ("engine", "line"),
    [("llamacpp", "-c 768"), ("vllm", "--max-model-len 992"), ("ollama", "OLLAMA_CONTEXT_LENGTH=992")],
)
def test_a_run_ends_with_the_setting_that_recommend_prints(engine: str, line: str) -> None:
    assert set_line(engine, death(992)).split(maxsplit=1)[1] == line
    told = of(engine, 992)
    assert told is not None
    assert written(told, death(992), "flags") == line == setting(engine, told.cap)


@pytest.mark.parametrize("kind", get_args(Format))
@pytest.mark.parametrize("engine", ["ollama", "lmstudio"])
def test_what_is_no_argument_is_written_down_as_none(engine: str, kind: Format) -> None:
    told = of(engine, 1_024)
    assert told is not None
    text = written(told, death(1_024), kind)
    assert f"{told.flag} 1024" not in text
    assert "extraArgs" not in text
    assert "$MAX_MODEL_LEN" not in text
    if kind == "helm" and engine == "ollama":
        assert text.endswith('extraEnv:\n  - name: "OLLAMA_CONTEXT_LENGTH"\n    value: "1024"')


def test_an_engine_with_a_name_of_a_strangers_adds_no_line_to_an_environment() -> None:
    told = of("vllm\nLD_PRELOAD=/tmp/x.so\x1b[2J", 992)
    assert told is not None
    assert [line for line in written(told, death(992), "env").splitlines() if not line.startswith("#")] == [
        "MAX_MODEL_LEN=992"
    ]
