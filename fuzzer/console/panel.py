"""How do results look on a terminal? Summaries and tables as rich draws them."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from fuzzer.report.runs import COLUMNS
from fuzzer.report.summary import Summary, Tone

TONES: dict[Tone, str] = {"good": "green", "bad": "red", "unsure": "yellow"}
STRONG = frozenset({"cap", "set"})

# What a narrow terminal can do without, first to go first.
DISPENSABLE = ("model", "status", "url", "command", "started")
GAP = 2
YEAR = len("2026-")
WIDEST = 110
ELASTIC = {"model": 12, "url": 10}  # may be cut down to so many cells


def show_summary(console: Console, shown: Summary) -> None:
    """The final panel, and under it the commands, unwrapped and without a frame: they are there to be copied."""
    console.print(summary_panel(shown, console.width))
    if shown.commands:
        console.print(Text("next", "dim"))
    for command in shown.commands:
        console.print(Text(f"  {command}", "cyan"), soft_wrap=True)


def summary_panel(shown: Summary, width: int) -> RenderableType:
    """All that a summary says, framed above and below only."""
    grid = Table.grid(padding=(0, GAP))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")  # of a word that is longer than a line
    for label, text in shown.rows:
        grid.add_row(label, Text(text, "bold" if label in STRONG else "default"))
    return Panel(
        grid,
        title=Text(shown.title, f"bold {TONES[shown.tone]}"),
        title_align="left",
        border_style=TONES[shown.tone],
        box=box.HORIZONTALS,
        width=min(width, WIDEST),
        padding=(0, 1),
    )


def show_rows(console: Console, rows: Sequence[tuple[str, str]]) -> None:
    """Labelled lines, wrapped to the terminal's width."""
    grid = Table.grid(padding=(0, GAP))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in rows:
        grid.add_row(label, Text(text, "yellow" if label == "but" else "default"))
    console.print(grid)


def show_lines(console: Console, lines: Sequence[str]) -> None:
    """Lines that break between words; only a word that is longer than a line is folded."""
    for line in lines:
        console.print(Text(line), overflow="fold")


def runs_table(rows: Sequence[tuple[str, ...]], width: int) -> RenderableType:
    """The list of runs, with as many columns as `width` cells hold; a narrow one says no year and no `http://`."""
    table = Table(box=None, padding=(0, GAP, 0, 0), header_style="dim")
    if sum(_widest(rows).values()) + GAP * len(COLUMNS) > width:
        rows = [_shortened(row) for row in rows]
    shown = _columns(rows, width)
    for name in shown:
        table.add_column(name, overflow="ellipsis", no_wrap=name not in ELASTIC)
    for row in rows:
        cells = dict(zip(COLUMNS, row, strict=True))
        table.add_row(*(Text(cells[name]) for name in shown))
    return table


def _shortened(row: tuple[str, ...]) -> tuple[str, ...]:
    cells = dict(zip(COLUMNS, row, strict=True))
    shorter = {"started": cells["started"][YEAR:], "url": cells["url"].removeprefix("http://")}
    return tuple((cells | shorter).values())


def _widest(rows: Sequence[tuple[str, ...]]) -> dict[str, int]:
    return {name: max(map(len, column)) for name, column in zip(COLUMNS, zip(COLUMNS, *rows, strict=True), strict=True)}


def _columns(rows: Sequence[tuple[str, ...]], width: int) -> list[str]:
    widest = _widest(rows)
    least = {name: min(cells, ELASTIC.get(name, cells)) + GAP for name, cells in widest.items()}
    for name in DISPENSABLE:
        if sum(least.values()) <= width:
            break
        del least[name]
    return list(least)
