"""What happens to one request, from its arrival to its end? Each step is yielded with the seconds that it computes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, NoReturn

from targets.sim.drafts import accepted_drafts
from targets.sim.failing import Rule
from targets.sim.flight import Flight
from targets.sim.life import EVERYBODY, Life

PARTING_S = 0.02  # between an answer and a death that follows it: the answer gets out
LONG_S = 1e9


class Course:
    """The way that all requests of a life go. `emit` is told every event; `die` is called where the process must end.

    `part` is given what follows an answer: its client may leave before that.
    """

    def __init__(
        self,
        life: Life,
        emit: Callable[[dict[str, Any]], None],
        die: Callable[[Rule], NoReturn],
        part: Callable[[Flight, Iterator[float]], None],
    ) -> None:
        self._life = life
        self._emit = emit
        self._die = die
        self._part = part

    def of(self, flight: Flight) -> Iterator[float]:
        """The whole of it: arrival, prefill, decode, end. A rule that strikes on the way ends it there."""
        life, names = self._life, flight.names
        if life.poison is not None:
            yield from self._fail(flight, life.poison, life.poison.later or life.poison.message)
            return
        flight.modifiers = life.rules.modifiers(names)
        if rule := life.rules.strikes("arrival", names):
            yield from self._suffer(flight, rule)
            return
        self._emit({"id": flight.request.id, "event": "admitted"})
        yield from self._prefill(flight)
        if rule := life.rules.strikes("prefill", names):
            yield from self._suffer(flight, rule)
            return
        struck = yield from self._decode(flight)
        if struck is not None:
            yield from self._suffer(flight, struck)
            return
        self._end(flight)

    def _prefill(self, flight: Flight) -> Iterator[float]:
        life, request, speed = self._life, flight.request, self._life.world.speed
        cached = int(flight.names["HIT"])
        life.counters["queries"] += request.prompt
        life.counters["hits"] += cached
        if life.world.cache.enabled:
            life.cache.add(request.salt, request.ids)
        slow = flight.modified("slow")
        left = max(request.prompt - cached, 1)
        extra = (slow.seconds if slow else 0.0) / left
        if life.served <= speed.first_runs:
            yield speed.first_run_s
        while left > 0:
            chunk = min(left, speed.chunk)
            yield chunk * (1 / speed.prefill + extra)
            life.counters["steps"] += 1
            left -= chunk
        life.counters["prompt"] += request.prompt

    def _decode(self, flight: Flight) -> Generator[float, None, Rule | None]:
        """Generate. Returns the rule that struck on the way, if one did."""
        life, request, names = self._life, flight.request, flight.names
        drafts = accepted_drafts(life.world.draft, life.voice.mark(request)) if life.world.draft else None
        pace_s = life.pace_s(request)
        done, step = 0, 1  # the prefill itself gives the first token
        while done < request.output:
            flight.strayed = flight.strayed or (life.voice.strays(flight, drafted=step > 1) if done else 0)
            for _ in range(min(step, request.output - done)):
                names["O"], names["T"] = done + 1, request.prompt + done + 1
                if rule := life.rules.strikes("decode", names):
                    return rule
                self._emit_token(flight, done)
                done += 1
            if done < request.output:
                yield pace_s
                life.counters["steps"] += 1
                step = 1 + (life.verify(flight, next(drafts)) if drafts else 0)
        return None

    def _end(self, flight: Flight) -> None:
        request = flight.request
        self._life.counters["success"] += 1
        self._life.counters["generated"] += request.output
        flight.names["O"] = request.output
        self._emit({"id": request.id, "event": "end", "finish": request.finish, **_usage(flight)})
        if rule := self._life.rules.strikes("answer", flight.names):
            self._part(flight, self._follow(flight, rule))

    def _follow(self, flight: Flight, rule: Rule) -> Iterator[float]:
        yield PARTING_S
        yield from self._suffer(flight, rule)

    def _suffer(self, flight: Flight, rule: Rule) -> Iterator[float]:
        life = self._life
        match rule.symptom:
            case "death":
                self._die(rule)
            case "hang":
                yield LONG_S
            case "block" | "wedge":
                life.blocker = flight.request.id if rule.symptom == "block" else EVERYBODY
                yield LONG_S
            case "poison":
                life.poison = rule
                life.counters["poisoned"] = 1
                yield from self._fail(flight, rule, rule.message)
            case _:
                yield from self._fail(flight, rule, rule.message)

    def _fail(self, flight: Flight, rule: Rule, message: str) -> Iterator[float]:
        yield 0.0
        self._life.counters["errors"] += 1
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
        token, text = self._life.voice.word(flight, index)
        self._emit({"id": flight.request.id, "event": "token", "token": token, "text": text})


def _usage(flight: Flight) -> dict[str, int]:
    cut = flight.modified("truncate")
    prompt = min(flight.request.prompt, cut.keep) if cut else flight.request.prompt
    return {
        "prompt": prompt,
        "output": flight.request.output,
        "cached": int(flight.names["HIT"]),
        "draft_tokens": flight.draft_tokens,
        "accepted": flight.accepted,
    }
