"""How does the server count short prompts? Asked once for each way of sending, where a count of it looks odd.

Like canaries they are no probes, say nothing about any length, and are on record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.before.trial import trial
from fuzzer.outcome.counting import SHORT_LENGTHS
from fuzzer.prompts.errors import PromptError
from fuzzer.prompts.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fuzzer.before.trial import Tell
    from fuzzer.rig import Rig
    from targets.base import Mode

LONGEST_S = 60.0


class Recount:
    """The server's counts of short prompts, by how they are sent and what they are made of."""

    def __init__(self) -> None:
        self._known: dict[tuple[Mode, str], dict[int, int]] = {}

    async def of(
        self, rig: Rig, mode: Mode, content: str, *, ground: int | None, deadline_s: float, tell: Tell
    ) -> Mapping[int, int]:
        """Tokens sent -> tokens counted, without those that were not answered, each within a minute, or not counted.

        Where no death is allowed, none that is longer than `ground` is sent. `tell` hears of each that is. Raises
        Interrupted where the run is stopped meanwhile.
        """
        if is_withheld(rig, ground):
            return {}  # they tell nothing one by one
        if (mode, content) not in self._known:
            lengths = {length: Recipe(mode, length, content, head=f"recount/{length}") for length in SHORT_LENGTHS}
            counts = {n: await _count(rig, recipe, deadline_s, tell) for n, recipe in lengths.items()}
            told = {n: counted for n, counted in counts.items() if counted is not None}
            if not told:
                return told  # the engine may only have been away
            self._known[mode, content] = told
        return self._known[mode, content]


def is_withheld(rig: Rig, ground: int | None) -> bool:
    """Are the short prompts longer than what may be sent where no death is allowed?"""
    return rig.settings.max_deaths == 0 and ground is not None and ground < max(SHORT_LENGTHS)


async def _count(rig: Rig, recipe: Recipe, deadline_s: float, tell: Tell) -> int | None:
    try:
        prompt = await rig.prompts.rebuild(recipe)
    except PromptError:
        return None
    reply = await trial(rig, prompt, min(deadline_s, LONGEST_S), tell)
    if reply is not None and reply.status == 200 and reply.complete and reply.error is None:
        return reply.usage.prompt_tokens
    return None
