"""How seldom does the search kill, how often is it wrong, and how long does it think? Deterministic; prints Markdown.

    python -m benchmarks.search

Costs are in passes: a pass costs 1, a failure r. Tables 1 and 2 are exact means over every edge, not samples.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product

from fuzzer.finding import FindingKind
from fuzzer.model import Outcome, Role
from fuzzer.plans.bisect import BisectQuestion, bisect, next_step
from fuzzer.plans.interruption import MOST_PROBES
from fuzzer.plans.ledger import Ledger
from fuzzer.search import Belief, Halving, Search, Suspect
from fuzzer.search.belief import best_rate
from fuzzer.search.costs import flat
from tests.unit.worlds import (
    Played,
    Rule,
    World,
    any_of,
    drafts_above,
    flaky_above,
    periodic,
    play,
    poisoned_by,
    prompt_above,
    total_above,
    wears_out,
    window,
)

LO, HI = 244_689, 300_000
RATIOS = (1, 3, 10, 30)
OPTIMAL = {1: (15.8, 7.7), 3: (28.7, 5.6), 10: (61.5, 4.1), 30: (134.0, 3.3)}  # exact dynamic programming
DRAWS = 2_000
WORLDS = 10_000
EDGES_WARM = 60
HOLES = 10
SHORT_GROUND = 256  # tokens: a cap that nobody sets, where lo itself lies in a hole

Mean = tuple[float, float, float]


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    print(f"\n## {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(str(cell) for cell in row)} |")


def mean_over_edges(search: Search, ratio: float, weights: Sequence[float]) -> Mean:
    """Cost, deaths and probes, in the mean over the edges LO .. HI - 1, by one walk over the tree of decisions."""
    sums = [0.0]
    for weight in weights:
        sums.append(sums[-1] + weight)
    cost = deaths = probes = 0.0
    brackets = [(LO, HI)]
    while brackets:
        low, high = brackets.pop()
        if high - low == 1:
            continue
        length = search.next(low, high, flat(ratio))
        good, bad = sums[high - LO] - sums[length - LO], sums[length - LO] - sums[low - LO]
        cost, deaths, probes = cost + good + bad * ratio, deaths + bad, probes + good + bad
        brackets += [(low, length), (length, high)]
    return cost / sums[-1], deaths / sums[-1], probes / sums[-1]


def uniform_edges() -> None:
    belief, rows = Belief.over(LO, HI, trusted=True), []
    weights = [1.0] * (HI - LO)
    for ratio in RATIOS:
        bound = math.log(HI - LO) / best_rate(1, ratio)
        cost, deaths, probes = mean_over_edges(belief, ratio, weights)
        halved = mean_over_edges(Halving(LO, HI), ratio, weights)
        assert cost <= 1.05 * bound
        assert deaths <= 1.1 * OPTIMAL[ratio][1]
        rows.append(
            (
                ratio,
                f"{cost:.1f}, {deaths:.2f}, {probes:.1f}",
                f"{cost / bound:.3f}",
                f"{OPTIMAL[ratio][0]}, {OPTIMAL[ratio][1]}",
                f"{halved[0]:.1f}, {halved[1]:.2f}, {halved[2]:.1f}",
            )
        )
    head = ("r", "belief: cost, deaths, probes", "cost / lower bound", "optimum: cost, deaths", "halving: same")
    table(f"1. Uniform edges over {LO} .. {HI}, the search alone", head, rows)


def edges_on_suspects() -> None:
    rows = []
    for name, values in (("262144", (262_144,)), ("four of them", (262_144, 245_760, 286_720, 250_000))):
        suspects = tuple(Suspect(value, "benchmark") for value in values)
        belief = Belief.over(LO, HI, suspects=suspects, output_tokens=32, draft_tokens=7, trusted=True)
        prior = [0.0] * (HI - LO)
        for segment in belief.within(LO, HI):
            for edge in range(segment.first, segment.stop):
                prior[edge - LO] = segment.mass / (segment.stop - segment.first)
        for ratio in RATIOS:
            rate = best_rate(1, ratio)
            cost, deaths, probes = mean_over_edges(belief, ratio, prior)
            wrong = mean_over_edges(belief, ratio, [1.0] * (HI - LO))
            entropy_share = cost / (belief.entropy(LO, HI) / rate)
            uniform_share = wrong[0] / (math.log(HI - LO) / rate)
            assert entropy_share <= 1.10
            assert uniform_share <= 1.15
            rows.append(
                (name, ratio, f"{cost:.1f}, {deaths:.2f}, {probes:.1f}", f"{entropy_share:.3f}", f"{uniform_share:.3f}")
            )
    head = ("suspects", "r", "cost, deaths, probes", "cost / entropy bound", "all edges uniform: cost / uniform bound")
    table("2. Half of the edges on the shadows of suspects", head, rows)


def ask(world: World, **asked: object) -> Played:
    question = BisectQuestion(**{"lo": LO, "hi": HI, "max_deaths": 40, **asked})  # type: ignore[arg-type]
    return play(bisect(question), world.answer)


def flaky_row(rate: float, strategy: str) -> Sequence[object]:
    draw = random.Random(1)
    unsafe = near = capped = deaths = probes = 0
    for seed in range(DRAWS):
        edge = draw.randrange(LO, HI)
        played = ask(World(flaky_above(edge, rate, stray=0.01), seed=seed), strategy=strategy)
        cap = played.finding.cap or played.finding.verified_up_to
        deaths, probes = deaths + played.deaths, probes + len(played.log)
        if cap is not None:
            capped += 1
            unsafe += cap > edge
            near += abs(cap - edge) <= 0.01 * edge
    shares = (f"{unsafe / DRAWS:.2%}", f"{near / DRAWS:.1%}", f"{capped / DRAWS:.1%}")
    assert unsafe <= 0.05 * DRAWS or rate <= 0.3
    return (rate, strategy, *shares, f"{deaths / DRAWS:.1f}", f"{probes / DRAWS:.0f}")


def flaky_edges() -> None:
    with ProcessPoolExecutor() as pool:
        rows = list(pool.map(flaky_row, *zip(*product((0.9, 0.6, 0.3), ("auto", "halving")), strict=True)))
    head = ("failure rate above the edge", "strategy", "unsafe caps", "within 1 %", "with a cap", "deaths", "probes")
    table(f"3. Flaky edges, stray failures with probability 0.01, {DRAWS} draws each", head, rows)


def kinds_of_world(draw: random.Random) -> dict[str, Callable[[], tuple[Rule, set[FindingKind]]]]:
    """Rules by the kind of world, each with the findings that are right for it."""
    kind = draw.choice([Outcome.DEATH, Outcome.DEATH, Outcome.ERROR, Outcome.HANG, Outcome.TRUNCATED])
    edge = draw.randrange(1_000, 9_000)
    boundary = {FindingKind(kind.value)}
    anything = boundary | {FindingKind.NONE, FindingKind.CLEAN_LIMIT}
    return {
        "step on the prompt": lambda: (prompt_above(edge, kind), boundary),
        "step on prompt + output": lambda: (total_above(edge, kind), boundary),
        "step on prompt + output + k": lambda: (drafts_above(edge, kind), boundary),
        "two steps": lambda: (
            any_of(prompt_above(edge, kind), total_above(edge + 10, Outcome.ERROR)),
            boundary | {FindingKind.ERROR},
        ),
        "no edge": lambda: (lambda _: None, {FindingKind.NONE, FindingKind.CLEAN_LIMIT}),
        "window": lambda: (window(edge, edge + draw.randrange(1, 3_000), kind), anything),
        "island": lambda: (window(edge, edge, kind), anything),
        "periodic": lambda: (periodic(draw.randrange(50, 2_000), kind), anything),
        "wear": lambda: (wears_out(draw.randrange(8, 30)), {FindingKind.NOT_LENGTH}),
        "poison": lambda: (poisoned_by(prompt_above(edge, Outcome.ERROR)), {FindingKind.NOT_LENGTH}),
        "flaky": lambda: (flaky_above(edge, draw.choice([0.9, 0.6]), outcome=kind), boundary),
    }


MONOTONE = {"step on the prompt", "step on prompt + output", "step on prompt + output + k", "two steps", "no edge"}


def is_unsafe(world: World, cap: int) -> bool:
    """Does a corner of what the cap admits fail (not: is refused), once in twenty tries, on fresh engines?"""
    bad = {Outcome.DEATH, Outcome.ERROR, Outcome.HANG, Outcome.TRUNCATED}
    question = BisectQuestion(lo=1, hi=cap + 1)
    for length, output in ((cap - 1, 1), (cap - 32, 32), (64, cap - 64)):
        if length >= 1 and output >= 1:
            spec = question.spec(length, Role.SINGLE, "", output_tokens=output)
            fresh = [World(world.rule, limit=world.limit, style=world.style, k=world.k, seed=s) for s in range(20)]
            if any(each.answer(spec).outcome in bad for each in fresh):
                return True
    return False


def random_worlds() -> None:
    draw = random.Random(2)
    count: Counter[str] = Counter()
    unsafe: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    said: dict[str, Counter[str]] = {}
    for number in range(WORLDS):
        kinds = kinds_of_world(draw)
        name = list(kinds)[number % len(kinds)]
        rule, right = kinds[name]()
        limit = draw.choice([None, None, 8_192, 12_000])
        world = World(rule, limit=limit, style=draw.choice(["clamp", "sum"]), k=draw.choice([0, 3, 7]), seed=number)
        tells = limit if draw.random() < 0.5 else None
        played = ask(
            world, lo=draw.randrange(100, 3_000), hi=10_000, limit=tells, output_tokens=draw.choice([1, 8, 32])
        )
        finding = played.finding
        count[name] += 1
        if finding.cap is not None and is_unsafe(world, finding.cap):
            unsafe[name] += 1
        refused_first = limit is not None and finding.kind is FindingKind.CLEAN_LIMIT
        if finding.kind not in right and not (refused_first and not is_unsafe(world, limit or 1)):
            wrong[name] += 1
            said.setdefault(name, Counter())[finding.kind] += 1
    assert not any(unsafe[name] for name in MONOTONE)
    rows = [
        (
            name,
            count[name],
            unsafe[name],
            wrong[name],
            ", ".join(f"{k} {n}" for k, n in said.get(name, Counter()).items()),
        )
        for name in count
    ]
    table(f"4. {WORLDS} random worlds", ("world", "runs", "unsafe caps", "other findings", "which"), rows)


def warm_searches() -> None:
    """Whole runs on random edges where reading is slow, cold and with a search on the prefix cache before."""
    draw = random.Random(5)
    rows = []
    for lo, speed, revival_s in product((8_000, LO), (1_000, 5_000), (60.0, 300.0)):
        edges = [draw.randrange(lo, HI) for _ in range(EDGES_WARM)]
        row: list[object] = [f"{lo} .. {HI}", speed, f"{revival_s:.0f} s"]
        for cache in ("cold", "mixed"):
            seconds = deaths = probes = 0.0
            for edge in edges:
                question = BisectQuestion(lo=lo, hi=HI, cache=cache)
                world = World(prompt_above(edge), per_token_s=1 / speed, revival_s=revival_s)
                played = play(bisect(question), world.answer)
                assert (played.finding.last_good, played.finding.first_bad) == (edge, edge + 1)
                seconds += sum(seen.cost_s for seen in played.log)
                deaths += played.deaths
                probes += len(played.log)
            row.append(f"{seconds / len(edges) / 60:.1f} min, {deaths / len(edges):.1f}, {probes / len(edges):.0f}")
        rows.append(row)
    head = ("edges", "tokens a second", "revival", "cold: time, deaths, probes", "mixed: same")
    table("5. Cold, and on a warm prefix first", head, rows)


def thinking_time() -> None:
    suspects = tuple(Suspect(value, "benchmark") for value in range(1_000, 1_000_000, 50_000))
    belief = Belief.over(1, 1_000_000, suspects=suspects, output_tokens=32, draft_tokens=7)
    began = time.perf_counter()
    for number in range(1_000):
        belief.next(1 + number, 1_000_001, flat(20))
    decision = (time.perf_counter() - began) / 1_000
    question = BisectQuestion(lo=1_000, hi=1_000_000)
    log = play(bisect(question), World(prompt_above(524_287)).answer).log[:20]
    many = (log + [log[-1]] * 10_000)[:10_000]
    began = time.perf_counter()
    Ledger(question, many)
    taken = time.perf_counter() - began
    began = time.perf_counter()
    ledger = Ledger(question)
    for seen in many[:MOST_PROBES]:
        next_step(ledger)
        ledger.take(seen)
    decided = time.perf_counter() - began
    assert decision < 1e-3
    assert taken < 1
    rows = [
        (f"one decision over 10^6 lengths, {len(belief.segments)} segments", f"{decision * 1e3:.3f} ms"),
        ("10,000 observations taken as facts", f"{taken:.2f} s"),
        (f"the longest run ({MOST_PROBES} probes) replayed, every decision taken again", f"{decided:.2f} s"),
    ]
    table("6. Time to think", ("what", "took"), rows)


def holes(step: int | None, side: int) -> Rule:
    """Every prompt that leaves such a remainder kills, but for the short one; None: none does."""
    return lambda request: (
        Outcome.DEATH if step and request.prompt > 64 and (request.prompt - side) % step == 0 else None
    )


def holes_that_recur() -> None:
    """Whole runs over ground with holes in it, with an edge above and without one."""
    rows = []
    for step in (None, 16, 32, 64, 128, 256):
        draw = random.Random(7)
        unsafe = capped = runs = deaths = probes = sent = 0
        for side, has_edge, limit, _ in product((0, 1, -1), (True, False), (None, 65_536), range(HOLES)):
            hole = holes(step, side)
            rule = any_of(prompt_above(draw.randrange(30_000, 90_000)), hole) if has_edge else hole
            world = World(rule, limit=limit, k=draw.choice([0, 3]), seed=runs)
            most = draw.choice([4, 12])
            played = ask(world, lo=draw.randrange(20_000, 30_000), hi=100_000, limit=limit, max_deaths=most)
            cap = played.finding.cap
            runs, deaths, probes = runs + 1, deaths + played.deaths, probes + len(played.log)
            sent += sum(seen.spec.role is Role.SCAN for seen in played.log)
            capped += cap is not None
            unsafe += cap is not None and step is not None and cap > SHORT_GROUND
        assert not unsafe
        figures = (f"{value / runs:.2f}" for value in (deaths, probes, sent))
        rows.append((step or "no holes", runs, unsafe, capped, *figures))
    head = ("period", "runs", "unsafe caps", "with a cap", "deaths", "probes", "of them for the holes")
    table("7. Holes that recur: multiples of a period, one more, one less", head, rows)


if __name__ == "__main__":
    print("# The search, measured")
    for part in (uniform_edges, edges_on_suspects, flaky_edges, random_worlds, warm_searches, thinking_time):
        part()
    holes_that_recur()
