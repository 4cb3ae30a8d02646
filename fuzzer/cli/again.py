"""Which commands take one recorded probe up again? replay sends it once more, body only writes what was sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fuzzer.cli import values
from fuzzer.cli.flags import COMMANDS_AGAIN, CREDENTIALS, CREDENTIALS_OF, DB, OUTPUT, URLS_AGAIN, said_here
from fuzzer.cli.grouping import Command, option

PROBE = click.argument("probe", metavar="PROBE", type=values.probe)
ELSEWHERE = option("Access", "--url", metavar="URL", type=values.url, callback=said_here,
                   help="Where the target is now.  [default: the one on record, where it holds no secret]")  # fmt: skip


@click.command(
    cls=Command,
    examples="""
ctxfuzz replay last:17
ctxfuzz replay 3f2a:17 --url http://localhost:8000 --dry-run
""",
)
@PROBE
@CREDENTIALS_OF
@ELSEWHERE
@URLS_AGAIN
@CREDENTIALS
@option(
    "Limits",
    "--max-deaths",
    metavar="N",
    type=values.count,
    default="1",
    show_default=True,
    help="0: send it only if the engine lived through it then, and no run saw as few tokens kill it.",
)
@COMMANDS_AGAIN
@option("Limits", "--dry-run", is_flag=True, help="Make the request again, compare it, and send nothing.")
@OUTPUT
def replay(probe: tuple[str, int], db: Path, **given: Any) -> None:  # noqa: ANN401  (flags)
    """Send PROBE (RUN:NUMBER) once more, byte for byte, and say whether its outcome repeats.

    The request is made again from its recipe; it is sent only if its SHA-256 is the one on record. If it killed the
    engine then, it may do so again. Recorded as a run of its own. Leaves with 0 if the outcome repeats, 1 if not, and
    3 if one of the two is no evidence (nobody saw its end, busy). What the run was reached with and no record keeps,
    the value of a --header, a secret in the URL, is given again; likewise the commands of a run that somebody else
    began, or another host, and its URL where a key or a header goes there.
    """
    from fuzzer.cli import replaying  # noqa: PLC0415  (heavy)

    replaying.replay(*probe, db, given)


@click.command(
    cls=Command,
    examples="""
ctxfuzz body last:17 -o body.json
ctxfuzz body last:17 | sha256sum
""",
)
@PROBE
@option(
    "Output",
    "-o",
    "--output",
    "into",
    metavar="FILE",
    type=values.OutputFile(),
    help="Write there instead of to stdout.",
)
@option("Output", "--companion", metavar="N", type=click.IntRange(1), help="The body of its N-th companion instead.")
@CREDENTIALS_OF
@ELSEWHERE
@CREDENTIALS
@DB
def body(
    probe: tuple[str, int],
    into: Path | None,
    companion: int | None,
    db: Path,
    **given: Any,  # noqa: ANN401  (flags)
) -> None:
    """Write the request body of PROBE (RUN:NUMBER), made again from its recipe, and the curl line that sends it.

    The target is asked for its tokenizer and its model, and for nothing else. No secret is in the curl line: the key
    and the values of headers are variables of the shell. What has to be given again is as with replay.
    """
    from fuzzer.cli import replaying  # noqa: PLC0415  (heavy)

    replaying.body(probe, companion, db, into, given)
