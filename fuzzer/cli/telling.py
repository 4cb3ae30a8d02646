"""What does a recorded run tell beside its probes? By its plan; most tell nothing more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.cli import comparing, measuring, reckoning
from fuzzer.report.capacity import capacity_object, capacity_text
from fuzzer.report.plain import visible
from fuzzer.report.same import same_object, same_text
from fuzzer.report.speed import as_text, table_object
from fuzzer.report.told import Told

if TYPE_CHECKING:
    from fuzzer.store import History, Run


def told(history: History, run: Run) -> Told | None:
    """The table of a run that has one."""
    match run.record.plan:
        case "capacity":
            capacity = reckoning.recorded(run)
            return Told("capacity", capacity_object(capacity), visible(capacity_text(capacity)))
        case "same" if (compared := comparing.recorded(history, run)) is not None:
            return Told("same", same_object(*compared), visible(same_text(compared[0])))
        case "speed":
            arms = measuring.recorded(history, run)
            return Told("speed", table_object(arms), visible(as_text(arms)))
        case _:
            return None
