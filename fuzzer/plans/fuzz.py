"""What else fails under the cap? PURE: a plan that samples what the cap admits, and shrinks what it finds."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from fuzzer.finding import Finding, FindingKind, Halt, Reproducer
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.answers import Answers, lone_words
from fuzzer.plans.conditions import CONDITIONS, needed
from fuzzer.plans.doubt import died_between
from fuzzer.plans.hunt import Ended, Hunt, fell_for_company
from fuzzer.plans.samples import Grounds, samples
from fuzzer.plans.shrink import Shrink
from fuzzer.plans.terms import SHORT
from fuzzer.plans.trials import by
from fuzzer.search.places import Place

if TYPE_CHECKING:
    from fuzzer.plans import Plan

NOT_VARIED = "not varied: "
ASSUMED_PASS_S = 5.0  # until one was timed
MOST_SAMPLES = 1_000_000  # a stream that is explained away for so long has nothing left to show


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzQuestion(Grounds):
    """How long to look for failures: `budget_s` active seconds, `most_samples` probes, whichever comes first.

    `shrink_deaths`: how many deaths may be spent on each failure once it was met; 0 leaves it as it was met.
    `keep_going`: past the first failure. Raises ValueError where nothing bounds it.
    """

    budget_s: float | None = None
    most_samples: int | None = None
    shrink_deaths: int = 10
    keep_going: bool = False

    def __post_init__(self) -> None:
        Grounds.__post_init__(self)
        if self.budget_s is None and self.most_samples is None:
            raise ValueError("nothing bounds the search: give a budget of time or of samples")

    @property
    def most_deaths(self) -> int:
        return self.max_deaths

    @property
    def most_probes(self) -> int:
        return self.most_samples or math.ceil((self.budget_s or 0) / ASSUMED_PASS_S)

    def openings(self) -> list[ProbeSpec]:
        """Short prompts in every way that samples are sent: what a good answer looks like."""
        ways = dict.fromkeys(
            [*((mode, self.content) for mode in self.modes), *((self.mode, one) for one in self.contents)]
        )
        reason = "what a short prompt shows"
        return [self.spec(SHORT, Role.BASELINE, reason, mode=mode, content=content) for mode, content in ways]


def fuzz(question: FuzzQuestion, facts: Iterable[Observation] = ()) -> Plan:
    """A plan that samples until the budget is spent, or until something fails and is as small as it gets."""
    hunt = Hunt(question, Answers(facts, question.fail_on))
    found: list[Reproducer] = []
    try:
        yield from _openings(hunt)
        yield from _samples(hunt, found)
    except Ended as end:
        return _finding(hunt, _standing(hunt, found), end)
    return _finding(hunt, found, None)


def explains(found: Reproducer, spec: ProbeSpec, grounds: Grounds) -> bool:
    """Would the sample meet what was found already? It has all that the reproducer needs, and is as long.

    An island is met at its own length alone. What needs its output may lie on the sum, so the sum is what counts.
    """
    smallest = found.spec
    alike = all(
        condition.value(spec) == condition.value(smallest)
        for condition in needed(smallest, grounds)
        if condition.name not in {"companions", "output"}
    )
    if not alike or len(spec.companions) < len(smallest.companions):
        return False
    if found.shorter_passes and found.longer_passes:
        return spec.length == smallest.length
    if smallest.output_tokens > 1 and found.shorter_passes:
        return spec.length + spec.output_tokens >= smallest.length + smallest.output_tokens
    length = smallest.length if smallest.length > SHORT else 1
    return spec.length >= length and spec.output_tokens >= smallest.output_tokens


def _openings(hunt: Hunt) -> Generator[ProbeSpec, Observation, None]:
    """A failure says nothing where even short prompts fail, and again; what cannot be sent here is left out."""
    for spec in hunt.question.openings():
        seen = hunt.answers.to(spec) or (yield from hunt.ask(spec))
        if hunt.is_bad(seen):
            seen = yield from hunt.ask(spec)
        if hunt.is_bad(seen):
            reason = f"even {SHORT} tokens ({spec.mode}, {spec.content}) do not pass: {seen.outcome}: {seen.reason}"
            raise Ended(Halt.NOT_LENGTH, reason)


def _samples(hunt: Hunt, found: list[Reproducer]) -> Generator[ProbeSpec, Observation, None]:
    question = hunt.question
    sent = sum(seen.spec.role is Role.FUZZ for seen in hunt.answers.evidence)  # by an older version: taken as they are
    for tried, spec in enumerate(islice(samples(question), sent, None)):
        if tried >= MOST_SAMPLES or _is_over(hunt, sent):
            return
        if any(explains(one, sent_too, question) for one in found for sent_too in _all_sent(spec, question)):
            continue
        sent += 1
        seen = yield from hunt.ask(spec)
        if seen.deaths and fell_for_company(seen):
            seen = yield from hunt.ask(question.sample(Place(seen.spec.companions[0], "a companion died of it")))
        late = hunt.take_late() if hunt.is_bad(seen) else (yield from _late(hunt))
        if late is not None or hunt.is_bad(seen):
            yield from _shrink(hunt, late or seen, found, late=late is not None)
            hunt.take_late()
        if found and not question.keep_going:
            return


def _late(hunt: Hunt) -> Generator[ProbeSpec, Observation, Observation | None]:
    """The failure that came to light with the last sample: that of the probe before it.

    Where it may be nobody's death, that probe is asked once more, and a short one shows what became of it. Where it
    is well now, and such deaths come again, it may be by what came before it that it fails.
    """
    doubted, late = hunt.doubted, hunt.take_late()
    if late is not None or doubted is None:
        return late
    again = yield from hunt.ask(doubted.spec)
    if hunt.is_bad(again):
        return again
    short = yield from hunt.ask(hunt.question.spec(SHORT, Role.SHRINK, "did the engine live through the one before?"))
    if (late := hunt.take_late()) is not None or hunt.is_bad(short):
        return late or by(again, short)
    return doubted if died_between(hunt.answers.seen) else None


def _all_sent(spec: ProbeSpec, grounds: Grounds) -> list[ProbeSpec]:
    """The sample, and each of its companions as if it were one: they are cold, streamed and greedy."""
    ways = {"mode": spec.mode, "content": spec.content, "stream": True, "cache": "cold", "companions": ()}
    room = {length: grounds.cap - length for length in spec.companions}
    return [spec, *(grounds.spec(at, Role.FUZZ, "", **{**ways, "output_tokens": left}) for at, left in room.items())]


def _is_over(hunt: Hunt, sent: int) -> bool:
    """Is the budget spent?"""
    question, seen = hunt.question, hunt.answers.seen
    if question.most_samples is not None and sent >= question.most_samples:
        return True
    return question.budget_s is not None and bool(seen) and seen[-1].over_s >= question.budget_s


def _shrink(
    hunt: Hunt, met: Observation, found: list[Reproducer], *, late: bool
) -> Generator[ProbeSpec, Observation, None]:
    """The failure with as little as it takes, as far as the deaths that are left of the run allow.

    What may have been nobody's death, or chance, is a failure only where it came again.
    """
    most_deaths = min(hunt.question.shrink_deaths, hunt.question.max_deaths - hunt.deaths)
    shrink = Shrink(hunt, met, tuple(hunt.past), most_deaths, late)
    shown_by = [one for one in hunt.answers.evidence if one.seq == met.seq or (late and one.seq > met.seq)]
    is_sure = any(hunt.is_bad(one) for one in shown_by)  # what dies with the short prompt after it is not nobody's
    try:
        made = yield from shrink.run()
    except Ended as end:
        found += _came(shrink.made(end.why), is_sure=is_sure, late=late)
        raise
    found += _came(made, is_sure=is_sure, late=late)


def _came(made: Reproducer, *, is_sure: bool, late: bool) -> list[Reproducer]:
    """What may be chance is a failure but where it was asked again and did not come."""
    never_asked = made.asked == 1 and not late
    return [made] if is_sure or never_asked or made.failed > 1 or made.every is not None else []


def _standing(hunt: Hunt, found: list[Reproducer]) -> list[Reproducer]:
    """What is left of the failures where the last line turns out to be cut by a proxy's clock: it cut others too."""
    cut = {seen.seq for seen in hunt.answers.seen if seen.cut_s is not None}
    last = hunt.answers.seen[-1] if hunt.answers.seen else None
    by_a_clock = last is not None and last.outcome is Outcome.INFRA and last.seq in cut
    return [one for one in found if one.seq not in cut] if by_a_clock else found


