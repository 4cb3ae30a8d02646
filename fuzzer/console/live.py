"""How does a terminal follow a run? One line a finished probe, and a view at the bottom that moves on its own."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from fuzzer.console import lines
from fuzzer.console.screen import Screen, probe_line
from fuzzer.console.view import View, advance
from fuzzer.events import Event, Note, ProbeEnded, Replayed, RunEnded, RunStarted

REFRESH_PER_S = 4


class LiveConsole:
    """A listener; between `with` and its end it owns the last lines of the terminal behind `console`."""

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._console = console
        self._verbose = verbose
        self._view = View(started=time.monotonic())
        # Rich redraws from a thread of its own: it reads one frozen view, which is replaced and never changed.
        self._live = Live(
            console=console,
            get_renderable=lambda: Screen(self._view, time.monotonic()),
            refresh_per_second=REFRESH_PER_S,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def __call__(self, event: Event) -> None:
        self._view = advance(self._view, event, time.monotonic())
        match event:
            case RunStarted():
                self._console.print(Text(lines.heading(event), "dim"))
            case ProbeEnded(observation) | Replayed(observation):
                line = probe_line(observation, self._console.width)
                self._console.print(line, no_wrap=True, overflow="ellipsis")
            case Note():
                self._console.print(Text(lines.note(event), "yellow" if event.level == "warning" else "dim"))
            case RunEnded():
                self._live.stop()
            case _:
                if self._verbose and (said := lines.line(event, verbose=True)) is not None:
                    self._console.print(Text(said, "dim"))
