"""Which life of the engine do we know, did one end unseen, and is it one engine? PURE: folds over looks at it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from targets.scrape import JITTER_S, restarted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fuzzer.evidence import Evidence, Verdict
    from targets.scrape import Scrape


@dataclass(slots=True)
class Turns:
    """Do several processes take turns? A start that goes back to an earlier one is no restart's."""

    newest: dict[str, float] = field(default_factory=dict)

    def rise(self, *looks: Scrape | None) -> bool:
        """Would these looks, in their order, show a younger process than any before: a restart, or another's turn?"""
        newest = dict(self.newest)
        return any(mark > newest.setdefault(name, mark) for name, mark in _marks(looks))

    def see(self, *looks: Scrape | None) -> str:
        """Take more looks, in their order. What shows that there are several; empty where nothing does."""
        shown = ""
        for name, mark in _marks(looks):
            newest = self.newest.get(name, mark)
            if mark < newest - JITTER_S:
                shown = shown or f"process start went back from {newest:.2f} to {mark:.2f}"
            self.newest[name] = max(newest, mark)
        return shown


@dataclass(slots=True)
class Lives:
    """`known`: the engine when it was last looked at.

    Of several replicas a look shows any one, and says nothing of the others. `several`: what showed in the middle of
    the run that there are some.
    """

    known: Scrape | None
    replicas: bool = False
    several: str = ""
    _turns: Turns = field(default_factory=Turns)

    def recall(self, looks: Iterable[Scrape | None]) -> None:
        """What earlier sessions of the run had looked at, in its order: where one went back then, it was told then."""
        self._turns.see(*looks)

    def doubts(self, evidence: Evidence) -> bool:
        """May what looks like a restart be another one's turn? Where nobody serves it is none."""
        sang = evidence.canary is not None and evidence.canary.ok
        known = Turns({**self._turns.newest, **dict(_marks([self.known]))})
        return sang and not self.replicas and known.rise(*_looks(evidence))

    def met(self, evidence: Evidence, late: Sequence[Scrape | None] = ()) -> Evidence:
        """The evidence in the light of all looks so far, and of `late` ones: behind several processes none is proof."""
        shown = self._turns.see(self.known, *_looks(evidence), *late)
        self.several = self.several or shown
        if not self.several:
            return evidence
        self.replicas = True
        return replace(evidence, replicas=True, several=self.several)

    def saw(self, evidence: Evidence) -> None:
        """A probe has looked."""
        self.known = evidence.settled or evidence.after or self.known

    def waited(self, left: Scrape, now: Scrape | None) -> str | None:
        """We waited, with nothing in flight. What shows that the engine is another one since; it is known from now on.

        Whoever was another one before we began to wait is not excused.
        """
        if self.replicas or (self.known is not None and restarted(self.known, left) is not None):
            return None
        why = None if now is None else restarted(left, now)
        if why is not None or now is None:
            self.known = now
        return why

    def with_unseen_deaths(self, verdict: Verdict, evidence: Evidence) -> tuple[Verdict, str | None]:
        """The verdict with a death that came before its probe, which is nobody's; and what shows it.

        A change that came with a death of the verdict's own is that death.
        """
        looked = evidence.before
        if looked is None and not verdict.deaths:
            looked = evidence.after or evidence.settled
        if self.known is None or looked is None or self.replicas:
            return verdict, None
        why = restarted(self.known, looked)
        if why is None:
            return verdict, None
        return replace(verdict, deaths=verdict.deaths + 1, blames=verdict.blames or "nobody"), why

    def is_told(self, evidence: Evidence) -> bool:
        """Did the looks of the probe itself show the end of the life that it met?"""
        lived, looked = evidence.before, evidence.settled or evidence.after
        return lived is not None and looked is not None and restarted(lived, looked) is not None


def _looks(evidence: Evidence) -> tuple[Scrape | None, ...]:
    return evidence.before, evidence.after, evidence.settled


def _marks(looks: Iterable[Scrape | None]) -> list[tuple[str, float]]:
    return [mark for look in looks if look is not None for mark in look.starts.items()]
