"""How long does `ctxfuzz --help` take, next to importing click alone? Run: python benchmarks/startup.py"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 15
COMMANDS = {
    "import click": ["-c", "import click"],
    "ctxfuzz --help": ["-m", "fuzzer.cli", "--help"],
    "ctxfuzz bisect --help": ["-m", "fuzzer.cli", "bisect", "--help"],
}


def wall_s(arguments: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(RUNS):  # in turns, so that a slow moment of the machine hits all alike
        for name, arguments in COMMANDS.items():
            times[name].append(wall_s(arguments))
    yardstick = statistics.median(times["import click"])
    for name, taken in times.items():
        median = statistics.median(taken)
        print(f"{name:<22} {median * 1000:6.0f} ms  {median / yardstick:4.1f} x")


if __name__ == "__main__":
    main()
