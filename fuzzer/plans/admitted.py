"""What does a cap admit and forbid, as probes, and is each answer the right one? PURE."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from fuzzer.model import WELL, Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.corners import FIRST_TOKENS
from fuzzer.plans.doubt import TWICE
from fuzzer.plans.terms import SHORT, longest_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fuzzer.plans.answers import Answers
    from fuzzer.plans.verify import VerifyQuestion
    from targets.base import Mode


@dataclass(frozen=True, slots=True)
class Item:
    """One probe of the list, and how its answer reads: whether it is the right one, and what it was."""

    name: str
    spec: ProbeSpec
    read: Callable[[Observation], tuple[bool, str]]


def admitted(question: VerifyQuestion, mode: Mode, answers: Answers) -> Iterator[Item]:
    """All that fills the cap to the last token, streamed and not, and the short prompt that asks for all the rest.

    What asks for more than fits comes before what leaves the number out: where the cap is not in force, the first shows
    it with a sum that is still known to hold, and the second might ask for a whole window.
    """
    output = question.output_tokens
    fits = partial(passes, question.fail_on)
    longest, beside = (longest_beside(tokens, question.cap, question) for tokens in (1, output))

    def spec(length: int, reason: str, role: Role = Role.FIT, **other: object) -> ProbeSpec:
        return question.spec(length, role, reason, mode=mode, **other)

    if question.cache == "warm":
        yield Item(
            f"{mode}: {beside} + {output}, into the cache",
            spec(beside, "so that the prefix of the next ones is in the cache", Role.PRIME, stream=True),
            fits,
        )
    yield Item(
        f"{mode}: {beside} + {output}, streamed",
        spec(beside, "the longest prompt with its whole output", stream=True),
        fits,
    )
    yield Item(
        f"{mode}: {longest} + 1, whole",
        spec(longest, "the longest prompt of all", stream=False, output_tokens=1),
        fits,
    )
    yield from _much(question, mode, answers)
    yield Item(
        f"{mode}: {beside} + {2 * output}, more than fits",
        spec(beside, "more output than the cap leaves", stream=False, output_tokens=2 * output),
        partial(held_to, question.cap, question.fail_on),
    )
    yield Item(
        f"{mode}: {beside}, max_tokens left out",
        spec(
            beside,
            "the number left out",
            stream=True,
            output_tokens=1,
            omit_max_tokens=True,
            stop_after=output + 8,
        ),
        partial(_of_its_own_number, question.cap, question.fail_on),
    )


def _much(question: VerifyQuestion, mode: Mode, answers: Answers) -> Iterator[Item]:
    """The short prompt that asks for all the rest; once more with what fits where it was counted as longer and refused:
    a sum that does not fit tells nothing of the number.
    """
    full = question.cap - question.reserved
    length = counted = _shortest(mode, answers)
    for _ in range(TWICE):
        spec = question.spec(
            length,
            Role.FIT,
            "a short prompt that asks for all the rest",
            mode=mode,
            stream=True,
            output_tokens=max(1, full - counted),
            stop_after=FIRST_TOKENS,
        )
        name = f"{mode}: {counted} + {spec.output_tokens}, cancelled after its first tokens"
        yield Item(name, spec, partial(_begins, question.fail_on, full))
        answer = answers.to(spec)
        if answer is None or answer.outcome is not Outcome.REJECTED or answer.length <= counted:
            return
        counted = answer.length


def _shortest(mode: Mode, answers: Answers) -> int:
    """The short prompt, or one token where the server adds so much to it that no prompt is as short."""
    shorts = (seen for seen in answers.evidence if (seen.spec.role, seen.spec.mode) == (Role.BASELINE, mode))
    told = (seen for seen in shorts if seen.outcome in WELL and seen.length_source == "usage" and seen.sent_tokens)
    return max([SHORT, *(1 + seen.length - seen.sent_tokens for seen in told)])


def over(question: VerifyQuestion, length: int, mode: Mode) -> Item:
    """A prompt of so many tokens, which are more than the cap."""
    reason = "is what the cap forbids refused, and the engine well after it?"
    spec = question.spec(length, Role.OVER_LIMIT, reason, mode=mode, output_tokens=1)
    return Item(f"{mode}: {length} + 1, above the cap", spec, _refused)


def passes(fail_on: frozenset[Outcome], seen: Observation) -> tuple[bool, str]:
    """Is it the right answer to what the cap admits?"""
    if seen.outcome is Outcome.REJECTED:
        return False, f"refused, though the cap admits it: {seen.reason}"
    if _is_well(fail_on, seen):
        given = f"{seen.completion_tokens} of {seen.spec.output_tokens} output tokens"
        if seen.clamped:
            return False, f"clamped: {given}"
        return True, "answered" if seen.is_whole else f"answered; the model ended it by itself: {given}"
    return False, f"{seen.outcome}: {seen.reason}"


def _is_well(fail_on: frozenset[Outcome], seen: Observation) -> bool:
    return seen.outcome in WELL and seen.outcome not in fail_on


def _begins(fail_on: frozenset[Outcome], full: int, seen: Observation) -> tuple[bool, str]:
    """Is it the right answer to a number that nobody waits for? Some servers bound the number alone: that is clean."""
    if seen.outcome is Outcome.REJECTED:
        fits = seen.length + seen.spec.output_tokens <= full
        return True, "refused cleanly: not so much output at once" if fits else "refused cleanly: it does not fit"
    is_well = _is_well(fail_on, seen)
    return is_well, "answered" if is_well else f"{seen.outcome}: {seen.reason}"


def _of_its_own_number(cap: int, fail_on: frozenset[Outcome], seen: Observation) -> tuple[bool, str]:
    """Is it the right answer where the number is the server's own? Older vLLMs take 16, and refuse what is too much."""
    if seen.outcome is Outcome.REJECTED:
        return True, "refused cleanly: the number that the server takes by itself does not fit"
    total = seen.length + (seen.completion_tokens or 0)
    if _is_well(fail_on, seen) and total > cap:
        return False, f"answered with {total} tokens in all: the cap is not in force"
    return _begins(fail_on, cap, seen)


def held_to(cap: int, fail_on: frozenset[Outcome], seen: Observation) -> tuple[bool, str]:
    """Is it the right answer to more than fits? Refusals and clamps both hold, and an early end does."""
    if seen.outcome is Outcome.REJECTED:
        return True, "refused cleanly"
    if not _is_well(fail_on, seen):
        return False, f"{seen.outcome}: {seen.reason}"
    total = seen.length + (seen.completion_tokens or 0)
    if total > cap:
        return False, f"answered with {total} tokens in all: the cap is not in force"
    how = "clamped" if seen.clamped else "answered"
    given = "an untold number" if seen.completion_tokens is None else seen.completion_tokens
    return True, f"{how}: {given} of {seen.spec.output_tokens} output tokens"


def _refused(seen: Observation) -> tuple[bool, str]:
    """Is it the right answer to what the cap forbids?"""
    if seen.outcome is Outcome.REJECTED:
        return True, "refused cleanly, and the engine is well"
    if seen.outcome in WELL:
        return False, "answered: the cap is not in force"
    return False, f"{seen.outcome}: {seen.reason}"
