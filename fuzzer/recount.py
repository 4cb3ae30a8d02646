"""How does the server count short prompts? Asked once for each way of sending, where a count of it looks odd.

Like canaries they are no probes, and say nothing about any length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from fuzzer.counting import SHORT_LENGTHS
from fuzzer.prompts.errors import PromptError
from fuzzer.prompts.recipe import Recipe
from targets.base import Generation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fuzzer.prompts import PromptSource
    from targets.base import Mode, Target

LONGEST_S = 60.0


class Recount:
    """The server's counts of short prompts, by how they are sent and what they are made of."""

    def __init__(self) -> None:
        self._known: dict[tuple[Mode, str], dict[int, int]] = {}

    async def of(
        self, target: Target, prompts: PromptSource, mode: Mode, content: str, *, deadline_s: float
    ) -> Mapping[int, int]:
        """Tokens sent -> tokens counted, without those that were not answered, each within a minute, or not counted."""
        if (mode, content) not in self._known:
            lengths = {length: Recipe(mode, length, content, head=f"recount/{length}") for length in SHORT_LENGTHS}
            counts = {n: await _count(target, prompts, recipe, deadline_s) for n, recipe in lengths.items()}
            told = {n: counted for n, counted in counts.items() if counted is not None}
            if not told:
                return told  # the engine may only have been away
            self._known[mode, content] = told
        return self._known[mode, content]


async def _count(target: Target, prompts: PromptSource, recipe: Recipe, deadline_s: float) -> int | None:
    try:
        prompt = await prompts.rebuild(recipe)
    except PromptError:
        return None
    generation = Generation(prompt, 1, stream=False, ignore_eos=target.traits.ignore_eos)
    with anyio.move_on_after(min(deadline_s, LONGEST_S)):
        reply = await target.generate(generation, target.encode(generation))
        if reply.status == 200 and reply.complete and reply.error is None:
            return reply.usage.prompt_tokens
    return None
