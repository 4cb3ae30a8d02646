"""What of a recorded run is used without being said again? Of one that was begun here, all that its record keeps.

Its own user has said all of it before. A record that came from elsewhere is data: it runs nothing, and no secret or
file of ours goes where it says, until somebody here says so. A forged record may claim to be from here: so a command
that is taken from a record is told before anything is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fuzzer.cli.common import COMMANDS, flag_of, names_of
from fuzzer.cli.streams import say
from fuzzer.errors import UsageFault
from fuzzer.report.asked import CORPUS
from fuzzer.report.plain import plain
from fuzzer.report.reached import header_flags, headers_of
from fuzzer.store.store import who

if TYPE_CHECKING:
    from fuzzer.cli.common import CommonFlags
    from fuzzer.store import History, Run

LISTS_OF_URLS = ("controls", "arms", "compared_with")  # settings that name other engines, which get the credentials too
LONGEST = 4_000  # characters of a command that is told


def is_from_here(run: Run, history: History) -> bool:
    """Did this user begin it on this host, so that no `merge` brought it?"""
    here = who()
    if (run.user, run.host) != (here["user"], here["host"]):
        return False
    return not any(_brought(other, run.run) for other in history.runs() if other.record.plan == "merge")


def _brought(merge: Run, run: str) -> bool:
    came = merge.record.question.get("runs")
    return isinstance(came, list) and run in came


def unsaid(run: Run, history: History, given: Mapping[str, Any]) -> list[str]:
    """The parameters of a run from elsewhere that nobody here has said: its commands, and its URL where something of
    ours would go there.
    """
    settings = run.record.settings
    names = [name for name in COMMANDS if settings.get(name)] + (["url"] if _sent(settings, given) else [])
    left = [name for name in names if given.get(name) is None]
    return [] if not left or is_from_here(run, history) else left


def require_own_controls(run: Run, history: History, given: Mapping[str, Any]) -> None:
    """Controls get what the target gets, and no flag says their URLs again. Raises UsageFault."""
    settings = run.record.settings
    sent = _sent(settings, given) if any(settings.get(name) for name in LISTS_OF_URLS) else ""
    if sent and not is_from_here(run, history):
        raise UsageFault(
            f"{_begun(run)}, with controls, and {sent} would go to their URLs too. Begin a new run, or go on with this "
            "one where it was begun."
        )


def _sent(settings: Mapping[str, object], given: Mapping[str, Any]) -> str:
    """What of ours a request would carry; empty where it is nothing."""
    if given["api_key"]:
        return "your API key"
    if given["headers"]:
        return "your headers"
    return "text of a file of yours" if str(settings.get("content")).startswith(CORPUS) else ""


def refusal(run: Run, names: list[str]) -> UsageFault:
    """What to say again of a run from elsewhere, with what its record has."""
    flags = " and ".join(flag_of(name) for name in names)
    settings = {"url": run.record.url, **run.record.settings}
    recorded = "; ".join(f"{flag_of(name)} {plain(str(settings[name]), LONGEST)}" for name in names)
    return UsageFault(
        f"{_begun(run)}, and what its record names is neither run nor sent anything of yours unbidden: add {flags} to "
        f"this command. On record: {recorded}"
    )


def require_headers(run: Run, given: Mapping[str, Any]) -> None:
    """A gateway may choose the engine by one: without it, another one would be asked. Raises UsageFault."""
    if missing := unsaid_headers(run, given):
        raise UsageFault(
            f"Run {run.run} was begun with --header {' and '.join(missing)}, and the record keeps no values: add"
            f"{header_flags(missing)} to this command, or --target NAME of a profile that has them."
        )


def unsaid_headers(run: Run, given: Mapping[str, Any]) -> list[str]:
    """The names of the headers that it was begun with, and that are not given now; a key makes one of them."""
    said = {*names_of(given["headers"]), *(["authorization"] if given["api_key"] else [])}
    return [name for name in headers_of(run) if name not in said]


def _begun(run: Run) -> str:
    """Where it comes from. A name that is ours too, a container's or `root`, tells nobody that it is another's."""
    here = who()
    if (run.user, run.host) == (here["user"], here["host"]):
        return f"Run {run.run} was not begun in this database, but brought by a merge"
    return f"Run {run.run} was not begun here, but by {plain(run.user, 60)} on {plain(run.host, 60)}"


def tell_commands(flags: CommonFlags, given: Mapping[str, Any]) -> None:
    """Say which commands are run because a record says so: before anything is asked, however quiet it is to be."""
    for name in COMMANDS:
        command = getattr(flags, name)
        if command and given.get(name) is None:
            say(f"as recorded: {flag_of(name)} {plain(command, LONGEST)}")
