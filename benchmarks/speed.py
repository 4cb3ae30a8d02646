"""How often is a measurement of speed wrong about its own figures? Seeded runs of the real plan; prints Markdown.

    python -m benchmarks.speed

Each run is `ctxfuzz speed` with one cell and 5 repeats against an engine in memory that decodes 100 tokens a second.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor

from fuzzer.baton import whose
from fuzzer.measure.ratio import ratios_of
from fuzzer.measure.reading import Mark
from fuzzer.measure.scatter import Spread
from fuzzer.measure.speed import Measured, dead_drafter
from tests.unit.paces import Pace, only_cell

RUNS = 500
TRUTH = 100.0
OFF = 0.05  # a figure that is further off than this is wrong
CALLS = ("provisional", "contended", "cache", "bimodal", "noisy", "settled late", "dead drafter", "off, unsaid")
WORLDS: dict[str, dict[str, object]] = {
    "nothing, noise 1 %": {"noise": 0.01},
    "nothing, noise 3 %": {"noise": 0.03},
    "nothing, noise 10 %": {"noise": 0.1},
    "nothing, each probe 0.3 % slower": {"drift": 0.003},
    "a drafter that is right 1 time in 20": {"acceptance": 0.05},
    "a slow first run": {"first_runs": 1},
    "2 slow first runs": {"first_runs": 2},
    "4 slow first runs": {"first_runs": 4},
    "gets 13 % faster each time": {"drift": -0.13},
    "neighbours beside 1 probe in 3": {"neighbours": 0.33},
    "neighbours beside 9 probes in 10": {"neighbours": 0.9},
    "the cache serves 1 cold probe in 5": {"cached": 0.2},
    "2 modes, 1 in 2 at half the speed": {"slow_share": 0.5},
    "2 modes, 1 in 4 at half the speed": {"slow_share": 0.25},
    "2 modes, 1 in 2 at 1 / 1.3": {"slow_share": 0.5, "slow_factor": 1.3},
    "the same, noise 3 %": {"slow_share": 0.5, "slow_factor": 1.3, "noise": 0.03},
    "4 probes in a row at half the speed": {"burst": 4},
    "8 probes in a row at half the speed": {"burst": 8},
    "a dead drafter": {"acceptance": 0.6, "dead_from": 8_000},
}


def calls(world: str, seed: int) -> set[str]:
    """What one run says of its cell."""
    pace = Pace(seed=seed, **WORLDS[world])  # type: ignore[arg-type]
    cell = only_cell(pace)
    kind, _ = cell.spread
    made = {
        "provisional": cell.provisional,
        "contended": cell.left_out[Mark.CONTENDED] > 0,
        "cache": cell.left_out[Mark.CACHE] > 0,
        "bimodal": kind is Spread.BIMODAL,
        "noisy": kind is Spread.NOISY,
        "settled late": kind is Spread.SETTLED,
        "dead drafter": dead_drafter(cell, pace.log[0].draft) is not None,
        "off, unsaid": cell.reliable and kind in {Spread.STEADY, Spread.SETTLED} and off(cell),
    }
    return {call for call, was in made.items() if was}


def off(cell: Measured) -> bool:
    assert cell.speed is not None
    assert cell.first_token_s is not None
    return max(abs(cell.speed / TRUTH - 1), abs(cell.first_token_s / Pace.prefill_s - 1)) > OFF


def called(world: str) -> Counter[str]:
    return Counter(call for seed in range(RUNS) for call in calls(world, seed))


def spoken() -> None:
    print(f"\n## What is said of a cell, of {RUNS} runs each, in %\n")
    print(f"| planted | {' | '.join(CALLS)} |\n|---|{'---|' * len(CALLS)}")
    with ProcessPoolExecutor() as pool:
        for world, tally in zip(WORLDS, pool.map(called, WORLDS), strict=True):
            print(f"| {world} | {' | '.join(f'{100 * tally[call] / RUNS:.3g}' for call in CALLS)} |")


def turns(arms: int, repeats: int) -> Iterator[int]:
    """Whose turn it is, from the first to the last."""
    taken = dict.fromkeys(range(arms), 0)
    while taken:
        arm = whose({arm: (0, turn) for arm, turn in taken.items()})
        yield arm
        taken[arm] += 1
        if taken[arm] == repeats:
            del taken[arm]


def tried(noise: Callable[[random.Random], float], drift: float, repeats: int) -> tuple[float, float]:
    """How often the interval of the ratio of two arms holds the truth, which is 2, and how far off the ratio is."""
    held, off = 0, 0.0
    for seed in range(RUNS):
        draw = random.Random(seed)
        arms: tuple[dict[int, float], dict[int, float]] = ({}, {})
        for number, arm in enumerate(turns(2, repeats)):
            speed = (200.0, 100.0)[arm] * noise(draw) / (1 + drift) ** number
            arms[arm][len(arms[arm])] = speed
        compared = ratios_of(arms)
        assert compared is not None
        ratio = compared.total
        assert ratio.low is not None
        assert ratio.high is not None
        held += ratio.low <= 2 <= ratio.high
        off += abs(ratio.value / 2 - 1)
    return held / RUNS, off / RUNS


def intervals() -> None:
    print(f"\n## How often the 95 % interval of a ratio holds the truth, of {RUNS} comparisons each\n")
    print("| noise | pairs | each probe slower by | held | the ratio is off by, mean |\n|---|---|---|---|---|")
    kinds: dict[str, Callable[[random.Random], float]] = {
        "1 % lognormal": lambda draw: draw.lognormvariate(0, 0.01),
        "3 % lognormal": lambda draw: draw.lognormvariate(0, 0.03),
        "stalls, exponential, 3 %": lambda draw: 1 / (1 + draw.expovariate(1 / 0.03)),
    }
    for name, noise in kinds.items():
        for repeats in (5, 15):
            for drift in (0.0, 0.01):
                held, off = tried(noise, drift, repeats)
                print(f"| {name} | {repeats} | {drift:.0%} | {held:.1%} | {off:.2%} |")


if __name__ == "__main__":
    spoken()
    intervals()
