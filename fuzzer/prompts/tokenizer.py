"""How do we use a tokenizer on this machine? Lazily: nothing of transformers is imported before one is asked for."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import anyio.to_thread
import httpx

from fuzzer.prompts.errors import PromptError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

HUB_PATIENCE_S = 5.0  # the hub's own client would try for most of a minute where there is no network
SHORT = 20_000  # characters that are encoded in a few milliseconds: not worth a thread


class LocalTokenizer:
    """A tokenizer of this machine, with its special tokens and its chat template."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        self._fast = getattr(tokenizer, "backend_tokenizer", None)
        if self._fast is not None:  # a tokenizer.json may bring its own: both would falsify a count
            self._fast.no_truncation()
            self._fast.no_padding()
        added = tokenizer.added_tokens_decoder
        self.special: Collection[int] = frozenset(tokenizer.all_special_ids) | frozenset(
            token for token, what in added.items() if what.special
        )

    @classmethod
    async def load(cls, name: str) -> LocalTokenizer:
        """By directory, or by the hub's name for one (from its cache, else from the hub where that can be reached).

        Raises PromptError where it cannot be read.
        """
        return cls(await anyio.to_thread.run_sync(_load, name))

    async def encode(self, texts: Sequence[str]) -> Sequence[Sequence[int]]:
        """The ids of each, without special tokens. Long ones are encoded in threads, side by side."""
        short = sum(map(len, texts)) < SHORT
        return self._encode(texts) if short else await anyio.to_thread.run_sync(self._encode, texts)

    def _encode(self, texts: Sequence[str]) -> Sequence[Sequence[int]]:
        if self._fast is None:
            return [self._tokenizer.encode(text, add_special_tokens=False) for text in texts]
        return [encoding.ids for encoding in self._fast.encode_batch_fast(list(texts), add_special_tokens=False)]

    def _count(self, text: str) -> int:
        return len(self._encode([text])[0])

    def fragments(self, ids: Iterable[int]) -> frozenset[int]:
        """Those of the ids that are no text of their own: pieces of a character."""
        return frozenset(token for token in set(ids) if "\ufffd" in self._tokenizer.decode([token]))

    def added_to_text(self, text: str) -> int:
        """How many tokens it puts around a text (BOS and the like)."""
        return len(self._tokenizer.encode(text)) - self._count(text)

    def added_to_chat(self, text: str) -> int | None:
        """How many tokens its chat template puts around one user message, or None where it has none that works."""
        if not self._tokenizer.chat_template:
            return None
        message = [{"role": "user", "content": text}]
        try:
            whole = self._tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
        except Exception:  # noqa: BLE001  (a template is a foreign program: it may raise anything; usage tells it too)
            return None
        return self._count(str(whole)) - self._count(text)


def _load(name: str) -> PreTrainedTokenizerBase:
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")  # that torch is missing is no news here
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")  # said aloud, so that it does not warn at each command
    from transformers import AutoTokenizer  # noqa: PLC0415  (a second of imports that most runs do not need)

    here = os.path.exists(name)  # noqa: PTH110  (Path's own may raise)
    if not here and ("\\" in name or name.startswith((".", "/", "~")) or name.count("/") > 1):
        raise PromptError(f"there is no tokenizer at {name}: pass the directory that holds tokenizer.json")
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            name, local_files_only=here or not _online(), trust_remote_code=False
        )
    except Exception as error:
        raise PromptError(_unreadable(name, error, here=here)) from error
    return tokenizer


def _online() -> bool:
    from huggingface_hub import constants  # noqa: PLC0415

    if constants.is_offline_mode():
        return False
    try:
        httpx.head(constants.ENDPOINT, timeout=HUB_PATIENCE_S)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, ImportError, OSError):  # or by what the environment says
        return False
    return True


def _unreadable(name: str, error: Exception, *, here: bool) -> str:
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if here:
        return (
            f"the tokenizer at {name} cannot be read ({first[:160]}): "
            "pass the model's directory, with tokenizer.json and tokenizer_config.json in it"
        )
    return (
        f"the tokenizer {name} is not on this machine and cannot be had from the hub ({first[:160]}): "
        f"fetch it where there is a network (hf download {name}) and pass its directory with --tokenizer, "
        "or leave the flag out"
    )
