"""Is a secret in nothing that a run leaves behind, although the server echoes each of them wherever it can?"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import uuid
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import pytest

from tests import forked
from tests.integration.raw import Reader, Writer, request_of, serving, whole
from tests.integration.staging import Stage, page, well

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

ROOT = Path(__file__).parents[2]
KEY, HEADER, BEARER = "sk-planted-key-7391", 'planted header \\ "7392"', "planted.bearer-7393"
USER, PASSWORD, TOKEN, OTHER = "planted-user-7394", "planted%2Fpass-7395", "planted-token-7396", "planted-other-7397"
DRAWN, ODD = "9f3c7a1e5b2d8046c1e94b7d20a58f63d7142ce98b0f5a36", "hunter'2-\"Zz81<Xv64"
BASIC = b64encode(f"{USER}:planted/pass-7395".encode()).decode()
PLANTED = (KEY, HEADER, BEARER, PASSWORD, "planted/pass-7395", TOKEN, OTHER, BASIC, 'planted header \\\\ \\"7392\\"')


class Echo(Stage):
    """A stage that says everything it was told again: in errors, health, metrics, its version and its model's path."""

    aloud = f"{TOKEN} {PASSWORD} {OTHER}"

    async def __call__(self, reader: Reader, writer: Writer) -> None:
        head, content = await request_of(reader)
        self.heads.append(head)
        said = f"{head.decode('latin-1')} {self.aloud}"
        path = urlsplit(said.split(" ")[1]).path
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


class Dying(Stage):
    """A stage that is gone once a long prompt came."""

    gone = False

    async def __call__(self, reader: Reader, writer: Writer) -> None:
        head, content = await request_of(reader)
        self.gone = self.gone or (b"/v1/completions" in head and len(json.loads(content)["prompt"]) >= self.long)
        if not self.gone:
            await super().__call__(_again(head, content), writer)


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


async def ctxfuzz(folder: Path, *args: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "", **variables}
    with anyio.fail_after(120):
        return await forked.run_process([sys.executable, "-m", "fuzzer.cli", *args], cwd=folder, env=environment)


def leaks(name: str, data: bytes) -> list[str]:
    return [f"{name}: {secret}" for secret in PLANTED if secret.encode() in data]


def told_in(*ended: subprocess.CompletedProcess[bytes]) -> list[str]:
    return [leak for one in ended for leak in leaks(" ".join(one.args[3:5]), one.stdout + one.stderr)]


