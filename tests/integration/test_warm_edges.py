"""Is an edge on a warm prefix found where there is one, by prompts that the cache of a real server really serves?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzer.cli.common import CommonFlags
from fuzzer.cli.session import Result
from fuzzer.finding import FindingKind
from fuzzer.model import Role
from targets.sim import running
from targets.sim.world import World
from tests.integration.playing import play

pytestmark = pytest.mark.anyio
WARM, COLD = "HIT > 0 and P > 16384", "HIT == 0 and P > 8192"


async def bisect(tmp_path: Path, cache: str, *rules: str) -> Result:
    said = [{"when": rule} for rule in rules]
    served = World.from_dict({"limit": {"tokens": 32_768}, "restart": {"delay_s": 0.05}, "rules": said})
    async with running(served) as simulation:
        flags = CommonFlags(url=simulation.url, db=tmp_path / "runs.db", cache=cache, timeout_s=20)  # type: ignore[arg-type]
        return await play(flags, lo=2_000, hi=30_000, confidence=0.5, attribute_axis=False)


async def test_a_warm_search_finds_the_edge_that_is_only_warm_and_not_the_one_that_is_only_cold(tmp_path: Path) -> None:
    result = await bisect(tmp_path, "warm", WARM, COLD)
    finding = result.finding
    assert (finding.kind, finding.last_good, finding.first_bad) == (FindingKind.DEATH, 16_384, 16_385)
    assert any(words.startswith("hits are proven") for words in finding.assumes), finding.assumes
    primes = [seen for seen in result.observations if seen.spec.role is Role.PRIME]
    refills = [seen for seen in primes if "(first into the cache)" not in seen.spec.reason]
    assert max(seen.length for seen in refills) <= 16_384
    assert not any(seen.deaths for seen in refills)


async def test_a_mixed_search_names_both_edges_and_claims_the_cold_one(tmp_path: Path) -> None:
    finding = (await bisect(tmp_path, "mixed", WARM, COLD)).finding
    assert (finding.kind, finding.last_good, finding.first_bad) == (FindingKind.DEATH, 8_192, 8_193)
    assert "on a warm prefix another edge was seen, unconfirmed: 16384 passes, 16385 does not" in finding.reason
