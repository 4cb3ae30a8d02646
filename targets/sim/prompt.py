"""How many tokens is this prompt, and which ids? From a request body to what the engine counts."""

from __future__ import annotations

import asyncio
import functools
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from targets.sim.world import World

if TYPE_CHECKING:
    from tokenizers import Tokenizer

HOME = Path(__file__).parent / "tokenizer"
BOS = 0
EMPTY = "Either prompt or prompt_embeds must be provided and non-empty. (parameter=prompt)"


class BadPrompt(ValueError):
    """The server refuses this prompt for what it is, not for its length. The message is what the client gets."""


@functools.cache
def tokenizer() -> Tokenizer:
    """The tokenizer that comes with the simulator. Loaded once, when the first text comes."""
    from tokenizers import Tokenizer as Loader  # noqa: PLC0415  (ids need no tokenizer)

    loaded: Tokenizer = Loader.from_file(str(HOME / "tokenizer.json"))
    return loaded


async def encode(text: str) -> array[int]:
    encoding = await asyncio.to_thread(tokenizer().encode, text, add_special_tokens=False)
    return array("I", encoding.ids)


async def completion_ids(prompt: object, world: World) -> array[int]:
    """The ids of a `prompt` of /v1/completions: a string, a list of ids, or a list that holds one of these."""
    match prompt:
        case [list() | str() as only]:
            return await completion_ids(only, world)
        case str() if prompt:
            ids = await encode(prompt)
            return array("I", [BOS]) + ids if world.bos else ids
        case [int(), *_]:
            if not world.takes_ids:
                raise BadPrompt("prompt must be a string.")
            return _checked(prompt, world.vocabulary)
        case _:
            raise BadPrompt(EMPTY)


def rendered(messages: object, *, generate: bool = True) -> str:
    """The chat template, which is also in tokenizer_config.json."""
    if not isinstance(messages, list) or not messages:
        raise BadPrompt("You must pass at least one message")
    parts = [f"<|start|>{one.get('role', 'user')}\n{_text(one.get('content'))}<|stop|>\n" for one in messages]
    return "".join(parts) + ("<|start|>assistant\n" if generate else "")


async def chat_ids(messages: object, world: World) -> array[int]:
    """The ids of a chat, with what this world's template adds to it."""
    ids = await encode(rendered(messages))
    return array("I", [BOS] * (world.chat_extra + world.bos)) + ids


def _text(content: object) -> str:
    match content:
        case str():
            return content
        case list():
            return "".join(part.get("text", "") for part in content if isinstance(part, dict))
        case _:
            raise BadPrompt("content must be a string or a list of parts")


def _checked(prompt: Sequence[Any], vocabulary: int) -> array[int]:
    try:
        ids = array("I", prompt)
        highest = max(ids)
    except TypeError:
        raise BadPrompt("prompt must be a list of token ids.") from None
    except OverflowError:
        wild = next(one for one in prompt if not 0 <= one < vocabulary)
        raise BadPrompt(f"Token id {wild} is out of vocabulary") from None
    if highest >= vocabulary:
        raise BadPrompt(f"Token id {highest} is out of vocabulary")
    return ids
