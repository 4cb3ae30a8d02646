"""What do the prompt tests share? A tokenizer of each family on disk, and a source that has learnt from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from fuzzer.prompts import PromptSource
from tests.unit.prompts.families import FAMILIES, deepseek, make

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast


@dataclass(frozen=True)
class Known:
    """A tokenizer, and the directory that it was saved to."""

    family: str
    folder: Path
    whole: PreTrainedTokenizerFast

    @property
    def backend(self) -> Tokenizer:
        return self.whole.backend_tokenizer

    def count(self, text: str) -> int:
        """Tokens of a text, by an encoding of the whole, without special tokens."""
        return len(self.backend.encode(text, add_special_tokens=False).ids)

    async def server(self, text: str) -> Sequence[int]:
        """As a server's /tokenize would answer."""
        ids: list[int] = self.backend.encode(text, add_special_tokens=False).ids
        return ids


@pytest.fixture(scope="session", params=[*FAMILIES, "deepseek"])
def known(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Known:
    folder = tmp_path_factory.mktemp(request.param)
    whole = deepseek(folder) if request.param == "deepseek" else make(request.param, folder)
    return Known(request.param, folder, whole)


@pytest.fixture(params=["local tokenizer", "server"])
async def source(request: pytest.FixtureRequest, known: Known) -> PromptSource:
    if request.param == "server":
        return await PromptSource.open(tokenize=known.server)
    return await PromptSource.open(tokenizer=str(known.folder))
