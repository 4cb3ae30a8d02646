"""How does the server count short prompts? Asked once for each way of sending, where a count of it looks odd.

Like canaries they are no probes, and say nothing about any length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from fuzzer.counting import SHORT_LENGTHS
from fuzzer.prompts.recipe import Recipe
from targets.base import Generation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fuzzer.prompts import PromptSource
    from targets.base import Mode, Target


class Recount:
    """The server's counts of short prompts, by how they are sent and what they are made of."""

    def __init__(self) -> None:
        self._known: dict[tuple[Mode, str], dict[int, int]] = {}

    async def of(
        self, target: Target, prompts: PromptSource, mode: Mode, content: str, *, deadline_s: float
    ) -> Mapping[int, int]:
        """Tokens sent -> tokens counted, without those that were not answered within `deadline_s`, or not counted.

        Raises PromptError where there can be no such prompt.
        """
        if (mode, content) not in self._known:
            lengths = {length: Recipe(mode, length, content, head=f"recount/{length}") for length in SHORT_LENGTHS}
            counts = {n: await _count(target, prompts, recipe, deadline_s) for n, recipe in lengths.items()}
            self._known[mode, content] = {n: counted for n, counted in counts.items() if counted is not None}
        return self._known[mode, content]


async def _count(target: Target, prompts: PromptSource, recipe: Recipe, deadline_s: float) -> int | None:
    prompt = await prompts.rebuild(recipe)
    generation = Generation(prompt, 1, stream=False, ignore_eos=target.traits.ignore_eos)
    with anyio.move_on_after(deadline_s):
        reply = await target.generate(generation, target.encode(generation))
        if reply.status == 200 and reply.complete and reply.error is None:
            return reply.usage.prompt_tokens
    return None
