"""Does the live console leave one line a probe behind, and the terminal as it was?"""

from __future__ import annotations

import io

from rich.console import Console

from fuzzer.console.live import LiveConsole
from fuzzer.events import Bracket, Note, ProbeEnded, ProbeStarted, RunEnded, RunStarted
from fuzzer.finding import Finding, FindingKind
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation

SPEC = ProbeSpec(300, 32, Role.SEARCH, "the middle")


def test_lines_stay_and_the_view_goes() -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=80, force_terminal=True, color_system=None)
    with LiveConsole(console, verbose=True) as live:
        live(RunStarted("ab12", "http://host", "tiny", "vllm", None, None, "bisect"))
        live(Bracket(200, 400, 200, 400, 0, 12, 1))
        live(ProbeStarted(1, SPEC, 60.0))
        live(ProbeEnded(Observation(1, SPEC, Outcome.PASS, 300, "usage", duration_s=0.5)))
        live(Note("somebody else is here", level="warning"))
        live(RunEnded("ab12", Finding(FindingKind.DEATH, "why")))
    shown = stream.getvalue()
    for line in (
        "run ab12: bisect on http://host, tiny, vllm, no limit advertised",
        "#1   search             300 +32   sent: the middle",
        "#1   search             300 +32   pass       0.50 s",
        "warning: somebody else is here",
    ):
        assert line in shown
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1
    assert shown.index("#1   search             300 +32   pass") < shown.rindex("\x1b[2K")
