"""Does a real socket's every misbehaviour come back as the right evidence?"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from targets.address import parse
from targets.base import Fault, Generation, Prompt, Reply
from targets.errors import TargetUnusable
from targets.exchange import Upload
from targets.http import Http
from targets.openai import OpenAITarget
from targets.table import DIALECTS
from tests.integration.raw import Handler, Reader, Writer, answering, chunk, request_of, reset, serving, whole

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

SSE_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
TOKEN = b'data: {"choices":[{"text":"x","finish_reason":null}]}\n\n'
LAST = (
    b'data: {"choices":[{"text":"y","finish_reason":"length"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n'
)
DONE = b"data: [DONE]\n\n"


@asynccontextmanager
async def target_at(url: str, **options: Any) -> AsyncIterator[OpenAITarget]:
    address = parse(url)
    target = OpenAITarget(Http(address, trust_env=False, **options), address, DIALECTS["vllm"], model="m")
    try:
        yield target
    finally:
        await target.aclose()


async def ask(port: int, *, tokens: int = 3, **options: Any) -> Reply:
    return (await ask_often(1, port, tokens=tokens, **options))[0]


async def ask_often(
    times: int,
    port: int,
    *,
    tokens: int = 3,
    stream: bool = True,
    scheme: str = "http",
    max_tokens: int = 4,
    **options: Any,
) -> list[Reply]:
    prompt = Prompt("ids", json.dumps([1000] * tokens).encode(), tokens)
    generation = Generation(prompt, max_tokens, stream=stream)
    async with target_at(f"{scheme}://127.0.0.1:{port}", **options) as target:
        body = target.encode(generation)
        return [await target.generate(generation, body) for _ in range(times)]


async def test_a_whole_stream_is_complete() -> None:
    async with serving(answering(SSE_HEAD, chunk(TOKEN), chunk(LAST), chunk(DONE), b"0\r\n\r\n")) as port:
        reply = await ask(port)
    assert (reply.status, reply.fault, reply.complete, reply.text, reply.events) == (200, None, True, "xy", 2)
    assert reply.usage.prompt_tokens == 3
    assert reply.bytes_sent > 0
    assert reply.first_byte_s is not None
    assert reply.first_token_s is not None
    assert 0 < reply.first_byte_s <= reply.first_token_s <= reply.ended_s


async def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        reply = await ask(taken.getsockname()[1])
    assert (reply.sent, reply.fault, reply.status, reply.bytes_sent) == (False, Fault.REFUSED, None, 0)


async def test_a_name_that_does_not_exist_is_no_refusal() -> None:
    async with target_at("http://no-such-host.invalid:1") as target:
        health = await target.health()
    assert (health.fault, health.gone) == (Fault.NO_ROUTE, False)


async def test_an_address_without_a_route_is_no_refusal() -> None:
    async with target_at("http://255.255.255.255:1") as target:
        assert (await target.health()).fault is Fault.NO_ROUTE


STAGES = [
    ((), None, Fault.CUT),
    ((b"HTTP/1.1 20",), None, Fault.CUT),
    ((b"HTTP/1.1 200 OK\r\ncontent-type: te",), None, Fault.CUT),
    ((SSE_HEAD,), 200, Fault.CUT),
    ((SSE_HEAD, chunk(TOKEN)), 200, Fault.CUT),
    ((SSE_HEAD, chunk(TOKEN), b"20\r\ndata:"), 200, Fault.CUT),
    ((b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\ncontent-type: application/json\r\n\r\n{",), 200, Fault.CUT),
]


@pytest.mark.parametrize(("pieces", "status", "fault"), STAGES)
async def test_closed_at_each_stage(pieces: tuple[bytes, ...], status: int | None, fault: Fault) -> None:
    async with serving(answering(*pieces)) as port:
        reply = await ask(port)
    assert (reply.sent, reply.status, reply.fault, reply.complete) == (True, status, fault, False)


@pytest.mark.parametrize(("pieces", "status"), [((), None), ((SSE_HEAD, chunk(TOKEN)), 200)])
async def test_reset_at_each_stage(pieces: tuple[bytes, ...], status: int | None) -> None:
    async with serving(answering(*pieces, then=reset)) as port:
        reply = await ask(port)
    assert (reply.sent, reply.fault, reply.complete) == (True, Fault.RESET, False)
    assert reply.status in {status, None}  # a RST may overtake what was sent before it


async def test_reset_while_the_body_is_still_written() -> None:
    async def handler(reader: Reader, writer: Writer) -> None:
        await reader.readexactly(1000)
        reset(writer)

    async with serving(handler) as port:
        reply = await ask(port, tokens=600_000)
    assert (reply.sent, reply.fault, reply.status) == (True, Fault.RESET, None)


@pytest.mark.parametrize("status", [413, 400, 500])
@pytest.mark.parametrize("apart", [False, True], ids=["at-once", "in-pieces"])
async def test_an_early_answer_is_read_although_the_body_is_still_being_written(status: int, apart: bool) -> None:
    """The server reads a little of 4 MB, answers, and hangs up on the rest; the kernel sends a RST after the answer."""
    answer = whole(status, b'{"error":{"message":"early"}}', "content-type: application/json")

    async def handler(reader: Reader, writer: Writer) -> None:
        await reader.readexactly(1000)
        for piece in (answer[:20], answer[20:]) if apart else (answer,):
            writer.write(piece)
            await writer.drain()

    async with serving(handler) as port:
        replies = await ask_often(20, port, tokens=600_000)
    assert {(reply.status, reply.fault, reply.complete) for reply in replies} == {(status, None, True)}
    assert {reply.error.message for reply in replies if reply.error} == {"early"}


async def test_an_early_answer_is_read_from_a_server_that_neither_reads_on_nor_hangs_up() -> None:
    finished = asyncio.Event()

    async def handler(reader: Reader, writer: Writer) -> None:
        await reader.readexactly(1000)
        writer.write(whole(413, b'{"error":{"message":"early"}}', "content-type: application/json"))
        await finished.wait()

    async with serving(handler) as port:
        with anyio.fail_after(20):
            reply = await ask(port, tokens=4_000_000)
        finished.set()
    assert (reply.status, reply.complete) == (413, True)
    assert reply.bytes_sent < 24_000_000


@pytest.mark.parametrize("reads", [True, False])
async def test_how_much_of_a_body_was_taken_is_known_while_nobody_answers(reads: bool) -> None:
    begun = asyncio.Event()

    async def handler(reader: Reader, writer: Writer) -> None:
        await (request_of(reader) if reads else reader.readexactly(1000))
        begun.set()
        await asyncio.Event().wait()

    upload, body = Upload(), b"x" * 24_000_000
    async with serving(handler) as port, target_at(f"http://127.0.0.1:{port}") as target:
        generation = Generation(Prompt("ids", b"[]", 0), 4)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: target.generate(generation, body, upload=upload))
            with anyio.fail_after(20):
                await begun.wait()
                while reads and upload.untaken:  # noqa: ASYNC110  (the system acknowledges in its own time)
                    await anyio.sleep(0.01)
            told = upload.untaken
            tasks.cancel_scope.cancel()
    assert upload.size == len(body)
    assert (told == 0) if reads else (0 < told < len(body) + 1000)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_reported_and_never_followed(status: int) -> None:
    visited: list[bytes] = []

    async def elsewhere(reader: Reader, writer: Writer) -> None:
        visited.append((await request_of(reader))[0])
        writer.write(whole(200, b"{}"))

    async with (
        serving(elsewhere) as other,
        serving(answering(whole(status, b"", f"location: http://127.0.0.1:{other}/v1"))) as port,
    ):
        reply = await ask(port, api_key="secret")
    assert (reply.status, reply.complete) == (status, True)
    assert reply.headers["location"] == f"http://127.0.0.1:{other}/v1"
    assert visited == []


async def test_credentials_go_to_their_own_origin_alone() -> None:
    heads: dict[str, bytes] = {}

    def keeping(name: str) -> Handler:
        async def handler(reader: Reader, writer: Writer) -> None:
            heads[name] = (await request_of(reader))[0]
            writer.write(whole(200, b"{}"))

        return handler

    async with serving(keeping("api")) as api, serving(keeping("health")) as health:
        address = parse(f"http://127.0.0.1:{api}")
        http = Http(address, api_key="k3y", headers=[("X-Team", "t3am")], trust_env=False)
        target = OpenAITarget(http, address, DIALECTS["vllm"], health_url=f"http://127.0.0.1:{health}/health")
        await target.health()
        await target.metrics()
        await target.aclose()
    assert b"authorization: bearer k3y" in heads["api"].lower()
    assert b"x-team: t3am" in heads["api"].lower()
    assert b"k3y" not in heads["health"]
    assert b"t3am" not in heads["health"]


async def test_every_request_is_on_a_connection_of_its_own() -> None:
    peers: list[object] = []

    async def handler(reader: Reader, writer: Writer) -> None:
        peers.append(writer.get_extra_info("peername"))
        while await request_of(reader):
            writer.write(whole(200, b"ok"))

    async with serving(handler) as port, target_at(f"http://127.0.0.1:{port}") as target:
        assert [(await target.health()).status for _ in range(3)] == [200, 200, 200]
    assert len(set(peers)) == 3


async def test_a_gzip_bomb_is_stopped_at_the_bound() -> None:
    bomb = gzip.compress(b" " * 60_000_000, compresslevel=1)
    body = whole(200, bomb, "content-type: application/json", "content-encoding: gzip")
    async with serving(answering(body)) as port:
        reply = await ask(port, stream=False)
    assert (reply.fault, reply.complete) == (Fault.OVERSIZE, False)


async def test_compression_that_was_not_asked_for_is_read_or_refused() -> None:
    packed = gzip.compress(b'{"error":{"message":"zipped"}}')
    json_type = "content-type: application/json"
    async with serving(answering(whole(400, packed, json_type, "content-encoding: gzip"))) as port:
        reply = await ask(port)
        assert reply.error is not None
        assert reply.error.message == "zipped"
    async with serving(answering(whole(200, b"junk", json_type, "content-encoding: gzip"))) as port:
        assert (await ask(port)).fault is Fault.PROTOCOL
    async with serving(answering(whole(200, packed, json_type, "content-encoding: br"))) as port:
        assert (await ask(port)).fault is Fault.PROTOCOL


async def test_an_endless_stream_is_stopped_and_hung_up_on() -> None:
    hung_up = asyncio.Event()

    async def handler(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        writer.write(SSE_HEAD)
        try:
            while True:
                writer.write(chunk(TOKEN))
                await writer.drain()
        except OSError:
            hung_up.set()

    async with serving(handler) as port:
        reply = await ask(port, max_tokens=4)
        with anyio.fail_after(10):
            await hung_up.wait()
    assert (reply.fault, reply.complete) == (Fault.OVERSIZE, False)


async def test_endless_headers_are_stopped() -> None:
    async def handler(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"x-filler: " + b"y" * 1000 + b"\r\n")
            await writer.drain()

    async with serving(handler) as port:
        assert (await ask(port)).fault is Fault.PROTOCOL


async def test_slow_bytes_are_read_and_each_is_progress() -> None:
    beats = 0

    def on_progress() -> None:
        nonlocal beats
        beats += 1

    async def handler(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        writer.write(SSE_HEAD)
        for byte in LAST + DONE:
            writer.write(chunk(bytes([byte])))
            await writer.drain()
            await asyncio.sleep(0)

    generation = Generation(Prompt("ids", b"[1]", 1), 4)
    async with serving(handler) as port, target_at(f"http://127.0.0.1:{port}") as target:
        reply = await target.generate(generation, target.encode(generation), on_progress=on_progress)
    assert reply.complete
    assert beats >= 2


async def test_bytes_that_trickle_without_end_do_not_outlast_the_bound_of_a_small_request() -> None:
    async def handler(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
        while True:
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with serving(handler) as port:
        http = Http(parse(f"http://127.0.0.1:{port}"), trust_env=False)
        got = await http.fetch("GET", f"http://127.0.0.1:{port}/", within_s=0.3)
        await http.aclose()
    assert (got.status, got.fault) == (200, Fault.TIMEOUT)


async def test_invalid_utf8_in_a_stream_becomes_replacement_characters() -> None:
    bad = b'data: {"choices":[{"text":"\xff\xfe","finish_reason":"length"}]}\n\n'
    async with serving(answering(SSE_HEAD, chunk(bad), chunk(DONE), b"0\r\n\r\n")) as port:
        reply = await ask(port)
    assert (reply.complete, reply.text) == (True, "\ufffd\ufffd")


async def test_what_is_no_http_is_a_protocol_fault() -> None:
    async with serving(answering(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")) as port:
        assert (await ask(port)).fault is Fault.PROTOCOL


# A certificate for 127.0.0.1 with its key: made for these tests, trusted by nobody else.
CERTIFICATE = str(Path(__file__).parent / "data" / "loopback.pem")


@pytest.fixture
def tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return context


async def test_tls_is_spoken_where_the_certificate_is_trusted(tls: ssl.SSLContext) -> None:
    async with serving(answering(SSE_HEAD, chunk(LAST), chunk(DONE), b"0\r\n\r\n"), tls) as port:
        assert (await ask(port, scheme="https", cacert=CERTIFICATE)).complete
        assert (await ask(port, scheme="https", insecure=True)).complete
        distrusted = await ask(port, scheme="https")
    assert (distrusted.sent, distrusted.fault) == (False, Fault.TLS)
    assert "CERTIFICATE_VERIFY_FAILED" in distrusted.fault_text


async def test_an_early_answer_is_read_over_tls_too(tls: ssl.SSLContext) -> None:
    async def handler(reader: Reader, writer: Writer) -> None:
        await reader.readexactly(1000)
        writer.write(whole(413, b'{"error":{"message":"early"}}', "content-type: application/json"))

    async with serving(handler, tls) as port:
        replies = await ask_often(10, port, tokens=600_000, scheme="https", cacert=CERTIFICATE)
    assert {(reply.status, reply.complete) for reply in replies} == {(413, True)}


async def test_a_cut_over_tls_is_a_cut(tls: ssl.SSLContext) -> None:
    async with serving(answering(SSE_HEAD, chunk(TOKEN)), tls) as port:
        reply = await ask(port, scheme="https", cacert=CERTIFICATE)
    assert (reply.status, reply.fault) == (200, Fault.CUT)


async def test_https_to_a_server_that_speaks_plain_http() -> None:
    async def handler(reader: Reader, writer: Writer) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with serving(handler) as port:
        reply = await ask(port, scheme="https")
    assert (reply.sent, reply.fault) == (False, Fault.TLS)


async def test_hanging_up_in_the_tls_handshake_is_a_refusal() -> None:
    async def handler(reader: Reader, writer: Writer) -> None:
        await reader.read(10)
        reset(writer)

    async with serving(handler) as port:
        reply = await ask(port, scheme="https")
    assert (reply.sent, reply.fault) == (False, Fault.REFUSED)


async def test_a_forward_proxy_that_is_away_is_told_from_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{taken.getsockname()[1]}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        address = parse("http://engine.example:8000")
        http = Http(address)
        got = await http.fetch("GET", address.at("/health"), within_s=5)
        await http.aclose()
    assert got.fault is Fault.PROXY


async def test_a_forward_proxy_that_refuses_to_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(answering(whole(403, b"no"))) as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        address = parse("https://engine.example")
        http = Http(address)
        got = await http.fetch("GET", address.at("/health"), within_s=5)
        await http.aclose()
    assert got.fault is Fault.PROXY


async def test_cancelling_hangs_up_at_once() -> None:
    hung_up, began = asyncio.Event(), asyncio.Event()

    async def handler(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        began.set()
        assert await reader.read() == b""
        hung_up.set()

    async with serving(handler) as port:
        task = asyncio.ensure_future(ask(port))
        await began.wait()
        task.cancel()
        with anyio.fail_after(10):
            await hung_up.wait()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def test_secrets_are_in_no_repr_no_message_and_no_url() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://user:s3cr3t@127.0.0.1:{taken.getsockname()[1]}/v1?key=s3cr3t"
        async with target_at(url, api_key="s3cr3t", headers=[("x-key", "s3cr3t")]) as target:
            generation = Generation(Prompt("ids", b"[1]", 1), 1)
            reply = await target.generate(generation, target.encode(generation))
            with pytest.raises(TargetUnusable) as caught:
                await target.survey()
    for shown in (repr(target), target.url, repr(reply), str(caught.value)):
        assert "s3cr3t" not in shown


@pytest.mark.parametrize("header", [("bad name", "x"), ("x", "line\nbreak"), ("x", "é"), ("", "x")])
def test_a_header_that_cannot_be_sent_is_refused_without_its_value(header: tuple[str, str]) -> None:
    with pytest.raises(TargetUnusable) as caught:
        Http(parse("http://h"), headers=[header], trust_env=False)
    assert header[1] not in str(caught.value) or len(header[1]) < 2


def test_a_ca_file_that_is_none_is_refused_with_a_sentence() -> None:
    with pytest.raises(TargetUnusable, match="--cacert"):
        Http(parse("https://h"), cacert="/nowhere/ca.pem", trust_env=False)
