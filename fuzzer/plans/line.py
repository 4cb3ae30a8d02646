"""Between which lengths does the edge lie, by what was seen along the line of them? PURE.

The line: every length with as many output tokens as the search asks of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

from fuzzer.recommend import is_sound

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fuzzer.plans.question import BisectQuestion
    from fuzzer.plans.tally import Tally

    Points = list[tuple[int, Tally]]

CHANCES = 4


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where the edge lies: low <= edge < high. `high` is top + 1 while nothing is known to be bad.

    `low` is last_good, or ground that is taken as good where nothing passed yet. `noisy`: one length both passed and
    failed, or a longer prompt passed where a shorter one failed; then single passes are draws, and only lengths that
    passed often enough bound the edge from below. `strayed`: so it was, and passes outweigh each of those failures:
    they were strays, say nothing of longer prompts, and the edge is looked for as if they had not been.
    """

    low: int
    high: int
    last_good: int | None
    first_bad: int | None
    noisy: bool
    strayed: bool = False

    @property
    def contradicted(self) -> bool:
        """Did anything both pass and fail, explained or not?"""
        return self.noisy or self.strayed


@dataclass(frozen=True, slots=True)
class Line:
    """The points of the line, shortest first; lengths that fail below sound ones; and the edge over what is left."""

    points: Points
    islands: tuple[int, ...]
    bounds: Bounds

    @classmethod
    def drawn(cls, question: BisectQuestion, points: Iterable[tuple[int, Tally]], *, top_passed: bool) -> Line:
        """`top_passed`: did the top of the search pass, whatever its length was counted as?"""
        ordered = sorted(points, key=itemgetter(0))
        islands = _islands(question, ordered)
        rest = [(length, tally) for length, tally in ordered if length not in islands]
        full = question.output_tokens
        # Where the limit cuts the output, a longer prompt comes with less of it: its pass contradicts nothing.
        highest = max((at for at, tally in rest if tally.passes and question.output_at(at) == full), default=0)
        at_odds = [at for at, (length, tally) in enumerate(rest) if tally.is_bad and (tally.passes or length < highest)]
        if any(rest[at][1].refusals or not _vouched(question, rest[at:]) for at in at_odds):
            return cls(ordered, islands, _noisy(question, rest))
        strays = frozenset(rest[at][0] for at in at_odds)
        return cls(ordered, islands, _clear(question, rest, strays, top_passed=top_passed))

    def ground(self, question: BisectQuestion, *, early: bool) -> int | None:
        """The longest length up to last_good whose own passes bear a claim; on a noisy edge, those of longer ones too.

        Of a search that ends `early` a length's first pass counts for nothing there: the search went on to where it
        passed, so that this is luck's own choice, not a draw.
        """
        bounds, upto = self.bounds, self.bounds.last_good or 0
        rest = [(length, tally) for length, tally in self.points if length not in self.islands and length < bounds.high]
        if not bounds.noisy:
            return max((at for at, tally in rest if at <= upto and bears(question, tally, bounds)), default=None)
        passes = failures = 0
        for length, tally in reversed(rest):
            passes += max(0, len(tally.passes) - early)
            failures += len(tally.failures)
            if length <= upto and tally.passes and outweighs(question, passes, failures, noisy=True):
                return length
        return None


def outweighs(question: BisectQuestion, passes: int, failures: int, *, noisy: bool) -> bool:
    """Are these passes enough, for these failures, to be under the cap?"""
    confidence = confidence_in(question, noisy=noisy)
    return is_sound(passes, failures, confidence=confidence, tolerate=question.tolerate)


def bears(question: BisectQuestion, tally: Tally, bounds: Bounds) -> bool:
    """Did a length pass often enough, by itself, to be last_good between such bounds?"""
    return outweighs(question, len(tally.passes), len(tally.failures), noisy=bounds.contradicted)


def confidence_in(question: BisectQuestion, *, noisy: bool) -> float:
    """On a noisy edge several lengths get a chance to be lucky, so that each may have only a part of the risk."""
    risk = 1 - question.confidence
    return 1 - (risk / CHANCES if noisy else risk)


def _islands(question: BisectQuestion, line: Points) -> tuple[int, ...]:
    """Lengths that fail and never passed, although a longer prompt passed often enough to be sound.

    Twice, or once where an earlier run had it fail before.
    """
    failing = [
        length
        for length, tally in line
        if tally.failures and not tally.passes and len(tally.failures) + (length in question.known_bad) > 1
    ]
    if not failing:
        return ()
    full = question.output_tokens
    whole = [(length, tally) for length, tally in line if question.output_at(length) == full]
    top = max((point[0] for point in whole if _vouched(question, [point])), default=0)
    return tuple(length for length in failing if length < top)


def _clear(question: BisectQuestion, line: Points, strays: frozenset[int], *, top_passed: bool) -> Bounds:
    bad = [length for length, tally in line if tally.is_bad and length not in strays]
    if question.top_is_trusted and not top_passed:
        bad.append(question.top)
    first_bad = min(bad, default=None)
    high = question.top + 1 if first_bad is None else first_bad
    good = [length for length, tally in line if tally.passes and length < high]
    if question.trust_lo and question.start < high:
        good.append(question.start)
    last_good = max(good, default=None)
    return Bounds(last_good or 0, high, last_good, first_bad, noisy=False, strayed=bool(strays))


def _noisy(question: BisectQuestion, line: Points) -> Bounds:
    bad = [at for at, (_, tally) in enumerate(line) if tally.is_bad]
    unsound = (at for at in bad if line[at][1].refusals or not _vouched(question, line[at:]))
    stop = next(unsound, len(line))
    first_bad = line[stop][0] if stop < len(line) else None
    high = question.top + 1 if first_bad is None else first_bad
    sound = (line[at][0] for at in reversed(range(stop)) if _vouched(question, line[at:stop]))
    last_good = next(sound, None)
    if last_good is None and question.trust_lo and question.start < high:
        last_good = question.start
    below = [length for length in (question.baseline, question.start) if length < high]
    return Bounds(last_good or max(below, default=0), high, last_good, first_bad, noisy=True)


def _vouched(question: BisectQuestion, line: Points) -> bool:
    """Is the first length of this piece of the line sound, by itself or by the longer prompts after it?

    A longer prompt fails at no lower a rate, so its passes count for the shorter one, and so do its failures.
    """
    passes = failures = 0
    for _, tally in line:
        passes += len(tally.passes)
        failures += len(tally.failures)
        if outweighs(question, passes, failures, noisy=True):
            return True
    return False
