"""Who keeps a probe company? Requests of our own, in flight for as long as the probe is.

They make the batch that a length may fail in. Each is begun anew when it ends, so that their number stays; what comes
of them is evidence of the probe that they accompany, and never a probe.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

import anyio

from fuzzer.evidence import Fallen
from fuzzer.heard import heard
from fuzzer.prompts.errors import TokenizerLost
from fuzzer.prompts.recipe import Recipe
from targets.base import Generation
from targets.told import spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fuzzer.model import ProbeSpec
    from fuzzer.rig import Prepared, Rig
    from targets.base import Reply
    from targets.target import Target

OUTPUT_TOKENS = 4096  # so many that it rarely ends before the probe does: between two requests it is not there
FIRST_WORDS_S = 0.05  # an answer that is nothing but an error has ended by then
PATIENCE_S = 10.0  # for an engine that does not take so many at once: the probe goes without them then


class Company:
    """What became of the companions of one probe.

    `requests`: how many they sent in all. `faults`: how the engine failed them; `turned_away`: how it refused them.
    `in_flight`: how many are there now; `at_end`: when the probe's answer ended; `share`: for how much of its time they
    were, on average, from 0 to 1.
    """

    def __init__(self, companions: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.requests = 0
        self.faults: list[Fallen] = []
        self.turned_away: list[str] = []
        self.in_flight = 0
        self.at_end, self.share = 0, 1.0
        self._awaited = set(range(companions))
        self._gathered = anyio.Event()
        self._asked, self._clock = companions, clock
        self._present_s, self._began, self._told = 0.0, clock(), clock()

    @contextmanager
    def sends(self) -> Iterator[None]:
        """One more of their requests is in flight meanwhile."""
        self._add_up()
        self.requests += 1
        self.in_flight += 1
        try:
            yield
        finally:
            self._add_up()
            self.in_flight -= 1

    def begins(self) -> None:
        """The probe leaves now: from here on they are to be there."""
        self._began = self._told = self._clock()
        self._present_s = 0.0

    def ends(self) -> None:
        """Its answer has ended."""
        self._add_up()
        owed_s = self._asked * (self._told - self._began)
        self.at_end, self.share = self.in_flight, self._present_s / owed_s if owed_s > 0 else 1.0

    def _add_up(self) -> None:
        now = self._clock()
        self._present_s += self.in_flight * (now - self._told)
        self._told = now

    def has_come(self, at: int) -> None:
        """Companion number `at` is in the batch: its answer has begun. Or it will never be."""
        self._awaited.discard(at)
        if not self._awaited:
            self._gathered.set()

    async def gathered(self) -> None:
        """Until all of them are there; or long enough."""
        if self._awaited:
            with anyio.move_on_after(PATIENCE_S):
                await self._gathered.wait()
            await anyio.sleep(FIRST_WORDS_S)


async def accompany(rig: Rig, prepared: Prepared, at: int, company: Company) -> None:
    """Keep companion number `at` of a probe in flight until cancelled, or until one of its requests is not answered."""
    for turn in count():
        who = f"a companion of {prepared.spec.companions[at]} tokens"
        try:
            generation = await companion_of(rig, prepared.spec, prepared.seq, at, turn)
        except TokenizerLost as lost:
            company.faults.append(Fallen(f"{who} was not sent", str(lost), lost.reply))
            company.has_come(at)
            return
        body = rig.target.encode(generation)
        with company.sends():
            reply = heard(await rig.target.generate(generation, body, on_progress=lambda: company.has_come(at)))
        company.has_come(at)
        fault = failed(rig.target, reply)
        if fault is not None:
            company.faults.append(Fallen(who, fault, reply, rig.target.proxy_sign(reply)))
        elif reply.status != 200 or reply.error is not None:
            why = reply.fault_text if reply.status is None else spelled(reply)
            company.turned_away.append(f"{who} was turned away: {why}")
        if fault is not None or reply.status != 200 or reply.error is not None:
            return


async def companion_of(rig: Rig, spec: ProbeSpec, seq: int, at: int, turn: int = 0) -> Generation:
    """The request of companion number `at` (from 0) of probe `seq`: as the probe, but for length and head.

    It asks for no more than half of what the limit leaves it: it is not to come near an edge of its own.
    """
    length = spec.companions[at]
    head = f"{seq}/companion/{at}/{turn}"
    recipe = Recipe(spec.mode, length, spec.content, str(rig.settings.seed), head)
    room = OUTPUT_TOKENS if rig.limit is None else min(OUTPUT_TOKENS, (rig.limit - length) // 2)
    traits = rig.target.traits
    return Generation(await rig.prompts.rebuild(recipe), max(1, room), ignore_eos=traits.ignore_eos)


def failed(target: Target, reply: Reply) -> str | None:
    """How the engine failed a companion, in words; None for an answer, a refusal, or a door that was shut."""
    if target.refusal(reply) is not None or target.overload(reply) is not None:
        return None
    if reply.error is not None and (reply.error_in_stream or (reply.status or 0) >= 500):
        where = "an error event in the stream" if reply.error_in_stream else f"HTTP {reply.status}"
        return f"{where}: {reply.error.message[:200]}"
    if reply.fault is not None and reply.fault.lost:
        return f"the connection was lost ({reply.fault})"
    return f"HTTP {reply.status}" if (reply.status or 0) >= 500 else None