def _finding(hunt: Hunt, found: list[Reproducer], end: Ended | None) -> Finding:
    """The kind is that of the failure at the shortest prompt. A fuzz recommends no cap: it only casts doubt on one."""
    question = hunt.question
    sampled = [seen for seen in hunt.answers.evidence if seen.spec.role is Role.FUZZ]
    refused = [seen for seen in sampled if seen.outcome is Outcome.REJECTED]
    passed = sum(not hunt.is_bad(seen) for seen in sampled) - len(refused)
    lowest = min(found, key=lambda one: one.spec.length, default=None)
    reason = f"{passed} of {len(sampled)} samples under a cap of {question.cap} passed"
    if lowest is None:
        kept = [seen for seen in refused if seen.length + seen.spec.output_tokens <= question.cap - question.block]
        kind = FindingKind.INCONCLUSIVE if end is not None or kept else FindingKind.NONE
        if kept:
            least = min(seen.length + seen.spec.output_tokens for seen in kept)
            reason += f"; {len(refused)} were refused, from {least} tokens in all on: fuzz under a cap that is admitted"
        if (died := hunt.answers.died_in_doubt()) is not None:
            kind, reason = FindingKind.INCONCLUSIVE, f"{reason}; but {died}"
    else:
        kind = FindingKind.NOT_LENGTH if lowest.every is not None else FindingKind(lowest.outcome.value)
        reason = f"{lowest.outcome} at {lowest.spec.length} + {lowest.spec.output_tokens} tokens; {reason}"
    if end is not None:
        reason = f"{end.why}; {reason}"
        kind = FindingKind.NOT_LENGTH if end.halt is Halt.NOT_LENGTH else kind
    return Finding(
        kind,
        reason,
        first_bad=lowest.spec.length if lowest is not None and lowest.every is None else None,
        islands=tuple((one.spec.length, one.spec.length) for one in found if one.shorter_passes and one.longer_passes),
        assumes=(*_not_tried(question, sampled), *_once(hunt, found)),
        halt=None if end is None else end.halt,
        reproducers=tuple(found),
    )


def _once(hunt: Hunt, found: list[Reproducer]) -> list[str]:
    """The samples that failed by what may have been chance, and did not fail again."""
    told, answers = {one.met for one in found}, hunt.answers
    samples = [seen for seen in answers.seen if seen.spec.role is Role.FUZZ and seen.seq not in told]
    return [f"{lone_words(seen)}, and not again" for seen in samples if answers.lone(seen.spec) is seen]


def _not_tried(question: FuzzQuestion, sampled: list[Observation]) -> tuple[str, ...]:
    """The conditions that no sample varied."""
    same = [
        condition.name
        for condition in CONDITIONS
        if not any(condition.plain(seen.spec, question) != seen.spec for seen in sampled)
    ]
    return (f"{NOT_VARIED}{', '.join(same)}",) if same else ()
