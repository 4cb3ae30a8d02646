"""What can a hostile server do before the first probe, or with the pages around it? Asked through the real command."""

from __future__ import annotations

import csv
import io
import json
import os
import ssl
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from fuzzer.errors import RunStopped
from fuzzer.model import Outcome
from targets.errors import TargetUnusable
from tests import forked
from tests.integration.raw import Writer, whole
from tests.integration.staging import Act, body, endless, page, probe, saying, staged

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

ROOT = Path(__file__).parents[2]
CERTIFICATE = Path(__file__).parent / "data" / "loopback.pem"
EVIL = "\x1b]0;owned\x07\x1b[2J[bold red]<script>alert(1)</script>\u202e=cmd|'/c calc'!A1"
TEXT = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n"


async def ctxfuzz(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    """The command as a process of its own. Its output never holds a traceback or an escape sequence."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "", **env}
    command = [sys.executable, "-m", "fuzzer.cli", *args]
    with anyio.fail_after(90):
        ended = await forked.run_process(command, cwd=folder, env=environment)
    for stream in (ended.stdout, ended.stderr):
        assert b"Traceback" not in stream, stream.decode()
        assert b"\x1b" not in stream
        assert len(stream) < 20_000
    return ended


def models(*names: str, **fields: object) -> bytes:
    return page({"data": [{"id": name, "owned_by": "vllm", "max_model_len": 4096, **fields} for name in names]})


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (models("m" * 1_000_000), 4, "--model"),
        (models(EVIL, "other"), 4, "Choose with --model"),
        (page({"data": [EVIL] * 1_000}), 4, "--model"),
        (whole(200, b"\xff\xfe" * 1_000), 4, "no JSON"),
        (whole(200, b"[" * 500_000), 4, "no JSON"),
        (whole(500, EVIL.encode()), 4, "answers 500"),
        (whole(302, b"", f"location: http://user:pw@127.0.0.1:1/{'x' * 5_000}"), 4, "redirects to 127.0.0.1"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 100_000, 4, "does not speak HTTP"),
        (b"\x15\x03\x01\x00\x02\x02\x0a", 4, "https"),
    ],
)
async def test_models_that_nobody_can_use_end_in_one_sentence(
    answer: bytes, code: int, words: str, tmp_path: Path
) -> None:
    async with staged(pages={"/v1/models": answer}) as stage:
        ended = await ctxfuzz(tmp_path, "probe", "300", "--url", stage.url)
    said = ended.stderr.decode()
    assert (ended.returncode, ended.stdout) == (code, b"")
    assert words in said
    assert len(said) < 2_500


async def test_a_hostile_name_is_sent_back_to_the_letter_and_shown_without_its_teeth(tmp_path: Path) -> None:
    named: list[str] = []

    async def act(writer: Writer, asked: Mapping[str, Any]) -> None:
        named.append(asked["model"])
        writer.write(page({"error": {"message": EVIL}}, 500))

    async with staged(act, pages={"/v1/models": models(EVIL), "/version": page({"version": EVIL})}) as stage:
        ended = await ctxfuzz(tmp_path, "probe", "300", "--url", stage.url, "--json", "-v")
    assert named == [EVIL]
    assert json.loads(ended.stdout)["model"]
    assert ended.stdout.isascii()
    reports = [["runs"], ["show", "last"], ["report", "last"], ["report", "last", "--format", "md"]]
    shown = [ended.stderr, *[(await ctxfuzz(tmp_path, *args)).stdout for args in reports]]
    for text in map(bytes.decode, shown):
        assert not {"\x07", "\u202e", "\x1b"} & set(text)
        assert "<script" not in text.partition("</style>")[2]


async def test_a_name_that_no_text_can_hold_ends_no_run_and_breaks_no_row(tmp_path: Path) -> None:
    """JSON can name half a character; neither a terminal nor SQLite can hold one."""
    half = "m\ud800\udfff\udc80"
    async with staged(pages={"/v1/models": models(half), "/version": page({"version": half})}) as stage:
        ended = [
            await ctxfuzz(tmp_path, "probe", "300", "--url", stage.url, "--json", "-v"),
            await ctxfuzz(tmp_path, "probe", "300", "--url", stage.url),
            *[
                await ctxfuzz(tmp_path, *words.split())
                for words in ("runs", "runs --json", "show last", "report last", "export last", "audit")
            ],
        ]
    assert [one.returncode for one in ended] == [0] * len(ended), [one.stderr for one in ended]
    shown = [one.stdout.decode("utf-8", "strict") for one in ended]
    assert json.loads(shown[0])["model"][0] == "m"
    assert {run["model"][0] for run in json.loads(shown[3])} == {"m"}


async def test_no_cell_of_a_table_is_a_formula(tmp_path: Path) -> None:
    formula = saying(page({"error": {"message": "=cmd|'/c calc'!A1"}}, 500))
    async with staged(formula, pages={"/v1/models": models("=1+1"), "/version": page({"version": "@SUM(1)"})}) as stage:
        await ctxfuzz(tmp_path, "probe", "300", "--url", stage.url, "-q")
    for args in (["runs", "--csv"], ["export", "last", "--format", "csv"]):
        written = (await ctxfuzz(tmp_path, *args)).stdout.decode()
        cells = [cell for row in csv.reader(io.StringIO(written)) for cell in row]
        assert len(cells) > 10
        assert [cell for cell in cells if cell[:1] in {"=", "+", "-", "@", "\t"} and not cell[1:].isdigit()] == []


METRICS: Mapping[str, bytes | Act] = {
    "endless": endless(TEXT, b"vllm:num_requests_running 0\n" * 2_000),
    "endless line": endless(TEXT, b"vllm:cache_config_info{" + b"a" * 60_000),
    "garbage": whole(200, os.urandom(200_000)),
    "numbers beyond any float": whole(
        200,
        b'vllm:prefix_cache_hits_total{e="1"} 1e308\nvllm:prefix_cache_hits_total{e="2"} 1e308\n'
        b"vllm:request_success_total 9e99\nvllm:num_requests_running NaN\nvllm:num_requests_waiting -Inf\n",
    ),
    "labels without end": whole(200, b"vllm:cache_config_info{" + b"a" * 2_000_000 + b"} 1\n"),
    "a redirect": whole(302, b"", "location: http://127.0.0.1:1/metrics"),
}


@pytest.mark.parametrize("name", METRICS)
async def test_metrics_that_lie_or_never_end_take_nothing_from_a_pass(name: str, tmp_path: Path) -> None:
    async with staged(pages={"/metrics": METRICS[name]}) as stage:
        with anyio.fail_after(60):
            assert (await probe(tmp_path, stage)).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "health",
    [endless(TEXT, b"x" * 65_536), saying(b""), saying(b"junk\r\n\r\n"), saying(whole(301, b"", "location: /"))],
    ids=["endless", "hangs up", "junk", "redirect"],
)
async def test_health_that_is_broken_from_the_start_is_no_death(health: Act, tmp_path: Path) -> None:
    async with staged(pages={"/health": health}) as stage:
        assert (await probe(tmp_path, stage)).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "answer",
    [
        page({"tokens": [-1, 2]}),
        page({"tokens": [1 << 60]}),
        page({"tokens": {"tokens": {"tokens": []}}}),
        page({"tokens": [5] * 100_000}),
        page({"tokens": ["a"], "max_model_len": -1}),
        page({"tokens": [float("inf")]}),
        whole(200, b'{"tokens":' + b"[" * 900 + b"]" * 900 + b"}"),
    ],
    ids=["negative", "huge", "nested", "too many", "words", "infinite", "deep"],
)
async def test_a_tokenizer_that_lies_costs_no_more_than_a_sentence(answer: bytes, tmp_path: Path) -> None:
    """The truth is the server's usage: prompts are counted right, or the run does not begin."""
    async with staged(pages={"/tokenize": answer}) as stage:
        try:
            seen = await probe(tmp_path, stage)
        except (RunStopped, TargetUnusable):
            return
        assert (seen.outcome, seen.length) == (Outcome.PASS, stage.asks)


async def test_a_count_that_calls_every_prompt_longer_than_it_is_cannot_hide_that_it_was_shortened(
    tmp_path: Path,
) -> None:
    """The offset of short prompts is +50; the long one is counted as sent, so 50 of its tokens are missing."""

    async def act(writer: Writer, asked: Mapping[str, Any]) -> None:
        sent = len(asked["prompt"])
        writer.write(page(body(asked, prompt_tokens=sent + 50 if sent < 200 else sent)))

    async with staged(act, long=1) as stage:
        stage.asks = 300
        seen = await probe(tmp_path, stage, stream=False)
    assert seen.outcome is Outcome.TRUNCATED


async def test_credentials_never_follow_a_redirect(tmp_path: Path) -> None:
    async with staged() as thief:
        away = whole(307, b"", f"location: {thief.url}/v1/completions")
        async with staged(saying(away), pages={"/metrics": away, "/health": away}) as stage:
            seen = await probe(tmp_path, stage, api_key="sk-stolen-or-not", headers=(("x-key", "also-secret"),))
        assert seen.outcome is Outcome.INFRA
        assert thief.heads == []
    assert all(b"sk-stolen-or-not" in head for head in stage.heads)


@pytest.fixture
def tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return context


async def test_a_certificate_that_nobody_vouches_for_ends_in_one_sentence(tls: ssl.SSLContext, tmp_path: Path) -> None:
    async with staged(tls=tls) as stage:
        ended = await ctxfuzz(tmp_path, "probe", "300", "--url", stage.url, "--api-key", "sk-not-for-strangers")
    assert ended.returncode == 4
    assert b"--cacert" in ended.stderr
    assert stage.heads == []


async def test_a_limit_of_one_token_is_no_crash(tmp_path: Path) -> None:
    for limit in (1, 2, (1 << 53) - 1):
        async with staged(pages={"/v1/models": models("m", max_model_len=limit)}) as stage:
            ended = await ctxfuzz(tmp_path, "bisect", "--url", stage.url, "--lo", "10", "--hi", "40", "--dry-run")
        assert ended.returncode in {0, 2, 3}
