"""How is a dead engine helped back, and what does the command of `--on-death` say where it fails?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.command import run
from fuzzer.store.masking import masked_words

if TYPE_CHECKING:
    from fuzzer.rig import Rig

WORDS_CHARS = 200  # of what a command that failed said, the end
WORDS_BYTES = 4 * WORDS_CHARS  # as many hold so many in any script


async def helped(rig: Rig, command: str) -> str:
    """Run `--on-death CMD` through the shell, as an operator would. Returns what it said if it failed.

    One that is still at work when we are interrupted, or when the time to revive is over, is let be: it may be
    in the middle of restarting an engine, and half a restart is worse than one that nobody waits for.
    """
    within_s = rig.settings.revival_timeout_s
    ended = await run(command, within_s=within_s, tail_bytes=WORDS_BYTES, stop=rig.stop)
    if ended.code is None:
        return "" if rig.stop.is_set() else f"--on-death did not end in {within_s:.0f} s, and is let be"
    words = masked_words(ended.said.strip())[-WORDS_CHARS:]
    return f"--on-death exited with {ended.code}: {words}" if ended.code else ""
