"""How are a target and its control asked the same, and compared? Each arm is a run of its own, the target's first.

The control is only asked what the target has answered: so the target's edge is found before anybody is asked beyond it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fuzzer.before.preflight import SAMPLE_S
from fuzzer.cli import attribution, memory, opening, questions, session, sparing
from fuzzer.errors import UsageFault
from fuzzer.measure import sameness
from fuzzer.model import Role
from fuzzer.plans.same import SameQuestion, up_to
from fuzzer.prompts.page import NEEDLES
from fuzzer.report.same import Control
from fuzzer.store import NoSuchRun

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import anyio

    from fuzzer.cli.watching import Listeners
    from fuzzer.measure.sameness import Sameness
    from fuzzer.store import History, Run

WITH: Final = "compared_with"


def asked_of(
    opened: session.Session, lengths: Sequence[int] | None, cap: int | None, contents: Sequence[str]
) -> SameQuestion:
    """The question for a target. Raises UsageFault where nothing says how long prompts may be, or one is too long."""
    output = opened.flags.output_tokens
    known = [most for most in (memory.last_cap(opened), opened.survey.limit) if most is not None]
    most = cap or min(known, default=None)
    if lengths is not None:
        asked = tuple(lengths)
    elif most is not None:
        asked = up_to(most, output)
    else:
        raise UsageFault("How long may prompts be? The target names no limit: give --cap TOKENS, or --lengths.")
    if most is not None and max(asked) + output > most:
        raise UsageFault(
            f"A prompt of {max(asked)} tokens and {output} more are above the cap of {most}: shorten --lengths or "
            "--output-tokens, or say how far it may go with --cap."
        )
    return questions.to_same(opened, asked, contents)


async def compared(
    opened: session.Session,
    question: SameQuestion,
    control: tuple[str, str],
    listeners: Listeners,
    stop: anyio.Event,
    *,
    sample_s: float = SAMPLE_S,
) -> session.Result:
    """The target's run, and after it that of its control (name, URL). Raises TargetUnusable where that is none."""
    await attribution.reached(opened.flags, [control])
    asked = questions.Asked("same", question)
    result = await opened.run("same", asked, listeners, stop, notes={WITH: list(control)})
    await ask_control(opened, result, listeners, stop, given=control, sample_s=sample_s)
    return result


async def ask_control(
    opened: session.Session,
    result: session.Result,
    listeners: Listeners,
    stop: anyio.Event,
    *,
    given: tuple[str, str] | None = None,
    sample_s: float = SAMPLE_S,
) -> None:
    """Ask the control of a target's run, if it has one, what the target has answered; what hinders that is said.

    It is asked as it was `given` (name, URL); where nobody gives it, as it is on record, without its secrets.
    """
    control = given or _control_of(result.run_row)
    if control is None or (answered := _answered(result)) is None:
        return
    name, url = control
    notes = {attribution.CONTROL_OF: result.run_row.run, attribution.NAME: name}
    with attribution.unasked_told(name, listeners):
        flags = attribution.there(opened.flags, url)
        async with opening.opened(flags, pace=opened.pace, sample_s=sample_s) as there:
            sparing.spare(there, max(answered.lengths))
            asked = questions.Asked("same", replace(answered, limit=there.survey.limit))
            await there.run("control", asked, listeners, stop, plan="same", notes=notes)


def is_unasked(result: session.Result, asked: Mapping[str, Run]) -> bool:
    """Has a run that answered something a control that was never asked?"""
    control = _control_of(result.run_row)
    return control is not None and control[0] not in asked and _answered(result) is not None


def recorded(history: History, run: Run) -> tuple[Sameness, Control] | None:
    """What the comparison came to that this run is part of, the target's or the control's; None where it is of none."""
    try:
        target = history.get(str(run.record.settings.get(attribution.CONTROL_OF, run.run)))
    except NoSuchRun:  # it was left behind in another database
        return None
    control = _control_of(target)
    if control is None:
        return None
    asked = attribution.asked_of(history, target).get(control[0])
    answers = [] if asked is None else history.observations(asked.run)
    told = sameness.compare(history.observations(target.run), answers, NEEDLES)
    return told, Control(*control, None if asked is None else asked.run)


def _control_of(run: Run) -> tuple[str, str] | None:
    given = run.record.settings.get(WITH)
    return (str(given[0]), str(given[1])) if isinstance(given, list) and len(given) == 2 else None


def _answered(result: session.Result) -> SameQuestion | None:
    """The question as far as the target came; None where it answered nothing."""
    question = SameQuestion.from_json(result.run_row.record.question)
    answered = {
        seen.spec.length
        for seen in result.observations
        if seen.spec.role is Role.MEASURE and seen.outcome in sameness.ANSWERED
    }
    lengths = tuple(length for length in question.lengths if length in answered)
    return replace(question, lengths=lengths) if lengths else None
