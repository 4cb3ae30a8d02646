"""Do the lives of an engine end alike, whatever it was asked? PURE.

Then it is not the length that kills, but wear. What lives have in common is told before anything is said of lengths.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.finding import Halt
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.ages import (
    SAME_AGE,
    Life,
    age_of_all,
    ended_of,
    requests_of,
    seconds_of,
    since_death,
)
from fuzzer.plans.alike import ENOUGH_LIVES, MANY_LIVES, ages_alike, alike
from fuzzer.plans.conclusion import inconclusive

if TYPE_CHECKING:
    from fuzzer.finding import Finding
    from fuzzer.plans.ledger import Ledger
    from fuzzer.plans.tally import Tally

SHORT_LIFE = 12  # requests: of a longer life the search itself soon asks enough
LONGEST_LIFE = 100  # nobody asks one life for more than so many to see it outlive the others
LONGEST_NAP_S = 120.0
MANY_DEATHS = 6
SORTED = 1_000  # so many orders there must be of as many deaths and passes, of which one alone has come
MOST_OUTLIVED = 3  # lives that may end while one is asked to outlive the others
SURE = math.log(40)  # what was seen must be so much less likely if nothing but length and chance has made it


def worn(ledger: Ledger) -> str | None:
    """A sentence: at which age each whole life ended, on all clocks that fit. None where length and chance may do.

    Where even short prompts kill twice, the life that we met may have been a better one; else one length must pass and
    kill so often that chance will not do. A life that an edge ended, too, would hide that the others end alike; but two
    that are left then may be so by chance.
    """
    lives = ledger.lives
    if len(_deaths(ledger.at(ledger.question.baseline))) >= ENOUGH_LIVES:
        return ages_alike(lives[1:], ended_of(lives))
    if not _is_surprising(ledger):
        return None
    below = [_but_for_the_edge(life, ledger.bounds.high) for life in lives]
    told = ages_alike(lives, ended_of(lives))
    return told if told or len(ended_of(below)) < MANY_LIVES else ages_alike(below, ended_of(below))


def ended_alike(ledger: Ledger) -> str | None:
    """A sentence: after what all lives ended but the one that we met. None where length and chance may do.

    So few lives fit more than one such law, and others are told sooner, and better, by what comes before this.
    """
    if sum(life.ended for life in ledger.lives) < MANY_DEATHS or not _is_surprising(ledger):
        return None
    found = alike(ledger.lives)
    return None if found is None else found.why


def _but_for_the_edge(life: Life, high: int) -> Life:
    """The life as far as its last probe did not come to the edge: what it died of there tells nothing of its age."""
    is_of_the_edge = life.ended and not life.idle and life.probes[-1].length >= high
    return replace(life, probes=life.probes[:-1], ended=False) if is_of_the_edge else life


def kills_the_old(ledger: Ledger) -> str | None:
    """A sentence: lengths that kill an old life, and pass in a young one. None where chance may have sorted them so.

    Lives that end alike are told sooner, and better, by `worn`.
    """
    deaths, passes = [], []
    shortest = min((seen.length for seen in ledger.evidence if seen.ended_a_life), default=0)
    counted = {seen.seq: seen for seen in ledger.evidence if seen.length >= shortest}
    for life in ledger.lives:
        age = life.sung
        for seen in life.probes:
            known = counted.get(seen.seq)
            if known is not None and known.ended_a_life:
                deaths.append(age)
            elif known is not None and known.outcome is Outcome.PASS:
                passes.append(age)
            age += 1 + len(seen.spec.companions) + seen.canaries
    sorted_by_chance = math.comb(len(deaths) + len(passes), len(deaths))
    if len(deaths) < MANY_DEATHS or not passes or max(passes) >= min(deaths) or sorted_by_chance < SORTED:
        return None
    return f"{shortest} tokens and more kill the engine once it has answered {min(deaths)} requests, and pass before"


def died_alone(ledger: Ledger) -> str | None:
    """A sentence: lives ended while no probe was in flight, and one of those was asked nothing but short prompts."""
    lives = ledger.lives[1:]
    alone = [life for life in ended_of(lives) if life.is_answered]
    if len(alone) < ENOUGH_LIVES or not any(life.idle and _is_idler(life, ledger) for life in alone):
        return None
    if age_of_all(lives, since_death) is None:
        return None
    age = min(life.age(seconds_of)[1] for life in alone)
    return f"the engine dies by itself, about {age:.0f} s after it came back, also where it is asked next to nothing"


def live_as_long(ledger: Ledger) -> ProbeSpec | Finding | None:
    """The short prompt, until a life that is asked nothing else is older than those that ended: does it end too?

    Asked where lives ended with no probe in flight: then the engine is let alone until that age. And where all lives
    ended after as many requests. No more is asked where life after life ends at lengths that pass.
    """
    question, lives = ledger.question, ledger.lives
    if (why := _ends_where_all_passes(ledger, lives)) is not None:
        return inconclusive(ledger, Halt.NOT_LENGTH, why)
    ended = ended_of(lives)
    alone = [life for life in ended if life.is_answered]
    if alone and age_of_all(lives, since_death) is not None:
        age = max(life.age(seconds_of)[1] for life in alone)
        wait_s = (1 + SAME_AGE) * age - (ledger.over_s - lives[-1].born_s)
        if max(life.age(seconds_of)[0] for life in lives) <= (1 + SAME_AGE) * age and wait_s <= LONGEST_NAP_S:
            reason = f"it died with nothing in flight, {age:.0f} s after it came back: does it, let alone?"
            return replace(question.spec(question.baseline, Role.CONFIRM_GOOD, reason), wait_s=max(wait_s, 0.0))
    if len(ended) < ENOUGH_LIVES or any(life.idle for life in ended):
        return None
    requests = age_of_all(lives if len(ended) < MANY_LIVES else lives[1:], requests_of)
    if requests is None or requests > SHORT_LIFE:
        return None
    reason = f"each life ended after {requests:.0f} requests: does it, of short prompts?"
    return question.spec(question.baseline, Role.CONFIRM_GOOD, reason)


def outlive_others(ledger: Ledger) -> ProbeSpec | Finding | None:
    """last_good again, where all whole lives ended alike and an edge would explain that too: until one outlives them.

    Nothing is claimed before that, so that a cap is not the luck of lives that were too young to end.
    """
    found, good = alike(ledger.lives), ledger.bounds.last_good
    if found is None or good is None or good <= found.above:
        return None
    if len(ledger.lives[-1].probes) >= LONGEST_LIFE:
        return inconclusive(ledger, Halt.NOT_LENGTH, found.why)
    return ledger.question.spec(good, Role.CONFIRM_GOOD, f"{found.why}: does it, of what passes?")


def _ends_where_all_passes(ledger: Ledger, lives: list[Life]) -> str | None:
    """A sentence: at which ages lives ended that were asked again and again for a length that passes.

    They were to outlive one another. To kill the engine for that without end shows no more.
    """
    good = ledger.bounds.last_good or 0
    asked = [life for life in ended_of(lives) if not life.idle and life.probes[-1].spec.role is Role.CONFIRM_GOOD]
    ages = sorted(life.age(requests_of)[1] for life in asked if life.probes[-1].length <= good)
    if len(ages) <= MOST_OUTLIVED:
        return None
    span = f"after {ages[0]:.0f} to {ages[-1]:.0f} requests"
    return f"{len(ages)} lives of the engine ended at lengths that pass, {span}: it seems to be wear"


def _is_idler(life: Life, ledger: Ledger) -> bool:
    """Was it asked for no more than short prompts with short answers?"""
    length = ledger.question.baseline
    output = ledger.question.output_at(length)
    return all(seen.spec.length <= length and seen.spec.output_tokens <= output for seen in life.probes)


def _deaths(tally: Tally) -> list[Observation]:
    return [seen for seen in tally.failures if seen.ended_a_life]


def _is_surprising(ledger: Ledger) -> bool:
    """Do lengths pass and kill so often that chance will not do?"""
    return sum(_surprise(tally) for _, tally in ledger.line()) >= SURE


def _surprise(tally: Tally) -> float:
    """How unlikely it is, in nats, that one length passes and kills in this order, at the rate that fits best."""
    passes, deaths = len(tally.passes), len(_deaths(tally))
    if not passes or not deaths:
        return 0.0
    sent = passes + deaths
    return passes * math.log(sent / passes) + deaths * math.log(sent / deaths)
