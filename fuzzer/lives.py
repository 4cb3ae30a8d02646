"""Which life of the engine do we know, and did one end that no probe saw? PURE: a fold over looks at it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from targets.scrape import restarted

if TYPE_CHECKING:
    from fuzzer.evidence import Evidence, Verdict
    from targets.scrape import Scrape


@dataclass(slots=True)
class Lives:
    """`known`: the engine when it was last looked at.

    Of several replicas a look shows any one, and says nothing of the others.
    """

    known: Scrape | None
    replicas: bool = False

    def saw(self, evidence: Evidence) -> None:
        """A probe has looked."""
        self.known = evidence.settled or evidence.after or self.known

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
