"""How is the real command line run with graces that suit a simulator's quick restarts?

`python -m tests.chaos.quick bisect --url ...`: everything else is as `ctxfuzz` does it.
"""

from __future__ import annotations

from functools import partial

from fuzzer.cli import main, opening
from fuzzer.model import Settings

PACE = Settings(grace_failure_s=0.6, grace_pass_s=0.15)

if __name__ == "__main__":
    opening.opened = partial(opening.opened, pace=PACE, sample_s=0.1)
    main(prog_name="ctxfuzz")
