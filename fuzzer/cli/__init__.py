"""Which commands are there? Nothing but click is imported until one of them is called."""

from __future__ import annotations

import click

from fuzzer import __version__
from fuzzer.cli.grouping import Entry, LazyGroup

ENTRIES = {
    "bisect": Entry("Find", "fuzzer.cli.find:bisect", "Find the edge between --lo and --hi, and the safe cap."),
    "probe": Entry("Find", "fuzzer.cli.find:probe", "Send one prompt of LENGTH tokens and watch the engine."),
    "resume": Entry("Find", "fuzzer.cli.find:resume", "Go on with an interrupted RUN; nothing is asked twice."),
    "runs": Entry("Read", "fuzzer.cli.read:runs", "List the recorded runs, newest first."),
    "show": Entry("Read", "fuzzer.cli.read:show", "Show a RUN: every probe, every death, the finding."),
    "demo": Entry("Play", "fuzzer.cli.play:demo", "Find the edge of a simulated engine that really dies."),
    "sim": Entry("Play", "fuzzer.cli.play:sim", "Serve a simulated engine to try things on."),
    "completion": Entry("Shell", "fuzzer.cli.shell:completion", "Print the completion script of a shell."),
}

EXAMPLES = """
ctxfuzz demo
ctxfuzz bisect --url http://localhost:8000 --lo 8k --hi 300k
ctxfuzz bisect --url http://localhost:8000 --lo 8k --hi 300k --dry-run
ctxfuzz show last
"""


@click.group(
    cls=LazyGroup,
    entries=ENTRIES,
    examples=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name="ctxfuzz")
def main() -> None:
    """Find the prompt length at which a live LLM endpoint stops surviving, and the max_model_len that is safe."""
