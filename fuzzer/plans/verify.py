"""Does a cap hold: is it in force, does all that it admits pass, and is what it forbids refused cleanly? PURE.

The order is a safety property: nothing long is sent while the advertised limit is not the cap, nothing above the cap
before all that it admits has passed, nothing far above before the first step over it was refused cleanly. The first
unclean answer ends it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from fuzzer.finding import Finding, FindingKind, Halt
from fuzzer.model import Outcome, ProbeSpec, Role, Side, side_of
from fuzzer.observation import Observation
from fuzzer.plans.admitted import Item, admitted, over, passes
from fuzzer.plans.answers import Answers
from fuzzer.plans.assumed import ended_early
from fuzzer.plans.doubt import MOST_OF_A_LIST
from fuzzer.plans.known import Deadly, deadly_of
from fuzzer.plans.terms import SHORT, Terms
from fuzzer.recommend import confidence_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fuzzer.plans import Plan
    from targets.base import Mode

MODES: tuple[Mode, ...] = ("ids", "text", "chat")
Result = Literal["ok", "failed", "open", "noted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyQuestion(Terms):
    """`cap` is the max_model_len that ought to be in force. `first_bad` is where it used to fail; `far` is the longest
    prompt to send. `modes`: how prompts of exact length can be sent here. `another_build`: how this build differs from
    the one that the cap was found on; empty where it is known to be the same, or where nothing is known of that one.
    `known_bad`: what killed this very build in earlier runs, and the cap admits.

    Raises ValueError where the cap leaves no room for what is to be sent.
    """

    cap: int
    first_bad: int | None = None
    far: int
    modes: tuple[Mode, ...] = ("ids",)
    another_build: str = ""
    known_bad: tuple[Deadly, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "known_bad", tuple(deadly_of(self.known_bad)))
        if self.cap <= self.output_tokens + SHORT:
            raise ValueError(f"a cap of {self.cap} leaves no room for {self.output_tokens} output tokens")

    @property
    def most_deaths(self) -> int:
        """The first one ends it; one that may be nobody's, or a neighbour's, is asked for again."""
        return min(self.max_deaths, MOST_OF_A_LIST)

    @property
    def most_probes(self) -> int:
        return sum(1 for _ in items(self, Answers()))

    @property
    def beyond(self) -> tuple[int, ...]:
        """The lengths above the cap, nearest first."""
        known = (self.cap + 1, self.first_bad or 0, self.far)
        return tuple(sorted({length for length in known if length > self.cap}))


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the verification. `words` say what it came to; `seq` is the probe that tells, if one was sent.

    `open` was not sent; `noted` decides nothing, and is to be known.
    """

    name: str
    result: Result
    words: str = ""
    seq: int | None = None
    took_s: float = 0.0


def verify(question: VerifyQuestion, facts: Iterable[Observation] = ()) -> Plan:
    """A plan that works through the checks and stops at the first unclean answer."""
    answers = Answers(facts, question.fail_on)
    while not isinstance(step := _next_step(question, answers), Finding):
        answers.take((yield step))
    return step


def checks(question: VerifyQuestion, seen: Iterable[Observation]) -> list[Check]:
    """Every check in its order, as far as the observations tell."""
    answers = Answers(seen, question.fail_on)
    told = [_told(item, answers.to(item.spec) or answers.lone(item.spec)) for item in items(question, answers)]
    missing = [
        Check(f"{mode}: a short prompt", "ok", f"not offered here: {short.reason}", short.seq, short.duration_s)
        for mode, short in _not_offered(question, answers).items()
    ]
    return [_advertised(question), *_noted(question), *missing, *told]


def _noted(question: VerifyQuestion) -> list[Check]:
    if not question.another_build:
        return []
    return [Check("the build that the cap was found on", "noted", f"is another: {question.another_build}")]


def items(question: VerifyQuestion, answers: Answers) -> Iterator[Item]:
    """The probes in their order."""
    offered = [mode for mode in question.modes if mode not in _not_offered(question, answers)]
    for mode in offered:
        short = question.spec(SHORT, Role.BASELINE, "what a short prompt shows", mode=mode)
        yield Item(f"{mode}: a short prompt", short, partial(passes, question.fail_on))
        yield from _again(question, mode)
        yield from admitted(question, mode, answers)
    for mode in offered:
        yield over(question, question.cap + 1, mode)
    for length in question.beyond[1:]:
        yield over(question, length, question.modes[0])


def _again(question: VerifyQuestion, mode: Mode) -> Iterator[Item]:
    """What the cap admits, and killed this build before: where it still does, nothing else need be sent."""
    for length, sent_as, stream, _ in question.known_bad:
        if sent_as == mode:
            output = min(question.output_tokens, max(1, question.cap - question.reserved - length))
            spec = question.spec(
                length, Role.FIT, "it killed this build before", mode=mode, stream=stream, output_tokens=output
            )
            name = f"{mode}: {length} + {output}, {'streamed' if stream else 'whole'}, which killed this build before"
            yield Item(name, spec, partial(passes, question.fail_on))


