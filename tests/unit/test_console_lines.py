"""Does a log of plain lines say everything that matters, once, without control characters?"""

from __future__ import annotations

import io

from fuzzer.console.lines import LineConsole, line
from fuzzer.events import (
    Bracket,
    EngineDied,
    Event,
    Note,
    ProbeEnded,
    ProbeProgress,
    ProbeStarted,
    Replayed,
    Revived,
    Reviving,
    RunEnded,
    RunStarted,
)
from fuzzer.finding import Finding, FindingKind
from fuzzer.model import Corroboration, Outcome, ProbeSpec, Role
from fuzzer.observation import Observation

SPEC = ProbeSpec(262_145, 32, Role.SEARCH, "the middle")
DEATH = Observation(
    2,
    SPEC,
    Outcome.DEATH,
    262_145,
    "inferred",
    reason="the process start changed",
    corroboration=Corroboration.PROVEN,
    duration_s=0.4,
    revival_s=5.1,
    signature="CUDA\x1b[2J\nerror",
)
PASS = Observation(1, SPEC, Outcome.PASS, 244_689, "usage", reason="complete", duration_s=4.1)
EVENTS: tuple[Event, ...] = (
    RunStarted("ab12", "http://host:8000", "tiny\x07", "vllm", "0.32.0", 1_048_576, "bisect"),
    Bracket(None, None, 244_689, 300_000, 0, 12, 0, 2.1, 9.0, 95.0),
    ProbeStarted(1, SPEC, 60.0),
    ProbeProgress(1, 0.5, "prefill"),
    Replayed(PASS),
    Bracket(244_689, None, 244_689, 300_000, 0, 12, 1, 2.0, 8.0, 90.0),
    Note("the limit is 1,048,576", hint="--hi"),
    Note("somebody else is here", level="warning"),
    EngineDied(2, 262_145, "CUDA error", Corroboration.PROVEN),
    Reviving(1.0, "refused"),
    Revived(5.1),
    ProbeEnded(DEATH),
    RunEnded("ab12", Finding(FindingKind.DEATH, "why")),
)


def said(*, verbose: bool) -> list[str]:
    stream = io.StringIO()
    console = LineConsole(stream, verbose=verbose)
    for event in EVENTS:
        console(event)
    return stream.getvalue().splitlines()


def test_one_line_a_probe_and_one_for_each_thing_worth_knowing() -> None:
    assert said(verbose=False) == [
        "run ab12: bisect on http://host:8000, tiny, vllm 0.32.0, limit 1,048,576",
        "expect about 2.1 engine deaths (at most 12); about 9 probes, 1m 35s",
        "#1   search         244,689 +32   pass       4.10 s  (recorded)",
        "the limit is 1,048,576 (--hi)",
        "warning: somebody else is here",
        '#2   search         262,145 +32   death      0.40 s  proven  back after 5.10 s  "CUDA[2J error"',
    ]


def test_verbose_adds_the_reasons_and_the_deaths() -> None:
    lines = said(verbose=True)
    assert "#1   search         262,145 +32   sent: the middle" in lines
    assert "#2   the engine died (proven) CUDA error" in lines
    assert "     the engine is back after 5.10 s" in lines
    assert [line for line in lines if line in said(verbose=False)] == said(verbose=False)


def test_a_text_that_was_lost_in_tokenisation_is_not_said_to_be_sent() -> None:
    lost = line(ProbeStarted(4, SPEC, 60.0, leaves=False), verbose=True)
    assert lost == "#4   search         262,145 +32   lost in tokenisation, not sent: the middle"
