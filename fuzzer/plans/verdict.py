"""What is the lowest thing that is not a pass, for a search that ran to its end, and in which words? PURE."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fuzzer.finding import FindingKind
from fuzzer.model import Outcome, Side, side_of
from fuzzer.plans.assumed import times
from fuzzer.plans.axis import axis_words
from fuzzer.plans.doubt import TWICE, died_between
from fuzzer.plans.limits import (
    asked_failure,
    begins_to_refuse,
    cut_short_of_limit,
    learnt_limit,
    limit_failure,
    over_limit_seen,
    reached_limit,
)
from fuzzer.plans.scan import islands

if TYPE_CHECKING:
    from fuzzer.observation import Observation
    from fuzzer.plans.ledger import Ledger


def verdict(ledger: Ledger) -> tuple[FindingKind, str]:
    """The kind of the finding, and a sentence on it; islands are another matter."""
    bounds, question = ledger.bounds, ledger.question
    if bounds.first_bad is not None:
        return _boundary(ledger, bounds.first_bad)
    if (asked := asked_failure(ledger)) is not None:
        much = f"{asked.length} tokens that ask for {asked.spec.output_tokens} more, which is past it, do"
        advice = "no lower limit mends that, but a proxy that refuses or cuts such a max_tokens"
        return FindingKind(asked.outcome.value), f"nothing fails below the limit, but {much}: {asked.reason}; {advice}"
    beyond = over_limit_seen(ledger)
    if not reached_limit(ledger) or beyond is None:
        unit = "output" if question.is_turned else "prompt"
        return FindingKind.NONE, f"nothing fails up to {question.top} {unit} tokens{_against_trust(ledger)}"
    match side_of(beyond.outcome, question.fail_on):
        case Side.LIMIT:
            reason = f"nothing fails below the limit of {question.limit}, and above it the refusal is clean"
            return FindingKind.CLEAN_LIMIT, f"{reason}: no change needed"
        case Side.BAD:
            where = f"nothing fails below the limit, but {beyond.length} tokens, above it, do"
            if cut_short_of_limit(ledger):
                where = f"{bounds.last_good} passes, {beyond.length} ends in {beyond.outcome}"
            return FindingKind(beyond.outcome.value), f"{where}: {beyond.reason}"
        case _:
            return FindingKind.NONE, f"nothing fails up to the limit of {question.limit}, which is not enforced"


def _against_trust(ledger: Ledger) -> str:
    """A clause on a `hi` that was taken to fail, and passed when it was sent to confirm that."""
    question = ledger.question
    passes = len(ledger.at(question.top).passes)
    if not question.top_is_trusted or not passes:
        return ""
    return f", though hi was taken as known to fail: under these conditions it passed {times(passes)}"


def _boundary(ledger: Ledger, first_bad: int) -> tuple[FindingKind, str]:
    tally = ledger.at(first_bad)
    near = limit_failure(ledger)
    if begins_to_refuse(ledger):
        if near is not None:
            return FindingKind(near.outcome.value), f"below the limit {near.length} tokens fail: {near.reason}"
        limit = learnt_limit(ledger)
        words = f"prompt + output up to {limit} fit" if limit else "where exactly the limit lies is not known"
        stray = f"; {_stray_words(tally.failures[0])}" if tally.failures else ""
        return FindingKind.CLEAN_LIMIT, f"nothing fails below the first refusal, at {first_bad} tokens: {words}{stray}"
    outcome = Counter(failure.outcome for failure in tally.failures).most_common(1)[0][0]
    words = next((failure.signature for failure in tally.failures if failure.signature), "")
    signature = f": {words.rstrip('.')}" if words else ""  # the sentence goes on
    edge = f"{ledger.bounds.last_good} passes, {first_bad} ends in {outcome}{signature}"
    doubt = next((f"; {failure.next_step}" for failure in tally.failures if failure.next_step), "")
    return FindingKind(outcome.value), edge + axis_words(ledger) + doubt


def _stray_words(failure: Observation) -> str:
    signature = f": {failure.signature}" if failure.signature else ""
    return f"one {failure.outcome} at {failure.length} tokens did not come again, they were refused since{signature}"


def island_kind(ledger: Ledger) -> FindingKind | None:
    """What the lowest island ends in that a scan measured."""
    found = islands(ledger)
    return FindingKind(found[0].outcome) if found else None


def died_once(ledger: Ledger, kind: FindingKind) -> str | None:
    """Which death did not come again, at its length or above it. Passes outweigh it, but explain nothing.

    One between two probes may be somebody's restart. Below a refusal that was met on the way so may one in flight, and
    one alone: where passes do not outweigh it, it is the lower of the two that bounds the search.
    """
    if ledger.bounds.first_bad is not None:
        if kind is not FindingKind.CLEAN_LIMIT:
            return None
        failures = [seen for _, tally in ledger.line() for seen in tally.failures]
        if sum(seen.outcome is Outcome.DEATH for seen in failures) < TWICE:
            return died_between(ledger.seen)
    for length, tally in ledger.line():
        died = [seen for seen in tally.failures if seen.outcome is Outcome.DEATH]
        if died and ledger.is_sound(tally):
            signature = f" ({died[0].signature})" if died[0].signature else ""
            since = f"{length} passed {times(len(tally.passes))}, and longer ones pass"
            return f"the engine died {times(len(died))} at {length} tokens{signature}, and not again: {since}"
    return died_between(ledger.seen)
