"""What is a report of one run made of? PURE: the run's rows, gathered, and what each format needs of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from fuzzer.model import FAIL_ON_DEFAULT, Outcome, Side, side_of
from fuzzer.observation import Observation
from fuzzer.report.finding import conditions
from fuzzer.report.summary import Facts, Summary, summary
from fuzzer.report.words import argument, in_database, tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fuzzer.report.attribution import Attribution
    from fuzzer.report.speed import Arm
    from fuzzer.report.told import Told
    from fuzzer.store import Death, Intent, Run


@dataclass(frozen=True, slots=True)
class Dossier:
    """A run and all that was recorded of it. `db` is the database as the user named it; `elapsed_s` active seconds.

    `attribution` is what its controls say, and `told` what it tells beside its probes, if anything; `arms` are the runs
    that it is compared with, itself among them; `cap` is the one that was last recommended for this target, in tokens.
    """

    run: Run
    seen: Sequence[Observation]
    intents: Sequence[Intent]
    deaths: Sequence[Death]
    timeline: Sequence[Mapping[str, Any]]
    elapsed_s: float
    db: str
    attribution: Attribution | None = None
    told: Told | None = None
    arms: Sequence[Arm] = ()
    cap: int | None = None

    @property
    def notes(self) -> list[str]:
        """What was noted while it ran."""
        return [str(row["what"]) for row in self.timeline if row["kind"] == "note"]

    @property
    def fail_on(self) -> frozenset[Outcome]:
        kept = self.run.record.settings.get("fail_on")
        return frozenset(map(Outcome, kept)) if isinstance(kept, list) else FAIL_ON_DEFAULT

    def side(self, seen: Observation) -> Side:
        return side_of(seen.outcome, self.fail_on)

    @property
    def summary(self) -> Summary | None:
        """What the run concluded; None for one that has not."""
        finding = self.run.finding
        if finding is None:
            return None
        return summary(Facts(self.run, finding, self.seen, self.elapsed_s, self.db, self.attribution))

    @property
    def findings(self) -> list[tuple[str, str]]:
        """The summary's lines but for the assumptions, which have a place of their own."""
        rows = () if self.summary is None else self.summary.rows
        return list(takewhile(lambda row: row[0] != "assumes", rows))

    @property
    def conditions(self) -> list[tuple[str, str]]:
        return [(name.replace("_", " "), spelled(value)) for name, value in conditions(self.run, self.seen).items()]

    @property
    def environment(self) -> list[tuple[str, str]]:
        """Who did this, when, from where, to what."""
        run, record = self.run, self.run.record
        head = "not sealed" if run.seal is None else run.seal.head
        return [
            ("run", run.run),
            ("status", run.status),
            ("command", " ".join(record.argv)),
            ("target", record.url),
            ("model", record.model),
            ("engine", f"{record.engine} {record.engine_version or '(version not told)'}"),
            ("advertised limit", tokens(record.limit)),
            ("begun (UTC)", run.started_utc),
            ("ended (UTC)", run.ended_utc or "-"),
            ("by", f"{run.user}@{run.host}"),
            ("ctxfuzz", run.ctxfuzz_version),
            ("chain head", head),
        ]

    @property
    def checks(self) -> list[tuple[str, str]]:
        """What to run in order to check this report against the record: a command, and what it shows."""
        db = in_database(self.db)
        run, seal = argument(self.run.run), self.run.seal
        telling = next((one.seq for one in self.seen if self.side(one) is Side.BAD), None)
        expect = "" if seal is None else f" --expect {argument(seal.head)}"
        commands = [
            (f"ctxfuzz audit {run}{expect}{db}", "the record is as it was written, up to this report's chain head"),
            (f"ctxfuzz export {run}{db}", "every row, with the hash that covers it"),
        ]
        if telling is not None:
            commands += [
                (f"ctxfuzz body {run}:{telling}{db} -o body.json", "the very request that failed, and its curl line"),
                (f"ctxfuzz replay {run}:{telling}{db}", "send it again (it may take the engine down again)"),
            ]
        return commands


def spelled(value: object) -> str:
    """A JSON value as a reader wants it."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return tokens(value)
        case _:
            return str(value)
