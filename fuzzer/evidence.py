"""What was observed around one probe, and what does that come to? PURE: frozen dataclasses, no I/O, no clock.

Evidence is what `fuzzer.outcome` judges, a Verdict what it says. A plan sees neither, but the Observation they make.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from fuzzer.model import Baseline, Corroboration, Outcome, ProbeSpec
    from targets.base import Health, ProxySign, Refusal, Reply
    from targets.scrape import DraftCounts, Scrape


@dataclass(frozen=True, slots=True)
class Canary:
    """One canary: did a tiny generation come back whole? `fault` says how it failed, in a few words.

    `garble`: why a text of it is garbage by itself. It is `ok` all the same where that proves nothing: another prompt
    got text, or good answers look like that. `instead`: why it is not the engine that is asked who answered, or not
    the first time that it was.
    """

    ok: bool
    duration_s: float
    status: int | None = None
    fault: str = ""
    timed_out: bool = False
    busy: bool = False  # turned away for now: that proves a door, and no engine
    instead: str = ""
    cached: bool = False  # it was answered without the engine, by a cache
    let_down: bool = False  # who turned it away, or answered, may do so because the engine failed him
    wait_s: float | None = None  # when it is to be asked again, where that is named
    given_up_on: bool = False  # whoever is on the way did not wait for the engine any longer: that says nothing of it
    error: str = ""
    text: str = ""
    model: str = ""  # who answered, by the answer's own word
    garble: str = ""

    @property
    def garbled(self) -> bool:
        """True where the engine answers, but only with garbage: it lives, and is poisoned."""
        return bool(self.garble) and not self.ok

    @property
    def turned_away(self) -> bool:
        """True where it did not come to the engine: it neither sang nor failed."""
        return not self.ok and (self.busy or bool(self.instead))


@dataclass(frozen=True, slots=True)
class Fallen:
    """A companion that the engine failed: `who` it is, how in `words`, and the `reply` that told."""

    who: str
    words: str
    reply: Reply
    proxy: ProxySign | None = None

    def __str__(self) -> str:
        return f"{self.who}: {self.words}"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything observed around one probe, before anybody says what it means.

    `sent_tokens` is our count of the prompt, `offset` what the server is known to add to it (None: not learnt yet).
    `health_during` were polled while the request was open, `health_after` from its end to the end of the grace.
    Scrapes, each on a fresh connection: `before` the request left, `after` its end, `settled` at the very end of the
    window, after grace and canary. None where there was none to be had.
    """

    spec: ProbeSpec
    reply: Reply
    sent_tokens: int
    offset: int | None = None
    estimated: bool = False
    resent: bool = False  # the very prompt of a recorded probe, on purpose: a cache may know it
    refusal: Refusal | None = None
    overload_s: float | None = None
    proxy: ProxySign | None = None
    hung: bool = False  # our deadline passed without progress, or the hard stop came
    deadline_s: float = 0.0
    cancelled: bool = False  # somebody interrupted us
    health_during: tuple[Health, ...] = ()
    health_after: tuple[Health, ...] = ()
    before: Scrape | None = None
    after: Scrape | None = None
    settled: Scrape | None = None
    others_seen: bool = False  # an earlier probe of this run was contended
    peak_running: float = 0.0  # most requests in the batch that a poll saw while ours was open
    draft: DraftCounts | None = None  # of this request: from the reply, else counted between `before` and `after`
    canary: Canary | None = None
    drained: tuple[Canary, ...] = ()  # those before it that did not come to the engine, or were not waited for
    encore: Canary | None = None  # the other one, where it was sung twice
    ran_out: bool = False  # it would have been asked again, had the time of the run not been over
    baseline: Baseline | None = None
    limit: int | None = None
    longest_total: int = 0  # prompt + output tokens of the longest answer of this run that came whole
    clamped_total: int | None = None  # the least prompt + output at which this run took an answer for clamped
    refused_limit: int | None = None  # the least limit that a refusal of this run told
    streams_tell: bool = True  # False: not even the first stream of this run said how many tokens were read
    goes_on: bool = False  # the target was told to go on past the model's own end, and is of a kind that does
    replicas: bool = False  # more than one process behind the URL: metrics are no evidence
    in_turns: bool = False  # several may be behind the URL, and a gateway's names alone tell of them: that is allowed
    several: str = ""  # what showed in the middle of the run that these are there, where none were at its begin
    served_before: bool = False  # a canary sang, or the engine was seen to be back, right before this probe
    took_its_word: bool = False  # as much, or less, was taken for busy by a word alone, and none such has passed
    uncharged: bool = False  # the very same was: an engine that dies of it now may have died of it then
    companions: int = 0  # requests of our own that were in flight beside it
    companion_requests: int = 0  # how many these were in all, one after the other
    companion_faults: tuple[Fallen, ...] = ()  # those of them that the engine failed
    companions_turned_away: tuple[str, ...] = ()  # what those were told that it refused: they were not there
    companions_share: float = 1.0  # for how much of the time of its answer they were in flight, on average
    companions_at_end: int = 0  # how many of them were in flight when that ended
    away_s: float = 0.0  # how long we ourselves were not running while it was open: suspended, or stopped
    shortest: tuple[int, int] | None = None  # (sent, counted) of the shortest prompt of this run sent in this way
    short_counts: tuple[tuple[int, int], ...] = ()  # (sent, counted) of short prompts, where its own count looks odd
    recounts: tuple[Canary, ...] = ()  # the requests that told those
    unrecounted: bool = False  # its own count looks odd, and those prompts were longer than what might be sent
    slowest_canary_s: float | None = None  # of those after good answers of this run, where there were enough to tell
    slowest_pass_s: float | None = None  # of the good answers of this run
    predicted_s: float | None = None  # how long this prompt takes, going by what shorter ones took
    recent_cuts_s: tuple[float, ...] = ()  # when earlier ones of this run were cut, in seconds since their begin
    cut_lengths: tuple[int, ...] = ()  # the shortest and the longest prompt of those, tokens
    recent_losses_s: tuple[float, ...] = ()  # when earlier ones were lost that are called deaths, likewise
    lost_lengths: tuple[int, ...] = ()  # the shortest and the longest prompt of those, tokens
    died_for_sure: bool = False  # some death of this run was proven


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `fuzzer.outcome` makes of an Evidence. `deaths` counts engine deaths seen in the probe's own window."""

    outcome: Outcome
    reason: str
    corroboration: Corroboration | None = None
    clamped: bool = False
    contended: bool = False
    wedged: bool = False  # the engine does not serve, though its process was not seen to die
    deaths: int = 0
    blames: Literal["this", "previous", "nobody"] | None = None  # where a death belongs
    its_word: bool = False  # for `busy`: nothing but somebody's word says so, and it may hide a death
    retry_after_s: float | None = None
    next_step: str = ""  # for `infra`: the setting to change
    refuses_ids: bool = False  # for `infra`: token ids are not taken, whatever the length
    several: bool = False  # for `infra`: several engines answer, and nobody knows which one did
    unusable: bool = False  # for `infra`: the way itself is shut (auth, wrong model, TLS, DNS), whatever the length
