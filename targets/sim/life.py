"""What does an engine know in one life? Its batch, its cache, what it has counted, and what has gone wrong with it."""

from __future__ import annotations

from array import array

from targets.sim.cache import PrefixCache
from targets.sim.drafts import draw, processed
from targets.sim.failing import Rule
from targets.sim.flight import Flight, Request
from targets.sim.rulebook import Rulebook
from targets.sim.rules import Value
from targets.sim.voice import Voice
from targets.sim.world import World

EVERYBODY = 0  # no request's number: nobody in particular blocks the engine: it is wedged for ever


class Life:
    """The state that the requests of one life share. `blocker` is the number of the one that holds all others up."""

    def __init__(self, world: World, words: list[tuple[int, str]], number: int, born: float) -> None:
        self.world = world
        self.born = born  # seconds, on the caller's clock
        self.voice = Voice(world, words, number)
        self.rules = Rulebook(world.rules)
        self.cache = PrefixCache(world.cache.block)
        self.flights: dict[int, Flight] = {}
        self.served = 0
        self.blocker: int | None = None
        self.poison: Rule | None = None
        self.counters: dict[str, float] = dict.fromkeys(
            ("steps", "prompt", "generated", "hits", "queries", "drafts", "draft_tokens", "accepted", "waiting"), 0.0
        ) | {"success": 0.0, "aborted": 0.0, "errors": 0.0, "running": 0.0}
        self.accepted_at: list[float] = [0.0] * (world.draft.k if world.draft else 0)
        self._number = number

    def board(self, request: Request, now: float) -> Flight:
        """Take a request into the batch. Nothing of it is computed yet."""
        self.served += 1
        flight = self.flights[request.id] = Flight(request)
        flight.names = self._names(request, now)
        return flight

    def refused(self, prompt: int, asked: int, now: float) -> Rule | None:
        """The rule that strikes as a request of `prompt` tokens is refused for its length."""
        return self.rules.strikes("refusal", self._names(Request(EVERYBODY, prompt, 0, asked, array("I")), now))

    def count_flights(self) -> None:
        blocked = self.blocker is not None
        self.counters["running"] = 0 if blocked else len(self.flights)
        self.counters["waiting"] = len(self.flights) if blocked else 0

    def pace_s(self, request: Request) -> float:
        """Seconds of one decode step: the same for all, but for the share that is slow."""
        speed = self.world.speed
        slow = draw(self.world.seed, self._number, request.id) / 2**64 < speed.slow_share
        return speed.decode_s * (speed.slow_factor if slow else 1)

    def verify(self, flight: Flight, accepted: int) -> int:
        """Count one draft of which `accepted` tokens would be taken; returns how many are."""
        assert self.world.draft is not None
        if any(other.modified("speculation-off") for other in self.flights.values()):
            accepted = 0
        self.counters["drafts"] += 1
        self.counters["draft_tokens"] += self.world.draft.k
        self.counters["accepted"] += accepted
        for position in range(accepted):
            self.accepted_at[position] += 1
        flight.draft_tokens += self.world.draft.k
        flight.accepted += accepted
        return accepted

    def _names(self, request: Request, now: float) -> dict[str, Value]:
        """What the rules read of a request: see `targets.sim.rules.NAMES`."""
        draft, reads = self.world.draft, self.rules.reads
        distinct = len(set(request.ids)) / len(request.ids) if "CONTENT" in reads and request.ids else 1.0
        output = request.output
        if draft and "PROCESSED" in reads:
            output = processed(draft, self.voice.mark(request), request.output)
        return {
            "P": request.prompt,
            "O": request.output,
            "OR": request.asked,
            "T": request.prompt + request.output,
            "C": len(self.flights),
            "N": self.served,
            "CH": self.world.speed.chunk,
            "U": draw(self.world.seed, self._number, self.served) / 2**64,
            "AGE": now - self.born,
            "HIT": self.cache.hit(request.salt, request.ids) if self.world.cache.enabled else 0,
            "K": draft.k if draft else 0,
            "SPEC": draft is not None,
            "PROCESSED": output,
            "CONTENT": distinct,
            "STREAM": request.stream,
            "CHAT": request.chat,
        }
