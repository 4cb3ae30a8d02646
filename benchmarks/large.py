"""What does a prompt of a million tokens cost us, beside a bare httpx client that posts the same bytes?

Run: python benchmarks/large.py [TOKENS]. Each mode in a process of its own; the server reads and answers, nothing else.
"""

from __future__ import annotations

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

import anyio
import httpx

from fuzzer.prompts import PromptSource
from fuzzer.prompts.recipe import Recipe
from targets.address import parse
from targets.base import Generation, Mode
from targets.http import Http
from targets.openai import OpenAITarget
from targets.table import DIALECTS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ROOT = Path(__file__).parents[1]
TOKENIZER = ROOT / "targets" / "sim" / "tokenizer"
ROUNDS = 31
EVENTS = (
    b'data: {"choices":[{"text":"x","finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n'
    b"data: [DONE]\n\n"
)
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + EVENTS


async def serve() -> None:
    """Say the port, then answer everybody that was heard out, until killed."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        while length:
            length -= len(await reader.read(min(length, 1 << 20)))
        writer.write(ANSWER)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@asynccontextmanager
async def served() -> AsyncIterator[str]:
    async with await anyio.open_process([sys.executable, __file__, "serve"], stderr=None) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(await server.stdout.receive())}"
        server.kill()


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def measure(mode: Mode, tokens: int) -> dict[str, object]:
    prompts = await PromptSource.open(tokenizer=str(TOKENIZER))
    async with served() as url:
        address = parse(url)
        target = OpenAITarget(Http(address, trust_env=False), address, DIALECTS["vllm"], model="m")
        async with httpx.AsyncClient(trust_env=False, timeout=None) as bare:
            await once(target, prompts, mode, 64)
            idle, over = peak_mb(), 0.0
            began = time.perf_counter()
            generation = Generation(await prompts.rebuild(Recipe(mode, tokens, head="large")), 32)
            body = target.encode(generation)
            built = time.perf_counter() - began
            ours: list[float] = []
            theirs: list[float] = []
            path = "/v1/chat/completions" if mode == "chat" else "/v1/completions"
            for _ in range(ROUNDS):  # in turns, so that a slow moment of the machine hits both alike
                began = time.perf_counter()
                reply = await target.generate(generation, body)
                ours.append(time.perf_counter() - began)
                assert reply.complete, reply
                over = peak_mb() - idle if not theirs else over
                began = time.perf_counter()
                answer = await bare.post(url + path, content=body, headers={"content-type": "application/json"})
                theirs.append(time.perf_counter() - began)
                assert answer.status_code == 200
        await target.aclose()
    return {
        "mode": mode,
        "tokens": tokens,
        "body_mb": round(len(body) / 1e6, 1),
        "build_s": round(built, 3),
        "send_ms": round(1e3 * statistics.median(ours), 1),
        "httpx_ms": round(1e3 * statistics.median(theirs), 1),
        "ratio": round(statistics.median(ours) / statistics.median(theirs), 2),
        "peak_over_idle_mb": round(over),
    }


async def once(target: OpenAITarget, prompts: PromptSource, mode: Mode, tokens: int) -> None:
    generation = Generation(await prompts.rebuild(Recipe(mode, tokens, head="warm")), 1)
    await target.generate(generation, target.encode(generation))


def main() -> None:
    match sys.argv[1:]:
        case ["serve"]:
            asyncio.run(serve())
        case [mode, tokens] if mode in get_args(Mode):
            print(json.dumps(anyio.run(measure, cast("Mode", mode), int(tokens))))
        case rest:
            tokens = rest[0] if rest else "1000000"
            for mode in get_args(Mode):
                subprocess.run([sys.executable, __file__, mode, tokens], check=True)


if __name__ == "__main__":
    main()
