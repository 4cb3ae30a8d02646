"""How does a day pass in seconds? A process whose every clock jumps to the next timer as soon as nobody has work to do.

`python -m tests.integration.virtual_day FOLDER` plays a bisect against an engine in memory that takes hours to come
back, with the product's own session, driver and store, and prints as JSON what was seen. It is a process of its own,
because its clock must be in place before anything is imported that reads it.
"""

# ruff: noqa: ARG002, E402  (the protocol of a target; a clock that comes before all imports)

from __future__ import annotations

import time

_now = time.monotonic()


def _jumping_clock() -> float:
    return _now


time.monotonic = _jumping_clock

import asyncio
import json
import os
import selectors
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from fuzzer.before.preflight import Company
from fuzzer.cli import questions, session
from fuzzer.cli.common import CommonFlags
from fuzzer.events import Event, ProbeEnded
from fuzzer.plans.question import BisectQuestion
from targets.base import Fault, Generation, Health, ProxySign, Refusal, Reply, Survey, Usage
from targets.scrape import Scrape
from targets.vllm import VLLM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from targets.exchange import Upload

HOUR = 3600.0
WORDS = "the quick brown fox jumps over a lazy dog and runs far away from here today"


class Jumping(selectors.DefaultSelector):
    """Where no file has anything to say, time itself moves on to the next timer."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        global _now  # noqa: PLW0603  (the one clock of the process)
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        ready = super().select(0)
        if not ready:
            _now += timeout
        return ready


@dataclass(slots=True)
class Engine:
    """A target in memory: computes for `prefill_s`, dies above one length, hangs above another, comes back late."""

    dies_above: int
    hangs_above: int
    away_s: float
    prefill_s: float = 20.0
    url: str = "http://engine"
    traits = VLLM
    deaths: list[float] = field(default_factory=list)
    polls: list[float] = field(default_factory=list)  # when health was asked for
    requests: list[float] = field(default_factory=list)  # when anything was
    served: int = 0

    @property
    def serves(self) -> bool:
        return not self.deaths or time.monotonic() >= self.deaths[-1] + self.away_s

    async def survey(self) -> Survey:
        return Survey("vllm", "0.30.0", ("m",), "m", has_tokenize=True, has_metrics=True)

    async def limit(self) -> int | None:
        return None

    async def version(self) -> str | None:
        return "0.30.0"

    async def health(self) -> Health:
        self.polls.append(time.monotonic())
        self.requests.append(time.monotonic())
        return Health(0.0, 200) if self.serves else Health(0.0, fault=Fault.REFUSED)

    async def metrics(self) -> Scrape | None:
        self.requests.append(time.monotonic())
        life = {"process_start_time_seconds": float(len(self.deaths))}
        return Scrape(time.monotonic(), life, {"finished": float(self.served)}, 0.0, 0.0) if self.serves else None

    async def tokenize(self, text: str) -> Sequence[int]:
        return [1000 + sum(word.encode()) % 29_000 for word in text.split()]

    def encode(self, generation: Generation) -> bytes:
        return generation.prompt.json

    async def generate(
        self,
        generation: Generation,
        body: bytes,
        *,
        on_progress: Callable[[], None] | None = None,
        on_token: Callable[[], None] = lambda: None,
        upload: Upload | None = None,
    ) -> Reply:
        self.requests.append(time.monotonic())
        if not self.serves:
            return Reply(sent=False, fault=Fault.REFUSED)
        life, tokens, wanted = len(self.deaths), generation.prompt.tokens, generation.max_tokens or 1
        await anyio.sleep(self.prefill_s * tokens / self.dies_above)
        if tokens > self.hangs_above:
            await anyio.sleep_forever()
        if tokens > self.dies_above and life == len(self.deaths):
            self.deaths.append(time.monotonic())
        if life != len(self.deaths):
            self.served = 0
            return Reply(sent=True, fault=Fault.CUT, fault_text="closed before the answer")
        if on_progress is not None:
            on_progress()
        on_token()
        self.served += 1
        text = " ".join((WORDS.split() * wanted)[:wanted])
        return Reply(
            sent=True,
            status=200,
            complete=True,
            text=text,
            text_chars=len(text),
            finish_reason="length",
            events=wanted,
            usage=Usage(tokens, wanted),
        )

    def refusal(self, reply: Reply) -> Refusal | None:
        return None

    def proxy_sign(self, reply: Reply) -> ProxySign | None:
        return None

    def overload(self, reply: Reply) -> float | None:
        return None

    async def aclose(self) -> None:
        pass


def size_of_us() -> dict[str, int]:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return {
        "kilobytes": pages * os.sysconf("SC_PAGE_SIZE") >> 10,
        "files": len(list(Path("/proc/self/fd").iterdir())),
        "tasks": len(asyncio.all_tasks()),
    }


async def bisect(folder: Path, asked: Mapping[str, Any], **flags: Any) -> dict[str, Any]:
    """A bisect that halves, so that it kills often; the engine takes two hours to come back."""
    engine = Engine(dies_above=30_000, hangs_above=38_000, away_s=2 * HOUR)
    common = CommonFlags(url=engine.url, db=folder / "runs.db", revival_timeout_s=3 * HOUR, seed=1, **flags)
    sizes: list[dict[str, int]] = []

    def listen(event: Event) -> None:
        if isinstance(event, ProbeEnded):
            sizes.append(size_of_us())

    question = BisectQuestion(lo=20_000, hi=60_000, strategy="halving", **asked)
    opened = session.Session(common, engine, await engine.survey(), Company(1))
    began = time.monotonic()
    result = await opened.run("bisect", questions.Asked("bisect", question), [listen], anyio.Event())
    return {
        "halt": result.finding.halt,
        "elapsed_s": time.monotonic() - began,
        "sizes": sizes,
        "deaths": engine.deaths,
        "polls": engine.polls,
        "requests": engine.requests,
        "probes": [
            {"outcome": seen.outcome, "role": seen.spec.role, "started_s": seen.started_s, "over_s": seen.over_s}
            for seen in result.observations
        ],
    }


def main() -> None:
    folder, asked, flags = Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
    options = {"loop_factory": lambda: asyncio.SelectorEventLoop(Jumping())}

    async def play() -> dict[str, Any]:
        return await bisect(folder, asked, **flags)

    sys.stdout.write(json.dumps(anyio.run(play, backend_options=options)))


if __name__ == "__main__":
    main()
