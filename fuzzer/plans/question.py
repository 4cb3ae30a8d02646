"""What does a bisect want to know, and under which conditions? PURE, and JSON-able: it is stored with the run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from fuzzer.model import FAIL_ON_DEFAULT, Cache, Caching, Outcome, ProbeSpec, Role
from fuzzer.plans.terms import COMPANION_LENGTH, companions_of
from fuzzer.search import Suspect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fuzzer.plans.drafting import Drafts
    from targets.base import Mode

Strategy = Literal["auto", "halving"]
SearchAxis = Literal["prompt", "total", "output"]

BASELINE_LENGTH = 64
ENOUGH_TO_DRAFT = 16  # one output token is the prefill's own: nothing is drafted for it, and k stays unknown


@dataclass(frozen=True, kw_only=True)  # no slots: what follows from it is worked out once
class BisectQuestion:
    """Lengths are prompt tokens, as the server counts them; on the axis `output` they are output tokens, asked for
    after a prompt of `prompt_tokens`. `total` only says that the user thinks in sums: `lo` and `hi` are prompts all the
    same.

    `limit` is what the target advertises; `hi` may be left out where it is known. `trust_hi`: `hi` is known to fail.
    `reserved`: tokens of a limit that no prompt and output may fill.
    `known_good` is a last_good that an earlier run recorded for the same target: with `max_deaths` 0 nothing above it
    (or above `lo`) is sent; not where this engine drafts more than `known_good_drafts` tokens at once. `known_bad`:
    lengths that killed this very build in earlier runs, asked in the same way: no cap admits one that does not pass
    now. `draft_tokens` is k where the user tells it; the counters of the run come first.
    `attribute_axis`: once the edge stands, other outputs around it tell on which sum it lies.
    `cache`: mixed looks on a warm prefix first, and decides and confirms cold.
    `fuzzed`: conditions that samples up to `fuzzed_cap` tokens have varied for this build, and nothing failed while it
    drafted `fuzzed_drafts` tokens at once.
    `scan`: so many probes may go to places below the edge where engines like to fail; 0: none.
    `companions`: so many other requests of ours, of `companion_length` tokens, are in flight beside every probe.

    Raises ValueError where the lengths do not leave anything to ask.
    """

    lo: int
    hi: int | None = None
    limit: int | None = None
    largest_prompt_below_limit: int = 1
    reserved: int = 0
    resolution: int = 1
    output_tokens: int = 32
    trust_lo: bool = False
    trust_hi: bool = False
    suspects: tuple[Suspect, ...] = ()
    strategy: Strategy = "auto"
    confidence: float = 0.95
    tolerate: float = 0.3
    round_to: int = 16
    require: int | None = None
    max_deaths: int = 12
    max_time_s: float | None = None
    draft_tokens: int | None = None
    known_good: int | None = None
    known_good_drafts: Drafts = 0
    known_bad: tuple[int, ...] = ()
    attribute_axis: bool = True
    fail_on: frozenset[Outcome] = FAIL_ON_DEFAULT
    content: str = "words"
    mode: Mode = "ids"
    stream: bool = True
    cache: Caching = "cold"
    companions: int = 0
    companion_length: int = COMPANION_LENGTH
    scan: int = 0
    fuzzed: tuple[str, ...] = ()
    fuzzed_cap: int = 0
    fuzzed_drafts: Drafts = 0
    axis: SearchAxis = "prompt"
    prompt_tokens: int = 64

    def __post_init__(self) -> None:
        if self.hi is None and self.limit is None:
            raise ValueError("neither hi nor the limit is known: there is no upper end to search below")
        if self.lo < 1:
            raise ValueError(f"lo is {self.lo}, and a prompt has at least one token")
        if self.hi is not None and self.hi <= self.lo:
            raise ValueError(f"hi is {self.hi}, which is not above lo ({self.lo})")
        if self.axis == "output" and self.cache == "mixed":
            raise ValueError("the prefix cache keeps no output: a mixed search is one over prompts")
        if self.axis == "output" and self.limit is not None and self.limit - self.prompt_tokens <= self.lo:
            raise ValueError(f"the limit of {self.limit} leaves no output above lo ({self.lo}) beside the prompt")
        if self.top < 1:
            raise ValueError(f"the limit is {self.limit}: no prompt fits")

    @property
    def longest(self) -> int | None:
        """The longest prompt that the advertised limit admits."""
        return None if self.limit is None else self.limit - self.largest_prompt_below_limit

    @cached_property
    def top(self) -> int:
        """The highest length that the search may ask: hi, cut to what the limit admits."""
        return min(value for value in (self.hi, self.longest) if value is not None)

    @cached_property
    def start(self) -> int:
        """Where the search starts: lo, cut likewise."""
        return min(self.lo, self.top)

    @cached_property
    def baseline(self) -> int:
        """The length of the short prompt that comes first."""
        return max(1, min(BASELINE_LENGTH, self.start - 1))

    @property
    def top_is_trusted(self) -> bool:
        """Is the top known to fail? A hi that was cut is another length than the one that is known."""
        return self.trust_hi and self.top == self.hi

    @property
    def sent_cache(self) -> Cache:
        """How probes are sent that are evidence: where a warm search comes first, cold."""
        return "cold" if self.cache == "mixed" else self.cache

    @property
    def is_turned(self) -> bool:
        """Are lengths output tokens?"""
        return self.axis == "output"

    def owns(self, spec: ProbeSpec) -> bool:
        """Is what comes of this probe evidence on the line that the search walks? Another stage's is not, and of a
        turned search no corner is.
        """
        return spec.cache == self.sent_cache and not (self.is_turned and spec.role is Role.CORNER)

    def output_at(self, length: int) -> int:
        """The output tokens to ask for: what the limit leaves, so that no refusal of the sum masks an edge.

        The short prompt asks for enough to see the drafter draft.
        """
        wanted = self.output_tokens
        if length == self.baseline:
            wanted = max(wanted, ENOUGH_TO_DRAFT)
        return wanted if self.limit is None else max(1, min(wanted, self.limit - self.reserved - length))

    def spec(
        self, length: int, role: Role, reason: str, *, output_tokens: int | None = None, stop_after: int | None = None
    ) -> ProbeSpec:
        """A probe under the conditions of the question. Only a stream can be left early (`stop_after`)."""
        return ProbeSpec(
            length=length,
            output_tokens=self.output_at(length) if output_tokens is None else output_tokens,
            role=role,
            reason=reason,
            content=self.content,
            mode=self.mode,
            stream=self.stream or stop_after is not None,
            cache=self.sent_cache,
            stop_after=stop_after,
            companions=companions_of(role, self.companions, self.companion_length, self.limit),
        )

    def to_json(self) -> dict[str, Any]:
        """The question as plain JSON types."""
        plain = asdict(self)
        plain["fail_on"] = sorted(self.fail_on)
        plain["suspects"] = [list(suspect) for suspect in self.suspects]
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> BisectQuestion:
        """The question that `to_json` wrote; what it did not know yet takes its default."""
        known = {item.name for item in fields(cls)}
        values = {name: value for name, value in plain.items() if name in known}
        values["fail_on"] = frozenset(Outcome(name) for name in values.get("fail_on", FAIL_ON_DEFAULT))
        values["fuzzed"] = tuple(values.get("fuzzed", ()))
        known_bad = values.get("known_bad")  # also of runs that others recorded
        listed = known_bad if isinstance(known_bad, list | tuple) else ()
        values["known_bad"] = tuple(at for at in listed if isinstance(at, int))
        values["suspects"] = tuple(Suspect(*suspect) for suspect in values.get("suspects", ()))
        return cls(**values)
