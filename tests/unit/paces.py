"""What can a measurement be played against without a server? An engine in memory, with noise, drift and plants."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from itertools import count

from fuzzer.measure.speed import Measured, cells
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.speed import SpeedQuestion, speed
from targets.scrape import DraftCounts
from tests.unit.worlds import Played, play

QUESTION = SpeedQuestion(lengths=(8_000,), output_tokens=128)


@dataclass
class Pace:
    """An engine that decodes `tokens_per_s`, give or take `noise` (a share, one sigma).

    `first_runs` of a life take `first_run_s` longer to the first token, and three times as long after it.
    `neighbours`: the share of probes beside which somebody else is served, at half the speed. `slow_share` of the
    probes decode `slow_factor` times as slowly, and so does a `burst` of so many in a row, which begins among the first
    five figures. `drift`: by how much slower each probe is than the one before.
    `acceptance`: accepted tokens a draft; None without a drafter, and none from `dead_from` tokens on. `cached`: the
    share of cold probes that the cache serves all the same. `dies_at`: the probes, by number, that it dies at.
    """

    tokens_per_s: float = 100.0
    noise: float = 0.01
    prefill_s: float = 0.8
    first_runs: int = 0
    first_run_s: float = 14.0
    neighbours: float = 0.0
    slow_share: float = 0.0
    slow_factor: float = 2.0
    burst: int = 0
    drift: float = 0.0
    acceptance: float | None = None
    dead_from: int | None = None
    cached: float = 0.0
    dies_at: frozenset[int] = frozenset()
    seed: int = 0
    _life: int = 0
    _ordinal: int = 0
    log: list[Observation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        start = self._random.randint(4, 8) if self.burst else 0  # after a short prompt and two warm-ups
        self._burst = range(start, start + self.burst)

    def answer(self, spec: ProbeSpec) -> Observation:
        """One probe, as the driver would report it."""
        number, draw = len(self.log) + 1, self._random
        crowded, slow, hit = (draw.random() < share for share in (self.neighbours, self.slow_share, self.cached))
        rate = self.tokens_per_s * draw.lognormvariate(0, self.noise) / (1 + self.drift) ** number
        rate /= (2 if crowded else 1) * (self.slow_factor if slow or number in self._burst else 1)
        first = 0.01 if hit else self.prefill_s * draw.lognormvariate(0, self.noise)
        if self._ordinal < self.first_runs:
            first, rate = first + self.first_run_s, rate / 3
        dies = number in self.dies_at
        seen = Observation(
            seq=number,
            spec=spec,
            outcome=Outcome.DEATH if dies else Outcome.PASS,
            length=spec.length,
            length_source="usage",
            contended=crowded,
            deaths=int(dies),
            blames="this" if dies else None,
            completion_tokens=spec.output_tokens,
            cached_tokens=spec.length if hit else 0,
            duration_s=first + (spec.output_tokens - 1) / rate,
            ttft_s=first,
            incarnation=self._life,
            draft=self._drafted(spec),
        )
        self._ordinal += 1
        if dies:
            self._life, self._ordinal = self._life + 1, 0
        self.log.append(seen)
        return seen

    def _drafted(self, spec: ProbeSpec) -> DraftCounts | None:
        if self.acceptance is None:
            return None
        dead = self.dead_from is not None and spec.length >= self.dead_from
        drafts = round(spec.output_tokens / (1 + (0 if dead else self.acceptance)))
        return DraftCounts(drafts, 3.0 * drafts, 0 if dead else round(drafts * self.acceptance))


def measure(pace: Pace, question: SpeedQuestion = QUESTION) -> Played:
    """Drive the plan against this engine."""
    return play(speed(question), pace.answer)


def only_cell(pace: Pace, question: SpeedQuestion = QUESTION) -> Measured:
    """What the one cell of the question comes to."""
    (measured,) = cells(measure(pace, question).log, question.repeats).values()
    return measured


_numbers = count(1)


def taken(
    speed_: float, role: Role = Role.MEASURE, *, first_s: float = 0.5, length: int = 8_000, **more: object
) -> Observation:
    """One good probe that decodes 100 tokens at this speed after the first."""
    spec = ProbeSpec(length, 101, role, "a figure")
    seen = Observation(next(_numbers), spec, Outcome.PASS, length, "usage", completion_tokens=101, ttft_s=first_s)
    return replace(seen, duration_s=first_s + 100 / speed_, **more)  # type: ignore[arg-type]
