"""Does a run whose driver and engine are killed at random moments end as if nobody had touched it?

One game: a simulated engine that dies above an edge, a bisect of it as a real process, and blows: kill -9 at the
driver, at the engine, or at both, at random moments. After each blow at the driver the run is resumed, until it ends.
What is then checked is what a run promises: nothing lost, nothing asked twice, every death counted, the same edge.

An engine that is struck under a good length, with the driver watching, is false evidence that no observer could tell
from a crash: then the edge may come out lower, or not at all, but never higher.

`python -m tests.chaos.game [GAMES] [--at-once N] [--seed N]` plays many and says what came of them.
"""

from __future__ import annotations

import argparse
import logging
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import anyio
import anyio.abc

from fuzzer.cli import questions
from fuzzer.cli.exits import Exit
from fuzzer.observation import Observation
from fuzzer.store import History, StoreError, audit
from targets.sim import Simulation, running
from targets.sim.world import World

ROOT: Final = Path(__file__).parents[2]
EDGE: Final = 300
WORLD: Final = {
    "limit": {"tokens": 4096},
    "speed": {"prefill": 5000.0, "chunk": 64},  # slow enough to be hit in the middle
    "restart": {"delay_s": 0.1},
    "rules": [{"when": f"P > {EDGE}", "symptom": "death", "last_words": "CUDA error"}],
}
OUTPUT: Final = 32
QUESTION: Final = ("--lo", "200", "--hi", "400", "--confidence", "0.5", "--max-deaths", "40")
LONGEST_WAIT_S: Final = 3.0
MOST_BLOWS: Final = 4
# asyncio says 255 where the blow fell as the process ended, and sending it has taken its status away: it is not known.
STRUCK: Final = frozenset({-signal.SIGKILL, 255})

Blow = Literal["driver", "engine", "both"]
BLOWS: Final[tuple[Blow, ...]] = ("driver", "driver", "engine", "both", "both")


@dataclass(slots=True)
class Game:
    """What came of one game. `wrong` says which promises were broken, `lies` at which good lengths an engine was struck
    while the driver watched.
    """

    seed: int
    lies: list[int] = field(default_factory=list)
    misled: bool = False
    blows: Counter[str] = field(default_factory=Counter)
    sessions: int = 0
    probes: int = 0
    deaths: int = 0
    wrong: list[str] = field(default_factory=list)


async def play(seed: int, folder: Path) -> Game:
    """One game in a folder of its own."""
    game = Game(seed)
    chance = random.Random(seed)
    async with running(World.from_dict(WORLD)) as simulation:
        db = folder / "runs.db"
        await _to_the_end(game, chance, simulation, db)
        if not game.wrong:
            _check(game, simulation, db)
    return game


async def _to_the_end(game: Game, chance: random.Random, simulation: Simulation, db: Path) -> None:
    blows: list[Blow] = [chance.choice(BLOWS) for _ in range(chance.randint(1, MOST_BLOWS))]
    for _ in range(len(blows) + 3):
        await simulation.up()
        game.sessions += 1
        if await _session(game, chance, simulation, db, blows):
            return
    game.wrong.append("it did not come to an end")


