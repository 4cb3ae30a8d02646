"""Where does the edge seem to lie, to prompts whose beginning comes out of the prefix cache? PURE.

The cheap stage before a cold search (`--cache mixed`): what a cache serves is not read again. All that it finds is a
hint, which two lengths to ask first; an edge and its confirmation rest on cold probes alone, and a cap is only ever
lowered by warm ones, once what failed of them was asked again. Where hits are not proven, or warm probes contradict
each other, there is no hint, and nothing is lost but a few probes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.finding import Finding, FindingKind, Halt
from fuzzer.model import ProbeSpec, Role
from fuzzer.plans.confirm import settle_doubt
from fuzzer.plans.interruption import out_of_time, stopped, wait
from fuzzer.plans.ledger import Ledger
from fuzzer.plans.narrowing import is_closed, narrow
from fuzzer.plans.opening import baseline, verify_lo
from fuzzer.plans.turned import turned, turned_seen
from fuzzer.plans.warmth import SERVED, hits_are_missing, prime, proven_length
from fuzzer.recommend import cap_below

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fuzzer.observation import Observation
    from fuzzer.plans.question import BisectQuestion

COLD_DEATHS = 3  # left for the cold search: first_bad, its confirmation, and one if they do not agree


class Stages:
    """The ledgers of a bisect, fed with all of its observations: the cold (or warm) one, and the scout's before it.

    Each counts all deaths and all time, and takes for evidence only what was sent as its own stage sends. The scout's
    stage ends for good: what is seen later changes no hint, but may show that a warm failure was a stray.
    """

    def __init__(self, question: BisectQuestion, facts: Iterable[Observation] = ()) -> None:
        warm = replace(question, cache="warm")
        self.scout = Ledger(warm, whole=False) if question.cache == "mixed" else None
        self.search = Ledger(turned(question) if question.is_turned else question, whole=not question.is_turned)
        self.is_scouting = self.scout is not None
        for fact in facts:
            self.take(fact)

    @property
    def current(self) -> Ledger:
        """The ledger of the stage that decides what is asked next."""
        return self.scout if self.scout is not None and self.is_scouting else self.search

    def as_seen(self, seen: Observation) -> Observation:
        """The observation as the ledgers see it."""
        return turned_seen(seen) if self.search.question.is_turned else seen

    def take(self, seen: Observation) -> None:
        """Take one more observation, in the order in which they were made."""
        self.search.take(self.as_seen(seen))
        if self.scout is None:
            return
        self.scout.take(seen)
        if self.is_scouting and scouted_next(self.scout) is None:
            self.is_scouting = False
            self.search = Ledger(self.search.question, self.search.seen, hint=_hint(self.scout))


def scouted_next(ledger: Ledger) -> ProbeSpec | None:
    """What the scout asks next; None once it has nothing more to ask, or may ask nothing."""
    question = ledger.question
    late = out_of_time(ledger.over_s, question.max_time_s, wait(ledger)) is not None
    is_over = _has_spent(ledger) or late or stopped(ledger, question.max_deaths) is not None
    if is_over or ledger.bounds.noisy or hits_are_missing(ledger):
        return None
    if (again := wait(ledger)) is not None:
        return again
    steps = (need(ledger) for need in (baseline, verify_lo, settle_doubt, narrow, vouch))
    step = next((step for step in steps if step is not None), None)
    if step is None or isinstance(step, Finding):
        return None
    return ledger.to_send(prime(ledger, step) or step)


def with_scouted(finding: Finding, scout: Ledger) -> ProbeSpec | Finding:
    """The finding of the cold search, and what the warm one came to; but first, what that leaves open."""
    bad = _warm_bad(scout)
    if bad is not None and finding.first_bad is not None and finding.first_bad <= bad:
        bad = None  # a cold prompt fails as soon: that explains it
    if bad is not None and finding.halt is None and (again := _again(scout, bad)) is not None:
        return again
    finding = replace(finding, reason=f"{finding.reason}; {_scouted_words(scout, finding)}")
    return finding if bad is None else _not_cold_alone(finding, scout, bad)


def _again(scout: Ledger, bad: int) -> ProbeSpec | None:
    """The warm prompt that failed once where no cold one does, until it fails twice, or passes outweigh that."""
    question, tally = scout.question, scout.at(bad)
    if len(tally.all_failures) > 1 or scout.deaths >= question.max_deaths:
        return None
    reason = f"it failed on a warm prefix alone, and passed {len(tally.passes)} times: a stray?"
    step = question.spec(bad, Role.SEARCH, reason)
    step = prime(scout, step) or step
    return None if out_of_time(scout.over_s, question.max_time_s, step) else scout.to_send(step)


def _not_cold_alone(finding: Finding, scout: Ledger, bad: int) -> Finding:
    """Where a warm prompt failed that a cold one would not, nothing is vouched for past the hits that passed, and no
    limit or top is reached in peace.
    """
    proven, cap, reached = _proven(scout), finding.cap, finding.verified_up_to
    if reached is not None and reached > proven:
        finding = replace(finding, verified_up_to=proven or None)
    if cap is not None and cap > (ground := _cap_of(scout, proven) or 0):
        said = (
            f"a cap of {cap} would hold cold; it is lower since {bad} failed on a warm prefix{_unconfirmed(scout, bad)}"
            f"{_beyond(proven, bad)} (`--cache warm` bisects that edge)"
        )
        finding = replace(finding, cap=ground or None, assumes=(*finding.assumes, said))
    if reached is None or reached < bad or finding.kind not in {FindingKind.NONE, FindingKind.CLEAN_LIMIT}:
        return finding
    reason = f"cold, {finding.reason} (`--cache warm` bisects that edge)"
    return replace(finding, kind=FindingKind.INCONCLUSIVE, halt=Halt.CONTRADICTION, reason=reason)


def _warm_bad(scout: Ledger) -> int | None:
    """The shortest warm prompt that failed, and did not pass often enough to outweigh that."""
    return next((length for length, tally in scout.line() if tally.failures and not scout.is_sound(tally)), None)


def _unconfirmed(scout: Ledger, bad: int | None) -> str:
    return ", unconfirmed" if bad is None or len(scout.at(bad).failures) == 1 else ""


def _proven(scout: Ledger) -> int:
    """Up to which length a warm prompt holds, whatever the cache serves of it; 0: none is known to.

    A failure does not tell how much of it was served: what kills may be its length, or what came out of the cache.
    """
    passed = [proven_length(scout, seen) for _, tally in scout.line() for seen in tally.passes]
    bad = _warm_bad(scout)
    return min([max(passed, default=0), *([] if bad is None else [bad - 1])])


def _cap_of(scout: Ledger, proven: int) -> int | None:
    """The cap that the warm ground leaves: what failed but once is not recommended for want of a second time."""
    return cap_below(proven, round_to=scout.question.round_to, margin=scout.draft_tokens or 0)


def _beyond(proven: int, bad: int) -> str:
    """A clause on the ground between the two, of which nothing tells."""
    if proven == bad - 1:
        return ""
    return f", and no prompt longer than {proven} passed out of the cache" if proven else ", and none passed out of it"


def vouch(ledger: Ledger) -> ProbeSpec | None:
    """last_good once more, out of the cache: it may have passed since most of it was read anew."""
    good = ledger.bounds.last_good
    if good is None or _proven(ledger) >= good or any(map(ledger.could_be_served, ledger.at(good).passes)):
        return None
    return ledger.question.spec(good, Role.SEARCH, "does it pass when all of it comes out of the cache?")


def _scouted_words(scout: Ledger, finding: Finding) -> str:
    warm, bad = scout.bounds, _warm_bad(scout)
    strays = [(length, tally) for length, tally in scout.line() if tally.failures and scout.is_sound(tally)]
    if bad is None and strays:
        length, tally = strays[0]
        return f"on a warm prefix {length} failed once, a stray: it passed {len(tally.passes)} times"
    if not _is_settled(scout):
        return _unsettled_words(scout, bad)
    anew = _read_anew(scout)
    if (warm.last_good, warm.first_bad) == (finding.last_good, finding.first_bad):
        return f"on a warm prefix it is the same{anew}"
    good = "nothing passes" if warm.last_good is None else f"{warm.last_good} passes{anew}"
    failed = "nothing longer fails" if warm.first_bad is None else f"{warm.first_bad} does not"
    return f"on a warm prefix another edge was seen{_unconfirmed(scout, bad)}: {good}, {failed}"


def _unsettled_words(scout: Ledger, bad: int | None) -> str:
    if bad is None:
        return f"a warm prefix gave no hint: {_given_up(scout)}"
    tally = scout.at(bad)
    served = {scout.could_be_served(seen) for seen in tally.passes}
    if served == {False} and all(map(scout.could_be_served, tally.failures)):
        return f"on a warm prefix another edge was seen, unconfirmed: {bad} passes read anew, and not out of the cache"
    if scout.bounds.noisy:
        return f"a warm prefix gave no hint: {_given_up(scout)}"
    good = "" if scout.verified() is None else f"{scout.verified()} passes{_read_anew(scout)}, "
    return f"on a warm prefix an edge was seen, and not settled, for {_given_up(scout)}: {good}{bad} does not"


def _read_anew(scout: Ledger) -> str:
    """A clause on a last_good much of which the cache had not, after a death, say: it passed as a cold prompt does."""
    good = scout.bounds.last_good
    served = [] if good is None else [seen.cached_tokens or 0 for seen in scout.at(good).passes]
    if not served or max(served) >= SERVED * scout.bounds.low:
        return ""
    return f" (with {max(served)} tokens from the cache, the rest read anew)"


def _given_up(scout: Ledger) -> str:
    if scout.question.max_deaths <= COLD_DEATHS:
        return f"--max-deaths {scout.question.max_deaths} leaves it none, and it takes {COLD_DEATHS + 1} or more"
    if _has_spent(scout):
        return f"the last {COLD_DEATHS} deaths of --max-deaths are the cold search's"
    if scout.bounds.noisy:
        return "its failures contradict each other"
    if hits_are_missing(scout):
        return "the prefix cache was not seen to serve it"
    return "it ended too soon"


def _has_spent(scout: Ledger) -> bool:
    deaths = sum(seen.toll for seen in scout.seen if scout.question.owns(seen.spec))
    return deaths >= scout.question.max_deaths - COLD_DEATHS


def _is_settled(scout: Ledger) -> bool:
    return is_closed(scout) and not scout.bounds.noisy and not hits_are_missing(scout)


def _hint(scout: Ledger) -> tuple[int, ...]:
    """The two lengths between which the warm edge lies, the good one first."""
    if not _is_settled(scout):
        return ()
    return tuple(length for length in (scout.bounds.last_good, scout.bounds.first_bad) if length is not None)
