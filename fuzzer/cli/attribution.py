"""How are the controls of an edge asked, and found again? Each is a run of its own that names the run it belongs to.

A control is sent `first_bad` alone, after a short prompt; the edge stands sealed before the first of them is asked.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fuzzer.cli import opening, questions, session
from fuzzer.cli.secrecy import keep
from fuzzer.errors import RunStopped, UsageFault
from fuzzer.events import Note
from fuzzer.finding import FindingKind
from fuzzer.report.attribution import Attribution, Control
from fuzzer.report.speed import TARGET
from fuzzer.store import History
from fuzzer.store.lock import target_key
from fuzzer.store.masking import MASK
from targets.detect import connect
from targets.errors import TargetUnusable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import anyio

    from fuzzer.cli.common import CommonFlags
    from fuzzer.cli.watching import Listeners
    from fuzzer.finding import Finding
    from fuzzer.store import Run

CONTROLS: Final = "controls"
CONTROL_OF: Final = "control_of"
NAME: Final = "control"
NO_EDGE = frozenset({FindingKind.INCONCLUSIVE, FindingKind.NOT_LENGTH})


def controls_of(run: Run) -> list[tuple[str, str]]:
    """The controls that a run was begun with, as (name, URL)."""
    given = run.record.settings.get(CONTROLS)
    return [(str(name), str(url)) for name, url in given] if isinstance(given, list) else []


def apart(url: str, controls: Sequence[tuple[str, str]]) -> None:
    """A target is not its own control, nor is one control two. Raises UsageFault."""
    names = [name for name, _ in controls]
    if len({TARGET, *names}) <= len(names):
        raise UsageFault(f"Each control needs a name of its own, and none is {TARGET!r}: rename them.")
    if len({target_key(one) for one in (url, *(there for _, there in controls))}) <= len(controls):
        raise UsageFault("Each arm needs an engine of its own, and one URL is given twice: leave one of them out.")


async def reached(flags: CommonFlags, controls: Sequence[tuple[str, str]]) -> None:
    """A control that cannot be used is better known before the engine dies for it. Raises TargetUnusable."""
    for _, url in controls:
        keep(replace(flags, url=url))
        target, _ = await connect(
            url,
            engine=flags.engine,
            model=flags.model,
            api_key=flags.api_key,
            headers=flags.headers,
            cacert=None if flags.cacert is None else str(flags.cacert),
            insecure=flags.insecure,
        )
        await target.aclose()


async def ask_controls(
    flags: CommonFlags,
    controls: Sequence[tuple[str, str]],
    result: session.Result,
    listeners: Listeners,
    stop: anyio.Event,
) -> None:
    """Send `first_bad` to each control, on the terms of the edge. What keeps one from answering is said."""
    edge = edge_of(result.finding)
    if edge is None:
        return
    for name, url in controls:
        with unasked_told(name, listeners):
            async with opening.opened(there(flags, url)) as opened:
                asked = questions.to_probe(opened, edge)
                notes = {CONTROL_OF: result.run_row.run, NAME: name}
                await opened.run("control", asked, listeners, stop, plan="probe", notes=notes)


def edge_of(finding: Finding) -> int | None:
    """The length that is sent to controls: `first_bad`, tokens; None where there is no edge to ask them about."""
    return None if finding.kind in NO_EDGE else finding.first_bad


@contextmanager
def unasked_told(name: str, listeners: Listeners) -> Iterator[None]:
    """What keeps a control from being asked is said; the run that it belongs to stands all the same."""
    try:
        yield
    except (TargetUnusable, RunStopped) as fault:
        for listener in listeners:
            listener(Note(f"the control {name} could not be asked: {fault}", level="warning"))


def there(flags: CommonFlags, url: str) -> CommonFlags:
    """The flags for a control: what a session was told of the target's own engine is not the control's.

    Raises RunStopped where the URL is one that a record has masked: a mask is never sent.
    """
    if MASK in url:
        raise RunStopped("its URL held a secret, which no record keeps. Ask it in a new run")
    return replace(
        flags, url=url, health_url=None, metrics_url=None, on_death=None, engine_log=None, engine_log_cmd=None
    )


def asked_of(history: History, run: Run) -> dict[str, Run]:
    """The runs of a run's controls by their names, of each the last one."""
    return {
        str(one.record.settings.get(NAME)): one
        for one in reversed(history.runs())
        if one.record.settings.get(CONTROL_OF) == run.run
    }


def recorded(db: Path, run: Run) -> Attribution | None:
    """What the controls of a run came to; None where it had none, or no edge to ask them about."""
    controls, finding = controls_of(run), run.finding
    edge = None if finding is None else edge_of(finding)
    if not controls or edge is None:
        return None
    with History.open(db) as history:
        asked = asked_of(history, run)
    told = (
        Control(name, url, None, None, "it was not asked, or could not be")
        if (there := asked.get(name)) is None
        else Control.of(name, url, there.run, there.finding)
        for name, url in controls
    )
    return Attribution(edge, tuple(told))
