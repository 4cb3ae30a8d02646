"""Is an edge on the sum found over outputs too, against a real server?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fuzzer.cli.common import CommonFlags
from fuzzer.finding import FindingKind
from fuzzer.report.dossier import Dossier
from fuzzer.report.finding import finding_object
from fuzzer.report.html import html
from fuzzer.report.summary import Facts, as_text, summary
from targets.sim import running
from targets.sim.world import World
from tests.integration.playing import WORLDS, play

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("name", "prompt", "lo", "hi", "good", "cap"),
    [("arctic-60", 40, 20, 99, 59, 96), ("vllm-5342", 1_500, 200, 1_500, 548, 2_032)],
)
async def test_an_edge_on_the_sum_is_found_over_outputs(
    tmp_path: Path, name: str, prompt: int, lo: int, hi: int, good: int, cap: int
) -> None:
    async with running(World.load(WORLDS / f"{name}.toml")) as simulation:
        flags = CommonFlags(url=simulation.url, db=tmp_path / "runs.db", timeout_s=20)
        result = await play(flags, axis="output", prompt_tokens=prompt, lo=lo, hi=hi, confidence=0.5)
    finding = result.finding
    assert (finding.kind, finding.last_good_output, finding.first_bad_output) == (FindingKind.DEATH, good, good + 1)
    assert finding.cap == cap, finding.reason
    told = finding_object(result.run_row, finding, result.observations, result.elapsed_s)
    assert (told["axis"], told["last_good"], told["first_bad"]) == ("output", None, None)
    assert (told["last_good_total"], told["first_bad_total"]) == (prompt + good, prompt + good + 1)
    assert (told["conditions"]["prompt_tokens"], told["conditions"]["output_tokens"]) == (prompt, None)
    shown = as_text(summary(Facts(result.run_row, finding, result.observations, result.elapsed_s, "runs.db")))
    assert f"{good:,} output tokens ({prompt + good:,} with the prompt)" in shown
    page = html(Dossier(result.run_row, result.observations, (), (), (), result.elapsed_s, "runs.db"))
    assert "Every probe on the axis of output tokens" in page
    assert f">edge {good} | {good + 1}</text>" in page
