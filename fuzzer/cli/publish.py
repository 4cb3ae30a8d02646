"""Which commands show a run to others? report writes a file, browse serves the whole record."""

from __future__ import annotations

from pathlib import Path

import click

from fuzzer.cli.flags import DB
from fuzzer.cli.grouping import Command, option
from fuzzer.cli.written import written


@click.command(
    cls=Command,
    examples="""
ctxfuzz report last -o report.html
ctxfuzz report 3f2a --format md | gh issue create --title "Edge found" --body-file -
ctxfuzz report last -o junit.xml
""",
)
@click.argument("run", metavar="RUN")
@written(
    {"html": ".html", "md": ".md", "junit": ".xml", "json": ".json"},
    "html: a page that stands alone; md: for a ticket; junit: for CI; json: as show --json.",
)
@DB
def report(run: str, form: str, into: Path | None, db: Path) -> None:
    """Write RUN as a report: every probe, the narrowing, deaths with last words, the cap with its evidence.

    The HTML page is one file without scripts and fetches nothing; it prints well, and follows light and dark.
    """
    from fuzzer.cli import publishing  # noqa: PLC0415  (heavy)

    publishing.report(db, run, form, into)


@click.command(cls=Command, examples="ctxfuzz browse\nctxfuzz browse --db /var/lib/ctxfuzz/runs.db --port 8010")
@option("Server", "--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@option("Server", "--port", type=click.IntRange(0, 65535), default=8001, show_default=True, help="0: any free port.")
@DB
def browse(host: str, port: int, db: Path) -> None:
    """Look through the record in a browser, with Datasette, until Ctrl-C: read-only.

    Needs the extra: pip install 'ctxfuzz[browse]'.
    """
    from fuzzer.cli import browsing  # noqa: PLC0415  (heavy)

    browsing.browse(db, host, port)
