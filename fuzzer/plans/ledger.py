"""What do the observations of a run say, taken together? PURE.

The search walks one line of the triangle of (prompt, output): every length up to the top with the output tokens
that the question asks for, or with what the limit leaves of them. Evidence is kept by point, and the bracket is read
off the points on the line.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.model import ProbeSpec, Role, Side, side_of
from fuzzer.observation import Observation
from fuzzer.plans.ages import Life, live_on
from fuzzer.plans.clamps import disbelieved
from fuzzer.plans.doubt import Doubts
from fuzzer.plans.fresh import is_fresh
from fuzzer.plans.healing import shows_health
from fuzzer.plans.interruption import dies_of_canaries
from fuzzer.plans.line import Bounds, Line, bears, confidence_in, outweighs
from fuzzer.plans.offsets import Offsets
from fuzzer.plans.points import Points
from fuzzer.plans.prices import Prices
from fuzzer.plans.warmth import is_served, read_of
from fuzzer.recommend import passes_needed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fuzzer.plans.question import BisectQuestion
    from fuzzer.plans.tally import Tally


class Ledger:
    """The fold of a run's observations. Grows by `take` alone."""

    def __init__(
        self,
        question: BisectQuestion,
        facts: Iterable[Observation] = (),
        *,
        hint: tuple[int, ...] = (),
        whole: bool = True,
    ) -> None:
        """`hint`: lengths between which the edge seems to lie, by what is no evidence here.

        `whole`: a warm prompt passes only where the cache could serve all of it: to be read anew is another condition.
        """
        self.question = question
        self.hint = hint
        self.whole = whole
        self.seen: list[Observation] = []
        self.evidence: list[Observation] = []
        self.by_role: dict[Role, list[Observation]] = {}
        self.deaths = 0
        self.lives = [Life()]  # of the engine, first to last
        self.prices = Prices(question)
        self.longest = 0  # tokens of a warm prompt that this life of the engine has read
        self._unserved: set[int] = set()  # warm prompts, by `seq`, that the cache could not serve whole
        self._offsets = Offsets(question.mode)
        self._drafted: int | None = None
        self._doubts = Doubts(question)
        self.points = Points(self._offsets)
        self._line = self._drawn()
        for fact in facts:
            self.take(fact)

    def without(self, discarded: frozenset[int]) -> Ledger:
        """The same run, had these observations (by `seq`) said nothing."""
        kept = [seen for seen in self.seen if seen.seq not in discarded]
        return Ledger(self.question, kept, hint=self.hint, whole=self.whole)

    def take(self, seen: Observation) -> None:
        """Take one more observation, in the order in which they were made."""
        self.deaths += seen.toll
        fresh, is_check = is_fresh(seen, self.seen, self.question.fail_on), shows_health(self, seen)
        if not is_served(seen, self.longest):
            self._unserved.add(seen.seq)
        self.longest = 0 if seen.deaths or seen.wedged else max(self.longest, read_of(seen, self.question.fail_on))
        self.seen.append(seen)
        live_on(self.lives, seen)
        if not self.question.is_turned and self._offsets.take(seen):
            self._file_anew()
            self._line = self._drawn()
        if seen.died_before:
            self._doubt_previous(blamed=seen.blames == "previous")
        if self._is_evidence(seen) and not is_check:
            self.evidence.append(replace(seen, fresh=fresh, length=self._offsets.length_of(seen)))
            self._file(self.evidence[-1])
            self._doubt_clamps()
        self._line = self._drawn()

    def _is_evidence(self, seen: Observation) -> bool:
        """What met the end of a life that it did not end shows nothing."""
        is_its_own = self.question.owns(seen.spec) and seen.blames in {None, "this"}
        return is_its_own and seen.outcome.is_evidence and not dies_of_canaries(self.seen)

    @property
    def draft_tokens(self) -> int | None:
        """k: draft tokens per draft, from the counters of the first pass that drafted; else as told; else None."""
        return self.question.draft_tokens if self._drafted is None else self._drafted

    @property
    def over_s(self) -> float:
        """When the last probe was over: active seconds of the run."""
        return self.seen[-1].over_s if self.seen else 0.0

    def says_enough(self, seen: Observation) -> bool:
        """Is it more than a warm prompt that passed because it was read anew?"""
        return (
            not self.whole
            or self.could_be_served(seen)
            or side_of(seen.outcome, self.question.fail_on) is not Side.GOOD
        )

    def could_be_served(self, seen: Observation) -> bool:
        """Had this life of the engine read so much before that the cache could serve all of this prompt?"""
        return seen.seq not in self._unserved

    def at(self, length: int, output_tokens: int | None = None) -> Tally:
        """The evidence at a point, as counted or else as asked; on the line where no output tokens are given."""
        return self.points.at(length, self.question.output_at(length) if output_tokens is None else output_tokens)

    def at_place(self, length: int) -> Tally:
        """What a scan showed of a length, else what the search did."""
        return self.points.at_place(length) or self.at(length)

    def has_asked(self, length: int, output_tokens: int) -> bool:
        """Was this point asked, whatever was counted?"""
        return self.points.has_asked(length, output_tokens)

    def missed(self, length: int) -> bool:
        """Was this length asked on the line, and another one counted?"""
        return self.points.missed(length, self.question.output_at(length))

    def to_send(self, step: ProbeSpec) -> ProbeSpec:
        """The probe for a step of the plan: the server is to count the step's length."""
        return replace(step, length=self._offsets.to_ask(step.length))

    @property
    def shortest(self) -> int:
        """The shortest prompt, as the server counts it: one token, and what is added to that."""
        return self._offsets.shortest

    def covers(self, length: int, output_tokens: int, passes: int = 1) -> bool:
        """Did prompts pass, so often, that were as long, and that asked for as many output tokens?

        Not where what they cover was refused: the limit moves, and what passed above it then says nothing of it now.
        """
        passed = (
            len(tally.passes)
            for (at, output), tally in self.points.counted.items()
            if at >= length
            and output >= output_tokens
            and self._is_whole(tally)
            and not self.points.is_refused(at, output)
        )
        return sum(passed) >= passes

    @property
    def in_doubt(self) -> list[tuple[int, int]]:
        """The points of the answers that nobody's death came after once, shortest first."""
        return self._doubts.lone

    def verified(self) -> int | None:
        """last_good as far as it passed: not what was only trusted."""
        up_to = self.bounds.last_good or 0
        return max((length for length, tally in self.line() if tally.passes and length <= up_to), default=None)

    def line(self) -> list[tuple[int, Tally]]:
        """The points of the line, shortest first."""
        return self._line.points

    @property
    def bounds(self) -> Bounds:
        """Between which lengths the edge lies."""
        return self._line.bounds

    @property
    def islands(self) -> tuple[int, ...]:
        """Lengths that fail under longer ones that are sound."""
        return self._line.islands

    def ground(self, *, halted: bool) -> int | None:
        """The longest length up to last_good that passed often enough to carry a cap; None: none did.

        Deaths that are left to spend show a noisy search that was `halted` before it had repeated much. Where more were
        spent than there were, nothing may be sent again, and last_good stands as it is: unless a length up to it
        failed, be it among requests of others.
        """
        bounds, most = self.bounds, self.question.max_deaths
        good = None if bounds.noisy else bounds.last_good
        stands = self.deaths > most and not self._has_failed_up_to(good or 0)
        if good is not None and (stands or bears(self.question, self.at(good), bounds)):
            return good
        return self._line.ground(self.question, early=halted and self.deaths < most)

    def _has_failed_up_to(self, good: int) -> bool:
        return any(at <= good and tally.all_failures and not self.is_sound(tally) for at, tally in self.line())

    def is_sound(self, tally: Tally) -> bool:
        """Did it pass often enough, for all its failures, to be under the cap?"""
        return outweighs(self.question, len(tally.passes), len(tally.failures), noisy=self.bounds.noisy)

    def _is_whole(self, tally: Tally) -> bool:
        """Did it pass, with all the output that was asked for or waited for?"""
        whole = any(not seen.clamped or seen.spec.stop_after is not None for seen in tally.passes)
        return whole and (not tally.all_failures or self.is_sound(tally))

    @property
    def served(self) -> int:
        """How much of a prompt the prefix cache is expected to serve, tokens."""
        return self.bounds.low if self.question.cache == "warm" else 0

    def search_price(self, length: int) -> tuple[float, float]:
        """What it costs to settle a length as good, and as bad. A noisy edge takes repetitions for either."""
        good, bad = self.prices.of(max(1, length - self.served))
        if not self.bounds.noisy:
            return good, bad
        needed = passes_needed(confidence_in(self.question, noisy=True), self.question.tolerate)
        return needed * good, bad + good

    def _file(self, seen: Observation) -> None:
        self.prices.learn(seen)
        self.by_role.setdefault(seen.spec.role, []).append(seen)
        side = side_of(seen.outcome, self.question.fail_on)
        if not self.says_enough(seen):
            return
        self.points.add(seen, side)
        if side is Side.BAD and seen.spec.role is Role.LIMIT:
            self._file_on_the_line(seen.length, seen.spec.output_tokens)
        if side is Side.GOOD and seen.spec.role is not Role.SCAN:
            self._learn_draft_tokens(seen)

    def _file_on_the_line(self, length: int, output_tokens: int) -> None:
        """What failed twice beside the line, with less output than is asked for on it, fails on the line too."""
        failures = self.at(length, output_tokens).all_failures
        if len(failures) == 2 and output_tokens < (asked := self.question.output_at(length)):
            for seen in failures:
                self.points.add(replace(seen, spec=replace(seen.spec, output_tokens=asked)), Side.BAD)

    def _learn_draft_tokens(self, seen: Observation) -> None:
        per_draft = seen.draft.tokens_per_draft if seen.draft else None
        if self._drafted is None and per_draft:
            self._drafted = math.ceil(per_draft - 1e-9)

    def _doubt_previous(self, *, blamed: bool) -> None:
        """A death came to light after the probe before: its pass is worth nothing now."""
        answered = self._doubts.answered_before(self.seen)
        if answered is None:
            return
        if self.evidence and self.evidence[-1].seq == answered.seq:
            self.evidence.pop()
        answered = replace(answered, length=self._offsets.length_of(answered))
        if (left := self._doubts.doubted(answered, blamed=blamed)) is not None:
            self.evidence.append(left)
        self._file_anew()

    def _doubt_clamps(self) -> None:
        told = disbelieved(self.evidence) if self.question.limit is None else None
        if told is not None:
            self.evidence = told
            self._file_anew()

    def _file_anew(self) -> None:
        self.points, self.by_role, self.prices = Points(self._offsets), {}, Prices(self.question)
        self.evidence = [replace(seen, length=self._offsets.length_of(seen)) for seen in self.evidence]
        for seen in self.evidence:
            self._file(seen)

    def _drawn(self) -> Line:
        question = self.question
        points = [
            (at, tally)
            for (at, output), tally in self.points.counted.items()
            if at <= question.top and output == question.output_at(at)
        ]
        return Line.drawn(question, points, top_passed=bool(self.at(question.top).passes))
