"""Does a probe time a request as curl does? The same bodies, in turns, and what the engine says of itself. Markdown.

    python -m benchmarks.curl

A probe polls health and scrapes metrics while it waits; curl does not. So a probe that disturbed what it measures would
show in the last column: what the engine's own log says of the requests that were watched, over those that were not.
Needs curl; llama.cpp is skipped where it is not installed.
"""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio

from fuzzer.model import ProbeSpec, Role, Settings
from fuzzer.probe import gather
from fuzzer.prompts import PromptSource
from fuzzer.rig import Prepared, Rig, prepare
from fuzzer.standing import Standing
from targets.detect import connect
from tests.engines import recipes
from tests.engines.keeping import Engine

ROUNDS = 9
Way = Callable[[Rig, Prepared], Awaitable[float]]
SIMULATED = {"speed": {"decode_s": 0.004}, "draft": {"k": 3, "acceptance_length": 1.8}}


@dataclass(frozen=True, slots=True)
class Timed:
    """Tokens a second after the first; `own`: what the engine's log says of the very same request."""

    speed: float
    own: float | None = None


async def by_probe(rig: Rig, prepared: Prepared) -> float:
    evidence = await gather(rig, prepared, Standing(), lambda _pulse, _phase: None)
    reply = evidence.reply
    assert reply.usage.completion_tokens is not None
    assert reply.first_token_s is not None
    tokens = reply.usage.completion_tokens - 1
    return tokens / (reply.ended_s - reply.first_token_s)


async def by_curl(rig: Rig, prepared: Prepared) -> float:
    """The lines of the stream as curl hands them on, each with its time."""
    command = ("curl", "-sN", "-X", "POST", f"{rig.target.url}/v1/completions", "-H", "content-type: application/json")
    curl = await asyncio.create_subprocess_exec(
        *command, "--data-binary", "@-", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert curl.stdin is not None
    assert curl.stdout is not None
    curl.stdin.write(prepared.body)
    curl.stdin.close()
    first, tokens = None, 0
    async for line in curl.stdout:
        event = json.loads(line[6:]) if line.startswith(b"data: {") else {}
        if first is None and event.get("choices") and event["choices"][0].get("text"):
            first = time.monotonic()
        tokens = (event.get("usage") or {}).get("completion_tokens", tokens)
    ended = time.monotonic()
    await curl.wait()
    assert first is not None
    return (tokens - 1) / (ended - first)


async def compare(name: str, url: str, spec: ProbeSpec, log: Path | None = None) -> None:
    target, _ = await connect(url)
    rig = Rig(target, await PromptSource.open(tokenize=target.tokenize), Settings(grace_pass_s=0.1, seed=1))
    taken: dict[Way, list[Timed]] = {by_probe: [], by_curl: []}
    for seq in range(ROUNDS + 1):
        prepared = await prepare(rig, spec, Standing(), seq)
        for way in (by_probe, by_curl) if seq % 2 else (by_curl, by_probe):
            read = 0 if log is None else len(text_of(log))
            speed = await way(rig, prepared)
            if seq:  # the first pair warms up
                taken[way].append(Timed(speed, None if log is None else await told(log, read, spec.output_tokens)))
    await target.aclose()
    probe, curl = taken[by_probe], taken[by_curl]
    pairs = [one.speed / other.speed for one, other in zip(probe, curl, strict=True)]
    watched = [one.own / other.own for one, other in zip(probe, curl, strict=True) if one.own and other.own]
    columns = (against(probe), against(curl), pairs, watched)
    shares = [f"{statistics.median(one) - 1:+.1%}" if one else "-" for one in columns]
    speed = statistics.median(one.speed for one in probe)
    print(f"| {name} | {spec.length:,} + {spec.output_tokens} | {speed:,.0f} | {' | '.join(shares)} |")


def against(timed: Sequence[Timed]) -> list[float]:
    return [one.speed / one.own for one in timed if one.own is not None]


def text_of(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")


async def told(log: Path, read: int, tokens: int) -> float:
    """The speed that llama.cpp logs for the request whose lines come after `read` letters. Raises TimeoutError."""
    line = re.compile(rf" eval time = .*/\s+{tokens} tokens .*,\s+([\d.]+) tokens per second")
    with anyio.fail_after(5):
        while (found := line.search(text_of(log)[read:])) is None:  # noqa: ASYNC110  (a file)
            await anyio.sleep(0.05)
    return float(found[1])


@asynccontextmanager
async def simulator() -> AsyncIterator[str]:
    """In a process of its own: in ours it would wait for the probe that it answers."""
    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder) / "world.json"
        world.write_text(json.dumps(SIMULATED))
        command = (sys.executable, "-m", "fuzzer.cli", "sim", str(world), "--port", "0")
        served = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        assert served.stdout is not None
        try:
            yield (await served.stdout.readline()).decode().strip()
        finally:
            served.terminate()
            await served.wait()


@asynccontextmanager
async def llama(serve: Sequence[str]) -> AsyncIterator[Engine]:
    with tempfile.TemporaryDirectory() as folder, recipes.llamacpp(serve, Path(folder)) as engine:
        yield engine


async def main() -> None:
    print("| engine | tokens | tok/s | probe to log | curl to log | probe to curl | log: watched to not |")
    print("|---|---|---|---|---|---|---|")
    spec = ProbeSpec(2_000, 512, Role.MEASURE, "the same request")
    async with simulator() as url:
        await compare("simulator", url, spec)
    try:
        recipes.llama_server()
    except LookupError:
        return
    plain = ("-c", "8192", "-t", "1")
    async with llama(plain) as engine:
        await compare("llama.cpp", engine.url, spec, engine.log)
    async with llama((*plain, *recipes.LOOKUP[:4], "--spec-ngram-simple-size-m", "8")) as engine:
        await compare("llama.cpp, lookup drafter", engine.url, replace(spec, content="repeat"), engine.log)


if __name__ == "__main__":
    anyio.run(main)
