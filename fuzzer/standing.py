"""Where does a run stand after these observations? PURE: a fold that a resumed run repeats to the letter.

Everything that one probe needs to know of the earlier ones is here: what the server adds to a prompt, what a good
answer looks like, how long a pass takes, which life the engine is in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from fuzzer.model import Baseline, Observation, Outcome, Role

SHORTEST_DEADLINE_S = 60.0
TIMES_PREDICTED = 10.0


@dataclass(frozen=True, slots=True)
class Standing:
    """The fold. `offset` is what the server adds to our count, in tokens; None until a usage has told."""

    offset: int | None = None
    baseline: Baseline | None = None
    passes: tuple[tuple[int, float], ...] = ()  # (length, seconds) of the slowest pass at each new longest length
    cuts_s: tuple[float, ...] = ()
    incarnation: int = 0
    ordinal: int = 0
    deaths: int = 0
    active_s: float = 0.0
    last_seq: int = 0

    @property
    def fresh(self) -> bool:
        """True where the next probe is the first real request of a life that began during this run."""
        return self.incarnation > 0 and self.ordinal == 0

    def after(self, seen: Observation) -> Standing:
        """The standing after one more observation."""
        new_life = seen.deaths > 0
        served = seen.outcome is not Outcome.ABANDONED
        return replace(
            self,
            offset=self._offset(seen),
            baseline=self._baseline(seen),
            passes=self._passes(seen),
            cuts_s=self.cuts_s if seen.cut_s is None else (*self.cuts_s[-4:], seen.cut_s),
            incarnation=self.incarnation + new_life,
            ordinal=self.ordinal + served if not new_life else int(served and seen.blames == "nobody"),
            deaths=self.deaths + seen.deaths,
            active_s=max(self.active_s, seen.ended_s),
            last_seq=max(self.last_seq, seen.seq),
        )

    def deadline_s(self, length: int, timeout_s: float) -> float:
        """Seconds without progress that make a hang: min(timeout, max(60 s, 10 x the time predicted)).

        Predicted from the longest pass that is not longer, as if attention were quadratic: too long is only slow,
        too short would invent a hang. Without a pass to learn from it is the timeout.
        """
        shorter = [(at, took) for at, took in self.passes if at <= length]
        if not shorter:
            return timeout_s
        at, took = max(shorter)
        predicted = took * (length / max(at, 1)) ** 2
        return min(timeout_s, max(SHORTEST_DEADLINE_S, TIMES_PREDICTED * predicted))

    def _offset(self, seen: Observation) -> int | None:
        if seen.outcome is Outcome.PASS and seen.length_source == "usage":
            return seen.length - seen.sent_tokens
        return self.offset

    def _baseline(self, seen: Observation) -> Baseline | None:
        """Good answers only; the first one sets the yardstick, later ones can only make it more lenient."""
        if seen.outcome is not Outcome.PASS or seen.yardstick is None:
            return self.baseline
        mark = seen.yardstick
        if self.baseline is None:
            return mark if seen.spec.role is Role.BASELINE or seen.spec.role is Role.SINGLE else None
        return replace(
            self.baseline,
            repeats=self.baseline.repeats or mark.repeats,
            has_replacement=self.baseline.has_replacement or mark.has_replacement,
        )

    def _passes(self, seen: Observation) -> tuple[tuple[int, float], ...]:
        if seen.outcome is not Outcome.PASS or seen.spec.stop_after is not None:
            return self.passes
        kept = tuple(known for known in self.passes if known[0] != seen.length)
        slowest = max([seen.duration_s, *(took for at, took in self.passes if at == seen.length)])
        return (*kept[-31:], (seen.length, slowest))
