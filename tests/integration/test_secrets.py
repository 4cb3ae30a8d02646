"""Is a secret in nothing that a run leaves behind, although the server echoes each of them wherever it can?"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.integration.raw import Reader, Writer, request_of, serving, whole
from tests.integration.staging import Stage, page, well

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

ROOT = Path(__file__).parents[2]
KEY, HEADER, BEARER = "sk-planted-key-7391", 'planted header \\ "7392"', "planted.bearer-7393"
USER, PASSWORD, TOKEN, OTHER = "planted-user-7394", "planted%2Fpass-7395", "planted-token-7396", "planted-other-7397"
BASIC = b64encode(f"{USER}:planted/pass-7395".encode()).decode()
PLANTED = (KEY, HEADER, BEARER, PASSWORD, "planted/pass-7395", TOKEN, OTHER, BASIC, 'planted header \\\\ \\"7392\\"')


class Echo(Stage):
    """A stage that says everything it was told again: in errors, health, metrics, its version and its model's path."""

    async def __call__(self, reader: Reader, writer: Writer) -> None:
        head, content = await request_of(reader)
        self.heads.append(head)
        said = head.decode("latin-1") + f" {TOKEN} {PASSWORD} {OTHER}"
        path = said.split(" ")[1].partition("?")[0]
        if path == "/v1/completions":
            await self._generation(writer, content, said)
        elif path == "/tokenize":
            await super().__call__(_again(head, content), writer)
        else:
            writer.write(_page(path, said))
        await writer.drain()

    async def _generation(self, writer: Writer, content: bytes, said: str) -> None:
        asked: Mapping[str, Any] = json.loads(content)
        if len(asked["prompt"]) < self.long:
            await well(writer, asked)
        else:
            writer.write(page({"error": {"message": said, "type": BEARER, "code": KEY}}, 500, f"x-request-id: {KEY}"))


def _page(path: str, said: str) -> bytes:
    match path:
        case "/v1/models":
            return page({"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 4096, "root": f"/{said}"}]})
        case "/version":
            return page({"version": f"0.30 {KEY}"})
        case "/metrics":
            quoted = said.replace("\\", "\\\\").replace('"', '\\"').replace("\r\n", " ")
            return whole(200, f'vllm:request_success_total{{said="{quoted}"}} 0\n'.encode())
        case "/health":
            return whole(503, said.encode())
        case _:
            return page({"detail": said}, 404)


def _again(head: bytes, content: bytes) -> Reader:
    reader = asyncio.StreamReader()
    reader.feed_data(head + content)
    reader.feed_eof()
    return reader


async def ctxfuzz(folder: Path, *args: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": ""}
    with anyio.fail_after(120):
        return await anyio.run_process(
            [sys.executable, "-m", "fuzzer.cli", *args], cwd=folder, env=environment, check=False
        )


def leaks(name: str, data: bytes) -> list[str]:
    return [f"{name}: {secret}" for secret in PLANTED if secret.encode() in data]


def left_in(folder: Path) -> list[str]:
    """The leaks in every file of the folder: the database and its write-ahead log, the body, whatever else there is."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert {"runs.db", "body.json"} <= {file.name for file in files}
    return [leak for file in files for leak in leaks(file.name, file.read_bytes())]


async def test_no_artefact_of_a_run_holds_a_secret(tmp_path: Path) -> None:
    stage = Echo()
    async with serving(stage) as port:
        url = f"http://{USER}:{PASSWORD}@127.0.0.1:{port}/v1?token={TOKEN}"
        access = ("--api-key", KEY, "--header", f"x-planted: {HEADER}", "--header", f"authorization: Bearer {BEARER}")
        elsewhere = f"http://{USER}:{PASSWORD}@127.0.0.1:{port}/health?api_key={OTHER}"
        told = (*access, "--health-url", elsewhere)
        runs = [
            await ctxfuzz(tmp_path, "probe", "300", "--url", url, *told, "-v", "--output-tokens", "4"),
            await ctxfuzz(tmp_path, "probe", "300", "--url", url, *told, "--json", "--output-tokens", "4"),
            await ctxfuzz(tmp_path, "inspect", "--url", url, *told, "--dry-run"),
            await ctxfuzz(tmp_path, "probe", "300", "--url", url.replace("/v1", "/nowhere"), *told),
            await ctxfuzz(tmp_path, "body", "last:2", *access, "-o", "body.json"),
            await ctxfuzz(tmp_path, "config", "--url", url, *told),
        ]
    assert any(KEY.encode() in head or BEARER.encode() in head for head in stage.heads), "they do reach their server"
    shown = [
        await ctxfuzz(tmp_path, *args.split())
        for args in (
            "runs", "runs --json", "show last", "show last --json", "report last", "report last --format md",
            "report last --format junit", "report last --format json", "export last", "export last --format csv",
            "audit",
        )
    ]  # fmt: skip
    assert len([one for one in shown if one.returncode == 0]) == len(shown), [one.stderr for one in shown]
    found = [
        leak for ended in (*runs, *shown) for leak in leaks(" ".join(ended.args[3:5]), ended.stdout + ended.stderr)
    ]
    found += left_in(tmp_path)
    assert found == []
