"""Is an engine's death told from a proxy's doing, through proxies that are really there?"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engines import fronts, recipes
from tests.engines.keeping import Engine, ctxfuzz

pytestmark = pytest.mark.engine

EAGER = ("-c", "131072", *recipes.L1[2:])
DEADLY = ("1025", "--content", "repeat", "--output-tokens", "34")
WITHIN_S = 4


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The server of recipe L1, with a window that is large enough for bodies to be."""
    with recipes.llamacpp(EAGER, tmp_path_factory.mktemp("llama"), context=1 << 17) as engine:
        yield engine


@pytest.fixture(scope="module")
def nginx(llama: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("front") / "nginx"
    if shutil.which("nginx") is None:
        pytest.skip("there is no nginx: apt-get install nginx-light")
    with fronts.nginx(llama.url, folder, body="200k", seconds=WITHIN_S) as front:
        yield front


@pytest.fixture(scope="module")
def litellm(llama: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with fronts.litellm(llama.url, tmp_path_factory.mktemp("front") / "litellm", seconds=WITHIN_S) as front:
        yield front


def past(llama: Engine) -> tuple[str, ...]:
    """Where health and metrics are, behind the gateway."""
    return ("--health-url", f"{llama.url}/health", "--metrics-url", f"{llama.url}/metrics")


def probed(folder: Path, front: Engine, *asked: str) -> tuple[int, dict[str, Any]]:
    code, found, said = ctxfuzz(folder, "probe", *asked, "--url", front.url, within_s=240)
    assert found, said
    return code, found


@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
def test_a_death_behind_nginx_is_a_death(llama: Engine, nginx: Engine, tmp_path: Path, stream: str) -> None:
    deaths = llama.deaths
    _, found = probed(tmp_path, nginx, *DEADLY, stream)
    assert (found["finding"], found["deaths"], llama.deaths - deaths) == ("death", 1, 1)


def test_an_edge_is_exact_through_nginx(llama: Engine, nginx: Engine, tmp_path: Path) -> None:
    deaths = llama.deaths
    asked = ("bisect", "--url", nginx.url, "--lo", "900", "--hi", "1200", *DEADLY[1:])
    _, found, said = ctxfuzz(tmp_path, *asked, within_s=240)
    assert (found["last_good"], found["first_bad"], found["deaths"]) == (1024, 1025, llama.deaths - deaths), said


def test_nginxs_limit_on_bodies_is_no_edge_and_is_named(llama: Engine, nginx: Engine, tmp_path: Path) -> None:
    deaths = llama.deaths
    code, found = probed(tmp_path, nginx, "60000")
    assert (code, found["finding"], found["deaths"], llama.deaths) == (3, "inconclusive", 0, deaths)
    assert "client_max_body_size" in found["reason"]


def test_nginxs_patience_is_no_edge_and_is_named_with_its_seconds(llama: Engine, nginx: Engine, tmp_path: Path) -> None:
    deaths = llama.deaths
    code, found = probed(tmp_path, nginx, "12000", "--no-stream")
    assert (code, found["finding"], found["deaths"], llama.deaths) == (3, "inconclusive", 0, deaths)
    assert "proxy_read_timeout" in found["reason"]
    assert f"after {WITHIN_S}." in found["reason"]


@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
def test_a_death_behind_litellm_is_a_death(llama: Engine, litellm: Engine, tmp_path: Path, stream: str) -> None:
    deaths = llama.deaths
    asked = ("--model", "tiny", "--api-key", fronts.KEY, *past(llama))
    _, found = probed(tmp_path, litellm, *DEADLY, stream, *asked)
    assert (found["finding"], found["deaths"], llama.deaths - deaths) == ("death", 1, 1)


def test_a_refusal_comes_through_litellm_as_a_refusal(llama: Engine, litellm: Engine, tmp_path: Path) -> None:
    deaths = llama.deaths
    asked = ("--model", "tiny", "--api-key", fronts.KEY, *past(llama))
    _, found = probed(tmp_path, litellm, "131073", *asked)
    assert (found["finding"], found["deaths"], llama.deaths) == ("clean-limit", 0, deaths), found


def test_a_route_that_takes_no_ids_is_found_out(llama: Engine, litellm: Engine, tmp_path: Path) -> None:
    asked = ("--model", "tiny-without-ids", "--api-key", fronts.KEY, *past(llama))
    _, found = probed(tmp_path, litellm, "512", *asked)
    assert (found["finding"], found["conditions"]["mode"]) == ("none", "text")