def left_in(folder: Path, *names: str) -> list[str]:
    """The leaks in every file of the folder, `names` among them: the database and its log, whatever else there is."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert {"runs.db", *names} <= {file.name for file in files}
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
            await ctxfuzz(tmp_path, "body", "last:2", "--url", url, *access, "-o", "body.json"),
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
    assert told_in(*runs, *shown) + left_in(tmp_path, "body.json") == []


async def test_what_a_profile_holds_stays_in_the_profile(tmp_path: Path) -> None:
    """Also where the profile itself is at fault, and where the server says it all again."""
    work, profile, broken = tmp_path / "work", tmp_path / "ctxfuzz.toml", tmp_path / "broken.toml"
    work.mkdir()
    stage = Echo()
    async with serving(stage) as port:
        profile.write_text(
            f"""
            [defaults]
            api-key = "{KEY}"
            [targets.prod]
            url = "http://{USER}:{PASSWORD}@127.0.0.1:{port}/v1?token={TOKEN}"
            health-url = "http://{USER}:{PASSWORD}@127.0.0.1:{port}/health?api_key={OTHER}"
            header = ["authorization: Bearer {BEARER}", 'x-planted: {HEADER}']
            """
        )
        broken.write_text(
            f"""
            [targets.prod]
            url = "ftp://{USER}:{PASSWORD}@127.0.0.1?token={TOKEN}"
            header = ["no colon {BEARER}"]
            [targets.other]
            url = "http://127.0.0.1:{port}"
            api-key = {{ key = "{KEY}" }}
            """
        )
        there = {"CTXFUZZ_CONFIG": str(profile)}
        ended = [
            await ctxfuzz(work, "probe", "300", "--target", "prod", "-v", "--output-tokens", "4", **there),
            await ctxfuzz(work, "config", "--target", "prod", **there),
            await ctxfuzz(work, "show", "last", "--json", **there),
            await ctxfuzz(work, "report", "last", **there),
        ]
    assert any(BEARER.encode() in head for head in stage.heads), "they do reach their server"
    for name in ("prod", "other"):
        ended.append(await ctxfuzz(work, "probe", "300", "--target", name, CTXFUZZ_CONFIG=str(broken)))
        assert ended[-1].returncode == 2
    assert told_in(*ended) + left_in(work) == []


async def test_what_a_command_holds_is_in_nothing_that_is_kept_or_shown(tmp_path: Path) -> None:
    """Nor where the command itself says it again, and fails."""
    stage, said = Dying(), f"{TOKEN} {PASSWORD} {OTHER} {BEARER}"
    helps = (
        f"true -u admin:{OTHER} --password {TOKEN}; PGPASSWORD={PASSWORD} true -H 'X-Api-Key: planted header 7392';"
        f" HF_TOKEN={BEARER} sh -c 'echo no {said} $HF_TOKEN >&2; exit 3' {KEY}"
    )
    logs = f"docker logs --token={BEARER} vllm; echo 'RuntimeError: {BEARER} {KEY}'"
    given = ("--output-tokens", "4", "--revival-timeout", "1", "--on-death", helps, "--engine-log-cmd", logs)
    async with serving(stage) as port:
        target = ("--url", f"http://127.0.0.1:{port}")
        ended = [await ctxfuzz(tmp_path, "sweep", "--lengths", "300,200", *target, *given, "-v")]
    assert b"warning: --on-death exited with 3: " in ended[0].stderr
    assert b"# add --on-death, --engine-log-cmd: the record keeps no secret" in ended[0].stdout
    for args in ("show last --json", "report last", "export last"):
        ended.append(await ctxfuzz(tmp_path, *args.split()))
        assert ended[-1].returncode == 0, ended[-1].stderr
    ended.append(await ctxfuzz(tmp_path, "config", "probe", *given))
    assert told_in(*ended) + left_in(tmp_path) == []
    assert not any(b"planted" in one.stdout + one.stderr for one in ended)


async def test_a_secret_that_is_a_common_word_breaks_neither_the_record_nor_a_result(tmp_path: Path) -> None:
    """Nor does a header that is none: what is told and kept stays JSON, with its numbers, hosts and outcomes."""
    access = ("--api-key", "localhost", "--header", "x-envoy-upstream-rq-timeout-ms: 300", "--header", "x-a: length")
    telling = ("--header", "x-api-key: 1000000", "--header", "x-b: single", "--header", "x-c: cc-4929-1234")
    async with serving(Echo()) as port:
        url = f"http://localhost:{port}"
        there = ("--url", url, "--timeout", "1000000", "--output-tokens", "4")
        told = await ctxfuzz(tmp_path, "probe", "300", *there, *access, *telling, "--json")
    shown = await ctxfuzz(tmp_path, "show", "last", "--json")
    listed = await ctxfuzz(tmp_path, "runs", "--json")
    said, kept, (run,) = json.loads(told.stdout), json.loads(shown.stdout), json.loads(listed.stdout)
    assert (said["url"], kept["url"], run["url"]) == (url, url, url)
    assert [(one["length"], one["outcome"]) for one in kept["probes"]] == [(64, "pass"), (300, "error")]
    assert (said["finding"], kept["finding"]["finding"]) == ("error", "error")
    assert b"cc-4929-1234" not in told.stdout + told.stderr + shown.stdout
    assert (await ctxfuzz(tmp_path, "audit")).returncode == 0


def pieces(data: bytes, secret: str) -> list[str]:
    """What of a secret is in data, folded or not: every eight characters of it in a row."""
    flat = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]|\s|\xe2\x94.", b"", data)
    return [piece for at in range(len(secret) - 7) if (piece := secret[at : at + 8]).encode() in flat]


def files_of(folder: Path) -> list[bytes]:
    return [file.read_bytes() for file in folder.iterdir()]


async def test_a_secret_is_found_before_a_narrow_terminal_folds_it_and_where_a_bound_has_cut_it(tmp_path: Path) -> None:
    said = f"{'y' * 30} bad key {DRAWN} given; " + "it went wrong here; " * 13 + DRAWN  # which ends beyond 400

    async def act(writer: Writer, _asked: Mapping[str, Any]) -> None:
        writer.write(page({"error": {"message": said, "type": "server_error"}}, 500))

    async with serving(Stage(act)) as port:
        ours, theirs = pty.openpty()
        args = ("probe", "300", "--url", f"http://127.0.0.1:{port}", "--api-key", DRAWN, "--output-tokens", "4", "-v")
        there = {"TERM": "xterm", "COLUMNS": "20", "PYTHONPATH": str(ROOT)}
        environment = {name: value for name, value in os.environ.items() if name != "CI"} | there
        process = await anyio.open_process(
            [sys.executable, "-m", "fuzzer.cli", *args], cwd=tmp_path, env=environment, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        shown = await anyio.to_thread.run_sync(_all_of, ours)
        await process.wait()
    kept = await ctxfuzz(tmp_path, "show", "last", "--json")
    assert b"bad" in shown, "the server's words are told"
    assert b"bad key ***" in kept.stdout
    assert pieces(shown, DRAWN) == []
    assert [piece for data in files_of(tmp_path) for piece in pieces(data, DRAWN)] == []


def _all_of(terminal: int) -> bytes:
    text = b""
    with contextlib.suppress(OSError):  # how Linux says that the last writer has left
        while chunk := os.read(terminal, 65536):
            text += chunk
    os.close(terminal)
    return text


async def test_what_a_control_is_asked_with_is_told_to_nobody(tmp_path: Path) -> None:
    """Where it cannot be used, and says so in these very words, and where it can, and its URL is kept."""

    async def echo(reader: Reader, writer: Writer) -> None:
        head, _ = await request_of(reader)
        writer.write(whole(500, b"denied: " + head + f"{ODD} {DRAWN}".encode()))
        await writer.drain()

    async with serving(Stage()) as port, serving(echo) as refusing, serving(Stage()) as other:
        target = ("--url", f"http://127.0.0.1:{port}")
        controls = [f"plain=http://bob:{ODD}@127.0.0.1:{one}/v1?token={DRAWN}" for one in (refusing, other)]
        ended = [
            await ctxfuzz(tmp_path, "bisect", "--lo", "9", "--hi", "99", *target, "--control", controls[0], "--json"),
            await ctxfuzz(tmp_path, "same", "--lengths", "64", *target, "--control", controls[0]),
            await ctxfuzz(tmp_path, "same", "--lengths", "64", *target, "--control", controls[1], "--json"),
        ]
    assert [one.returncode for one in ended] == [4, 4, 0], [one.stderr for one in ended]
    found = [data for one in ended for data in (one.stdout, one.stderr)]
    found += files_of(tmp_path)
    assert [piece for data in found for secret in (ODD, DRAWN) for piece in pieces(data, secret)] == []


class Proxy(Echo):
    """A forward proxy that is its own upstream. It refuses what comes without credentials, and all tunnels."""

    aloud = PASSWORD

    async def __call__(self, reader: Reader, writer: Writer) -> None:
        head, content = await request_of(reader)
        if head.startswith(b"CONNECT") or BASIC.encode() not in head:
            writer.write(page({"error": f"{head.decode('latin-1')} {PASSWORD}"}, 407, f"x-said: {PASSWORD}"))
        else:
            await super().__call__(_again(head, content), writer)
        await writer.drain()


async def test_a_forward_proxy_learns_its_credentials_and_nobody_else_does(tmp_path: Path) -> None:
    proxy = Proxy()
    async with serving(proxy) as port:
        through = f"http://{USER}:{PASSWORD}@127.0.0.1:{port}"
        there = {"HTTP_PROXY": through, "HTTPS_PROXY": through, "http_proxy": through, "NO_PROXY": "", "no_proxy": ""}
        ended = [
            await ctxfuzz(tmp_path, "probe", "300", "--url", f"{scheme}://example.invalid/v1", "-v", *more, **there)
            for scheme, more in (("http", ()), ("https", ("--json",)))
        ]
    assert any(head.startswith(b"POST http://example.invalid") for head in proxy.heads), (
        "it lets them through to itself"
    )
    assert (ended[0].returncode, ended[1].returncode) == (0, 4), [one.stderr for one in ended]
    ended.append(await ctxfuzz(tmp_path, "show", "last", "--json"))
    found = told_in(*ended) + left_in(tmp_path)
    assert [leak for leak in found if leak.endswith((PASSWORD, "planted/pass-7395", BASIC))] == []


def titles_of_all() -> Iterator[bytes]:
    """What every process of the machine shows to anybody."""
    for name in ("cmdline", "comm"):
        for file in Path("/proc").glob(f"[0-9]*/{name}"):
            with contextlib.suppress(OSError):  # it has ended
                yield file.read_bytes()


async def test_a_key_in_the_environment_is_on_no_command_line(tmp_path: Path) -> None:
    """Anybody on the machine can read a process's arguments and title. What `ctxfuzz` starts gets no secret there."""
    key = f"sk-{uuid.uuid4().hex}"  # what others on the machine show is their own
    titles: list[bytes] = []

    async def look(reader: Reader, writer: Writer) -> None:
        titles.extend(titles_of_all())
        await Echo()(reader, writer)

    async with serving(look) as port:
        command = [sys.executable, "-m", "fuzzer.cli", "probe", "64", "--url", f"http://127.0.0.1:{port}"]
        env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": key}
        ended = await anyio.run_process(command, cwd=tmp_path, env=env, check=False)
    assert any(b"fuzzer.cli\0probe" in title for title in titles), ended.stderr
    assert [title for title in titles if key.encode() in title] == []
