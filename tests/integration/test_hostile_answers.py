"""Does a server that answers with malice, or broken, always get the right outcome, soon and in bounded memory?"""

from __future__ import annotations

import json
import struct
import time
import tracemalloc
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from fuzzer.model import Outcome
from tests.integration.raw import Writer, chunk, reset, whole
from tests.integration.staging import LONG, SSE_HEAD, Act, body, endless, events, page, probe, saying, staged, well

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

JSON_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n"
TOKEN = b'data: {"choices":[{"text":" x","finish_reason":null}]}\n\n'
MOST_MEMORY = 48 << 20
MOST_CPU_S = 5.0  # seconds of our own work, and of the server's beside it


def with_usage(**usage: object) -> Act:
    async def act(writer: Writer, asked: Mapping[str, Any]) -> None:
        text = json.dumps(body(asked, **usage))
        writer.write(whole(200, text.encode(), "content-type: application/json"))

    return act


async def shortened(writer: Writer, asked: Mapping[str, Any]) -> None:
    writer.write(SSE_HEAD + b"".join(map(chunk, events(asked, len(asked["prompt"]) - 1))) + b"0\r\n\r\n")


async def byte_by_byte(writer: Writer, asked: Mapping[str, Any]) -> None:
    """Each byte of the stream in a chunk of its own."""
    writer.write(SSE_HEAD + b"".join(chunk(bytes([one])) for one in b"".join(events(asked))) + b"0\r\n\r\n")


async def one_byte_and_silence(writer: Writer, asked: Mapping[str, Any]) -> None:
    writer.write(SSE_HEAD + chunk(b":"))
    await writer.drain()
    await anyio.sleep_forever()


async def trickling(writer: Writer, asked: Mapping[str, Any]) -> None:
    writer.write(SSE_HEAD)
    while True:
        writer.write(chunk(b":\n"))
        await writer.drain()
        await anyio.sleep(0.05)


async def trickling_head(writer: Writer, asked: Mapping[str, Any]) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nx: ")
    while True:
        writer.write(b"a")
        await writer.drain()
        await anyio.sleep(0.05)


async def resetting(writer: Writer, asked: Mapping[str, Any]) -> None:
    writer.write(SSE_HEAD + chunk(TOKEN))
    await writer.drain()
    reset(writer)


GZIP_HEAD = b"\x1f\x8b\x08" + bytes(7)


def bomb(piece: bytes, times: int, kind: str = "application/json") -> bytes:
    """So many pieces as gzip, of which only the first was squeezed: that takes no time, unlike to unpack them."""
    squeezer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    block = squeezer.compress(piece) + squeezer.flush(zlib.Z_FULL_FLUSH)
    crc = 0
    for _ in range(times):
        crc = zlib.crc32(piece, crc)
    tail = squeezer.flush() + struct.pack("<II", crc, len(piece) * times)
    return whole(200, GZIP_HEAD + block * times + tail, f"content-type: {kind}", "content-encoding: gzip")


NOTHING = (
    b'data: {"choices":[{"text":"","finish_reason":"stop"}],"usage":{"prompt_tokens":300}}\n\n',
    b"data: [DONE]\n\n",
)
NESTED = b'{"error":{"message":' + b"[" * 970 + b"]" * 970 + b"}}"

