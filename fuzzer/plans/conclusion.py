"""What do the observations of a bisect amount to: which finding, which cap, resting on what? PURE."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING

from fuzzer.finding import Finding, FindingKind, Flaky, Halt
from fuzzer.model import Outcome, Role, Side, side_of
from fuzzer.plans.assumed import assumed, times
from fuzzer.plans.axis import axis_words, cause_for, left_for_drafts
from fuzzer.plans.corners import failed_corner, unknown_corners
from fuzzer.plans.doubt import TWICE, died_between
from fuzzer.plans.limits import (
    asked_failure,
    cut_short_of_limit,
    learnt_limit,
    limit_failure,
    over_limit_seen,
    reached_limit,
)
from fuzzer.plans.scan import Island, ground_below, islands, lowest_failing, passed_below
from fuzzer.plans.speculation import speculation_off_from
from fuzzer.recommend import cap_below, confidence_of, flaky

if TYPE_CHECKING:
    from fuzzer.plans.ledger import Ledger

NOT_BY_LENGTH = frozenset({FindingKind.CLEAN_LIMIT, FindingKind.NOT_LENGTH})  # no number explains these


def cap_of(ledger: Ledger, *, halted: bool) -> int | None:
    """The cap that the observations carry, before its corners are looked at; None where there is none to recommend."""
    bounds, question = ledger.bounds, ledger.question
    passes = [] if bounds.last_good is None else ledger.at(bounds.last_good).passes
    if question.companions:
        passes = [seen for seen in passes if seen.spec.companions]  # the short prompt went alone
    if question.is_turned or bounds.last_good is None or not passes:
        return None
    covered = cap_below(bounds.last_good, round_to=question.round_to, margin=left_for_drafts(ledger))
    if (failing := lowest_failing(ledger)) is not None:
        ground = ground_below(ledger, failing)
        drafts = ledger.draft_tokens or 0  # nothing tells whether an island lies on a sum, which accepted drafts move
        return None if ground is None else cap_below(ground, round_to=question.round_to, margin=drafts)
    if halted:
        return covered
    if bounds.first_bad is not None:
        return covered if limit_failure(ledger) else learnt_limit(ledger) or covered
    if cut_short_of_limit(ledger):
        return covered
    beyond = over_limit_seen(ledger)
    clean = (beyond is None or beyond.outcome is Outcome.REJECTED) and asked_failure(ledger) is None
    return question.limit if reached_limit(ledger) and clean else None


def inconclusive(ledger: Ledger, halt: Halt, why: str) -> Finding:
    """The honest bracket, and the cap of the ground covered."""
    cap = cap_of(ledger, halted=True)
    held_back = _held_back(ledger, cap)
    reason = f"{why} ({_bracket_words(ledger)})"
    if halt is not Halt.CONTRADICTION:  # which says the same
        reason += held_back
    return _finding(ledger, FindingKind.INCONCLUSIVE, reason, None if held_back or halt is Halt.UNUSABLE else cap, halt)


def _held_back(ledger: Ledger, cap: int | None) -> str:
    """A clause on why good ground carries no cap: a corner that fails, or of which nothing is known."""
    failed = failed_corner(ledger, cap)
    if failed is not None:
        return f"; no cap: {failed[0]} prompt tokens with {failed[1]} output tokens asked fail"
    unknown = unknown_corners(ledger, cap)
    if not unknown:
        return ""
    corners = [seen for seen in ledger.by_role.get(Role.CORNER, []) if seen.outcome in ledger.question.fail_on]
    much = "".join(f", and {seen.spec.output_tokens} ended in {seen.outcome}" for seen in corners[:1])
    return f"; no cap: {unknown[0][0]} prompt tokens with {unknown[0][1]} output tokens asked were not tried{much}"


def not_by_length(ledger: Ledger, why: str) -> Finding:
    """Failures that follow something else than the length carry no cap."""
    return _finding(ledger, FindingKind.NOT_LENGTH, f"not by length: {why}", None, Halt.NOT_LENGTH)


def everywhere(ledger: Ledger, why: str) -> Finding:
    """Failures that come at any length: none is the first, and there is no edge to be flaky."""
    return replace(not_by_length(ledger, why), first_bad=None, first_bad_total=None, flaky=None)


def conclude(ledger: Ledger) -> Finding:
    """The finding of a search that ran to its end."""
    cap = cap_of(ledger, halted=False)
    failed = failed_corner(ledger, cap)
    if failed is not None:
        why = f"{failed[0]} prompt tokens with {failed[1]} asked fail although a cap of {cap} would admit them"
        return inconclusive(ledger, Halt.CONTRADICTION, why)
    kind, reason = _verdict(ledger)
    if found := islands(ledger):
        kind = FindingKind(found[0].outcome)
    elif (died := _died_once(ledger, kind)) is not None:
        return everywhere(ledger, died)
    return _finding(ledger, kind, reason, cap, None)


def _died_once(ledger: Ledger, kind: FindingKind) -> str | None:
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


def _verdict(ledger: Ledger) -> tuple[FindingKind, str]:
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
    if tally.refusals and not tally.failures:
        if near is not None:
            return FindingKind(near.outcome.value), f"below the limit {near.length} tokens fail: {near.reason}"
        limit = learnt_limit(ledger)
        words = f"prompt + output up to {limit} fit" if limit else "where exactly the limit lies is not known"
        return FindingKind.CLEAN_LIMIT, f"nothing fails below the first refusal, at {first_bad} tokens: {words}"
    outcome = Counter(failure.outcome for failure in tally.failures).most_common(1)[0][0]
    signature = next((f": {failure.signature}" for failure in tally.failures if failure.signature), "")
    edge = f"{ledger.bounds.last_good} passes, {first_bad} ends in {outcome}{signature}"
    return FindingKind(outcome.value), edge + axis_words(ledger)


def _finding(ledger: Ledger, kind: FindingKind, reason: str, cap: int | None, halt: Halt | None) -> Finding:
    bounds, question = ledger.bounds, ledger.question
    cause = None if kind in NOT_BY_LENGTH else cause_for(ledger)
    refused = [seen.length for seen in ledger.evidence if seen.outcome is Outcome.REJECTED]
    off_from, off_words = speculation_off_from(ledger)
    near = limit_failure(ledger) or cut_short_of_limit(ledger) if kind is not FindingKind.INCONCLUSIVE else None
    first_bad = near.length if near else bounds.first_bad
    if first_bad is not None and kind is FindingKind.CLEAN_LIMIT:
        first_bad = None
    verified = ledger.verified()
    failing = lowest_failing(ledger)
    island = min([*ledger.islands, *([] if failing is None else [failing])], default=None)
    if island is not None and cap is not None and cap > island:
        cap = None  # it would admit the island
    good = ledger.at(verified).passes if verified is not None else []
    bad = ledger.at(bounds.first_bad).failures if bounds.first_bad is not None else []
    at_good = ledger.at(verified).failures if verified is not None else []
    return Finding(
        kind=kind,
        reason=reason + _but_islands(ledger, cap) + off_words,
        last_good=verified,
        first_bad=first_bad,
        last_good_total=max((seen.total for seen in good), default=None),
        first_bad_total=None if first_bad is None else first_bad + question.output_at(first_bad),
        first_rejected=min((length for length in refused if length > (bounds.last_good or 0)), default=None),
        verified_up_to=verified if island is None else passed_below(ledger, island),
        flaky=_flaky(ledger),
        islands=_islands(ledger),
        cap=cap,
        cause=str(cause) if cause else None,
        confidence=confidence_of(len(good), len(at_good), len(bad)),
        assumes=assumed(ledger, cap, nothing_fails=kind is FindingKind.NONE),
        halt=halt,
        speculation_off_from=off_from,
    )


def _but_islands(ledger: Ledger, cap: int | None) -> str:
    below = "there is no cap below that" if cap is None else "the cap is below that"
    if found := islands(ledger):
        return "; but " + "; ".join(map(_island_words, found)) + f", and {below}"
    if (failing := lowest_failing(ledger)) is not None:
        return f"; but {failing} failed once, it is not known whether it does again, and {below}"
    if not ledger.islands:
        return ""
    alone = ", ".join(map(str, ledger.islands))
    return f"; but {alone} fails, alone, and a cap cannot leave that out and keep what is above it"


def _islands(ledger: Ledger) -> tuple[tuple[int, int], ...]:
    """Those that a scan measured, and what the search itself met."""
    measured = [(one.first, one.last) for one in islands(ledger)]
    met = [(at, at) for at in ledger.islands if not any(first <= at <= last for first, last in measured)]
    return tuple(sorted([*measured, *met]))


def _island_words(island: Island) -> str:
    where = f"{island.first}" if island.first == island.last else f"{island.first} to {island.last}"
    width = "" if island.is_measured else " or more"
    words = f": {island.signature}" if island.signature else ""
    return f"{where}{width}, an island, ends in {island.outcome}{words}"


def _flaky(ledger: Ledger) -> Flaky | None:
    """The failure rate from first_bad on, if something passed there."""
    if ledger.bounds.first_bad is None or not ledger.bounds.noisy:
        return None
    above = [tally for length, tally in ledger.line() if length >= ledger.bounds.first_bad]
    passes = sum(len(tally.passes) for tally in above)
    failures = sum(len(tally.failures) for tally in above)
    return flaky(passes, failures) if passes and failures else None


def _bracket_words(ledger: Ledger) -> str:
    bounds = ledger.bounds
    verified = ledger.verified()
    passed = [(len(tally.passes), length, tally) for length, tally in ledger.line() if tally.passes]
    good = "nothing is known to pass"
    if verified is not None:
        good = f"{verified} passes"
    elif passed:
        passes, length, tally = max(passed, key=itemgetter(0, 1))
        good = f"{length} passed {passes} of {passes + len(tally.all_failures)} times, which is not enough to be sure"
    if bounds.first_bad is None:
        return f"{good}, nothing is known to fail"
    failed = ledger.at(bounds.first_bad)
    is_trusted = not (failed.all_failures or failed.refusals)
    return f"{good}, {bounds.first_bad} {'is taken not to' if is_trusted else 'does not'}"
