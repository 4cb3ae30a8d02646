"""Which commands look after the record itself? audit, export, merge: no target is touched."""

from __future__ import annotations

from pathlib import Path

import click

from fuzzer.cli.flags import DB, JSON
from fuzzer.cli.grouping import Command, option
from fuzzer.cli.written import written


@click.command(
    cls=Command,
    examples="""
ctxfuzz audit
ctxfuzz audit --expect 5d41402abc4b2a76b9719d911017c592...   # a head that was kept elsewhere
ctxfuzz audit 3f2a --db /var/lib/ctxfuzz/runs.db --json
""",
)
@click.argument("run", metavar="[RUN]", required=False)
@option(
    "Check", "--expect", metavar="HASH", help="A chain head, copied from a report or from --json: it must be there."
)
@DB
@JSON
def audit(run: str | None, expect: str | None, db: Path, json: bool) -> None:  # noqa: FBT001  (a flag)
    """Check that nobody has changed the record since it was written.

    Every row is hashed again, in the order of its run's chain. Leaves with 1 and names the first bad row of each run
    where one was edited, deleted, moved or slipped in. A run that is not sealed is no problem: its process was killed,
    or is still at work. With RUN, only that run decides.

    Without a copy of a head that was kept elsewhere (--expect), an end that was cut off, or a record that was written
    anew as a whole, cannot be seen.
    """
    from fuzzer.cli import auditing  # noqa: PLC0415  (heavy)

    auditing.audit(db, run, expect, as_json=json)


@click.command(
    cls=Command,
    examples="""
ctxfuzz export last -o probes.csv
ctxfuzz export 3f2a | jq -c '[.position, .kind, .hash]'
""",
)
@click.argument("run", metavar="RUN")
@written({"jsonl": ".jsonl", "csv": ".csv"}, "jsonl: a line a row of the record, with its hash; csv: a line a probe.")
@DB
def export(run: str, form: str, into: Path | None, db: Path) -> None:
    """Write RUN out: as the rows that its chain covers (JSONL), or as a table of its probes (CSV)."""
    from fuzzer.cli import auditing  # noqa: PLC0415  (heavy)

    auditing.export(db, run, form, into)


@click.command(
    cls=Command,
    examples="""
ctxfuzz merge /mnt/pod-0/runs.db
ctxfuzz merge laptop.db --db /var/lib/ctxfuzz/runs.db
""",
)
@click.argument("other", metavar="OTHER.db", type=click.Path(dir_okay=False, path_type=Path))
@DB
def merge(other: Path, db: Path) -> None:
    """Take the runs of OTHER.db in, whole, with their chains: all that are not here yet, or none.

    Refused where OTHER.db does not check, where one of its runs is still at work, or where both hold a run of the same
    name that is not the same run. The merge is recorded too, under a seal that names the heads of both.
    """
    from fuzzer.cli import auditing  # noqa: PLC0415  (heavy)

    auditing.merge(db, other)
