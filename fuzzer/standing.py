"""Where does a run stand after these observations? PURE: a fold that a resumed run repeats to the letter.

Everything that one probe needs to know of the earlier ones is here: what the server adds to a prompt, what a good
answer looks like, how long a pass takes, which life the engine is in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fuzzer.lastwords import same_bug
from fuzzer.model import WELL, Corroboration, Outcome, Role
from fuzzer.observation import Observation
from fuzzer.outcome.counting import Counts
from fuzzer.outcome.yardsticks import learnt, likest, sets_one, yardstick

if TYPE_CHECKING:
    from fuzzer.model import Baseline, ProbeSpec
    from fuzzer.outcome.yardsticks import Yardsticks
    from targets.base import Mode

SHORTEST_DEADLINE_S = 60.0
TIMES_PREDICTED = 10.0
CANARIES_THAT_TELL = 2  # of one alone nobody knows whether it was slow

BELIEVED = {Role.BASELINE, Role.LO}  # lengths that are believed to be good


@dataclass(frozen=True, slots=True)
class Standing:
    """The fold. `counts` are the server's counts of prompts, for each mode that a usage has told."""

    counts: tuple[tuple[Mode, Counts], ...] = ()
    baselines: Yardsticks = ()
    passes: tuple[tuple[int, float], ...] = ()  # (tokens in flight, seconds) of the slowest passes
    slowest_s_per_token: float | None = None  # of output, of answers that came whole and not as a stream
    canaries_s: tuple[float, ...] = ()  # of those that came whole after a good answer, the slowest ones
    cuts_s: tuple[float, ...] = ()  # of what a clock may have cut, the two shortest and the two longest times
    cut_lengths: tuple[int, ...] = ()  # the shortest and the longest prompt of those, tokens
    losses_s: tuple[float, ...] = ()  # of what was lost and is called a death, likewise
    lost_lengths: tuple[int, ...] = ()
    died_for_sure: bool = False  # some death was proven
    incarnation: int = 0
    ordinal: int = 0
    deaths: int = 0
    served: bool = False  # the engine worked when the last probe was done with
    over_s: float = 0.0  # when the last probe was over, the revival after it included
    last_seq: int = 0
    others_seen: bool = False  # some probe was contended
    longest_total: int = 0  # prompt + output tokens of the longest answer that came whole
    clamped_total: int | None = None  # the least prompt + output of an answer that was clamped
    refused_limit: int | None = None  # the least limit that a refusal told
    streams_tell: bool = True  # the first good answer was no stream that did not say how many tokens were read
    believed: int | None = None  # the least tokens in flight that were busy by a word alone; 0: such a word lied
    counted: bool = True  # so far the metrics counted each good answer: they speak of whom we ask
    bugs: tuple[str, ...] = ()  # signatures from the engine's own log, one for each bug

    @property
    def fresh(self) -> bool:
        """True where the next probe is the first real request of a life that began during this run."""
        return self.incarnation > 0 and self.ordinal == 0

    def offset(self, mode: Mode) -> int | None:
        """What the server adds to a prompt that is sent in this way (BOS, template), in tokens; None: not known yet."""
        counts = dict(self.counts).get(mode)
        return None if counts is None else counts.added

    def shortest(self, mode: Mode) -> tuple[int, int] | None:
        """The shortest prompt that was sent in this way and counted: tokens sent, and counted; None: not known yet."""
        counts = dict(self.counts).get(mode)
        return None if counts is None else counts.shortest

    def baseline(self, mode: Mode, content: str = "words") -> Baseline | None:
        """What a good answer to such a prompt looks like: to this content, else to another; None: not known yet."""
        key = likest(self.baselines, mode, content)
        return None if key is None else dict(self.baselines)[key]

    def yardstick(self, spec: ProbeSpec) -> Baseline | None:
        """What the answer to this probe is to look like. A short prompt of another content sets a yardstick itself."""
        return yardstick(self.baselines, spec)

    def canary_content(self, spec: ProbeSpec) -> str:
        """What a canary after this probe is made of: the same as those before it that its text is held against."""
        known = self.baselines
        key = None if sets_one(known, spec) else likest(known, spec.mode, spec.content)
        return spec.content if key is None else key[1]

    def after(self, seen: Observation) -> Standing:
        """The standing after one more observation."""
        new_life = seen.deaths > 0
        served = seen.outcome is not Outcome.ABANDONED
        return replace(
            self,
            counts=self._counts(seen),
            baselines=learnt(self.baselines, seen, is_believed=seen.spec.role in BELIEVED),
            passes=self._passes(seen),
            slowest_s_per_token=self._slowest_s_per_token(seen),
            canaries_s=self._canaries_s(seen),
            cuts_s=self.cuts_s if seen.cut_s is None else _extremes((*self.cuts_s, seen.cut_s)),
            cut_lengths=self.cut_lengths if seen.cut_s is None else _ends((*self.cut_lengths, seen.length)),
            losses_s=self.losses_s if seen.lost_s is None else _extremes((*self.losses_s, seen.lost_s)),
            lost_lengths=self.lost_lengths if seen.lost_s is None else _ends((*self.lost_lengths, seen.length)),
            died_for_sure=self.died_for_sure or seen.corroboration is Corroboration.PROVEN,
            incarnation=self.incarnation + new_life,
            ordinal=self.ordinal + served if not new_life else int(served and seen.blames == "nobody"),
            deaths=self.deaths + seen.deaths,
            served=_is_well_after(seen),
            over_s=max(self.over_s, seen.over_s),
            last_seq=max(self.last_seq, seen.seq),
            others_seen=self.others_seen or seen.contended,
            longest_total=max(self.longest_total, seen.total if _is_whole(seen) else 0),
            clamped_total=_least(self.clamped_total, seen.total if seen.clamped else None),
            refused_limit=_least(self.refused_limit, seen.refusal_limit),
            streams_tell=self.streams_tell and (bool(self.baselines) or not _is_silent_stream(seen)),
            believed=self._believed(seen),
            counted=self.counted and not seen.uncounted,
            bugs=(*self.bugs, seen.signature) if self._names_a_bug(seen) else self.bugs,
        )

    def took_its_word(self, spec: ProbeSpec) -> bool:
        """Were words of overload taken for true where as little was asked as now, and has as much not passed since?"""
        return self.believed is not None and in_flight(spec) >= self.believed

    def uncharged(self, spec: ProbeSpec) -> bool:
        """Were they for as much as is asked now, so that a death may have been let go?"""
        return self.believed == in_flight(spec)

    def is_another_bug(self, seen: Observation) -> bool:
        """True where the engine's log names something else for this death than for all before it."""
        return bool(self.bugs) and self._names_a_bug(seen)

    def _names_a_bug(self, seen: Observation) -> bool:
        told = seen.deaths > 0 and seen.signature_source == "log"
        return told and not any(same_bug(seen.signature, known) for known in self.bugs)

    def deadline_s(self, tokens: int, timeout_s: float, unseen: int = 0) -> float:
        """Seconds without progress that make a hang: min(timeout, max(60 s, 10 x the time predicted)).

        Predicted from the longest pass that is not longer, as if attention were quadratic, and for `unseen` output
        tokens, which do not stream, from the slowest of those: too long is only slow, too short would invent a hang.
        Without a pass to learn from it is the timeout.
        """
        predicted_s = self.predicted_s(tokens, unseen)
        if predicted_s is None:
            return timeout_s
        return min(timeout_s, max(SHORTEST_DEADLINE_S, TIMES_PREDICTED * predicted_s))

    def predicted_s(self, tokens: int, unseen: int = 0) -> float | None:
        """Seconds that so many tokens in flight take, predicted as above; None where no pass tells."""
        shorter = [(at, took) for at, took in self.passes if at <= tokens]
        if not shorter or (unseen and self.slowest_s_per_token is None):
            return None
        at, took = max(shorter)
        return max(took * (tokens / max(at, 1)) ** 2, unseen * (self.slowest_s_per_token or 0.0))

    @property
    def slowest_pass_s(self) -> float | None:
        """Seconds of the slowest good answer; None where there was none."""
        return max((took for _, took in self.passes), default=None)

    @property
    def slowest_canary_s(self) -> float | None:
        """Seconds of the slowest canary after a good answer; None where there were too few to tell what is slow."""
        return self.canaries_s[0] if len(self.canaries_s) == CANARIES_THAT_TELL else None

    def _canaries_s(self, seen: Observation) -> tuple[float, ...]:
        if seen.canary_s is None:
            return self.canaries_s
        return tuple(sorted((*self.canaries_s, seen.canary_s), reverse=True)[:CANARIES_THAT_TELL])

    def _slowest_s_per_token(self, seen: Observation) -> float | None:
        written = seen.completion_tokens or seen.spec.output_tokens
        if seen.outcome is not Outcome.PASS or not unseen_output(seen.spec) or not written:
            return self.slowest_s_per_token
        return max(self.slowest_s_per_token or 0.0, seen.duration_s / written)

    def _counts(self, seen: Observation) -> tuple[tuple[Mode, Counts], ...]:
        """Of short prompts and lo; of another only where none was counted yet."""
        known, mode, told = dict(self.counts), seen.spec.mode, Counts.of(seen.sent_tokens, seen.length)
        is_known = mode in known and seen.spec.role not in BELIEVED
        if is_known or seen.outcome is not Outcome.PASS or seen.length_source != "usage":
            return self.counts
        return tuple({**known, mode: known.get(mode, told).also(told)}.items())

    def _believed(self, seen: Observation) -> int | None:
        """The words are true where as much passes. Where the same dies twice they hid a death: no more are believed."""
        asked = in_flight(seen.spec)
        if seen.its_word:
            return _least(self.believed, asked)
        if self.uncharged(seen.spec) and seen.died_before:
            return 0
        passed = bool(self.believed) and seen.outcome in WELL and asked >= (self.believed or 0)
        return None if passed else self.believed

    def _passes(self, seen: Observation) -> tuple[tuple[int, float], ...]:
        whole = seen.outcome is Outcome.PASS and seen.spec.stop_after is None
        if not whole or _came_from_a_cache(seen):
            return self.passes
        tokens = seen.length + sum(seen.spec.companions)
        kept = tuple(known for known in self.passes if known[0] != tokens)
        slowest = max([seen.duration_s, *(took for at, took in self.passes if at == tokens)])
        return (*kept[-31:], (tokens, slowest))


