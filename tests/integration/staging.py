"""How do tests play a server that is well for short prompts, and misbehaves where a test wants it to?"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from fuzzer.cli import opening, questions
from fuzzer.cli.common import CommonFlags
from fuzzer.model import Settings
from tests.integration.raw import Handler, Reader, Writer, chunk, request_of, serving, whole

if TYPE_CHECKING:
    import ssl
    from pathlib import Path

    from fuzzer.events import Event
    from fuzzer.observation import Observation

Act = Callable[[Writer, Mapping[str, Any]], Awaitable[None]]
LONG = 300  # tokens of the prompt that the stage misbehaves at
QUICK = Settings(grace_failure_s=0.4, grace_pass_s=0.1)
SSE_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
WORDS = "the quick brown fox jumps over a lazy dog and runs far away from here today"


def page(value: object, status: int = 200, *headers: str) -> bytes:
    return whole(status, json.dumps(value).encode(), "content-type: application/json", *headers)


def events(asked: Mapping[str, Any], prompt_tokens: int | None = None) -> list[bytes]:
    """The events of a good stream. It says `prompt_tokens`, or as many as were sent."""
    number = asked["max_tokens"]
    words = (WORDS.split() * number)[:number]
    counted = len(asked["prompt"]) if prompt_tokens is None else prompt_tokens
    usage = {"prompt_tokens": counted, "completion_tokens": number}
    tokens = [{"choices": [{"text": f" {word}", "finish_reason": None}]} for word in words]
    last = {"choices": [{"text": "", "finish_reason": "length"}], "usage": usage}
    return [*(b"data: " + json.dumps(one).encode() + b"\n\n" for one in (*tokens, last)), b"data: [DONE]\n\n"]


def body(asked: Mapping[str, Any], **usage: object) -> dict[str, Any]:
    """A good whole answer, but for what `usage` says of its counts."""
    number = asked["max_tokens"]
    text = " ".join((WORDS.split() * number)[:number])
    counts = {"prompt_tokens": len(asked["prompt"]), "completion_tokens": number, **usage}
    return {"choices": [{"text": text, "finish_reason": "length"}], "usage": counts}


async def well(writer: Writer, asked: Mapping[str, Any]) -> None:
    if asked.get("stream"):
        writer.write(SSE_HEAD + b"".join(map(chunk, events(asked))) + b"0\r\n\r\n")
    else:
        writer.write(page(body(asked)))


def saying(*pieces: bytes) -> Act:
    """Says this, and hangs up."""

    async def act(writer: Writer, asked: Mapping[str, Any]) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()

    return act


def endless(start: bytes, piece: bytes) -> Act:
    """Says `start`, and then `piece` for as long as anybody listens."""

    async def act(writer: Writer, asked: Mapping[str, Any]) -> None:
        writer.write(start)
        with contextlib.suppress(OSError):
            while True:
                writer.write(piece)
                await writer.drain()

    return act


PAGES: Mapping[str, bytes] = {
    "/v1/models": page({"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 4096}]}),
    "/version": page({"version": "0.30.0"}),
    "/health": whole(200, b""),
}


@dataclass(slots=True)
class Stage:
    """`act` is what happens at the long prompt; `pages` what stands at each other path; `heads` what came in."""

    act: Act = well
    pages: Mapping[str, bytes | Act] = field(default_factory=dict)
    long: int = LONG  # from so many tokens on it acts
    asks: int = LONG  # the tokens that `probe` asks of it
    heads: list[bytes] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    url: str = ""

    async def __call__(self, reader: Reader, writer: Writer) -> None:
        head, content = await request_of(reader)
        self.heads.append(head)
        path = head.split(b" ")[1].decode("latin-1").partition("?")[0]
        page = {**PAGES, **self.pages}.get(path)
        if page is not None:
            await (page if callable(page) else saying(page))(writer, {})
        elif path == "/tokenize":
            await self._tokenize(writer, json.loads(content)["prompt"])
        elif path == "/v1/completions":
            asked = json.loads(content)
            self.lengths.append(len(asked["prompt"]))
            await (self.act if len(asked["prompt"]) >= self.long else well)(writer, asked)
        else:
            writer.write(page_not_found())
        await writer.drain()

    async def _tokenize(self, writer: Writer, text: str) -> None:
        ids = [1000 + sum(word.encode()) % 29_000 for word in text.split()]
        writer.write(page({"tokens": ids or [7], "count": len(ids), "max_model_len": 4096}))


def page_not_found() -> bytes:
    return page({"detail": "Not Found"}, 404)


@asynccontextmanager
async def staged(
    act: Act = well,
    *,
    pages: Mapping[str, bytes | Act] | None = None,
    tls: ssl.SSLContext | None = None,
    long: int = LONG,
) -> AsyncIterator[Stage]:
    stage = Stage(act, pages or {}, long)
    handler: Handler = stage
    async with serving(handler, tls) as port:
        stage.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
        yield stage


async def probe(folder: Path, stage: Stage, heard: list[Event] | None = None, **flags: Any) -> Observation:
    """What `ctxfuzz probe` records of the stage's long prompt: connected, driven, judged and stored for real."""
    given = {"url": stage.url, "db": folder / "runs.db", "output_tokens": 8, "timeout_s": 20.0, **flags}
    async with opening.opened(CommonFlags(**given), pace=QUICK, sample_s=0.05) as opened:
        asked = questions.to_probe(opened, stage.asks)
        listeners = [] if heard is None else [heard.append]
        result = await opened.run("probe", asked, listeners, anyio.Event())
    return result.observations[-1]
