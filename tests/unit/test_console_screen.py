"""Does the live view fit every terminal, and is a server's text only ever text on it?"""

from __future__ import annotations

import io
from functools import reduce

import pytest
from rich.cells import cell_len
from rich.console import Console

from fuzzer.console.panel import runs_table, show_summary
from fuzzer.console.screen import Screen, probe_line
from fuzzer.console.view import View, advance
from fuzzer.events import Bracket, EngineDied, Event, Note, ProbeProgress, ProbeStarted, Reviving
from fuzzer.model import Corroboration, Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.report.summary import Summary
from targets.base import Health

WIDTHS = (40, 60, 80, 120, 200)
EVIL = "[bold red]markup[/] \x1b[2J\x07 大きい CUDA error: an illegal memory access was encountered " * 4
SPEC = ProbeSpec(262_100, 32, Role.CONFIRM_GOOD, "why")
SENDING: tuple[Event, ...] = (
    Bracket(244_689, 262_144, 244_689, 300_000, 1, 12, 2, 1.1, 7.2, 60.0),
    EngineDied(2, 262_144, EVIL, Corroboration.PROVEN),
    ProbeStarted(3, SPEC, 600.0),
    ProbeProgress(3, 0.5, "prefill", Health(1.0, 503, detail=EVIL), 100.0),
    ProbeProgress(3, 2.0, "prefill", Health(1.0, 503, detail=EVIL), 112.0),
    Note(EVIL, level="warning"),
)
DOWN: tuple[Event, ...] = (*SENDING, Reviving(3.0, EVIL))


def shown(events: tuple[Event, ...], width: int, **options: object) -> str:
    view = reduce(lambda view, timed: advance(view, timed[1], float(timed[0])), enumerate(events), View(started=0.0))
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=True, **options)  # type: ignore[arg-type]
    console.print(Screen(view, 30.0))
    return stream.getvalue()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("events", [(), SENDING, DOWN])
def test_no_line_is_wider_than_the_terminal_and_nothing_of_a_server_acts_on_it(
    events: tuple[Event, ...], width: int
) -> None:
    text = shown(events, width, color_system=None)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "\x1b" not in text
    assert "\x07" not in text
    if events:
        assert "[bold" in text


def test_it_says_what_an_sre_asks_first() -> None:
    text = shown(SENDING, 100, color_system=None)
    for words in (
        "good to 244,689, bad from 262,144, 17,454 between",
        "262,100 + 32 confirm-good  prefill 28.0 s",
        "heartbeat +12",
        "silent for 26.0 s",
        "2 of 12, about 0.1 to come",
        "2 probes in 30.0 s",
        "about 7 probes, 1m 00s",
        "at 262,144 (proven)",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("deaths", "most", "words"),
    [(3, 3, "3 of 3, none to come"), (0, 0, "0 of 0, none to come"), (2, 3, "2 of 3, about 1.0 to come")],
)
def test_no_more_deaths_are_to_come_than_are_left(deaths: int, most: int, words: str) -> None:
    bracket = Bracket(244_689, 262_144, 244_689, 300_000, deaths, most, 9, 2.4, 7.2, 60.0)
    assert words in shown((bracket,), 100, color_system=None)


def test_a_dead_engine_shows_how_long_it_is_down() -> None:
    text = shown(DOWN, 100, color_system=None)
    assert "down for 24.0 s" in text
    assert "sending" not in text


def test_colours_come_and_go_with_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[32m" in shown(SENDING, 80, color_system="standard")
    assert "\x1b[32m" not in shown(SENDING, 80, color_system="standard", no_color=True)


def test_a_terminal_without_unicode_gets_a_line_all_the_same() -> None:
    raw = io.BytesIO()
    console = Console(file=io.TextIOWrapper(raw, encoding="ascii"), width=60, force_terminal=True, color_system=None)
    view = advance(View(started=0.0), SENDING[0], 0.0)
    console.print(Screen(view, 1.0))
    console.file.flush()
    assert b"=..." in raw.getvalue()
    assert b"xxx" in raw.getvalue()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_finished_probe_is_one_line(width: int) -> None:
    observation = Observation(7, SPEC, Outcome.DEATH, 262_100, "inferred", signature=EVIL, revival_s=5.0)
    stream = io.StringIO()
    console = Console(file=stream, width=width)
    console.print(probe_line(observation, width), no_wrap=True, overflow="ellipsis")
    (line,) = stream.getvalue().splitlines()
    assert cell_len(line) <= width
    assert "262,100" in line
    assert "death" in line


@pytest.mark.parametrize("width", WIDTHS)
def test_a_summary_wraps_but_for_its_commands(width: int) -> None:
    command = "ctxfuzz bisect --url http://host:8000 --lo 244689 --hi 300000 --require 262096"
    stream = io.StringIO()
    console = Console(file=stream, width=width, markup=False)
    show_summary(console, Summary("Death from 262,107 prompt tokens on", "bad", (("why", EVIL), ("", "x")), (command,)))
    lines = stream.getvalue().splitlines()
    assert f"  {command}" in lines
    assert max(cell_len(line) for line in lines if command not in line) <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_the_table_drops_columns_but_never_the_run_the_finding_and_the_cap(width: int) -> None:
    row = ("1m8m9rvy3ryj", "2026-11-29 17:00", "bisect", "m" * 40, "http://" + "h" * 53, "done", "truncated", "262,096")
    stream = io.StringIO()
    console = Console(file=stream, width=width)
    console.print(runs_table([row], width))
    head, line = stream.getvalue().splitlines()
    assert max(cell_len(head), cell_len(line)) <= width
    for cell in ("1m8m9rvy3ryj", "truncated", "262,096"):
        assert cell in line
    assert ("command" in head) == (width >= 60)
