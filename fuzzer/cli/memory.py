"""What does runs.db already know of this very build, under the very conditions that are asked for?"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.cli.common import HEADER_NAMES, names_of
from fuzzer.cli.deadly import deed, kills, unsettled
from fuzzer.cli.past import drafts, has_drafter, is_of_here, past
from fuzzer.cli.secrecy import hidden
from fuzzer.cli.sparing import killed, last_that_holds
from fuzzer.events import Note
from fuzzer.finding import FindingKind
from fuzzer.model import FAIL_ON_DEFAULT, Role
from fuzzer.plans.conditions import CONDITIONS
from fuzzer.plans.fuzz import NOT_VARIED, FuzzQuestion
from fuzzer.plans.question import BisectQuestion
from fuzzer.report.reached import route_of
from fuzzer.store import History
from fuzzer.store.masking import masked_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fuzzer.cli.questions import Question
    from fuzzer.cli.session import Session
    from fuzzer.observation import Observation
    from fuzzer.store import Run
    from fuzzer.store.records import Failure

PLANS = frozenset({"bisect", "probe"})
ALIKE = ("output_tokens", "content", "mode", "stream", "sent_cache", "companions", "companion_length")


def remembered(session: Session, question: BisectQuestion) -> tuple[BisectQuestion, list[Note]]:
    """The question with what earlier runs found, and what is to be said about it.

    A failure at `hi` is as good as --trust-hi, what passed is ground that --max-deaths 0 may cover: both only of runs
    that came to an answer at this very place, and never ground on which another run, or this one, saw the engine die.
    No cap admits what killed this build before, unless that passes now.
    """
    flags, url, model, version = session.flags, session.target.url, session.survey.model or "", session.survey.version
    route = _route(session)
    if version is None or question.is_turned:
        return question, []
    with past(flags.db) as history:
        if history is None:
            return question, []
        known = history.known_failures(url, model, version)  # whatever counts as a failure now: a death is one
        everything = history.runs()
        same_way = {run.run for run in everything if _route_of(run) == route and is_of_here(run)}
        is_usual = flags.fail_on == FAIL_ON_DEFAULT
        counted = known if is_usual else history.known_failures(url, model, version, flags.fail_on)
        failures = [one for one in counted if one.run in same_way]
        answered = [run for run in everything if _is_answered(run) and is_of_here(run)]
        notes = []
        bad_from = {run.run: run.finding.first_bad for run in answered if run.finding is not None}
        told = (one for one in failures if _tells(one.observation, question, bad_from.get(one.run)))
        at_hi = next((one for one in told if not _was_switched_off(session, history, one.run)), None)
        if at_hi is not None and not question.trust_hi:
            outcome = at_hi.observation.outcome
            notes.append(
                Note(f"hi ({question.hi}) is known to fail: run {at_hi.run} recorded a {outcome}; it is trusted")
            )
            question = replace(question, trust_hi=True)
        lowest = min((one.observation.length for one in known if kills(one.observation)), default=math.inf)
        alike = (run for run in answered if _alike(run, route, model, version, question))
        passed = [(length, run) for run in alike if (length := _passed(run)) is not None and length < lowest]
        question = _with_ground(question, history, passed, drafts_now=has_drafter(session))
        before = unsettled(question, killed(history, url, model, version), everything)
        trusted = question.hi if question.trust_hi else None
        lengths = (one.observation.length for one in before)
        question = replace(question, known_bad=tuple(length for length in lengths if length != trusted))
        notes += [_told(one) for one in before if one.observation.length < question.start]
        sampled = answered_by_fuzz(everything, route, model, version)
        return _with_fuzzed(question, history, [run for run in sampled if is_of_here(run)]), notes


def with_deaths(question: Question, since: Sequence[Failure]) -> tuple[Question, list[Note]]:
    """The question of a bisect that goes on, with what other runs saw kill since it began, and what is to be said."""
    if not isinstance(question, BisectQuestion):
        return question, []
    new = {one.observation.length: one for one in since if one.observation.length <= question.top}
    known_bad = tuple(sorted({*question.known_bad, *new}))
    return replace(question, known_bad=known_bad), [_told(one) for one in new.values()]


def last_cap(session: Session) -> int | None:
    """The cap that was last recommended for this target, model and version; None where there was none. What the record
    speaks against is no cap, nor what was found without a drafter where there is one now.

    Raises StoreError where its run is not as it was written.
    """
    now = (_route(session), session.survey.model or "", session.survey.version)
    with past(session.flags.db) as history:
        if history is None:
            return None
        capped = (run for run in history.runs() if run.finding is not None and run.finding.cap is not None)
        of_this = [run for run in capped if _target_of(run) == now and is_of_here(run)]
        drafting = (run for run in of_this if not (has_drafter(session) and drafts(history, run) == 0))
        last = last_that_holds(history, drafting)
        found = None if last is None else history.trusted(last.run).finding
        return None if found is None else found.cap


def _told(failure: Failure) -> Note:
    return Note(f"run {failure.run} recorded that {deed(failure)} this build: no cap admits that unless it passes now")


def answered_by_fuzz(runs: Sequence[Run], route: str, model: str, version: str) -> list[Run]:
    """The runs that sampled this very build and met no failure."""
    return [
        run
        for run in runs
        if run.record.plan == "fuzz"
        and _target_of(run) == (route, model, version)
        and run.finding is not None
        and run.finding.kind is FindingKind.NONE
    ]


def _passed(run: Run) -> int | None:
    """Up to where did it see lengths pass?"""
    return None if run.finding is None else run.finding.verified_up_to


def _was_switched_off(session: Session, history: History, run: str) -> bool:
    """Has the engine no drafter any more that it had in that run? What failed with it may pass now."""
    return has_drafter(session) is False and drafts(history, history.get(run)) != 0


def _with_ground(
    question: BisectQuestion, history: History, passed: Iterable[tuple[int, Run]], *, drafts_now: bool | None
) -> BisectQuestion:
    """The question with the longest that passed, of those whose engine drafted most at once: more drafts die sooner."""
    grounds = [(drafts(history, run), length) for length, run in passed]
    known = [(most, length) for most, length in grounds if most != 0 or not drafts_now]
    most, ground = max(known, key=lambda one: (math.inf if one[0] is None else one[0], one[1]), default=(0, None))
    return replace(question, known_good=ground, known_good_drafts=most)


def _with_fuzzed(question: BisectQuestion, history: History, runs: Sequence[Run]) -> BisectQuestion:
    """The question with what the widest of them varied."""
    widest = max(runs, key=lambda run: FuzzQuestion.from_json(run.record.question).cap, default=None)
    if widest is None or widest.finding is None:
        return question
    fixed = {name for said in widest.finding.assumes for name in said.removeprefix(NOT_VARIED).split(", ")}
    varied = tuple(each.name for each in CONDITIONS if each.name not in fixed)
    cap = FuzzQuestion.from_json(widest.record.question).cap
    return replace(question, fuzzed=varied, fuzzed_cap=cap, fuzzed_drafts=drafts(history, widest))


def _is_answered(run: Run) -> bool:
    """Did it come to an answer about lengths, by the plans that ask for one length at a time?"""
    finding = run.finding
    if run.record.plan not in PLANS or finding is None or finding.halt is not None:
        return False
    return finding.kind not in {FindingKind.NOT_LENGTH, FindingKind.INCONCLUSIVE}


def _target_of(run: Run) -> tuple[str, str, str | None]:
    """Whom it asked: the way there, model and version."""
    return _route_of(run), run.record.model, run.record.engine_version


def _route_of(run: Run) -> str:
    return route_of(run.record.url, run.record.settings)


def _route(session: Session) -> str:
    """The way to this target, as a record has it."""
    flags = session.flags
    return route_of(session.target.url, {"url": hidden(masked_url(flags.url)), HEADER_NAMES: names_of(flags.headers)})


def _alike(run: Run, route: str, model: str, version: str, question: BisectQuestion) -> bool:
    record = run.record
    same_target = _target_of(run) == (route, model, version) and record.limit == question.limit
    asked = BisectQuestion.from_json(record.question)
    return (
        same_target and not asked.is_turned and all(getattr(asked, name) == getattr(question, name) for name in ALIKE)
    )


def _tells(seen: Observation, question: BisectQuestion, bad_from: int | None) -> bool:
    """Does this failure say that `hi` fails? Not one that others may have caused, or that passes outweighed.

    `bad_from` is the first_bad that its run came to.
    """
    if question.hi is None or seen.contended or bad_from is None or seen.length < bad_from:
        return False
    asked = replace(seen.spec, role=Role.SEARCH, reason="", wait_s=0.0)
    return asked == question.spec(question.hi, Role.SEARCH, "")
