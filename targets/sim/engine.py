"""Whose step does the engine run next? The model of one life, without sockets, processes or a clock of its own.

What happens to a request is a generator (`targets.sim.course`) that yields how long it computes; the engine runs those
that are due. Times are seconds on the caller's clock, lengths are tokens. The process around it is
`targets.sim.process`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NoReturn

from targets.sim.course import Course
from targets.sim.failing import Rule
from targets.sim.flight import Flight, Request
from targets.sim.life import EVERYBODY, Life
from targets.sim.world import World


class Engine:
    """One life of an engine. `emit` is told every event; `die` is called where the process must end."""

    def __init__(
        self,
        world: World,
        words: list[tuple[int, str]],
        *,
        life: int,
        born: float,
        emit: Callable[[dict[str, Any]], None],
        die: Callable[[Rule], NoReturn],
    ) -> None:
        self._life = Life(world, words, life, born)
        self._course = Course(self._life, emit, die, self._part)
        self._die = die
        self._due: list[tuple[float, int, int]] = []
        self._order = 0
        self.counters = self._life.counters
        self.accepted_at = self._life.accepted_at

    def admit(self, request: Request, now: float) -> None:
        """Take a request in. It computes from now on, unless the engine is blocked."""
        flight = self._life.board(request, now)
        flight.steps = self._course.of(flight)
        self._schedule(now, request.id)
        self._life.count_flights()

    def abort(self, request_id: int) -> None:
        """The client gave up. Whoever waited behind this request goes on."""
        if self._life.flights.pop(request_id, None) is None:
            return
        self.counters["aborted"] += 1
        if self._life.blocker == request_id:
            self._life.blocker = None
        self._life.count_flights()

    def refused(self, prompt: int, asked: int, now: float) -> None:
        """The API server refused a request for its length; some builds do not survive that well."""
        if rule := self._life.refused(prompt, asked, now):
            if rule.symptom == "death":
                self._die(rule)
            self._life.blocker = EVERYBODY

    def run(self, now: float) -> float | None:
        """Run one step of everything due at `now`: the caller hears its messages in between.

        Returns when the next step is due, or None where only a message can change anything.
        """
        ready = []
        while self._due and self._due[0][0] <= now:
            ready.append(heapq.heappop(self._due))
        held = False
        for entry in ready:
            flight = self._life.flights.get(entry[2])
            if flight is None:
                continue
            if self._life.blocker in {None, flight.request.id}:
                self._step(flight, now)
            else:
                held = True
                heapq.heappush(self._due, entry)
        return self._due[0][0] if self._due and not held else None

    def _step(self, flight: Flight, now: float) -> None:
        flight.names["C"] = len(self._life.flights)
        flight.names["AGE"] = now - self._life.born
        wait = next(flight.steps, None)
        if wait is None:
            self._life.flights.pop(flight.request.id, None)
            self._life.count_flights()
        else:
            self._schedule(now + wait, flight.request.id)

    def _schedule(self, due: float, request_id: int) -> None:
        self._order += 1
        heapq.heappush(self._due, (due, self._order, request_id))

    def _part(self, flight: Flight, rest: Iterator[float]) -> None:
        """Let the rest happen under a number of its own: no client can abort that."""
        parting = Flight(replace(flight.request, id=-flight.request.id), rest, flight.names)
        self._life.flights[parting.request.id] = parting
        self._schedule(0.0, parting.request.id)
