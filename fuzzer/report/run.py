"""How does one run read, probe by probe? PURE: to a machine and to a person."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from fuzzer.report.finding import finding_object
from fuzzer.report.plain import plain
from fuzzer.report.runs import run_object
from fuzzer.report.words import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fuzzer.observation import Observation
    from fuzzer.report.attribution import Attribution
    from fuzzer.report.told import Told
    from fuzzer.store import Death, Run

SCHEMA: Final = "ctxfuzz.run/1"


def show_object(
    run: Run,
    seen: Sequence[Observation],
    elapsed_s: float,
    deaths: Sequence[Death],
    *,
    notes: Sequence[str] = (),
    attribution: Attribution | None = None,
    told: Told | None = None,
) -> dict[str, Any]:
    """The object of `show --json`: the run, each probe as it was observed, its deaths, and the finding, if any.

    What its controls say, and what it tells beside its probes, have keys of their own where there is such a thing.
    """
    finding = run.finding
    beside = {} if attribution is None else {"attribution": attribution.to_json()}
    beside |= {} if told is None else {told.key: told.value}
    return {
        "schema": SCHEMA,
        **run_object(run),
        "finding": None if finding is None else finding_object(run, finding, seen, elapsed_s),
        "engine": {"name": run.record.engine, "version": run.record.engine_version},
        "advertised_max_model_len": run.record.limit,
        "ended": run.ended_utc,
        "user": run.user,
        "host": run.host,
        "argv": list(run.record.argv),
        "probes": [asdict(probe) for probe in seen],
        "last_words": [asdict(death) for death in deaths],
        "notes": [plain(note, 2_000) for note in notes],
        **beside,
    }


def heading(run: Run) -> list[str]:
    """Which run, against what, by whom, and how it stands."""
    record = run.record
    engine = f"{record.engine} {record.engine_version}" if record.engine_version else record.engine
    return [
        plain(f"run {run.run}: {record.command}, {run.status}, {run.started_utc} to {run.ended_utc or 'now'}"),
        plain(f"{record.model} on {record.url}, {engine}, limit {tokens(record.limit)}, by {run.user}@{run.host}"),
    ]


def noted(notes: Sequence[str]) -> Iterator[str]:
    """What was noted while it ran."""
    return (f"note: {plain(note, 2_000)}" for note in notes)


def last_words(deaths: Sequence[Death]) -> Iterator[str]:
    """What the engine's own log said at each death of which it was kept."""
    for death in deaths:
        if death.last_words:
            whose = "a death that was nobody's" if death.seq is None else f"the death of #{death.seq}"
            yield f"last words at {whose}:"
            yield from (f"  {plain(line, 400)}" for line in death.last_words.splitlines())
