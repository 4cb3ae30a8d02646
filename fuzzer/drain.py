"""Who takes in what a command prints, and keeps only its end? A process of its own: `python drain.py FD MOST`.

It reads the descriptor FD for as long as anybody can write there, and is the reader that never falls behind and never
goes away: an engine that the command left behind outlives ctxfuzz, and must neither block on a full pipe nor die of one
without a reader. When its stdin ends, the last MOST bytes that came by then go to its stdout. It imports the standard
library alone, so that it is up before a pipe can be full.
"""

from __future__ import annotations

import os
import select
import sys
from contextlib import suppress

CHUNK = 1 << 16
PIPEFUL = 1 << 20  # bytes: no pipe of an unprivileged process holds more


def main(printed: int, most: int) -> None:
    """Keep, tell, and then only take in."""
    asked = sys.stdin.fileno()
    end, more = b"", PIPEFUL
    while more > 0:
        ready, _, _ = select.select([printed, asked], [], [])
        chunk = os.read(printed, CHUNK) if printed in ready else b""
        if not chunk:
            break
        end = (end + chunk)[-most:]
        if asked in ready:  # what was printed before is at most a pipeful, whoever else goes on printing
            more -= len(chunk)
    tell(end)
    while os.read(printed, CHUNK):
        pass


def tell(end: bytes) -> None:
    """Whoever asked may be gone by now."""
    with suppress(BrokenPipeError):
        while end:
            end = end[os.write(sys.stdout.fileno(), end) :]
    os.close(sys.stdout.fileno())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
