"""Does a usual environment end no command in a traceback, and does a fault of our own look like no answer?"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked

ROOT = Path(__file__).parent.parent.parent
ORBSTACK = "localhost,127.0.0.1,fd07:b51a:cc66:f0::/64"
PASSWORD = "Tr0ub4dor-and-3#Zq"
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


def environment(**there: str) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if name not in PROXIES}
    return {**own, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "", **there}


def ctxfuzz(folder: Path, *args: str, **there: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fuzzer.cli", *args]
    done = forked.run(command, cwd=folder, env=environment(**there), timeout_s=120)
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


def deaf_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


@pytest.mark.parametrize("spared", [ORBSTACK, "[::1]", "::1,[fd00::]/8,10.0.0.0/8"])
def test_a_list_of_hosts_with_networks_in_it_ends_nothing(spared: str, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{deaf_port()}"
    ended = ctxfuzz(tmp_path, "verify", "--cap", "992", "--url", url, "--json", NO_PROXY=spared)
    assert ended.returncode == 4, ended.stderr
    assert json.loads(ended.stdout)["exit_code"] == 4
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("scheme", "variable", "value"),
    [
        ("http", "http_proxy", f"http://svc:{PASSWORD}@proxy.corp:3128"),
        ("http", "ALL_PROXY", f"socks4://svc:{PASSWORD}@proxy.corp:1080"),
        ("https", "HTTPS_PROXY", "ftp://svc:Tr0ub4dor-and-3@proxy.corp"),
        ("https", "SSL_CERT_FILE", "/nowhere/Tr0ub4dor-and-3.pem"),
        ("https", "SSLKEYLOGFILE", "/nowhere/Tr0ub4dor-and-3.log"),
    ],
)
def test_what_cannot_be_read_is_a_usage_fault_that_names_the_variable(
    scheme: str, variable: str, value: str, tmp_path: Path
) -> None:
    url = f"{scheme}://example.invalid"
    ended = ctxfuzz(tmp_path, "verify", "--cap", "992", "--url", url, "--json", **{variable: value})
    assert ended.returncode == 2, ended.stderr
    told = json.loads(ended.stdout)
    assert (told["schema"], told["exit_code"], variable in told["error"]) == ("ctxfuzz.error/1", 2, True)
    assert f"Error: {variable} " in ended.stderr
    for leak in ("Traceback", "Tr0ub", "proxy.corp", "svc"):
        assert leak not in ended.stdout + ended.stderr


def test_what_the_target_does_not_need_is_not_read(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{deaf_port()}"
    there = {"SSL_CERT_FILE": "/nowhere", "HTTPS_PROXY": "ftp://x", "http_proxy": "ftp://x", "NO_PROXY": "127.0.0.0/8"}
    ended = ctxfuzz(tmp_path, "inspect", "--url", url, **there)
    assert ended.returncode == 4, ended.stderr


PLANTED = """
import {module}
def broken(*_args, **_more):
    raise KeyError("sk-planted-7395 at http://user:pass-8841@host and Tr0ub4dor-and-3 and Bearer abcdef123456")
{module}.{name} = broken
from fuzzer.cli import main
main(prog_name="ctxfuzz")
"""


@pytest.mark.parametrize(
    ("module", "name", "args"),
    [
        ("fuzzer.cli.opening", "connect", ("bisect", "--url", "http://h", "--lo", "1", "--hi", "9k", "--json")),
        ("fuzzer.cli.opening", "connect", ("inspect", "--url", "http://h", "--json")),
        ("fuzzer.cli.opening", "connect", ("probe", "9", "--url", "http://h")),
        ("fuzzer.cli.values", "tokenizer", ("probe", "9", "--url", "http://h", "--tokenizer", "x")),
        ("fuzzer.cli.auditing", "audit", ("audit",)),
        ("fuzzer.cli.profiles", "load_defaults", ("runs", "--json")),
    ],
)
def test_a_fault_of_ours_is_told_without_secrets_and_is_no_answer(
    module: str, name: str, args: tuple[str, ...], tmp_path: Path
) -> None:
    planted = PLANTED.format(module=module, name=name)
    key = ("--api-key", "sk-planted-7395") if "--url" in args else ()
    env = environment(HTTP_PROXY=f"http://svc:{PASSWORD}@proxy:1", CTXFUZZ_API_KEY="" if key else "sk-planted-7395")
    command = [sys.executable, "-c", planted, *args, *key]
    ended = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 3, ended.stderr
    assert "in broken" in ended.stderr, "where it happened is told"
    assert "Error: ctxfuzz itself is at fault here" in ended.stderr
    for leak in ("planted-7395", "pass-8841", "Tr0ub", "abcdef123456"):
        assert leak not in ended.stdout + ended.stderr
    if "--url" in args and "--json" in args:
        told = json.loads(ended.stdout)
        assert (told["schema"], told["exit_code"]) == ("ctxfuzz.error/1", 3)
    else:
        assert ended.stdout == ""


LONG = "a" * 300


@pytest.mark.parametrize(
    "args",
    [
        ("sim", LONG),
        ("sim", "--port", "0", "--host", LONG),
        ("sim", "--port", "0", "--host", "nowhere.invalid"),
        ("merge", LONG),
        ("merge", "x", "--db", LONG),
        ("merge", "loop"),
        ("runs", "--db", LONG),
        ("runs", "--since", "999999d"),
        ("plan", "--lo", "1", "--hi", "9k", "--draft-config", LONG),
        ("plan", "--lo", "1", "--hi", "9k", "--draft-config", "deep.json"),
        ("report", "last", "-o", LONG),
        ("browse", "--port", "0", "--db", LONG),
    ],
)
def test_what_no_file_and_no_host_can_be_called_is_a_usage_fault(args: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    ended = ctxfuzz(tmp_path, *args)
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("command", ["sim", "browse"])
def test_a_service_of_kubernetes_that_is_called_ctxfuzz_sets_no_port(command: str, tmp_path: Path) -> None:
    of_a_service = {
        "CTXFUZZ_SERVICE_HOST": "10.0.0.1",
        "CTXFUZZ_SERVICE_PORT": "80",
        "CTXFUZZ_PORT": "tcp://10.0.0.1:80",
        "CTXFUZZ_PORT_80_TCP": "tcp://10.0.0.1:80",
        "CTXFUZZ_PORT_80_TCP_ADDR": "10.0.0.1",
    }
    told = ctxfuzz(tmp_path, "config", "--json", command, **of_a_service)
    flags = {one["flag"]: one["origin"] for one in json.loads(told.stdout)["flags"]}
    assert set(flags.values()) == {"default"}
    meant = ctxfuzz(tmp_path, "config", "--json", command, CTXFUZZ_PORT="9000")
    assert {"flag": "port", "value": "9000", "origin": "CTXFUZZ_PORT"} in json.loads(meant.stdout)["flags"]
    refused = ctxfuzz(tmp_path, command, CTXFUZZ_PORT="soon")
    assert (refused.returncode, "CTXFUZZ_PORT" in refused.stderr or "--port" in refused.stderr) == (2, True)