async def _session(game: Game, chance: random.Random, simulation: Simulation, db: Path, blows: list[Blow]) -> bool:
    """One process until it ends or is killed. True when it ended by itself, and well, or had sealed its run."""
    words = ("resume", "last") if _begun(db) else ("bisect", "--url", simulation.url, *QUESTION)
    command = [sys.executable, "-m", "tests.chaos.quick", *words, "--db", str(db), "--json"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    async with await anyio.open_process(command, cwd=ROOT, env=env, stdout=subprocess.PIPE) as process:
        said = b""
        async with anyio.create_task_group() as group:

            async def listen() -> None:
                nonlocal said
                assert process.stderr is not None
                async for chunk in process.stderr:
                    said += chunk

            group.start_soon(listen)
            while blows and process.returncode is None:
                with anyio.move_on_after(chance.uniform(0, LONGEST_WAIT_S)):
                    await process.wait()
                if process.returncode is None:
                    await _strike(game, blows, process, simulation)
            status = await process.wait()
    if status not in {0, *STRUCK} and not (status == Exit.INCONCLUSIVE and game.lies):
        game.wrong.append(f"a session left with {status}: {said.decode()[-400:]}")
    return status not in STRUCK or _is_sealed(db)


async def _strike(game: Game, blows: list[Blow], process: anyio.abc.Process, simulation: Simulation) -> None:
    """The next blow, if it can land now.

    An engine is struck while it works for us, in a life of which the record has a probe: a life that nobody has looked
    at can end without anybody's knowing.
    """
    blow = blows[-1]
    if blow != "driver" and not _at_work(simulation):
        return
    blows.pop()
    game.blows[blow] += 1
    if blow == "engine" and simulation.log[-1].prompt_tokens <= EDGE:
        game.lies.append(_last_asked(simulation))
    if blow != "driver":
        simulation.kill()
    if blow != "engine":
        process.kill()


def _last_asked(simulation: Simulation) -> int:
    """The length of the last probe, whose canary it may be that is on its way."""
    return next(record.prompt_tokens for record in reversed(simulation.log) if record.max_tokens == OUTPUT)


def _at_work(simulation: Simulation) -> bool:
    log = simulation.log
    if not log or log[-1].outcome != "open":
        return False
    life = log[-1].incarnation
    return any(record.incarnation == life and record.max_tokens == OUTPUT for record in log)


def _begun(db: Path) -> bool:
    if not db.exists():
        return False
    try:
        with History.open(db) as history:
            return bool(history.runs(limit=1))
    except StoreError:  # killed while it was being made
        return False


def _is_sealed(db: Path) -> bool:
    """Was it killed after its last word was on record?"""
    if not _begun(db):
        return False
    with History.open(db) as history:
        return history.get("last").status == "done"


def _check(game: Game, simulation: Simulation, db: Path) -> None:
    found = audit(db)
    if not found.sound or found.unsealed:
        game.wrong.append(f"audit: {found.problems}, unsealed: {found.unsealed}")
    with History.open(db) as history:
        run = history.get("last")
        seen = history.observations(run.run)
        game.probes, game.deaths = len(seen), run.deaths
        if history.open_intents(run.run):
            game.wrong.append("an intent is without an end")
        asked = Counter(intent.sent_tokens for intent in history.intents(run.run))
        finding = run.finding
        edge = (None, None) if finding is None else (finding.last_good, finding.first_bad)
        game.misled = edge != (EDGE, EDGE + 1)
        if game.misled and (not game.lies or (edge[0] or 0) > EDGE):
            game.wrong.append(f"the edge is {edge}: {finding and finding.reason}")
        if run.deaths != simulation.deaths:
            game.wrong.append(f"{run.deaths} deaths are on record, and the engine died {simulation.deaths} times")
        if sum(one.deaths for one in seen) != run.deaths:
            game.wrong.append(f"{run.deaths} deaths are on record, and the probes tell of another number")
        served = Counter(record.prompt_tokens for record in simulation.log if record.max_tokens == OUTPUT)
        for length, times in served.items():
            if times > asked[length]:
                game.wrong.append(f"{length} tokens were sent {times} times and intended {asked[length]} times")
        if not _as_the_plan_asks(questions.recorded(run), seen):
            game.wrong.append("the record is not what one plan asks from its beginning to its end")


def _as_the_plan_asks(asked: questions.Asked, seen: list[Observation]) -> bool:
    """Does a fresh plan ask exactly the recorded questions, and then no more? So nothing was asked twice."""
    plan = asked.plan()
    try:
        spec = next(plan)
        for one in seen:
            if (spec.length, spec.role, spec.output_tokens) != (one.spec.length, one.spec.role, one.spec.output_tokens):
                return False
            spec = plan.send(one)
    except StopIteration:
        return one is seen[-1]
    return False


async def play_many(games: int, at_once: int, seed: int = 0, within_s: float = math.inf) -> list[Game]:
    """So many games, each with a seed of its own, `at_once` side by side; none is begun after `within_s`."""
    played: list[Game] = []
    room = anyio.CapacityLimiter(at_once)
    last_call = time.monotonic() + within_s

    async def one(number: int) -> None:
        async with room:
            if time.monotonic() > last_call:
                return
            with tempfile.TemporaryDirectory() as folder:
                game = await play(number, Path(folder))
        played.append(game)
        for what in game.wrong:
            sys.stdout.write(f"game {number}: {what}\n")
            sys.stdout.flush()

    async with anyio.create_task_group() as group:
        for number in range(seed, seed + games):
            group.start_soon(one, number)
    return played


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill runs at random moments, and see that nothing is lost.")
    parser.add_argument("games", nargs="?", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--within", type=float, metavar="SECONDS", default=math.inf, help="Begin no game after this.")
    told = parser.parse_args()
    logging.disable(logging.CRITICAL)  # uvicorn tells of every client that is killed
    began = time.monotonic()
    played = anyio.run(play_many, told.games, told.at_once, told.seed, told.within)
    blows = sum((game.blows for game in played), Counter())
    bad = [game for game in played if game.wrong]
    sys.stdout.write(
        f"{len(played)} games in {math.ceil(time.monotonic() - began)} s: {sum(blows.values())} blows {dict(blows)}, "
        f"{sum(game.sessions for game in played)} sessions, {sum(game.probes for game in played)} probes, "
        f"{sum(game.deaths for game in played)} deaths on record; "
        f"{sum(game.misled for game in played)} games were misled by a struck engine, {len(bad)} are wrong\n"
    )
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