def _is_well_after(seen: Observation) -> bool:
    """Busy is what an engine is that its canary, or its metrics, showed to live."""
    lives = seen.outcome.is_evidence or seen.outcome is Outcome.BUSY
    return (lives and not (seen.deaths or seen.wedged)) or seen.revival_s is not None


def _least(known: int | None, new: int | None) -> int | None:
    return min((value for value in (known, new) if value is not None), default=None)


def _is_whole(seen: Observation) -> bool:
    return seen.outcome is Outcome.PASS and seen.spec.stop_after is None and not seen.clamped


def _is_silent_stream(seen: Observation) -> bool:
    is_good = seen.outcome is Outcome.PASS and seen.spec.stop_after is None
    return is_good and seen.spec.stream and seen.length_source == "inferred"


def _extremes(times_s: tuple[float, ...]) -> tuple[float, ...]:
    """All are alike where these are."""
    ordered = sorted(times_s)
    return tuple(ordered if len(ordered) <= 4 else [*ordered[:2], *ordered[-2:]])


def _ends(lengths: tuple[int, ...]) -> tuple[int, ...]:
    return (min(lengths), max(lengths))


def in_flight(spec: ProbeSpec) -> int:
    """Prompt tokens that the engine has to read before this probe is answered: its own, and its companions'."""
    return spec.length + sum(spec.companions)


def unseen_output(spec: ProbeSpec) -> int:
    """Output tokens that come all at once: while they are written nothing shows that they are."""
    return 0 if spec.stream else spec.output_tokens


def _came_from_a_cache(seen: Observation) -> bool:
    """A warm prompt that was not read again tells nothing of how long a cold one takes."""
    if seen.spec.cache == "cold":
        return False
    return seen.cached_tokens is None or 2 * seen.cached_tokens > seen.length
