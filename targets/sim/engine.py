"""What does the engine do with its requests? The model of one life, without sockets, processes or a clock of its own.

Requests are generators that yield how long they compute; the engine runs those that are due. Times are seconds on the
caller's clock, lengths are tokens. The process around it is `targets.sim.process`.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import Any, NoReturn

from targets.sim.cache import PrefixCache
from targets.sim.drafts import accepted_drafts, draw, processed
from targets.sim.flight import Flight, Request
from targets.sim.rulebook import Rulebook
from targets.sim.rules import Value
from targets.sim.voice import Voice
from targets.sim.world import Rule, World

EVERYBODY = 0  # no request's number: nobody in particular blocks the engine: it is wedged for ever
PARTING_S = 0.02  # between an answer and a death that follows it: the answer gets out
LONG_S = 1e9


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
        self._world = world
        self._voice = Voice(world, words, life)
        self._life = life
        self._emit = emit
        self._die = die
        self._rules = Rulebook(world.rules)
        self._cache = PrefixCache(world.cache.block)
        self._flights: dict[int, Flight] = {}
        self._due: list[tuple[float, int, int]] = []
        self._order = 0
        self._served = 0
        self._blocker: int | None = None
        self._poison: Rule | None = None
        self._born = born
        self.counters: dict[str, float] = dict.fromkeys(
            ("steps", "prompt", "generated", "hits", "queries", "drafts", "draft_tokens", "accepted", "waiting"), 0.0
        ) | {"success": 0.0, "aborted": 0.0, "errors": 0.0, "running": 0.0}
        self.accepted_at: list[float] = [0.0] * (world.draft.k if world.draft else 0)

    def admit(self, request: Request, now: float) -> None:
        """Take a request in. It computes from now on, unless the engine is blocked."""
        self._served += 1
        flight = Flight(request)
        self._flights[request.id] = flight
        flight.names = self._names(request, self._served, now)
        flight.steps = self._serve(flight)
        self._schedule(now, request.id)
        self._count_flights()

    def abort(self, request_id: int) -> None:
        """The client gave up. Whoever waited behind this request goes on."""
        if self._flights.pop(request_id, None) is None:
            return
        self.counters["aborted"] += 1
        if self._blocker == request_id:
            self._blocker = None
        self._count_flights()

    def refused(self, prompt: int, asked: int, now: float) -> None:
        """The API server refused a request for its length; some builds do not survive that well."""
        request = Request(EVERYBODY, prompt, 0, asked, array("I"))
        names = self._names(request, self._served, now)
        if rule := self._rules.strikes("refusal", names):
            if rule.symptom == "death":
                self._die(rule)
            self._blocker = EVERYBODY

    def run(self, now: float) -> float | None:
        """Run one step of everything due at `now`: the caller hears its messages in between.

        Returns when the next step is due, or None where only a message can change anything.
        """
        ready = []
        while self._due and self._due[0][0] <= now:
            ready.append(heapq.heappop(self._due))
        held = False
        for entry in ready:
            flight = self._flights.get(entry[2])
            if flight is None:
                continue
            if self._blocker in {None, flight.request.id}:
                self._step(flight, now)
            else:
                held = True
                heapq.heappush(self._due, entry)
        return self._due[0][0] if self._due and not held else None

    def _step(self, flight: Flight, now: float) -> None:
        flight.names["C"] = len(self._flights)
        flight.names["AGE"] = now - self._born
        wait = next(flight.steps, None)
        if wait is None:
            self._flights.pop(flight.request.id, None)
            self._count_flights()
        else:
            self._schedule(now + wait, flight.request.id)

    def _schedule(self, due: float, request_id: int) -> None:
        self._order += 1
        heapq.heappush(self._due, (due, self._order, request_id))

    def _serve(self, flight: Flight) -> Iterator[float]:
        request, names = flight.request, flight.names
        if self._poison is not None:
            yield from self._fail(flight, self._poison, self._poison.later or self._poison.message)
            return
        flight.modifiers = self._rules.modifiers(names)
        if rule := self._rules.strikes("arrival", names):
            yield from self._suffer(flight, rule)
            return
        self._emit({"id": request.id, "event": "admitted"})
        yield from self._prefill(flight)
        if rule := self._rules.strikes("prefill", names):
            yield from self._suffer(flight, rule)
            return
        struck = yield from self._decode(flight)
        if struck is not None:
            yield from self._suffer(flight, struck)
            return
        self.counters["success"] += 1
        self.counters["generated"] += request.output
        names["O"] = request.output
        self._emit({"id": request.id, "event": "end", "finish": request.finish, **self._usage(flight)})
        if rule := self._rules.strikes("answer", names):
            self._part(flight, rule)

    def _part(self, flight: Flight, rule: Rule) -> None:
        """Let what follows an answer happen under a number of its own: its client may leave before that."""

        def aftermath() -> Iterator[float]:
            yield PARTING_S
            yield from self._suffer(flight, rule)

        parting = Flight(replace(flight.request, id=-flight.request.id), aftermath(), flight.names)
        self._flights[parting.request.id] = parting
        self._schedule(0.0, parting.request.id)

    def _prefill(self, flight: Flight) -> Iterator[float]:
        request, speed = flight.request, self._world.speed
        cached = int(flight.names["HIT"])
        self.counters["queries"] += request.prompt
        self.counters["hits"] += cached
        if self._world.cache.enabled:
            self._cache.add(request.salt, request.ids)
        slow = flight.modified("slow")
        left = max(request.prompt - cached, 1)
        extra = (slow.seconds if slow else 0.0) / left
        if self._served <= speed.first_runs:
            yield speed.first_run_s
        while left > 0:
            chunk = min(left, speed.chunk)
            yield chunk * (1 / speed.prefill + extra)
            self.counters["steps"] += 1
            left -= chunk
        self.counters["prompt"] += request.prompt

    def _decode(self, flight: Flight) -> Generator[float, None, Rule | None]:
        """Generate. Returns the rule that struck on the way, if one did."""
        request, names = flight.request, flight.names
        drafts = accepted_drafts(self._world.draft, self._voice.mark(request)) if self._world.draft else None
        pace_s = self._pace_s(request)
        done, step = 0, 1  # the prefill itself gives the first token
        while done < request.output:
            flight.strayed = flight.strayed or (self._voice.strays(flight, drafted=step > 1) if done else 0)
            for _ in range(min(step, request.output - done)):
                names["O"], names["T"] = done + 1, request.prompt + done + 1
                if rule := self._rules.strikes("decode", names):
                    return rule
                self._emit_token(flight, done)
                done += 1
            if done < request.output:
                yield pace_s
                self.counters["steps"] += 1
                step = 1 + (self._verify(flight, next(drafts)) if drafts else 0)
        return None

    def _pace_s(self, request: Request) -> float:
        """Seconds of one decode step: the same for all, but for the share that is slow."""
        speed = self._world.speed
        slow = draw(self._world.seed, self._life, request.id) / 2**64 < speed.slow_share
        return speed.decode_s * (speed.slow_factor if slow else 1)

    def _verify(self, flight: Flight, accepted: int) -> int:
        """Count one draft of which `accepted` tokens would be taken; returns how many are."""
        assert self._world.draft is not None
        if any(flight.modified("speculation-off") for flight in self._flights.values()):
            accepted = 0
        self.counters["drafts"] += 1
        self.counters["draft_tokens"] += self._world.draft.k
        self.counters["accepted"] += accepted
        for position in range(accepted):
            self.accepted_at[position] += 1
        flight.draft_tokens += self._world.draft.k
        flight.accepted += accepted
        return accepted

    def _suffer(self, flight: Flight, rule: Rule) -> Iterator[float]:
        match rule.symptom:
            case "death":
                self._die(rule)
            case "hang":
                yield LONG_S
            case "block" | "wedge":
                self._blocker = flight.request.id if rule.symptom == "block" else EVERYBODY
                yield LONG_S
            case "poison":
                self._poison = rule
                self.counters["poisoned"] = 1
                yield from self._fail(flight, rule, rule.message)
            case _:
                yield from self._fail(flight, rule, rule.message)

    def _fail(self, flight: Flight, rule: Rule, message: str) -> Iterator[float]:
        yield 0.0
        self.counters["errors"] += 1
        self._emit(
            {
                "id": flight.request.id,
                "event": rule.symptom if rule.symptom in {"busy", "reset", "cut"} else "error",
                "status": rule.status,
                "type": rule.type,
                "message": message,
                "retry_after": rule.seconds,
            }
        )

    def _emit_token(self, flight: Flight, index: int) -> None:
        token, text = self._voice.word(flight, index)
        self._emit({"id": flight.request.id, "event": "token", "token": token, "text": text})

    def _usage(self, flight: Flight) -> dict[str, int]:
        cut = flight.modified("truncate")
        prompt = min(flight.request.prompt, cut.keep) if cut else flight.request.prompt
        return {
            "prompt": prompt,
            "output": flight.request.output,
            "cached": int(flight.names["HIT"]),
            "draft_tokens": flight.draft_tokens,
            "accepted": flight.accepted,
        }

    def _names(self, request: Request, ordinal: int, now: float) -> dict[str, Value]:
        draft = self._world.draft
        distinct = len(set(request.ids)) / len(request.ids) if "CONTENT" in self._rules.reads and request.ids else 1.0
        output = request.output
        if draft and "PROCESSED" in self._rules.reads:
            output = processed(draft, self._voice.mark(request), request.output)
        return {
            "P": request.prompt,
            "O": request.output,
            "OR": request.asked,
            "T": request.prompt + request.output,
            "C": len(self._flights),
            "N": ordinal,
            "CH": self._world.speed.chunk,
            "U": draw(self._world.seed, self._life, ordinal) / 2**64,
            "AGE": now - self._born,
            "HIT": self._cache.hit(request.salt, request.ids) if self._world.cache.enabled else 0,
            "K": draft.k if draft else 0,
            "SPEC": draft is not None,
            "PROCESSED": output,
            "CONTENT": distinct,
            "STREAM": request.stream,
            "CHAT": request.chat,
        }

    def _count_flights(self) -> None:
        blocked = self._blocker is not None
        self.counters["running"] = 0 if blocked else len(self._flights)
        self.counters["waiting"] = len(self._flights) if blocked else 0
