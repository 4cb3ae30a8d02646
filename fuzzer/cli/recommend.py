"""Which flags does `ctxfuzz recommend` take?"""

from __future__ import annotations

from pathlib import Path

import click

from fuzzer.cli import values
from fuzzer.cli.flags import DB
from fuzzer.cli.grouping import Command, option, stack
from fuzzer.errors import RunStopped
from fuzzer.report.recommendation import Format

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
    """Print the cap that RUN recommends, in the words of the place where it takes effect."""
    from fuzzer.cli import attribution  # noqa: PLC0415  (heavy)
    from fuzzer.cli.streams import emit  # noqa: PLC0415
    from fuzzer.report.recommendation import Recommendation, written  # noqa: PLC0415
    from fuzzer.store import History  # noqa: PLC0415

    with History.open(db) as history:
        found = history.get(run)
        finding = found.finding
        if finding is None or finding.cap is None:
            why = "it has not ended" if finding is None else finding.reason
            raise RunStopped(f"Run {found.run} recommends no cap: {why}. See it: ctxfuzz show {found.run}")
        controls = attribution.recorded(db, found)
        passed = controls.passed if controls is not None else None
        emit(written(Recommendation.of(found, finding.cap, without or passed), finding, kind))
