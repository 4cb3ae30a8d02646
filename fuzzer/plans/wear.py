"""Do the lives of an engine end alike, whatever it was asked? PURE.

Of a life we know what it was asked, canaries included: so that it was alive at one age and dead at the next, on each
of three clocks. Lives end alike where one age lies between the two for all of them, and no other life grew older.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fuzzer.model import Observation, Outcome, ProbeSpec, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fuzzer.plans.ledger import Ledger
    from fuzzer.plans.tally import Tally

    Clock = Callable[["Life"], tuple[float, float]]

CANARY_TOKENS = 24  # prompt and output
ENOUGH_LIVES = 2  # whole ones
MANY_LIVES = 3  # so many that are alike: then it matters no more how old the life became that we met
SAME_AGE = 0.1
SHORT_LIFE = 12  # requests: of a longer life the search itself soon asks enough
LONGEST_NAP_S = 120.0
MANY_DEATHS = 6
SORTED = 1_000  # so many orders there must be of as many deaths and passes, of which one alone has come
SURE = math.log(40)  # what was seen must be so much less likely if nothing but length and chance has made it


@dataclass(slots=True)
class Life:
    """One life of the engine, from `born_s` on (active seconds; of a life that we met, our first).

    `whole`: we saw it begin, after a death at `since_s`, and it sang so many canaries (`sung`) before its first probe.
    `idle`: it ended between two probes, by `gone_s`.
    """

    born_s: float = 0.0
    since_s: float = 0.0
    whole: bool = False
    sung: int = 0
    probes: list[Observation] = field(default_factory=list)
    ended: bool = False
    idle: bool = False
    gone_s: float = 0.0

    @property
    def is_answered(self) -> bool:
        """Did it end with nothing of ours in flight but a canary?"""
        return self.ended and (self.idle or self.probes[-1].completion_tokens is not None)

    @property
    def before(self) -> list[Observation]:
        """The probes that it outlived, with the canaries after them."""
        return self.probes[:-1] if self.ended and not self.idle else self.probes


def lives_of(seen: Iterable[Observation]) -> list[Life]:
    """The lives that a run has met, first to last. The last one goes on."""
    lives = [Life()]
    for each in seen:
        life = lives[-1]
        if each.blames == "nobody":
            life.ended, life.idle, life.gone_s = True, True, each.started_s
            lives.append(Life(each.started_s, each.started_s, whole=True))
            if each.outcome is Outcome.ABANDONED:
                lives[-1].born_s, lives[-1].sung = each.over_s, each.canaries
            else:
                lives[-1].probes.append(each)
            continue
        life.probes.append(each)
        if each.deaths or each.wedged:
            life.ended, life.gone_s = each.deaths > 0, each.ended_s
            others = life.is_answered + each.relapses  # canaries that were no songs of the next life
            lives.append(Life(each.over_s, each.ended_s, whole=True, sung=max(each.canaries - others, 0)))
    return lives


def worn(ledger: Ledger) -> str | None:
    """A sentence: at which age each whole life ended, on all clocks that fit. None where length and chance may do.

    Where even short prompts kill twice, the life that we met may have been a better one; else one length must pass and
    kill so often that chance will not do.
    """
    lives = lives_of(ledger.seen)
    ended = _ended(lives)
    if len(_deaths(ledger.at(ledger.question.baseline))) >= ENOUGH_LIVES:
        lives = lives[1:]
    elif sum(_surprise(tally) for _, tally in ledger.line()) < SURE:
        return None
    if len(ended) < ENOUGH_LIVES:
        return None
    clocks = CLOCKS
    if any(life.is_answered for life in ended):  # of a canary, or of itself
        clocks = QUIET
    ages = [f"{age:.0f} {unit}" for clock, unit in clocks if (age := _age_of_all(lives, clock)) is not None]
    return f"each of {len(ended)} lives of the engine ended after about {' or '.join(ages)}" if ages else None


def kills_the_old(ledger: Ledger) -> str | None:
    """A sentence: lengths that kill an old life, and pass in a young one. None where chance may have sorted them so.

    Lives that end alike are told sooner, and better, by `worn`.
    """
    deaths, passes = [], []
    shortest = min((seen.length for seen in ledger.evidence if seen.outcome is Outcome.DEATH), default=0)
    counted = {seen.seq: seen.outcome for seen in ledger.evidence if seen.length >= shortest}
    for life in lives_of(ledger.seen):
        age = life.sung
        for seen in life.probes:
            outcome = counted.get(seen.seq)
            if outcome is Outcome.DEATH:
                deaths.append(age)
            elif outcome is Outcome.PASS:
                passes.append(age)
            age += 1 + len(seen.spec.companions) + seen.canaries
    sorted_by_chance = math.comb(len(deaths) + len(passes), len(deaths))
    if len(deaths) < MANY_DEATHS or not passes or max(passes) >= min(deaths) or sorted_by_chance < SORTED:
        return None
    return f"{shortest} tokens and more kill the engine once it has answered {min(deaths)} requests, and pass before"


def died_alone(ledger: Ledger) -> str | None:
    """A sentence: lives ended while no probe was in flight, and one of those was asked nothing but short prompts."""
    lives = lives_of(ledger.seen)[1:]
    alone = [life for life in _ended(lives) if life.is_answered]
    if len(alone) < ENOUGH_LIVES or not any(life.idle and _is_idler(life, ledger) for life in alone):
        return None
    if _age_of_all(lives, _since_death) is None:
        return None
    age = min(_seconds(life)[1] for life in alone)
    return f"the engine dies by itself, about {age:.0f} s after it came back, also where it is asked next to nothing"


def live_as_long(ledger: Ledger) -> ProbeSpec | None:
    """The short prompt, until a life that is asked nothing else is older than those that ended: does it end too?

    Asked where lives ended with no probe in flight: then the engine is let alone until that age. And where all lives
    ended after as many requests.
    """
    question, lives = ledger.question, lives_of(ledger.seen)
    ended = _ended(lives)
    alone = [life for life in ended if life.is_answered]
    if alone and _age_of_all(lives, _since_death) is not None:
        age = max(_seconds(life)[1] for life in alone)
        wait_s = (1 + SAME_AGE) * age - (ledger.over_s - lives[-1].born_s)
        if max(_seconds(life)[0] for life in lives) <= (1 + SAME_AGE) * age and wait_s <= LONGEST_NAP_S:
            reason = f"it died with nothing in flight, {age:.0f} s after it came back: does it, let alone?"
            return replace(question.spec(question.baseline, Role.CONFIRM_GOOD, reason), wait_s=max(wait_s, 0.0))
    if len(ended) < ENOUGH_LIVES or any(life.idle for life in ended):
        return None
    requests = _age_of_all(lives if len(ended) < MANY_LIVES else lives[1:], _requests)
    if requests is None or requests > SHORT_LIFE:
        return None
    reason = f"each life ended after {requests:.0f} requests: does it, of short prompts?"
    return question.spec(question.baseline, Role.CONFIRM_GOOD, reason)


def _ended(lives: list[Life]) -> list[Life]:
    return [life for life in lives if life.whole and life.ended]


def _is_idler(life: Life, ledger: Ledger) -> bool:
    return all(seen.spec.length <= ledger.question.baseline for seen in life.probes)


def _deaths(tally: Tally) -> list[Observation]:
    return [seen for seen in tally.failures if seen.outcome is Outcome.DEATH]


def _surprise(tally: Tally) -> float:
    """How unlikely it is, in nats, that one length passes and kills in this order, at the rate that fits best."""
    passes, deaths = len(tally.passes), len(_deaths(tally))
    if not passes or not deaths:
        return 0.0
    sent = passes + deaths
    return passes * math.log(sent / passes) + deaths * math.log(sent / deaths)


def _age_of_all(lives: list[Life], clock: Clock) -> float | None:
    """The age at which every whole life ended; None where one ended earlier than another lived."""
    oldest = max(clock(life)[0] for life in lives)
    dead = min(clock(life)[1] for life in _ended(lives))
    slack = 0.0 if clock in COUNTED else SAME_AGE
    return dead if oldest <= (1 + slack) * dead else None


def _requests(life: Life) -> tuple[float, float]:
    alive = life.sung + sum(1 + len(seen.spec.companions) + seen.canaries for seen in life.before)
    alive += life.is_answered and not life.idle
    return alive, alive + 1


def _tokens(life: Life) -> tuple[float, float]:
    canaries = life.sung + sum(seen.canaries for seen in life.before)
    alive = CANARY_TOKENS * canaries + sum(seen.total + sum(seen.spec.companions) for seen in life.before)
    return alive, alive + (life.probes[-1].total if life.probes else 0)


def _seconds(life: Life) -> tuple[float, float]:
    """Since it served."""
    if not life.probes:
        return 0.0, life.gone_s - life.born_s
    last = life.probes[-1]
    answered_s = last.started_s + last.duration_s
    alive_s = last.started_s if life.ended and not life.is_answered else answered_s
    return alive_s - life.born_s, (life.gone_s if life.is_answered else answered_s) - life.born_s


def _since_death(life: Life) -> tuple[float, float]:
    """It may have lived for a while before it served: at most since the death before it."""
    return _seconds(life)[0], life.gone_s - life.since_s


COUNTED = (_requests, _tokens)  # to the last one, but for a canary
CLOCKS: tuple[tuple[Clock, str], ...] = ((_requests, "requests"), (_tokens, "tokens"), (_seconds, "s"))
QUIET: tuple[tuple[Clock, str], ...] = ((_requests, "requests"), (_since_death, "s since the death before it"))
