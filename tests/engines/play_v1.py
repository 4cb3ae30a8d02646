"""What did the incident look like, on the engine that it happened on? Recipe V1 from nothing to the verdict.

python tests/engines/play_v1.py      # in our own environment; the first time it installs vLLM, some minutes and 2.5 GB
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.engines import recipes  # noqa: E402  (after the path)

VERSION = "0.32.0"


def main() -> int:
    """The exit code of `ctxfuzz bisect`."""
    recipe = next(one for one in recipes.VLLM_RECIPES if one.name == "V1")
    say(f"vLLM {VERSION}, a window of 1,048,576 tokens and a drafter of 262,144 positions: one moment ...")
    with tempfile.TemporaryDirectory(prefix="ctxfuzz-") as made:
        folder = Path(made)
        with recipes.vllm(recipe, VERSION, folder) as engine:
            command = ("bisect", "--url", engine.url, *recipe.ask, "--engine-log", str(engine.log))
            say(f"ctxfuzz {' '.join(command)}")
            env = {**os.environ, "PYTHONPATH": str(ROOT)}
            return subprocess.run([sys.executable, "-m", "fuzzer.cli", *command], env=env, check=False).returncode


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
