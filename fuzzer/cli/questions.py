"""How do flags, and what the target says of itself, become a question that a plan can answer?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fuzzer.cli import memory, sparing
from fuzzer.errors import UsageFault
from fuzzer.model import Outcome
from fuzzer.plans.bisect import bisect
from fuzzer.plans.fuzz import FuzzQuestion, fuzz
from fuzzer.plans.question import BisectQuestion
from fuzzer.plans.same import SameQuestion, same
from fuzzer.plans.single import single
from fuzzer.plans.speed import SpeedQuestion, speed
from fuzzer.plans.sweep import SweepQuestion, sweep
from fuzzer.plans.verify import VerifyQuestion, verify
from fuzzer.plans.whole import counted
from fuzzer.search import Suspect
from fuzzer.search.places import BLOCK

if TYPE_CHECKING:
    from fuzzer.cli.session import Session
    from fuzzer.observation import Observation
    from fuzzer.plans import Plan
    from fuzzer.store import Run
    from targets.base import Mode

SEQUENCES = ("words", "repeat", "copy", "random")  # contents that are exact everywhere
PASSAGES = ("code", "cjk")  # and those that a tokenizer makes exact

Question = BisectQuestion | FuzzQuestion | SameQuestion | SpeedQuestion | SweepQuestion | VerifyQuestion

Q = TypeVar("Q", BisectQuestion, FuzzQuestion, SameQuestion, SpeedQuestion, SweepQuestion, VerifyQuestion)


class Kind(NamedTuple):
    """What a plan of this name is asked, and the plan."""

    question: type[Question]
    plan: Callable[[Any, Sequence[Observation]], Plan]


KINDS = {
    "bisect": Kind(BisectQuestion, counted(bisect)),
    "probe": Kind(BisectQuestion, counted(single)),
    "speed": Kind(SpeedQuestion, speed),
    "fuzz": Kind(FuzzQuestion, counted(fuzz)),
    "same": Kind(SameQuestion, same),
    "sweep": Kind(SweepQuestion, counted(sweep)),
    "verify": Kind(VerifyQuestion, counted(verify)),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the plan that answers it, by the name under which a run records it."""

    plan_name: str
    question: Question

    def to_json(self) -> dict[str, Any]:
        return self.question.to_json()

    def plan(self, facts: Sequence[Observation] = ()) -> Plan:
        return KINDS[self.plan_name].plan(self.question, facts)


def to_bisect(session: Session, asked: Mapping[str, Any], suspects: Sequence[Suspect]) -> BisectQuestion:
    """The question of `bisect`; `asked` are the fields that its own flags fill. Raises UsageFault and RunStopped.

    To the suspects that were named come those that the target tells: other limits of its own, and its KV capacity.
    """
    traits = session.target.traits
    if asked.get("axis") == "output" and not (traits.ignore_eos or traits.min_tokens):
        raise UsageFault(
            f"{session.survey.engine} ends an answer where it likes: --axis output needs one that can be told not to."
        )
    told = [Suspect(value, name) for name, value in session.survey.limits.items() if value != session.survey.limit]
    if session.company.kv_tokens is not None:
        told.append(Suspect(session.company.kv_tokens, "the KV capacity"))
    question = _question(session, suspects=(*suspects, *told), **prompts_of(asked, session.flags.output_tokens))
    question = replace(question, round_to=_settable(question.round_to, traits.limit_step))
    if not question.is_turned:
        sparing.spare(session, question.lo)
    return question


def _settable(round_to: int, step: int) -> int:
    """To multiples of how many tokens a cap is rounded, so that the engine can be set to it, and rounds it no further.

    At least as coarse as was asked.
    """
    return round_to if step == 1 else max(1, math.ceil(round_to / step)) * step


def prompts_of(asked: Mapping[str, Any], output_tokens: int) -> dict[str, Any]:
    """The fields with `lo` and `hi` as prompts, where they were given as sums. Raises UsageFault."""
    if asked.get("axis") != "total":
        return dict(asked)
    lo, hi = asked["lo"] - output_tokens, asked["hi"] - output_tokens
    if lo < 1:
        raise UsageFault(f"--lo ({asked['lo']}) leaves no prompt beside {output_tokens} output tokens: raise it.")
    return {**asked, "lo": lo, "hi": hi}


def to_probe(session: Session, length: int) -> Asked:
    """The question of `probe`: what does this one length show? Raises RunStopped."""
    sparing.spare(session, length)
    return Asked("probe", _question(session, lo=length, hi=length + 1))


def recorded(run: Run) -> Asked:
    """The question that a run was begun with. Raises UsageFault for one that is not resumed."""
    if run.record.plan not in KINDS:
        raise UsageFault(f"Run {run.run} is a {run.record.plan}: there is nothing to go on with. Ask for it anew.")
    return Asked(run.record.plan, KINDS[run.record.plan].question.from_json(run.record.question))


