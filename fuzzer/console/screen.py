"""How does the live view look? From a view and a time to rich's renderables; nothing here decides or remembers.

Server text only ever arrives as `Text` made of `plain(...)`: markup and control characters have no power here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from fuzzer.console import lines
from fuzzer.console.numberline import ASCII_GLYPHS, GLYPHS, Axis, Ground, ground, zoom
from fuzzer.console.view import View
from fuzzer.events import Bracket, EngineDied, ProbeStarted
from fuzzer.model import Outcome
from fuzzer.observation import Observation
from fuzzer.report import probes
from fuzzer.report.plain import plain
from fuzzer.report.words import plural, span, tokens
from targets.base import Health

GROUND_STYLES = {Ground.GOOD: "green", Ground.OPEN: "dim", Ground.BAD: "red", Ground.SENT: "bold cyan"}
OUTCOME_STYLES = {
    Outcome.PASS: "green",
    Outcome.REJECTED: "cyan",
    Outcome.TRUNCATED: "red",
    Outcome.GARBLED: "red",
    Outcome.DEGRADED: "yellow",
    Outcome.ERROR: "red",
    Outcome.HANG: "red",
    Outcome.DEATH: "bold red",
    Outcome.BUSY: "yellow",
    Outcome.INFRA: "yellow",
    Outcome.ABANDONED: "dim",
}
ANSWERING = frozenset({"prefill", "decode"})
NARROW = 56  # cells
SILENCE_S = 5.0  # of a heartbeat, before it is worth a word


def probe_line(seen: Observation, width: int) -> Text:
    """One finished probe, in the words of `report.probes` and with the outcome in its colour."""
    head = probes.short_head(seen) if width < NARROW else probes.head(seen)
    return Text.assemble(
        head,
        " ",
        (f"{seen.outcome:<{probes.OUTCOME_WIDTH}}", OUTCOME_STYLES[seen.outcome]),
        " ",
        (probes.tail(seen), "dim"),
    )


class Screen:
    """One frame: what `view` looks like at `now`."""

    def __init__(self, view: View, now: float) -> None:
        self.view = view
        self.now = now

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        facts = Table.grid(padding=(0, 1 if options.max_width < NARROW else 2))
        facts.add_column(style="dim", no_wrap=True, min_width=len("last death"))
        facts.add_column(overflow="fold")
        for label, text in self._facts():
            facts.add_row(label, text)
        yield Group(Text(""), *self._lines(options.max_width, ascii_only=options.ascii_only), facts)

    def _lines(self, width: int, *, ascii_only: bool) -> Iterator[Text]:
        bracket = self.view.bracket
        if bracket is None:
            return
        whole = Axis(bracket.low, bracket.high, max(width - 1, 10))
        sent = _sent(self.view.sending, bracket)
        for axis in (whole, zoom(whole, bracket.last_good, bracket.first_bad)):
            if axis is None:
                continue
            visible = sent if sent is not None and axis.low <= sent <= axis.high else None
            yield draw(ground(axis, bracket.last_good, bracket.first_bad, visible), ascii_only=ascii_only)
            yield ends(axis)

    def _facts(self) -> Iterator[tuple[str, Text]]:
        view = self.view
        if view.run is None:
            yield "target", Text("connecting, and looking who else is using it")
        if view.bracket is not None:
            yield "edge", _edge(view.bracket)
        if view.sending is not None:
            yield "sending", _sending(view, view.sending, self.now)
        if view.reviving is not None:
            waited = span(self.now - view.reviving_since)
            yield "engine", Text(f"down for {waited}: {plain(view.reviving.detail, 80)}", "yellow")
        elif view.progress is not None and view.progress.health is not None:
            yield "health", _health(view.progress.health)
        if view.bracket is not None:
            yield "deaths", _deaths(view.bracket, view.uncounted)
            yield "so far", Text(f"{plural(view.bracket.probes, 'probe')} in {span(self.now - view.started)}")
            if (left := lines.to_go(view.bracket)) is not None:
                yield "to go", Text(left)
        if view.died is not None:
            yield "last death", _last_death(view.died)
        if view.note is not None:
            yield "note", Text(plain(view.note.text), "yellow" if view.note.level == "warning" else "default")


def _sent(started: ProbeStarted | None, bracket: Bracket) -> int | None:
    """Where the probe in flight is on the line."""
    if started is None:
        return None
    return started.spec.output_tokens if bracket.counts == "output" else started.spec.length


def draw(cells: list[Ground], *, ascii_only: bool) -> Text:
    glyphs = ASCII_GLYPHS if ascii_only else GLYPHS
    return Text.assemble(
        *((glyphs[kind] * len(list(run)), GROUND_STYLES[kind]) for kind, run in groupby(cells)), no_wrap=True
    )


def ends(axis: Axis) -> Text:
    """The lengths at both ends of a line, under it."""
    low, high = tokens(axis.low), tokens(axis.high)
    return Text(low + " " * max(1, axis.width - len(low) - len(high)) + high, "dim", no_wrap=True)


def _edge(bracket: Bracket) -> Text:
    low = bracket.low if bracket.last_good is None else bracket.last_good
    high = bracket.high if bracket.first_bad is None else bracket.first_bad
    unit = " output tokens" if bracket.counts == "output" else ""
    good = "nothing passed yet" if bracket.last_good is None else f"good to {tokens(bracket.last_good)}{unit}"
    bad = "nothing failed yet" if bracket.first_bad is None else f"bad from {tokens(bracket.first_bad)}"
    return Text.assemble((good, "green"), ", ", (bad, "red"), (f", {tokens(max(high - low - 1, 0))} between", "dim"))


def _sending(view: View, started: ProbeStarted, now: float) -> Text:
    spec = started.spec
    phase = view.progress.phase if view.progress is not None else "prefill"
    text = Text.assemble((tokens(spec.length), "bold"), f" + {spec.output_tokens} ", (f"{spec.role}  ", "dim"), phase)
    text.append(f" {span(now - view.sending_since)}")
    if phase not in ANSWERING:
        return text
    if view.pace is not None:
        text.append(f" of about {span(view.pace.expected_s(spec.length))}", "dim")
    if view.fraction is not None:
        text.append(f"  {view.fraction:.0%}", "cyan")
    elif view.beats:
        text.append(f"  heartbeat +{view.beats:g}", "cyan")
    if view.beat_at is not None and now - view.beat_at > SILENCE_S:
        text.append(f"  silent for {span(now - view.beat_at)}", "yellow")
    return text


def _health(health: Health) -> Text:
    if health.ok:
        return Text(f"{health.status}", "green")
    return Text(f"{health.fault or health.status} {plain(health.detail, 80)}".rstrip(), "red")


def _deaths(bracket: Bracket, uncounted: int) -> Text:
    deaths = bracket.deaths + uncounted
    left = max(bracket.max_deaths - deaths, 0)
    text = Text(f"{deaths} of {bracket.max_deaths}", "red" if left <= 1 else "default")
    if not left:
        text.append(", none to come", "dim")
    elif bracket.expected_deaths is not None:
        expected = min(max(bracket.expected_deaths - uncounted, 0), left)
        text.append(f", about {expected:.1f} to come", "dim")
    return text


def _last_death(died: EngineDied) -> Text:
    at = "" if died.length is None else f"at {tokens(died.length)} "
    words = f': "{plain(died.signature, 160)}"' if died.signature else ""
    return Text(f"{at}({died.corroboration}){words}", "red")
