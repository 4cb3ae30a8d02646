"""Which commands are there? Nothing but click is imported until one of them is called."""

from __future__ import annotations

import click

from fuzzer import __version__
from fuzzer.cli.grouping import Entry, LazyGroup, printed

ENTRIES = {
    "bisect": Entry("Find", "fuzzer.cli.find:bisect", "Find the edge between --lo and --hi, and the safe cap."),
    "plan": Entry("Find", "fuzzer.cli.plan:plan", "Say what a bisect would cost and ask; sends nothing."),
    "sweep": Entry("Find", "fuzzer.cli.sweep:sweep", "Fill a table: outcome, speed and acceptance at each length."),
    "speed": Entry("Find", "fuzzer.cli.speed:speed", "Measure decode speed, and what a drafter makes of it."),
    "capacity": Entry("Find", "fuzzer.cli.capacity:capacity", "Say how much context fits, and the drafter's price."),
    "same": Entry("Find", "fuzzer.cli.same:same", "Does the drafter change what is generated? Token for token."),
    "verify": Entry("Find", "fuzzer.cli.verify:verify", "Check that a cap is in force and holds: the gate."),
    "fuzz": Entry("Find", "fuzzer.cli.fuzz:fuzz", "Sample what a cap admits, and shrink what fails."),
    "probe": Entry("Find", "fuzzer.cli.find:probe", "Send one prompt of LENGTH tokens and watch the engine."),
    "inspect": Entry("Find", "fuzzer.cli.inspect:inspect", "Say what is behind a URL: engine, limits, drafter."),
    "replay": Entry("Find", "fuzzer.cli.again:replay", "Send one recorded PROBE again: does its outcome repeat?"),
    "resume": Entry("Find", "fuzzer.cli.find:resume", "Go on with an interrupted RUN; nothing is asked twice."),
    "runs": Entry("Read", "fuzzer.cli.read:runs", "List the recorded runs, newest first."),
    "show": Entry("Read", "fuzzer.cli.read:show", "Show a RUN: every probe, every death, the finding."),
    "recommend": Entry("Read", "fuzzer.cli.recommend:recommend", "Print the cap of a RUN as flags, Helm, LiteLLM, ..."),
    "diff": Entry("Read", "fuzzer.cli.diff:diff", "Say what moved between two runs, and whether it got worse."),
    "report": Entry("Read", "fuzzer.cli.publish:report", "Write a RUN as one HTML file, or as Markdown, JUnit, JSON."),
    "browse": Entry("Read", "fuzzer.cli.publish:browse", "Look through the record with Datasette."),
    "body": Entry("Read", "fuzzer.cli.again:body", "Write the request body of a PROBE, and the curl line."),
    "export": Entry("Keep", "fuzzer.cli.trail:export", "Write a RUN out as JSONL or CSV."),
    "merge": Entry("Keep", "fuzzer.cli.trail:merge", "Take the runs of another database in."),
    "audit": Entry("Keep", "fuzzer.cli.trail:audit", "Check that nobody has changed the record."),
    "demo": Entry("Play", "fuzzer.cli.play:demo", "Find the edge of a simulated engine that really dies."),
    "sim": Entry("Play", "fuzzer.cli.play:sim", "Serve a simulated engine to try things on."),
    "config": Entry("Shell", "fuzzer.cli.config:config", "Print what each flag would be, and who says so."),
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
@click.option("-V", "--version", is_flag=True, expose_value=False, is_eager=True, help="Show the version and exit.",
              callback=printed(lambda _ctx: f"ctxfuzz, version {__version__}"))  # fmt: skip
def main() -> None:
    """Find the prompt length at which a live LLM endpoint stops surviving, and the max_model_len that is safe."""
