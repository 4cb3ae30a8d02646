"""How is the reasoning of a recorded run printed?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.cli.streams import emit
from fuzzer.errors import UsageFault
from fuzzer.plans.question import BisectQuestion
from fuzzer.report.run import heading
from fuzzer.report.why import why

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzzer.observation import Observation
    from fuzzer.store import Run


def tell(run: Run, seen: Sequence[Observation]) -> None:
    """A bisect, step by step. Raises UsageFault for a run that chose no length."""
    if run.record.plan != "bisect":
        raise UsageFault(
            f"Run {run.run} is a {run.record.command}: it chose no length, so there is nothing to explain. "
            f"See it: ctxfuzz show {run.run}"
        )
    question = BisectQuestion.from_json(run.record.question)
    emit("\n".join([*heading(run), *why(question, seen, run.finding)]))
