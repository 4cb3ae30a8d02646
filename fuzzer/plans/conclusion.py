"""What do the observations of a bisect amount to: which finding, resting on what? PURE."""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING

from fuzzer.finding import Finding, FindingKind, Flaky, Halt
from fuzzer.model import Outcome, Role
from fuzzer.plans.alike import alike, none_outlived
from fuzzer.plans.assumed import assumed, times
from fuzzer.plans.axis import cause_for
from fuzzer.plans.below import asked_below, lowest_failing, passed_below
from fuzzer.plans.cap import cap_of
from fuzzer.plans.confirm import passes_to_bear
from fuzzer.plans.corners import failed_corner, unknown_corners
from fuzzer.plans.doubt import SEVERAL, TWICE
from fuzzer.plans.grain import recurring
from fuzzer.plans.limits import cut_short_of_limit, limit_failure
from fuzzer.plans.scan import Island, islands
from fuzzer.plans.speculation import speculation_off_from
from fuzzer.plans.verdict import died_once, island_kind, verdict
from fuzzer.recommend import confidence_of, flaky

if TYPE_CHECKING:
    from fuzzer.plans.ledger import Ledger

NOT_BY_LENGTH = frozenset({FindingKind.CLEAN_LIMIT, FindingKind.NOT_LENGTH})  # no number explains these

CARRIES_NONE = frozenset({Halt.UNUSABLE, Halt.NOT_LENGTH})


def inconclusive(ledger: Ledger, halt: Halt, why: str) -> Finding:
    """The honest bracket, and the cap of the ground covered; none where it is not the length that ends lives."""
    cap = cap_of(ledger, halted=True)
    held_back = _held_back(ledger, cap) or _not_outlived(ledger, cap)
    reason = f"{why} ({_bracket_words(ledger)})"
    if halt is not Halt.CONTRADICTION:  # which says the same
        reason += held_back or _unconfirmed(ledger, halt)
    return _finding(ledger, FindingKind.INCONCLUSIVE, reason, None if held_back or halt in CARRIES_NONE else cap, halt)


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


def _not_outlived(ledger: Ledger, cap: int | None) -> str:
    """A clause on why ground carries no cap that passed in lives which all ended alike: none outlived the others."""
    found = alike(ledger.lives) or none_outlived(ledger.lives)
    return f"; no cap: {found.why}, and no life outlived that" if found and cap and cap > found.above else ""


def _unconfirmed(ledger: Ledger, halt: Halt) -> str:
    """A clause on a last_good that passed too seldom to carry a cap, and on what would let it."""
    last_good, ground = ledger.verified(), ledger.ground(halted=True)
    if ledger.question.is_turned or last_good is None or ground == last_good:
        return ""
    takes = "more, where failures are noisy" if ledger.bounds.noisy else str(passes_to_bear(ledger))
    passed = f"{last_good} passed {times(len(ledger.at(last_good).passes))}, and a claim takes {takes}"
    told = "no cap" if ground is None else f"the cap is that of {ground}"
    return f"; {told}: {passed}{' (a longer --max-time leaves room for them)' if halt is Halt.TIME else ''}"


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
    kind, reason = verdict(ledger)
    if (lowest := island_kind(ledger)) is not None:
        kind = lowest
    elif (died := died_once(ledger, kind)) is not None:
        return everywhere(ledger, died)
    return _finding(ledger, kind, reason, cap, None)


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
    if cap is not None and (doubted := _doubted(ledger, cap, halt)):
        cap, reason = None, reason + doubted
    good = ledger.at(verified).passes if verified is not None else []
    bad = ledger.at(bounds.first_bad).failures if bounds.first_bad is not None else []
    if kind is FindingKind.CLEAN_LIMIT:
        bad = []
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


def _doubted(ledger: Ledger, cap: int, halt: Halt | None) -> str:
    """A clause on why good ground carries no cap: deaths of nobody came after several answers that it would admit.

    Two may be restarts of somebody, where the ground passed often enough to bear a claim; where it did not, it may be
    luck, and what was answered above it counts as well. What has passed so often since is in doubt no more.
    """
    ground = ledger.ground(halted=halt is not None)
    is_firm = ground is not None and ledger.is_sound(ledger.at(ground))
    fewest, up_to = (SEVERAL, cap) if is_firm else (TWICE, ledger.bounds.high - 1)
    admitted = [point for point in ledger.in_doubt if max(point) <= up_to]
    lengths = [length for length, output in admitted if not ledger.is_sound(ledger.at(length, output))]
    if len(lengths) < fewest:
        return ""
    after = ", ".join(map(str, lengths))
    return f"; no cap: the engine died {times(len(lengths))} after an answer (of {after} tokens), and it may be of any"


def _but_islands(ledger: Ledger, cap: int | None) -> str:
    if (alike := recurring(ledger)) is not None:
        return "; but " + _recurring_words(ledger, *alike)
    below = "there is no cap below that" if cap is None else "the cap is below that"
    if found := islands(ledger):
        return "; but " + "; ".join(map(_island_words, found)) + f", and {below}"
    if (failing := lowest_failing(ledger)) is not None and failing not in ledger.islands:
        is_known, fails = failing in ledger.question.known_bad, bool(ledger.at_place(failing).all_failures)
        once = "killed this build in an earlier run" if is_known else "failed once"
        again = "fails now as well" if is_known and fails else "it is not known whether it does again"
        return f"; but {failing} {once}, {again}, and {below}"
    if not ledger.islands:
        return ""
    alone = ", ".join(map(str, ledger.islands))
    where = "a cap cannot leave that out and keep what is above it" if cap is None else below
    return f"; but {alone} fails, alone, and {where}"


def _recurring_words(ledger: Ledger, low: int, high: int) -> str:
    failure = dict(asked_below(ledger))[low].all_failures[0]
    words = f": {failure.signature}" if failure.signature else ""
    ends = f"{low} and {high} end in {failure.outcome}{words}, and a length between them passes"
    return f"{ends}: most likely it recurs every {high - low} tokens or fewer, so no cap leaves it out"


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
