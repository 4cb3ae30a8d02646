"""Is every tokenizer that cannot be read a sentence with a next step, and quick to say so?"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import httpx
import pytest

from fuzzer.prompts import PromptError, PromptSource

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.prompts.conftest import Known

pytestmark = pytest.mark.anyio


async def test_a_directory_that_is_not_there() -> None:
    with pytest.raises(PromptError, match=r"there is no tokenizer at /nowhere/at/all: pass the directory"):
        await PromptSource.open(tokenizer="/nowhere/at/all")


async def test_a_directory_without_a_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match=r"cannot be read .* with tokenizer.json and tokenizer_config.json in it"):
        await PromptSource.open(tokenizer=str(tmp_path))


async def test_a_broken_tokenizer(known: Known, tmp_path: Path) -> None:
    for file in known.folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes()[:100])
    with pytest.raises(PromptError, match="cannot be read"):
        await PromptSource.open(tokenizer=str(tmp_path))


async def test_a_hub_that_cannot_be_reached_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def unreachable(url: str, **_: object) -> httpx.Response:
        asked.append(url)
        raise httpx.ConnectError("no network")

    monkeypatch.setattr(httpx, "head", unreachable)
    with pytest.raises(PromptError, match=r"not on this machine .*hf download nobody/nothing"):
        await PromptSource.open(tokenizer="nobody/nothing")
    assert len(asked) == 1


async def test_a_tokenizer_that_cuts_and_pads_does_neither_for_us(known: Known, tmp_path: Path) -> None:
    known.whole.save_pretrained(tmp_path)
    backend = type(known.backend).from_file(str(tmp_path / "tokenizer.json"))
    backend.enable_truncation(64)
    backend.enable_padding(length=128)
    backend.save(str(tmp_path / "tokenizer.json"))
    source = await PromptSource.open(tokenizer=str(tmp_path))
    assert (await source.build(mode="text", tokens=300)).tokens == 300


def test_nothing_heavy_is_imported_before_a_tokenizer_is_named() -> None:
    script = "import sys, fuzzer.prompts; sys.exit(any(m in sys.modules for m in ('transformers', 'tokenizers')))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