def _contents(session: Session, contents: Sequence[str]) -> tuple[str, ...]:
    """The contents that were named; but a corpus takes their place, and without any it is the session's own."""
    own = session.flags.content
    return (own,) if own.startswith("corpus:") or not contents else tuple(contents)


def to_sweep(session: Session, lengths: Sequence[int], contents: Sequence[str], *, keep_going: bool) -> SweepQuestion:
    """The question of `sweep`; a corpus takes the place of the contents. Raises UsageFault and RunStopped."""
    sparing.spare(session, min(lengths, default=0))
    given = _contents(session, contents)
    return _of(SweepQuestion, session, lengths=tuple(lengths), contents=given, keep_going=keep_going)


def to_speed(
    session: Session, lengths: Sequence[int], contents: Sequence[str], concurrencies: Sequence[int], repeats: int
) -> SpeedQuestion:
    """The question of `speed`; a corpus takes the place of the contents. Raises UsageFault and RunStopped."""
    if session.flags.companions:
        raise UsageFault("A cell says how many requests are in flight: give --concurrency N,... and no --companions.")
    sparing.spare(session, min(lengths, default=0))
    given = _contents(session, contents)
    asked = {"lengths": tuple(lengths), "contents": given, "concurrencies": tuple(concurrencies), "repeats": repeats}
    return _of(SpeedQuestion, session, **asked)


def to_same(session: Session, lengths: Sequence[int], contents: Sequence[str]) -> SameQuestion:
    """The question of `same`; a corpus takes the place of the contents. Raises UsageFault and RunStopped.

    What is garbled is compared like any other answer: greedy text runs into loops of its own accord.
    """
    sparing.spare(session, max(lengths, default=0))
    given = _contents(session, contents)
    question = _of(SameQuestion, session, lengths=tuple(lengths), contents=given)
    return replace(question, fail_on=question.fail_on - {Outcome.GARBLED})


def to_verify(session: Session, cap: int, first_bad: int | None) -> VerifyQuestion:
    """The question of `verify`. Text and chat are asked where they can be exact. Raises UsageFault, RunStopped."""
    sparing.spare_under(session, cap)
    far = 2 * max(cap, first_bad or 0)
    question = _of(VerifyQuestion, session, cap=cap, first_bad=first_bad, far=far, modes=_modes(session))
    return sparing.with_deadly(session, question)


def to_fuzz(session: Session, cap: int | None, **asked: Any) -> FuzzQuestion:  # noqa: ANN401  (its own flags)
    """The question of `fuzz`: under which cap, in every way whose length can be exact here. Raises UsageFault."""
    flags = session.flags
    given = cap or memory.last_cap(session)
    if given is None:
        raise UsageFault("Which cap? runs.db holds none for this target that can be relied on: give --cap TOKENS.")
    contents = SEQUENCES + (PASSAGES if _counts_texts(session) else ())
    return _of(
        FuzzQuestion,
        session,
        cap=given,
        seed=flags.seed or 0,
        contents=tuple(dict.fromkeys((flags.content, *contents))),
        modes=_modes(session),
        block=session.company.block_size or BLOCK,
        kv_tokens=session.company.kv_tokens,
        **asked,
    )


def _modes(session: Session) -> tuple[Mode, ...]:
    """The session's own mode first, and those whose length can be exact here; a mode that was told is the only one."""
    others: tuple[Mode, ...] = ("text", "chat") if _counts_texts(session) and session.flags.mode is None else ()
    return tuple(dict.fromkeys((session.mode, *others)))


def _counts_texts(session: Session) -> bool:
    """Is there a tokenizer that tells the length of a text?"""
    return session.survey.has_tokenize or session.flags.tokenizer is not None


def _question(session: Session, **asked: Any) -> BisectQuestion:  # noqa: ANN401  (fields of the question)
    return _of(BisectQuestion, session, **asked)


def _of(kind: type[Q], session: Session, **asked: Any) -> Q:  # noqa: ANN401  (fields of the question)
    flags = session.flags
    try:
        return kind(
            limit=session.survey.limit,
            largest_prompt_below_limit=session.target.traits.largest_prompt_below_limit,
            reserved=session.target.traits.reserved,
            output_tokens=flags.output_tokens,
            draft_tokens=flags.draft_tokens,
            max_deaths=flags.max_deaths,
            max_time_s=flags.max_time_s,
            fail_on=flags.fail_on,
            content=flags.content,
            mode=session.mode,
            stream=flags.stream,
            companions=flags.companions,
            companion_length=flags.companion_length,
            **{"cache": flags.cache, **asked},
        )
    except ValueError as error:
        raise UsageFault(f"There is nothing to ask: {error}. Choose the lengths anew.") from None
