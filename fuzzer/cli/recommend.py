"""Which flags does `ctxfuzz recommend` take?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fuzzer.cli import values
from fuzzer.cli.flags import DB
from fuzzer.cli.grouping import Command, option, stack
from fuzzer.errors import RunStopped
from fuzzer.report.recommendation import Format

if TYPE_CHECKING:
    from fuzzer.store import History, Run

FORMATS = ("flags", "env", "helm", "litellm", "json")
HOW = stack(
    option("Cap", "--format", "kind", type=click.Choice(FORMATS), default="flags", show_default=True,
           help="As the engine's flags, an environment, Helm values, a LiteLLM config, or JSON."),
    option("Cap", "--without", metavar="URL", type=values.url,
           help="The same model without the drafter, for litellm.  [default: a control of the run that passed]"),
)  # fmt: skip


@click.command(
    cls=Command,
    examples="""
vllm serve MODEL $(ctxfuzz recommend last)
ctxfuzz recommend last --format helm > cap-values.yaml
ctxfuzz recommend last --format litellm --without http://localhost:8001 > litellm.yaml
""",
)
@click.argument("run", metavar="RUN")
@HOW
@DB
def recommend(run: str, kind: Format, without: str | None, db: Path) -> None:
    """Print the cap that RUN recommends, in the words of the place where it takes effect.

    Exit code 3 if RUN recommends none, if its engine cannot be set to one that low, or if another run recorded that
    what the cap admits killed this build.
    """
    from fuzzer.cli import attribution  # noqa: PLC0415  (heavy)
    from fuzzer.cli.faults import warn  # noqa: PLC0415
    from fuzzer.cli.streams import emit, say  # noqa: PLC0415
    from fuzzer.finding import FindingKind  # noqa: PLC0415
    from fuzzer.report.finding import draft_tokens  # noqa: PLC0415
    from fuzzer.report.next import resume  # noqa: PLC0415
    from fuzzer.report.recommendation import Recommendation, unsettable, written  # noqa: PLC0415
    from fuzzer.report.words import in_database  # noqa: PLC0415
    from fuzzer.store import History  # noqa: PLC0415

    with History.open(db) as history:
        found = history.trusted(run)
        finding = found.finding
        if finding is None or finding.cap is None:
            why = "it has not come to a finding" if finding is None else finding.reason
            then = resume(found, str(db)) if finding is None else f"ctxfuzz show {found.run}{in_database(str(db))}"
            what = "Where it runs no more, go on with it" if finding is None else "See it"
            raise RunStopped(f"Run {found.run} recommends no cap: {why}. {what}: {then}")
        controls = attribution.recorded(db, found)
        passed = controls.passed if controls is not None else None
        if controls is not None and passed is not None and kind in {"litellm", "json"}:
            for name in filter(None, (one.run for one in controls.controls)):
                history.trusted(name)
        _unless_it_kills(history, found, finding.cap)
        told = Recommendation.of(found, finding.cap, without or passed)
        if told is None:
            raise RunStopped(f"Run {found.run}: {unsettable(found.record.engine, finding.cap)}.")
        emit(written(told, finding, kind))
        if found.record.engine == "vllm" and draft_tokens(history.observations(found.run)):
            say("note: where --speculative-config names a max_model_len, lower it too: else vLLM does not start")
        if finding.kind is FindingKind.INCONCLUSIVE:
            warn(RunStopped(f"run {found.run} did not come to its end: {finding.reason}"))


def _unless_it_kills(history: History, found: Run, cap: int) -> None:
    """Raises RunStopped where another run recorded a death under this cap."""
    from fuzzer.cli.deadly import deed  # noqa: PLC0415  (heavy)
    from fuzzer.cli.sparing import contradicted  # noqa: PLC0415

    if (killed := contradicted(history, found)) is not None:
        raise RunStopped(
            f"Run {found.run} recommends a cap of {cap}, which admits what run {killed.run} recorded: {deed(killed)} "
            "this build, asked in the same way. Bisect again with this database: that length is then asked too."
        )
