"""What can a plan be played against without a server? Worlds in memory: rules, lives, limits, a virtual clock."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from fuzzer.finding import Finding
from fuzzer.model import Outcome, ProbeSpec
from fuzzer.observation import Observation
from fuzzer.plans import Plan
from fuzzer.standing import Standing
from targets.scrape import DraftCounts

SURVIVABLE = {Outcome.ERROR, Outcome.TRUNCATED, Outcome.GARBLED, Outcome.HANG, Outcome.DEGRADED}


@dataclass(frozen=True)
class Request:
    """What a rule may look at: the request, and the life of the engine that serves it."""

    prompt: int
    output: int  # granted
    asked: int
    k: int
    ordinal: int  # requests of this life before this one
    failed_before: bool  # in this life
    draw: float  # uniform in [0, 1)
    hit: int = 0  # prompt tokens that the prefix cache has: of a warm prompt, as far as this life has read one

    @property
    def total(self) -> int:
        return self.prompt + self.output


Rule = Callable[[Request], Outcome | None]


@dataclass
class World:
    """A target. `style` is how the limit counts: clamp (vLLM 0.30+), sum (0.24), prompt (LM Studio).

    `counts`: what the server counts for so many tokens sent. `prompt_room`: a prompt that leaves less of the limit is
    refused, but where the limit is one of prompts alone.
    """

    rule: Rule = lambda _: None
    limit: int | None = None
    style: str = "clamp"
    over_limit: Outcome = Outcome.REJECTED
    says_limit: int | None = None
    k: int = 0
    revives: bool = True
    revival_s: float = 60.0
    seed: int = 0
    per_token_s: float = 1e-5
    shows_hits: bool = True
    stops: float = 0.0  # the share of answers that the model itself ends
    stops_within: int = 40  # output tokens
    counts: Callable[[int], int] = int
    is_judged: bool = True  # as the product does it: what is counted as less than before was cut
    prompt_room: int = 1
    log: list[Observation] = field(default_factory=list)
    _standing: Standing = field(default_factory=Standing)
    _lives: int = 0
    _ordinal: int = 0
    _failed: bool = False
    _now_s: float = 0.0
    _ended: bool = False  # by the model itself
    _warm: int = 0  # the longest warm prompt of this life

    def __post_init__(self) -> None:
        self._random, self._moods = random.Random(self.seed), random.Random(self.seed)

    @property
    def deaths(self) -> int:
        return self._lives

    def answer(self, spec: ProbeSpec) -> Observation:
        """One probe, as the driver would report it."""
        offset = self._standing.offset(spec.mode) or 0
        sent = max(1, spec.length - offset)
        prompt = self.counts(sent)
        hit = min(self._warm, prompt - 1) // 16 * 16 if spec.cache == "warm" else 0
        outcome, output = self._outcome(spec, prompt, hit)
        if self.is_judged and outcome in {Outcome.PASS, Outcome.DEGRADED} and prompt < sent + offset:
            outcome = Outcome.TRUNCATED
        died = outcome is Outcome.DEATH
        took = 1.0 + (prompt - hit) * self.per_token_s
        cost = took + (self.revival_s if died else 0.0)
        good = outcome in {Outcome.PASS, Outcome.DEGRADED}
        drafted = DraftCounts(2.0, 2.0 * self.k, 1.0) if self.k and outcome is Outcome.PASS else None
        observation = Observation(
            seq=len(self.log) + 1,
            spec=spec,
            outcome=outcome,
            length=prompt if good else sent + offset,
            length_source="usage" if good else "inferred",
            sent_tokens=sent,
            clamped=good and output < spec.output_tokens and not self._ended,
            completion_tokens=output if good else None,
            cached_tokens=hit if good and self.shows_hits else None,
            deaths=int(died),
            blames="this" if died else None,
            refusal_limit=self.says_limit if outcome is Outcome.REJECTED else None,
            started_s=self._now_s,
            ended_s=self._now_s + took,
            duration_s=took,
            cost_s=cost,
            revival_s=self.revival_s if died else None,
            revived=self.revives or not died,
            incarnation=self._lives,
            ordinal=self._ordinal,
            fresh=self._lives > 0 and self._ordinal == 0,
            canaries=1,
            draft=drafted,
        )
        self._now_s += cost
        self._ordinal += 1
        self._failed = self._failed or outcome in SURVIVABLE
        if spec.cache == "warm":
            self._warm = max(self._warm, prompt)
        if died:
            self._lives, self._ordinal, self._failed, self._warm = self._lives + 1, 0, False, 0
        self.log.append(observation)
        self._standing = self._standing.after(observation)
        return observation

    def _outcome(self, spec: ProbeSpec, prompt: int, hit: int) -> tuple[Outcome, int]:
        output = spec.output_tokens
        if self.limit is not None:
            longest = self.limit if self.style == "prompt" else self.limit - self.prompt_room
            if prompt > longest or (self.style == "sum" and prompt + output > self.limit):
                return (self.over_limit if prompt > self.limit else Outcome.REJECTED), 0
            if self.style == "clamp":
                output = min(output, self.limit - prompt)
        if spec.stop_after is not None:
            output = min(output, spec.stop_after)
        self._ended = spec.stop_after is None and self._moods.random() < self.stops
        if self._ended:
            output = self._moods.randint(1, min(output, self.stops_within))
        request = Request(
            prompt, output, spec.output_tokens, self.k, self._ordinal, self._failed, self._random.random(), hit
        )
        return self.rule(request) or Outcome.PASS, output


@dataclass(frozen=True)
class Played:
    """What came of a plan."""

    finding: Finding
    log: list[Observation]

    @property
    def deaths(self) -> int:
        return sum(seen.deaths for seen in self.log)

    def asked(self) -> list[tuple[int, int]]:
        return [(seen.spec.length, seen.spec.output_tokens) for seen in self.log]


def play(plan: Plan, answer: Callable[[ProbeSpec], Observation]) -> Played:
    """Drive a plan to its end."""
    log: list[Observation] = []
    try:
        spec = next(plan)
        while True:
            log.append(answer(spec))
            spec = plan.send(log[-1])
    except StopIteration as end:
        return Played(end.value, log)


def prompt_above(edge: int, outcome: Outcome = Outcome.DEATH) -> Rule:
    return lambda request: outcome if request.prompt > edge else None


def total_above(edge: int, outcome: Outcome = Outcome.DEATH) -> Rule:
    return lambda request: outcome if request.total > edge else None


def drafts_above(edge: int, outcome: Outcome = Outcome.DEATH) -> Rule:
    return lambda request: outcome if request.total + request.k > edge else None


def warm_above(edge: int, outcome: Outcome = Outcome.DEATH) -> Rule:
    """Dies of prompts that a prefix cache serves in part."""
    return lambda request: outcome if request.hit and request.prompt > edge else None


def cold_above(edge: int, outcome: Outcome = Outcome.DEATH) -> Rule:
    """Dies of prompts that no prefix cache serves."""
    return lambda request: outcome if not request.hit and request.prompt > edge else None


def asked_above(edge: int, outcome: Outcome = Outcome.DEATH) -> Rule:
    """Dies of the number of output tokens that was asked for, however few are taken."""
    return lambda request: outcome if request.asked > edge else None


def flaky_above(edge: int, rate: float, stray: float = 0.0, outcome: Outcome = Outcome.DEATH) -> Rule:
    return lambda request: outcome if request.draw < (rate if request.prompt > edge else stray) else None


def window(first: int, last: int, outcome: Outcome = Outcome.DEATH) -> Rule:
    return lambda request: outcome if first <= request.prompt <= last else None


def periodic(step: int, outcome: Outcome = Outcome.DEATH) -> Rule:
    return lambda request: outcome if request.prompt % step == 0 else None


def wears_out(after: int, outcome: Outcome = Outcome.DEATH) -> Rule:
    """The k-th request of a life kills, whatever its length."""
    return lambda request: outcome if request.ordinal + 1 >= after else None


def poisoned_by(rule: Rule, outcome: Outcome = Outcome.ERROR) -> Rule:
    """After the first failure of a life everything long fails too."""
    return lambda request: outcome if request.prompt > 64 and request.failed_before else rule(request)


def any_of(*rules: Rule) -> Rule:
    def rule(request: Request) -> Outcome | None:
        return next((outcome for each in rules if (outcome := each(request)) is not None), None)

    return rule
