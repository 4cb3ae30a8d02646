"""How is a result printed? As JSON, drawn on a terminal, or as plain lines: on stdout, and nothing else there."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

from fuzzer.cli.secrecy import hidden, hidden_in_json
from fuzzer.cli.streams import emit, emit_hidden, say
from fuzzer.cli.watching import console, is_dumb
from fuzzer.errors import UsageFault
from fuzzer.plans.forecast import forecast
from fuzzer.report import plan, probes, run, runs, summary, tables
from fuzzer.report.brief import brief
from fuzzer.report.next import next_commands, resume
from fuzzer.report.words import span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fuzzer.observation import Observation
    from fuzzer.plans.forecast import Forecast
    from fuzzer.plans.question import BisectQuestion
    from fuzzer.report.attribution import Attribution
    from fuzzer.report.summary import Summary
    from fuzzer.report.told import Told
    from fuzzer.store import Death, Intent, Run

FORECAST_SCHEMA: Final = "ctxfuzz.forecast/1"
PLAN_SCHEMA: Final = "ctxfuzz.plan/1"
ASSUMED_PASS_S: Final = 5
ASSUMED_DEATH_S: Final = 60  # with its restart


def emit_json(value: Any) -> None:  # noqa: ANN401  (any JSON)
    """One JSON value, nothing before it and nothing behind."""
    emit_hidden(json.dumps(hidden_in_json(value), allow_nan=False))


def emit_fault(words: str, code: int) -> None:
    """Why there is no finding, as one object. That it cannot be written is told, and changes nothing: `code` stands."""
    try:
        emit_json({"schema": "ctxfuzz.error/1", "error": words, "exit_code": int(code)})
    except UsageFault as unwritten:
        say(f"Error: {unwritten}")


def emit_summary(shown: Summary, *, whole: bool = False) -> None:
    """What a run concluded; at a terminal only what decides, unless the `whole` was asked for."""
    if not _drawn():
        emit(summary.as_text(shown))
        return
    from fuzzer.console.panel import show_summary  # noqa: PLC0415  (rich only where it is seen)

    shown = shown if whole else brief(shown)
    rows = tuple((label, hidden(text)) for label, text in shown.rows)  # before they are folded
    show_summary(console(sys.stdout), replace(shown, title=hidden(shown.title), rows=rows))


def emit_runs(found: Sequence[Run], *, form: Literal["text", "json", "csv"]) -> None:
    """The list of runs."""
    rows = [runs.run_row(one) for one in found]
    if form == "json":
        emit_json([runs.run_object(one) for one in found])
    elif form == "csv":
        objects = [runs.run_object(one) for one in found]
        emit(tables.csv(runs.FIELDS, [[one[name] for name in runs.FIELDS] for one in objects]))
    elif not _drawn():
        emit(runs.as_text(rows))
    else:
        from fuzzer.console.panel import runs_table  # noqa: PLC0415

        terminal = console(sys.stdout)
        terminal.print(runs_table(rows, terminal.width))


def emit_run(
    one: Run,
    seen: Sequence[Observation],
    deaths: Sequence[Death],
    elapsed_s: float,
    *,
    intents: Sequence[Intent],
    notes: Sequence[str],
    attribution: Attribution | None,
    told: Told | None,
    db: str,
    as_json: bool,
) -> None:
    """One run, probe by probe, notes, the engine's last words, its table, the finding, and what its controls say.

    What is to be run next is said but for `show` itself; of a run without a finding it is how that goes on.
    """
    from fuzzer.cli.questions import KINDS  # noqa: PLC0415  (heavy)

    if as_json:
        emit_json(run.show_object(one, seen, elapsed_s, deaths, notes=notes, attribution=attribution, told=told))
        return
    _emit_wrapped(run.heading(one))
    if _drawn():
        from fuzzer.console.screen import probe_line  # noqa: PLC0415

        terminal = console(sys.stdout)
        for probe in seen:
            terminal.print(probe_line(probe, terminal.width), soft_wrap=True)
    else:
        emit("\n".join(map(probes.line, seen)))
    answered = {probe.seq for probe in seen}
    for intent in intents:
        if intent.seq not in answered:
            emit(probes.unanswered(intent.seq, intent.spec))
    _emit_wrapped((*run.noted(notes), *run.last_words(deaths)))
    if told is not None:
        emit(told.text)
    if one.finding is not None:
        facts = summary.Facts(one, one.finding, seen, elapsed_s, db, attribution)
        emit_summary(replace(summary.summary(facts), commands=tuple(next_commands(facts))), whole=True)
    elif one.record.plan in KINDS:
        emit(f"It has not come to a finding. Where it runs no more, go on with it:\n  {resume(one, db)}")


def emit_forecast(ahead: Forecast, at_most: int, *, as_json: bool) -> None:
    """What a dry run expects. Nothing has been timed yet, so the minutes rest on an assumption that is said."""
    if as_json:
        emit_json({"schema": FORECAST_SCHEMA, **_forecast_object(ahead, at_most)})
    else:
        emit(_forecast_text(ahead, at_most))


def emit_plan(question: BisectQuestion, *, as_json: bool) -> None:
    """What a bisect would take, and ask first."""
    ahead, at_most = forecast(question), question.max_deaths
    if as_json:
        emit_json({"schema": PLAN_SCHEMA, **_forecast_object(ahead, at_most), **plan.plan_object(question)})
    else:
        emit(plan.as_text(question))
        emit(_forecast_text(ahead, at_most))


def _forecast_object(ahead: Forecast, at_most: int) -> dict[str, Any]:
    return {
        "expected_deaths": round(min(ahead.deaths, at_most), 1),
        "max_deaths": at_most,
        "expected_probes": round(ahead.probes, 1),
        "expected_s": round(_seconds(ahead, at_most)),
        "assumes": {"pass_s": ASSUMED_PASS_S, "death_s": ASSUMED_DEATH_S},
    }


def _forecast_text(ahead: Forecast, at_most: int) -> str:
    short = f" An answer takes about {ahead.deaths:.1f}: it may end without one." if ahead.deaths > at_most else ""
    return (
        f"Expect about {min(ahead.deaths, at_most):.1f} engine deaths (at most {at_most}) in about {ahead.probes:.0f} "
        f"probes: about {span(_seconds(ahead, at_most))} where a pass takes {ASSUMED_PASS_S} s and a death "
        f"{ASSUMED_DEATH_S} s.{short} No probe was sent."
    )


def _seconds(ahead: Forecast, at_most: int) -> float:
    deaths = min(ahead.deaths, at_most)
    return (ahead.probes - deaths) * ASSUMED_PASS_S + deaths * ASSUMED_DEATH_S


def _emit_wrapped(lines: Iterable[str]) -> None:
    """Lines of words: at a terminal, which would break them anywhere, they break between words."""
    if not _drawn():
        for line in lines:
            emit(line)
        return
    from fuzzer.console.panel import show_lines  # noqa: PLC0415

    show_lines(console(sys.stdout), [hidden(line) for line in lines])


def _drawn() -> bool:
    return sys.stdout.isatty() and not is_dumb()