CASES: Mapping[str, tuple[Act, Outcome]] = {
    "well": (well, Outcome.PASS),
    "split at every byte": (byte_by_byte, Outcome.PASS),
    "one token short": (shortened, Outcome.TRUNCATED),
    "endless body": (endless(JSON_HEAD, b"[" * 65_536), Outcome.ERROR),
    "lists without end": (
        saying(whole(200, b"[" + b"[]," * 1_400_000 + b"[]]", "content-type: application/json")),
        Outcome.ERROR,
    ),
    "endless text": (endless(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n", b"x" * 65_536), Outcome.ERROR),
    "endless stream of tokens": (endless(SSE_HEAD, chunk(TOKEN * 64)), Outcome.ERROR),
    "endless line": (endless(SSE_HEAD, chunk(b"data: " + b"x" * 65_536)), Outcome.ERROR),
    "endless comments": (endless(SSE_HEAD, chunk(b":\n" * 32_768)), Outcome.ERROR),
    "endless events of nothing": (endless(SSE_HEAD, chunk(b"data: {}\n\n" * 4_096)), Outcome.ERROR),
    "endless header block": (endless(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n" * 1_000), Outcome.ERROR),
    "endless header": (endless(b"HTTP/1.1 200 OK\r\nx: ", b"y" * 65_536), Outcome.ERROR),
    "endless status line": (endless(b"HTTP/1.1 200 ", b"y" * 65_536), Outcome.ERROR),
    "endless interim answers": (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000), Outcome.HANG),
    "gzip bomb": (saying(bomb(b" " * (1 << 20), 256)), Outcome.ERROR),
    "gzip bomb in a stream": (saying(bomb(b":\n" * (1 << 19), 128, "text/event-stream")), Outcome.ERROR),
    "broken gzip": (saying(whole(200, b"\x1f\x8bnothing", "content-encoding: gzip")), Outcome.ERROR),
    "brotli": (saying(whole(200, b"??", "content-encoding: br")), Outcome.ERROR),
    "invalid JSON": (saying(whole(200, b'{"choices":[', "content-type: application/json")), Outcome.ERROR),
    "invalid UTF-8": (saying(whole(200, b'{"choices":"\xff\xfe', "content-type: application/json")), Outcome.ERROR),
    "lone surrogates": (saying(page({"error": {"message": "\ud800 boom \udfff"}}, 500)), Outcome.ERROR),
    "a null in an error": (saying(page({"error": {"message": "bo\0om"}}, 500)), Outcome.ERROR),
    "nested without end": (saying(whole(500, NESTED, "content-type: application/json")), Outcome.ERROR),
    "number without end": (
        saying(whole(200, b'{"usage":' + b"9" * 9_999 + b"}", "content-type: text/json")),
        Outcome.ERROR,
    ),
    "a number for an error": (saying(page({"error": 7}, 500)), Outcome.ERROR),
    "a list for an answer": (saying(page([])), Outcome.ERROR),
    "choices of nothing": (saying(page({"choices": []})), Outcome.ERROR),
    "a stream of nothing": (saying(SSE_HEAD + b"".join(map(chunk, NOTHING)) + b"0\r\n\r\n"), Outcome.GARBLED),
    "an error in plain words": (
        saying(SSE_HEAD + chunk(TOKEN) + chunk(b"event: error\ndata: Internal Server Error\n\n") + b"0\r\n\r\n"),
        Outcome.ERROR,
    ),
    "a stream without an end": (saying(SSE_HEAD + chunk(TOKEN) + b"0\r\n\r\n"), Outcome.DEATH),
    "a web page": (saying(whole(200, b"<html>hello", "content-type: text/html")), Outcome.ERROR),
    "usage NaN": (with_usage(prompt_tokens=float("nan"), completion_tokens=float("nan")), Outcome.INFRA),
    "usage negative": (with_usage(prompt_tokens=-1), Outcome.INFRA),
    "usage too small": (with_usage(prompt_tokens=1), Outcome.TRUNCATED),
    "usage of nothing": (with_usage(prompt_tokens=0), Outcome.INFRA),
    "usage beyond any count": (with_usage(prompt_tokens=10**300), Outcome.INFRA),
    "usage of words": (with_usage(prompt_tokens="many", completion_tokens={}), Outcome.INFRA),
    "cached beyond any count": (with_usage(prompt_tokens_details={"cached_tokens": 1 << 70}), Outcome.PASS),
    "one byte and silence": (one_byte_and_silence, Outcome.HANG),
    "bytes that trickle": (trickling, Outcome.HANG),
    "a header that trickles": (trickling_head, Outcome.HANG),
    "reset in the stream": (resetting, Outcome.DEATH),
    "no HTTP": (saying(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), Outcome.ERROR),
    "two lengths": (saying(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabc"), Outcome.ERROR),
    "a negative length": (saying(b"HTTP/1.1 200 OK\r\ncontent-length: -4\r\n\r\nabc"), Outcome.ERROR),
    "a chunk of 2^80 bytes": (
        saying(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffffff\r\nabc"),
        Outcome.DEATH,
    ),
    "status 999": (saying(whole(999, b"{}")), Outcome.ERROR),
    "status 600": (saying(whole(600, b"{}")), Outcome.ERROR),
    "redirect to itself": (saying(whole(307, b"", "location: /v1/completions")), Outcome.INFRA),
    "out of memory, as a 400": (saying(page({"object": "error", "message": "CUDA out of memory"}, 400)), Outcome.ERROR),
    "nothing of a length, as a 400": (saying(page({"error": {"message": "nope"}}, 400)), Outcome.ERROR),
    "a crash, as a 400": (saying(page({"error": "The model has crashed. (Exit code: 6)"}, 400)), Outcome.DEATH),
    "a runner that stopped": (
        saying(page({"error": {"message": "model runner has unexpectedly stopped"}}, 500)),
        Outcome.DEATH,
    ),
    "a gateway that lost it, in JSON": (
        saying(page({"message": "An invalid response was received from the upstream server"}, 502)),
        Outcome.DEATH,
    ),
    "a content filter": (
        saying(page({"error": {"message": "filtered", "code": "content_filter"}}, 400)),
        Outcome.INFRA,
    ),
    "a firewall's page": (
        saying(whole(200, b"<html>The requested URL was rejected.", "content-type: text/html")),
        Outcome.INFRA,
    ),
    "a firewall's 403": (saying(whole(403, b"<h1>403 Forbidden</h1>", "content-type: text/html")), Outcome.INFRA),
    "a limit on bytes": (
        saying(page({"error": "Internal Server Error", "message": "Exceeded limit on max bytes to buffer"}, 500)),
        Outcome.INFRA,
    ),
    "an empty 419": (saying(whole(419, b"")), Outcome.INFRA),
    "a clean refusal": (
        saying(page({"error": {"message": "maximum context length is 200 tokens"}}, 400)),
        Outcome.REJECTED,
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_each_answer_has_its_outcome(name: str, tmp_path: Path) -> None:
    act, outcome = CASES[name]
    hangs = outcome is Outcome.HANG
    async with staged(act) as stage:
        began = time.process_time()
        seen = await probe(tmp_path, stage, stream=name[:5] != "usage", timeout_s=2.0 if hangs else 60.0)
    assert seen.outcome is outcome, seen.reason
    assert time.process_time() - began < MOST_CPU_S
    assert len(seen.reason) < 4_000


@pytest.mark.parametrize(
    "name", ["lists without end", "endless body", "endless line", "endless header", "gzip bomb", "endless comments"]
)
async def test_memory_stays_bounded(name: str, tmp_path: Path) -> None:
    act, _ = CASES[name]
    async with staged(act) as stage:
        tracemalloc.start()
        try:
            await probe(tmp_path, stage)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < MOST_MEMORY


async def test_a_good_answer_that_is_cut_anywhere_is_never_a_pass(tmp_path: Path) -> None:
    """Every offset of a whole body; of a stream, those around each token and its end."""
    async with staged() as stage:
        asked = {"prompt": [0] * LONG, "max_tokens": 1, "stream": True}
        good = page(body(asked))
        for end in (*range(0, len(good), 31), len(good) - 1):
            stage.act = saying(good[:end])
            seen = await probe(tmp_path, stage, stream=False, output_tokens=1)
            assert seen.outcome is Outcome.DEATH, (end, seen.reason)
