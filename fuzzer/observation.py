"""What does the store give back of one probe, and what follows from it alone? PURE.

Lengths are prompt tokens as the server counts them; `*_s` are seconds, and points in time are active seconds of the
run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from fuzzer.model import WELL, Corroboration, Outcome

if TYPE_CHECKING:
    from fuzzer.model import Baseline, ProbeSpec
    from targets.scrape import DraftCounts

LengthSource = Literal["usage", "inferred"]
SignatureSource = Literal["client", "log"]


@dataclass(frozen=True, slots=True)
class Generated:
    """What was generated, as far as it is kept: to be compared with another answer to the same prompt.

    `text` are its first 1,024 characters of `text_chars`; `token_ids` at most the first 256, empty where the server
    does not tell them. The prompt itself is not kept: `prompt_sha256` tells whether two were the same.
    """

    prompt_sha256: str
    text: str
    text_chars: int
    token_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """One probe as the store gives it back: all that a plan ever sees of the world.

    `length` is the server's own count (`usage`), or sent + offset (`inferred`). `incarnation` counts the engine's lives
    in this run, from 0; `ordinal` is how many real probes this life had answered before (0 in a life that we saw begin:
    the first real request to a freshly revived engine). `cost_s` is everything the probe took: itself, its grace,
    canary and revival. `revived` is False where the engine did not come back within `--revival-timeout`; `relapses` are
    those of its `deaths` that the engine died while it was waited for.
    """

    seq: int
    spec: ProbeSpec
    outcome: Outcome
    length: int
    length_source: LengthSource
    reason: str = ""
    corroboration: Corroboration | None = None
    clamped: bool = False
    contended: bool = False
    wedged: bool = False
    would_tell: bool = False  # of a hang: were another process there after it, the metrics would tell, and it a death
    deaths: int = 0
    relapses: int = 0
    blames: Literal["this", "previous", "nobody"] | None = None
    sent_tokens: int = 0
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    refusal_limit: int | None = None
    started_s: float = 0.0
    ended_s: float = 0.0
    duration_s: float = 0.0
    ttft_s: float | None = None
    cost_s: float = 0.0
    revival_s: float | None = None
    revived: bool = True
    incarnation: int = 0
    ordinal: int = 0
    fresh: bool = False  # ordinal 0 in a life that began during this run
    canaries: int = 0
    draft: DraftCounts | None = None
    retry_after_s: float | None = None
    its_word: bool = False  # it was busy by the words of its answer alone
    next_step: str = ""
    unusable: bool = False
    refuses_ids: bool = False  # token ids are not taken, whatever the length: text may be
    several: bool = False  # several engines answer, and nobody knows which one did
    signature: str = ""  # the engine's own words at a death: the error message, or a log line
    signature_source: SignatureSource = "client"  # log: a line of the engine's own
    cut_s: float | None = None  # when it was cut, or failed in no engine's words, in seconds since it was begun
    lost_s: float | None = None  # when it was lost, or said to be, by what is called a death of it; likewise
    yardstick: Baseline | None = None  # what this answer looks like, where it is a pass
    resumed_after: bool = False  # a session ended with this probe, and a later one went on
    uncounted: bool = False  # answered, and whoever tells the metrics did not count it
    canary_s: float | None = None  # how long the canary after it took that came whole, where it was answered well
    generated: Generated | None = None  # of a probe that is compared, where its answer came whole

    @property
    def toll(self) -> int:
        """What it takes of `--max-deaths`: its deaths; a wedged engine counts as one, for only a restart ends that."""
        return max(self.deaths - self.relapses, int(self.wedged)) + self.relapses

    @property
    def died_before(self) -> bool:
        """Did a death come to light with it that was over before it began? Beside one of its own that is one more."""
        if self.blames == "this":
            return self.deaths - self.relapses > 1
        return self.blames is not None

    @property
    def ended_a_life(self) -> bool:
        """Did the engine die of it, or serve nobody after it?"""
        return self.outcome is Outcome.DEATH or self.wedged

    @property
    def ends_late(self) -> bool:
        """Is the end of its engine, where it is seen while that is waited for, its own death? A hang has no other end.

        What was answered, in error or poisoned, has shown what it was; whoever ends such an engine may be an operator.
        """
        return self.wedged and self.outcome is Outcome.HANG

    @property
    def outlived(self) -> bool:
        """Did the engine hang at it, and serve on in the same life? What it keeps of that may make others hang.

        Where nobody would tell that it is another life, one that was wedged is taken for that.
        """
        if self.outcome is not Outcome.HANG or self.deaths or not self.wedged:
            return self.outcome is Outcome.HANG and not self.deaths
        return self.would_tell and self.revived and self.revival_s is not None

    @property
    def sang(self) -> bool:
        """Did a canary come back whole after it, be it of an engine that had to revive first?"""
        if self.deaths or self.wedged or self.outcome is Outcome.ABANDONED:
            return self.revived and self.revival_s is not None
        return self.outcome.is_evidence

    @property
    def may_be_of_canaries(self) -> bool:
        """Was it answered, then lost to its canary, and two lives after it to theirs, and to nothing else?

        Where no canary of the run ever sang, it is canaries that kill, and this death says nothing of its length.
        """
        answered = self.outcome is Outcome.DEATH and self.completion_tokens is not None
        return answered and self.relapses >= 2 and self.canaries == 1 + self.relapses

    def relapsed(self, relapses: int) -> Observation:
        """The same with so many relapses in all."""
        return replace(self, deaths=self.deaths - self.relapses + relapses, relapses=relapses)

    def ended_by(self, why: str) -> Observation:
        """The same of an engine that hung, and whose end was seen while it was waited for: it is a death of this one.

        A wedge was paid for already.
        """
        told = f"{self.reason}; then {why}"
        proven = Corroboration.PROVEN
        return replace(
            self, outcome=Outcome.DEATH, reason=told, corroboration=proven, deaths=self.deaths + 1, blames="this"
        )

    @property
    def over_s(self) -> float:
        """When it was over, the revival after it included."""
        return max(self.ended_s, self.started_s + self.cost_s)

    @property
    def decoded(self) -> int:
        """Output tokens that it is evidence for: all that were asked, or what a clamp or the model's own end left."""
        asked, given = self.spec.output_tokens, self.completion_tokens
        is_all = given is None or self.outcome not in WELL or self.spec.stop_after is not None
        return asked if is_all or given is None else min(asked, given)

    @property
    def is_whole(self) -> bool:
        """Did all the output come that was asked, or that was waited for? True of what did not answer well."""
        return self.decoded >= self.spec.output_tokens

    @property
    def total(self) -> int:
        """Prompt + output tokens that the probe is evidence for."""
        return self.length + self.decoded
