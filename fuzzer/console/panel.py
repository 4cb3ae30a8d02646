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
DISPENSABLE = ("url", "started", "model", "command", "status")
GAP = 2
WIDEST = 110
ELASTIC = {"model": 12, "url": 16}  # may be cut down to so many cells


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
    grid.add_column(overflow="fold")
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
    """Labelled lines, folded to the terminal's width."""
    grid = Table.grid(padding=(0, GAP))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in rows:
        grid.add_row(label, Text(text, "yellow" if label == "but" else "default"))
    console.print(grid)


def runs_table(rows: Sequence[tuple[str, ...]], width: int) -> RenderableType:
    """The list of runs, with as many columns as `width` cells hold."""
    table = Table(box=None, padding=(0, GAP, 0, 0), header_style="dim")
    shown = _columns(rows, width)
    for name in shown:
        table.add_column(name, overflow="ellipsis", no_wrap=name not in ELASTIC)
    for row in rows:
        cells = dict(zip(COLUMNS, row, strict=True))
        table.add_row(*(Text(cells[name]) for name in shown))
    return table


def _columns(rows: Sequence[tuple[str, ...]], width: int) -> list[str]:
    widest = {name: max(len(cell) for cell in column) for name, *column in zip(COLUMNS, COLUMNS, *rows, strict=True)}
    least = {name: min(cells, ELASTIC.get(name, cells)) + GAP for name, cells in widest.items()}
    for name in DISPENSABLE:
        if sum(least.values()) <= width:
            break
        del least[name]
    return list(least)