def _not_offered(question: VerifyQuestion, answers: Answers) -> dict[Mode, Observation]:
    """Ways of sending, but for the first, in which even a short prompt is turned away: a model without a template."""
    shorts = (seen for seen in answers.seen if seen.spec.role is Role.BASELINE and seen.spec.mode != question.modes[0])
    return {seen.spec.mode: seen for seen in shorts if seen.outcome in {Outcome.REJECTED, Outcome.INFRA}}


def _next_step(question: VerifyQuestion, answers: Answers) -> ProbeSpec | Finding:
    advertised = _advertised(question)
    if advertised.result == "failed":
        return Finding(FindingKind.INCONCLUSIVE, f"{advertised.name}: {advertised.words}")
    turned_away = bool(answers.seen) and answers.seen[-1].spec.mode in _not_offered(question, answers)
    if not turned_away and (end := answers.ended(question, question.most_probes)) is not None:
        return _finding(question, answers, FindingKind.INCONCLUSIVE, end[1], halt=end[0])
    return answers.wait() or _next_item(question, answers)


def _next_item(question: VerifyQuestion, answers: Answers) -> ProbeSpec | Finding:
    """The first probe that is not answered, or what the first wrong answer comes to."""
    for item in items(question, answers):
        answer = answers.to(item.spec)
        if answer is None:
            if answers.deaths >= max(1, question.most_deaths):
                why = answers.spent(question.max_deaths)
                return _finding(question, answers, FindingKind.INCONCLUSIVE, why, halt=Halt.DEATHS)
            if item.spec.length > question.cap and question.max_deaths == 0:
                why = "with --max-deaths 0 nothing above the cap is sent"
                return _finding(question, answers, FindingKind.INCONCLUSIVE, why, halt=Halt.DEATHS)
            return item.spec
        is_right, words = item.read(answer)
        if not is_right:
            bad = side_of(answer.outcome, question.fail_on) is Side.BAD
            kind = FindingKind(answer.outcome.value) if bad else FindingKind.INCONCLUSIVE
            return _finding(question, answers, kind, f"{item.name}: {words}", failed=answer if bad else None)
    reason = f"all that {question.cap} admits passes, and what is longer is refused cleanly"
    if (died := answers.died_in_doubt(fewest=1)) is not None:
        return _finding(question, answers, FindingKind.INCONCLUSIVE, f"{reason}; but {died}", halt=Halt.NOT_LENGTH)
    return _finding(question, answers, FindingKind.CLEAN_LIMIT, reason)


def _advertised(question: VerifyQuestion) -> Check:
    name, limit = "advertised limit", question.limit
    if limit is None:
        return Check(name, "ok", "not advertised: what is in force shows in what is refused")
    if limit != question.cap:
        return Check(name, "failed", f"it is {limit}, and the cap is {question.cap}: the cap is not in force")
    return Check(name, "ok", f"it is the cap, {limit}")


def _told(item: Item, answer: Observation | None) -> Check:
    if answer is None:
        return Check(item.name, "open", "not sent")
    is_right, words = item.read(answer)
    return Check(item.name, "ok" if is_right else "failed", words, answer.seq, answer.duration_s)


def _finding(
    question: VerifyQuestion,
    answers: Answers,
    kind: FindingKind,
    reason: str,
    *,
    halt: Halt | None = None,
    failed: Observation | None = None,
) -> Finding:
    passed = [seen for seen in answers.evidence if side_of(seen.outcome, question.fail_on) is Side.GOOD]
    longest = max(passed, key=lambda seen: seen.length, default=None)
    refusals = (seen.length for seen in answers.evidence if seen.outcome is Outcome.REJECTED)
    refused = [length for length in refusals if length >= question.cap]  # for its prompt, and not for its output
    holds = kind is FindingKind.CLEAN_LIMIT
    return Finding(
        kind,
        reason,
        last_good=longest.length if longest else None,
        first_bad=failed.length if failed else None,
        last_good_total=max((seen.total for seen in passed), default=None),
        first_rejected=min(refused, default=None) if holds else None,
        verified_up_to=longest.length if longest else None,
        cap=question.cap if holds else None,
        confidence=confidence_of(1 if longest else 0, 0, 1 if failed else 0),
        assumes=_assumes(question, answers) if holds else (),
        halt=halt,
    )


def _assumes(question: VerifyQuestion, answers: Answers) -> tuple[str, ...]:
    """What the cap's holding rests on, and what was not tried."""
    between = f"between {SHORT} and {question.cap - question.output_tokens} prompt tokens nothing was tried"
    said = ["each check was made once", f"{between}: ctxfuzz fuzz samples it"]
    if question.another_build:
        moved = "where this one fails is not known before it is bisected itself"
        said.insert(0, f"the cap was found on another build ({question.another_build}): {moved}")
    others = [mode for mode in MODES if mode not in question.modes]
    if others:
        said.append(f"{' and '.join(others)} prompts were not tried (text and chat take a tokenizer: --tokenizer)")
    if (ended := ended_early(answers.evidence)) is not None:
        said.append(ended)
    return (*said, *answers.did_not_repeat())
