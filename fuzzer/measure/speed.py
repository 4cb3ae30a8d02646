"""How fast does one cell decode, and which probes may say so? PURE: a fold of the observations of one cell.

A cell is a length, a content, how many requests are in flight, and whether the cache may serve the prompt. A figure is
taken from a probe only if the engine was warm, nobody else was there, and the prompt was read as the cell says.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from fuzzer.measure.firstrun import MOST_WARM_UPS, warm_since
from fuzzer.measure.reading import Mark, Reading, reading_of
from fuzzer.measure.scatter import Spread, mean, scatter, spread, wanted
from fuzzer.model import Cache, Outcome, Role
from fuzzer.observation import Observation
from targets.scrape import DraftCounts

if TYPE_CHECKING:
    from fuzzer.measure.modes import Modes
    from fuzzer.model import ProbeSpec

FEWEST_DRAFTS: Final = 20  # of which none was accepted: a drafter of which one in seven is shows it 19 times in 20
GOOD: Final = frozenset({Outcome.PASS, Outcome.DEGRADED})


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """Which probes are alike. `concurrency` counts the requests in flight, the probe's own among them."""

    length: int
    content: str
    concurrency: int
    cache: Cache

    @classmethod
    def of(cls, spec: ProbeSpec) -> Cell:
        return cls(spec.length, spec.content, 1 + len(spec.companions), spec.cache)


@dataclass(frozen=True)
class Measured:
    """What the probes of one cell come to. `warm_ups` are the seconds that each of them took, of all lives."""

    readings: tuple[Reading, ...]
    warm_ups: tuple[float, ...]
    warm: frozenset[int]  # the engine's lives that have warmed up
    tried: Mapping[int, int]  # warm-ups by life
    repeats: int

    @cached_property
    def figures(self) -> tuple[Reading, ...]:
        """Those that count: provisional ones where there are no others; not the first ones if only they are odd."""
        return self._counted[self.repeats :] if self.spread[0] is Spread.SETTLED else self._counted

    @cached_property
    def spread(self) -> tuple[Spread, Modes | None]:
        return spread([one.speed for one in self._counted], self.repeats)

    @cached_property
    def _counted(self) -> tuple[Reading, ...]:
        clean = tuple(one for one in self.readings if one.mark is None)
        return clean or tuple(one for one in self.readings if one.mark is Mark.PROVISIONAL)

    @property
    def speeds(self) -> list[float]:
        return [one.speed for one in self.figures]

    @property
    def by_turn(self) -> dict[int, float]:
        """The figures by the turn in which they were taken: what stood next to what in another arm."""
        return {one.turn: one.speed for one in self.figures}

    @property
    def speed(self) -> float | None:
        """Tokens a second: the geometric mean."""
        return mean(self.speeds)

    @property
    def first_token_s(self) -> float | None:
        return mean([max(one.first_token_s, 1e-6) for one in self.figures])

    @property
    def scatter(self) -> float | None:
        return scatter(self.speeds)

    @property
    def provisional(self) -> bool:
        return any(one.mark is Mark.PROVISIONAL for one in self.figures)

    @property
    def reliable(self) -> bool:
        """True where there is a figure that the first-run effect is not in."""
        return bool(self.figures) and not self.provisional

    @property
    def left_out(self) -> Counter[Mark]:
        """How many probes gave no figure that counts, by why."""
        return Counter(one.mark for one in self.readings if one.mark is not None and one not in self.figures)

    @property
    def draft(self) -> DraftCounts | None:
        """What was drafted while the figures were taken."""
        counted = [one.draft for one in self.figures if one.draft is not None]
        if not counted:
            return None
        return DraftCounts(
            sum(one.drafts for one in counted),
            sum(one.draft_tokens for one in counted),
            sum(one.accepted_tokens for one in counted),
        )

    def wants_warm_up(self, life: int) -> bool:
        """True as long as the first-run effect may still be there, and another try may show that it is gone."""
        return life not in self.warm and self.tried.get(life, 0) < MOST_WARM_UPS

    @property
    def wants_more(self) -> bool:
        """True while figures are missing, and not as many again were spent on probes that gave none."""
        most = wanted([one.speed for one in self._counted], self.repeats)
        return len(self._counted) < most and len(self.readings) < 2 * most


def measured(seen: Iterable[Observation], repeats: int) -> Measured:
    """The fold of one cell's observations, in their order."""
    good = [one for one in seen if one.outcome in GOOD and one.spec.role in {Role.WARM_UP, Role.MEASURE}]
    lives: dict[int, list[Observation]] = defaultdict(list)
    for one in good:
        lives[one.incarnation].append(one)
    since = {life: warm_since(probes) for life, probes in lives.items()}
    measuring = [one for one in good if one.spec.role is Role.MEASURE]
    return Measured(
        tuple(reading_of(one, turn, warm_since=since[one.incarnation]) for turn, one in enumerate(measuring)),
        tuple(one.duration_s for one in good if one.spec.role is Role.WARM_UP),
        frozenset(life for life, seq in since.items() if seq is not None),
        Counter(one.incarnation for one in good if one.spec.role is Role.WARM_UP),
        repeats,
    )


def cells(seen: Iterable[Observation], repeats: int) -> dict[Cell, Measured]:
    """Each cell that was begun, in the order in which they were."""
    grouped: dict[Cell, list[Observation]] = defaultdict(list)
    for one in seen:
        if one.spec.role in {Role.WARM_UP, Role.MEASURE}:
            grouped[Cell.of(one.spec)].append(one)
    return {cell: measured(group, repeats) for cell, group in grouped.items()}


def dead_drafter(cell: Measured, short: DraftCounts | None) -> str | None:
    """That the drafter is dead in this cell, in words; `short` is what a short prompt of its content had drafted."""
    drafted = cell.draft
    if drafted is not None and drafted.drafts >= FEWEST_DRAFTS and drafted.accepted_tokens == 0:
        return f"the drafter is dead in this cell: 0 of {drafted.drafts:.0f} drafts accepted"
    silent = drafted is None or drafted.drafts == 0
    if cell.figures and silent and short is not None and short.drafts > 0:
        return f"the drafter is dead in this cell: no drafts at all, and {short.drafts:.0f} in a short prompt"
    return None
