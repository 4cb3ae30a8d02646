"""How are prompts sent where nobody said so, and the target refuses the ids that its kind takes? As text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.before.tuning import IdsRefused
from fuzzer.cli import session
from fuzzer.events import Note

if TYPE_CHECKING:
    import anyio

    from fuzzer.cli.conduct import Drive, Ending
    from fuzzer.cli.watching import Listeners


def either_way(drive: Drive) -> Drive:
    """The same, and once more as text where ids are refused and nobody asked for them: that is a run of its own."""

    async def driven(opened: session.Session, listeners: Listeners, stop: anyio.Event) -> Ending:
        free = opened.mode == "ids" and opened.flags.mode is None
        try:
            ending = await drive(opened, listeners, stop)
            why = _refused(ending) if free else None
        except IdsRefused as refused:
            if not free:
                raise
            ending, why = None, str(refused)
        if ending is not None and why is None:
            return ending
        for listener in listeners:
            listener(Note(f"{why}; prompts go as text from here on", hint="--mode says how", level="warning"))
        by_text = replace(opened, survey=replace(opened.survey, takes_ids=False))
        return await drive(by_text, listeners, stop)

    return driven


def _refused(ending: Ending) -> str | None:
    """Why a run ended at its first prompt, where that was refused for being ids."""
    if not isinstance(ending, session.Result) or not ending.observations:
        return None
    last = ending.observations[-1]
    return last.reason if last.refuses_ids else None
