"""How are several targets measured side by side, and found again? Each arm is a run of its own; they take turns.

The target's run names the arms that were asked for; each control's run names the run that it belongs to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import anyio

from fuzzer.baton import Baton
from fuzzer.before.preflight import SAMPLE_S
from fuzzer.cli import attribution, opening, questions, session
from fuzzer.errors import CtxfuzzError
from fuzzer.events import Event, Note, RunEnded, RunStarted
from fuzzer.finding import FindingKind
from fuzzer.measure.speed import Cell
from fuzzer.model import Role
from fuzzer.plans.speed import SpeedQuestion, place_of
from fuzzer.report.speed import PLAN, TARGET, Arm
from fuzzer.store import History, NoSuchRun

if TYPE_CHECKING:
    from fuzzer.cli.common import CommonFlags
    from fuzzer.cli.watching import Listeners
    from fuzzer.driver import Turn
    from fuzzer.model import ProbeSpec
    from fuzzer.store import Run

ARMS: Final = "arms"

Ask = Callable[[session.Session], SpeedQuestion]


@dataclass(slots=True)
class Side:
    """One arm: a session, what it is asked, and the run that it goes on with, if it was begun before."""

    name: str
    opened: session.Session
    question: SpeedQuestion
    begun: Run | None = None
    result: session.Result | None = None
    fault: CtxfuzzError | None = None


@dataclass(slots=True)
class Parent:
    """The target's run, as soon as it is known; None where it never began."""

    run: str | None = None
    known: anyio.Event = field(default_factory=anyio.Event)

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self.run = event.run
            self.known.set()

    async def of(self) -> str | None:
        await self.known.wait()
        return self.run


async def side_by_side(
    opened: session.Session,
    ask: Ask,
    controls: Sequence[tuple[str, str]],
    listeners: Listeners,
    stop: anyio.Event,
    *,
    begun: Mapping[str, Run] = MappingProxyType({}),
    sample_s: float = SAMPLE_S,
) -> session.Result:
    """Measure the target and its controls, turn by turn. Raises TargetUnusable where a control cannot be used.

    `begun` are the runs that go on, by the name of their arm. What keeps a control from its end is said; the others
    go on without it.
    """
    left: list[tuple[str, CommonFlags, Run | None]] = []
    for name, url in controls:
        run = begun.get(name)
        if run is None or run.status != "done":
            with attribution.unasked_told(name, listeners):
                left.append((name, attribution.there(opened.flags, url), run))
    async with AsyncExitStack() as stack:
        sides = [Side(TARGET, opened, ask(opened), begun.get(TARGET))]
        for name, flags, run in left:
            there = await stack.enter_async_context(opening.opened(flags, pace=opened.pace, sample_s=sample_s))
            sides.append(Side(name, there, ask(there), run))
        await _measure(sides, controls, listeners, stop)
    target, *others = sides
    for side in others:
        _tell(listeners, side)
    if target.result is None:
        assert target.fault is not None
        raise target.fault
    return target.result


async def resumed(opened: session.Session, run: Run, listeners: Listeners, stop: anyio.Event) -> session.Result:
    """Go on with a run and those of its controls that have not ended."""
    asked = SpeedQuestion.from_json(run.record.question)
    with History.open(opened.flags.db) as history:
        begun = _children(history, run) | {TARGET: run}

    def ask(there: session.Session) -> SpeedQuestion:
        return replace(asked, limit=there.survey.limit, mode=there.mode)

    return await side_by_side(opened, ask, controls_of(run), listeners, stop, begun=begun)


def controls_of(run: Run) -> list[tuple[str, str]]:
    """The controls that a run was begun with, as (name, URL)."""
    given = run.record.settings.get(ARMS)
    return [(str(name), str(url)) for name, url in given] if isinstance(given, list) else []


def recorded(history: History, run: Run) -> tuple[Arm, ...]:
    """The arms of the comparison that this run is part of, the target's first."""
    try:
        parent = history.get(str(run.record.settings.get(attribution.CONTROL_OF, run.run)))
    except NoSuchRun:  # it was left behind in another database
        parent = run
    children = _children(history, parent)
    target = Arm(TARGET, parent.record.url, parent, history.observations(parent.run))
    return target, *(_arm(history, name, url, children.get(name)) for name, url in controls_of(parent))


def _arm(history: History, name: str, url: str, run: Run | None) -> Arm:
    return Arm(name, url, run, [] if run is None else history.observations(run.run))


def _children(history: History, parent: Run) -> dict[str, Run]:
    of, name = attribution.CONTROL_OF, attribution.NAME
    return {
        str(one.record.settings[name]): one
        for one in reversed(history.runs())
        if one.record.plan == PLAN and one.record.settings.get(of) == parent.run
    }


async def _measure(
    sides: Sequence[Side], controls: Sequence[tuple[str, str]], listeners: Listeners, stop: anyio.Event
) -> None:
    """Drive all sides at once, each to its own end."""
    baton, parent = Baton(len(sides)), Parent()
    last_told: list[str] = []

    async def take(arm: int, side: Side) -> None:
        heard = _hearing(side.name, len(sides), listeners, last_told)
        turn = _turns(baton, arm, side.question)
        try:
            if side.name == TARGET:
                await _run(side, turn, (parent, *heard), stop, {ARMS: [list(control) for control in controls]})
            elif (run := await parent.of()) is not None:
                await _run(side, turn, heard, stop, {attribution.CONTROL_OF: run, attribution.NAME: side.name})
        except CtxfuzzError as fault:
            side.fault = fault
        finally:
            if side.name == TARGET:
                parent.known.set()
            await baton.leave(arm)

    async with anyio.create_task_group() as group:
        for arm, side in enumerate(sides):
            group.start_soon(take, arm, side)


async def _run(side: Side, turn: Turn, listeners: Listeners, stop: anyio.Event, notes: Mapping[str, object]) -> None:
    there = replace(side.opened, turn=turn)
    if side.begun is None:
        asked = questions.Asked(PLAN, side.question)
        side.result = await there.run(PLAN, asked, listeners, stop, notes=notes)
    else:
        side.result = await there.resume(side.begun, questions.recorded(side.begun), listeners, stop)


def _turns(baton: Baton, arm: int, question: SpeedQuestion) -> Turn:
    """How an arm waits for its turn: it says how far it is."""
    taken: Counter[Cell] = Counter()

    @asynccontextmanager
    async def turn(spec: ProbeSpec) -> AsyncIterator[None]:
        cell = Cell.of(spec)
        async with baton.turn(arm, place_of(question, spec, taken[cell])):
            taken[cell] += spec.role is Role.MEASURE
            yield

    return turn


def _hearing(name: str, arms: int, listeners: Listeners, last_told: list[str]) -> Listeners:
    """The listeners, told whose probes they hear where there are several arms. The target's end is the end."""
    if arms == 1:
        return listeners

    def hear(event: Event) -> None:
        if isinstance(event, RunEnded) and name != TARGET:
            return
        if last_told != [name]:
            last_told[:] = [name]
            _say(listeners, Note(f"{name}:"))
        _say(listeners, event)

    return (hear,)


def _tell(listeners: Listeners, side: Side) -> None:
    """What kept an arm from its end, if anything did."""
    if side.fault is not None:
        _say(listeners, Note(f"the control {side.name} was not measured to its end: {side.fault}", level="warning"))
    elif side.result is not None and side.result.finding.kind is not FindingKind.NONE:
        _say(listeners, Note(f"the control {side.name} ended early: {side.result.finding.reason}", level="warning"))


def _say(listeners: Listeners, event: Event) -> None:
    for listener in listeners:
        listener(event)
