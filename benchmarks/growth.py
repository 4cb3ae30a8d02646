"""Does a long run grow? Thousands of quick probes through the whole product: memory, open files, time and rows.

Run: python benchmarks/growth.py [PROBES]. The engine is a simulated one, in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import anyio

from fuzzer.cli import opening
from fuzzer.cli.common import CommonFlags
from fuzzer.finding import Finding, FindingKind
from fuzzer.model import Outcome, ProbeSpec, Role, Settings
from fuzzer.observation import Observation
from fuzzer.plans import Plan

TENTHS = 10
HURRY = Settings(grace_pass_s=0.0)


class Many:
    """So many probes of one length."""

    def __init__(self, probes: int) -> None:
        self.probes = probes
        self.began = time.perf_counter()

    def to_json(self) -> dict[str, object]:
        return {"probes": self.probes}

    def plan(self, facts: Sequence[Observation] = ()) -> Plan:  # noqa: ARG002  (the protocol of a question)
        spec = ProbeSpec(64, 8, Role.BASELINE, "growth")
        for number in range(1, self.probes + 1):
            seen = yield spec
            assert seen.outcome is Outcome.PASS, seen.reason
            if number % max(1, self.probes // TENTHS) == 0:
                self._tell(number)
        return Finding(FindingKind.NONE, "grown", verified_up_to=64)

    def _tell(self, number: int) -> None:
        kilobytes = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 10
        files = len(list(Path("/proc/self/fd").iterdir()))
        now = time.perf_counter()
        took, self.began = (now - self.began) / max(1, self.probes // TENTHS), now
        print(f"{number:>7} probes  {kilobytes / 1024:7.1f} MB  {files:>3} files  {1e3 * took:6.1f} ms a probe")


async def run(url: str, folder: str, probes: int) -> None:
    flags = CommonFlags(url=url, db=Path(folder) / "runs.db", output_tokens=8)
    async with opening.opened(flags, pace=HURRY, sample_s=0.1) as opened:
        await opened.run("growth", Many(probes), (), anyio.Event())


def main() -> None:
    probes = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, "-m", "fuzzer.cli", "sim", "vllm-5342", "--port", "0"], stdout=subprocess.PIPE, text=True
        ) as simulator,
    ):
        assert simulator.stdout is not None
        try:
            anyio.run(run, simulator.stdout.readline().strip(), folder, probes)
        finally:
            simulator.terminate()


if __name__ == "__main__":
    main()
