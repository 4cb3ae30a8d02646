"""On which sum is the edge constant: the prompt, or prompt + output? PURE.

A longer prompt with less output tells them apart, and so does the same prompt with more. Each passes on one of the two
and fails on the other, so the one that is likely to pass goes first. Drafts that are accepted are processed past the
output that was asked for, by up to k: every step leaves room for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.plans.confirm import is_confirmed_bad
from fuzzer.plans.narrowing import is_closed, suspects_of
from fuzzer.search.suspects import UNKNOWN_DRAFT_TOKENS, Axis, Cause, cause_of

if TYPE_CHECKING:
    from fuzzer.plans.ledger import Ledger

CHEAP_DEATHS = 2  # with more of them spent, only what is likely to pass is asked
OF_THE_TEXT = frozenset({Outcome.GARBLED, Outcome.DEGRADED})
ON_THE_SUM = frozenset({Axis.TOTAL, Axis.TOTAL_AND_DRAFT})


class Trial(NamedTuple):
    """A point around the edge."""

    length: int
    output_tokens: int

    def __str__(self) -> str:
        return f"{self.length} + {self.output_tokens}"


def settle_axis(ledger: Ledger) -> ProbeSpec | None:
    """The next point that tells the axis, where it is likely enough to pass, or deaths are cheap."""
    if not _is_open(ledger) or axis_of(ledger) is not None or ledger.deaths >= ledger.question.max_deaths:
        return None
    likely, sure = _likely(ledger)
    groups = {Axis.PROMPT: more_output(ledger), Axis.TOTAL: less_output(ledger)}
    refuted = False
    for axis in sorted(groups, key=lambda each: each is not likely):
        passed = [_passed(ledger, trial) for trial in groups[axis]]
        if False in passed:
            if True in passed:
                return None  # neither sum
            refuted = True
        elif None in passed:
            trial = groups[axis][passed.index(None)]
            return _ask(ledger, trial, axis, expected=refuted or True in passed or (sure and axis is likely))
    return None


def axis_of(ledger: Ledger) -> Axis | None:
    """PROMPT or TOTAL, as far as the run can tell."""
    if not _is_open(ledger):
        return None
    more = [_passed(ledger, trial) for trial in more_output(ledger)]
    less = [_passed(ledger, trial) for trial in less_output(ledger)]
    if True in less:
        return Axis.TOTAL if all(less) and True not in more else None
    if True in more or (False in less and not more):
        return Axis.PROMPT
    return Axis.TOTAL if False in more and not less else None


def cause_for(ledger: Ledger) -> Cause | None:
    """The number that an exactly known edge falls on, by an arithmetic that fits the axis."""
    match axis_of(ledger):
        case None:
            return _cause(ledger, frozenset(Axis))
        case Axis.PROMPT:
            return _cause(ledger, frozenset({Axis.PROMPT}))
        case _:
            return _cause(ledger, ON_THE_SUM)


def left_for_drafts(ledger: Ledger) -> int:
    """How far accepted drafts may move the edge down, in tokens: k, unless it is known to be on the prompt alone."""
    first_bad = ledger.bounds.first_bad
    if first_bad is None or ledger.at(first_bad).refusals or known_axis(ledger) is Axis.PROMPT:
        return 0
    return ledger.draft_tokens or 0


def known_axis(ledger: Ledger) -> Axis | None:
    """On which sum the edge is known to be constant: by probes around it, else by the number that it falls on."""
    cause = cause_for(ledger)
    return axis_of(ledger) or (cause.axis if cause else None)


def axis_words(ledger: Ledger) -> str:
    """A clause for the finding of an edge."""
    if not ledger.question.attribute_axis:
        return ""
    match axis_of(ledger):
        case None:
            return "; whether it lies on the prompt or on prompt + output was not settled"
        case Axis.PROMPT:
            more = more_output(ledger)
            why = f"{more[0]} passes" if more else f"{less_output(ledger)[0]} fails"
            return f"; it is constant in the prompt alone ({why})"
        case _:
            cause = cause_for(ledger)
            draft = " + k" if cause is not None and cause.axis is Axis.TOTAL_AND_DRAFT else ""
            less = less_output(ledger)
            why = f"{' and '.join(map(str, less))} pass" if less else f"{more_output(ledger)[0]} fails"
            return f"; it is constant in prompt + output{draft} ({why})"


def less_output(ledger: Ledger) -> list[Trial]:
    """Longer prompts with so much less output that an edge on the sum lets them pass: one token, then half of it.

    Half of it as well, so that an edge which only needs a few decoding steps is not taken for one on the sum. None
    where the text itself is what is wrong: so little of it shows no repetition, and its pass would prove nothing.
    """
    low, bad = _ends(ledger)
    if any(failure.outcome in OF_THE_TEXT for failure in ledger.at(bad).failures):
        return []
    question, output = ledger.question, ledger.question.output_tokens
    half = output // 2
    trials = [Trial(low + output - 1, 1), Trial(low + output - half - _slack(ledger), half)]
    fitting = [one for one in trials if bad <= one.length <= question.top and one.output_tokens >= 1]
    return [one for one in dict.fromkeys(fitting) if question.output_at(one.length) == output]


def more_output(ledger: Ledger) -> list[Trial]:
    """last_good with so much more output that an edge on the sum does not let it pass."""
    low, bad = _ends(ledger)
    trial = Trial(low, ledger.question.output_tokens + bad - low + _slack(ledger))
    limit = ledger.question.limit
    return [trial] if limit is None or sum(trial) <= limit else []


def _ask(ledger: Ledger, trial: Trial, axis: Axis, *, expected: bool) -> ProbeSpec | None:
    if ledger.has_asked(*trial):
        return None  # what came of it tells nothing
    _, bad = _ends(ledger)
    costs_deaths = any(seen.deaths or seen.wedged for seen in ledger.at(bad).failures)
    if costs_deaths and not expected and ledger.deaths > CHEAP_DEATHS:
        return None
    other = "prompt + output" if axis is Axis.TOTAL else "the prompt alone"
    reason = f"it passes if the edge is constant in {other}"
    return ledger.question.spec(trial.length, Role.AXIS, reason, output_tokens=trial.output_tokens)


def _is_open(ledger: Ledger) -> bool:
    """Is there an edge that stands, whose axis is to be told?"""
    bounds, question = ledger.bounds, ledger.question
    if not question.attribute_axis or bounds.noisy or bounds.last_good is None or bounds.first_bad is None:
        return False
    good, bad = ledger.at(bounds.last_good), ledger.at(bounds.first_bad)
    whole = question.output_at(bounds.first_bad) == question.output_tokens
    stands = is_closed(ledger) and is_confirmed_bad(ledger) and bool(good.passes)
    return stands and whole and bool(bad.failures) and not bad.refusals


def _ends(ledger: Ledger) -> tuple[int, int]:
    assert ledger.bounds.last_good is not None
    assert ledger.bounds.first_bad is not None
    return ledger.bounds.last_good, ledger.bounds.first_bad


def _slack(ledger: Ledger) -> int:
    return UNKNOWN_DRAFT_TOKENS if ledger.draft_tokens is None else ledger.draft_tokens


def _likely(ledger: Ledger) -> tuple[Axis, bool]:
    """Which axis is likelier, and whether there is more to it than a guess.

    What died after its first token survived its prompt. Else the number that the edge falls on tells, if it does.
    """
    failures = ledger.at(_ends(ledger)[1]).failures
    if any(seen.ttft_s is not None for seen in failures):
        return Axis.TOTAL, True
    cause = _cause(ledger, frozenset(Axis))
    if cause is not None:
        return (Axis.TOTAL if cause.axis in ON_THE_SUM else Axis.PROMPT), True
    return (Axis.PROMPT if ledger.question.stream else Axis.TOTAL), False


def _passed(ledger: Ledger, trial: Trial) -> bool | None:
    """Did the point pass? None where it was not asked, or what came of it tells nothing: a refusal, half an answer."""
    tally = ledger.at(*trial)
    if tally.failures:
        return False
    exact = any(seen.length == trial.length and seen.is_whole for seen in tally.passes)
    return True if exact else None


def _cause(ledger: Ledger, axes: frozenset[Axis]) -> Cause | None:
    bounds, question = ledger.bounds, ledger.question
    if bounds.first_bad is None or bounds.last_good is None or bounds.first_bad - bounds.last_good != 1:
        return None
    return cause_of(bounds.last_good, suspects_of(question), question.output_tokens, ledger.draft_tokens, axes)
