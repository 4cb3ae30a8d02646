"""Which words does a request get? Drawn from the seed: the same prompt gets the same answer, but in a moody world."""

from __future__ import annotations

from targets.sim.drafts import draw
from targets.sim.flight import Flight, Request
from targets.sim.world import World

LOSSY = 1  # the text of a lossy drafter
MOOD = 7  # sets the luck of moody requests apart from that of the rules


class Voice:
    """What one life of an engine says, out of its `words`: (token id, text)."""

    def __init__(self, world: World, words: list[tuple[int, str]], life: int) -> None:
        self._world = world
        self._words = words
        self._life = life

    def mark(self, request: Request) -> int:
        """A number that stands for the prompt: the same prompt gets the same answer."""
        return draw(self._world.seed, request.prompt, *request.ids[:32])

    def word(self, flight: Flight, index: int) -> tuple[int, str]:
        """The token at `index` of the answer, from 0, and the text that is told of it."""
        other = (flight.strayed,) if flight.strayed else ()
        token, text = self._words[draw(self.mark(flight.request), index, *other) % len(self._words)]
        if garble := flight.modified("garble"):
            first = self._words[0][1]
            text = {"empty": "", "replacement": "\ufffd", "nan": " NaN", "repeat": first}[garble.garble]
        return token, text

    def strays(self, flight: Flight, *, drafted: bool) -> int:
        """Which text other than its prompt's this request goes on with: its own, a lossy drafter's, or 0, none."""
        luck = draw(self._world.seed, self._life, int(flight.names["N"]), MOOD)
        if luck / 2**64 < self._world.nondeterministic:
            return luck
        draft = self._world.draft
        lossy = draft is not None and draft.lossy_from is not None and flight.request.prompt >= draft.lossy_from
        return LOSSY if lossy and drafted else 0
