"""Where do prompts of an exact length come from? The room's front door: one source for every mode and content."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Literal

import anyio
import anyio.to_thread

from fuzzer.prompts import calibration
from fuzzer.prompts.errors import PromptError, TokenizerLost
from fuzzer.prompts.ids import IdPrompts
from fuzzer.prompts.passages import pieces
from fuzzer.prompts.pieces import PieceIds
from fuzzer.prompts.recipe import CORPUS, HEAD, Recipe
from fuzzer.prompts.text import TextPrompts
from fuzzer.prompts.tokenizer import LocalTokenizer
from fuzzer.prompts.vocabulary import Encode, Origin, Vocabulary, guesses, learn
from targets.base import Mode, Prompt, Reply

Tokenize = Callable[[str], Awaitable[Sequence[int] | Reply | None]]

LONG = 65_536  # tokens: from here on a prompt is put together in a thread


class PromptSource:
    """Builds prompts whose length is known: by construction (ids), by a tokenizer, or else by calibration.

    A recipe over the same vocabulary gives the same bytes, in any process. Lengths are tokens in our own count: what
    the server adds (BOS, a template) comes on top, and shows in its `usage`. Open one with `PromptSource.open`.
    """

    def __init__(self, vocabulary: Vocabulary | None, encode: Encode | None, local: LocalTokenizer | None) -> None:
        self._guesses = guesses()
        self._vocabulary = vocabulary or next(self._guesses)
        self._encode = encode
        self._local = local
        self._lock = anyio.Lock()  # bodies grow while prompts are built
        self._ids = IdPrompts(self._vocabulary)
        self._passages: dict[tuple[str, str], PieceIds] = {}
        self._corpora: dict[str, str] = {}
        self._alphabets = list(calibration.ALPHABETS)
        self._calibrated: Sequence[int] = ()  # the lengths of the last calibration, in words
        self._texts = TextPrompts(self._vocabulary, encode) if encode else calibration.assumed(self._alphabets[0])
        self.estimated = encode is None  # texts are taken for one token a word, until a calibration is accepted

    @classmethod
    async def open(cls, *, tokenizer: str | None = None, tokenize: Tokenize | None = None) -> PromptSource:
        """From a local tokenizer (a directory, or its name on the hub), else the server's, else from a guess.

        Raises PromptError where the tokenizer that was named cannot be read, or knows no ordinary text.
        """
        if tokenizer is not None:
            local = await LocalTokenizer.load(tokenizer)
            learnt = await learn(local.encode, "local tokenizer", local.special)
            if learnt is None:
                raise PromptError(f"the tokenizer {tokenizer} knows no ordinary text: pass the model's own")
            return cls(learnt, local.encode, local)
        if tokenize is not None and _are_ids(await tokenize("so")):
            encode = partial(_told, tokenize)
            learnt = await learn(encode, "server")
            if learnt is not None:
                return cls(learnt, encode, None)
        return cls(None, None, None)

    @property
    def vocabulary_origin(self) -> Origin:
        """Where the ids come from. A `guess` should be tried with one tiny request, and be told to the reader."""
        return self._vocabulary.origin

    def guess_again(self) -> bool:
        """The target refused guessed ids: take others from now on. False where there are no others."""
        vocabulary = next(self._guesses, None) if self.vocabulary_origin == "guess" else None
        if vocabulary is None:
            return False
        self._vocabulary, self._ids = vocabulary, IdPrompts(vocabulary)
        return True

    async def build(
        self,
        *,
        mode: Mode,
        tokens: int,
        content: str = "words",
        seed: int | str = 0,
        head: int | str = 0,
        cache: Literal["cold", "warm"] = "cold",
    ) -> Prompt:
        """A prompt of exactly `tokens` tokens, ready to send.

        `content` is words, repeat, copy, random, code, cjk or `corpus:FILE`. Prompts with another `head` share no
        prefix; with `cache="warm"` all those of a seed and content share theirs, on purpose.
        Raises PromptError where no exact prompt can be made; its message says what to do instead.
        """
        return await self.rebuild(Recipe(mode, tokens, content, str(seed), str(head), cache))

    async def rebuild(self, recipe: Recipe) -> Prompt:
        """The prompt of a recipe, byte for byte."""
        async with self._lock:
            if recipe.mode == "ids":
                return Prompt("ids", await self._as_ids(recipe), recipe.tokens)
            text = await self._as_text(recipe)
        value = text if recipe.mode == "text" else [{"role": "user", "content": text}]
        return Prompt(recipe.mode, json.dumps(value, ensure_ascii=False).encode(), recipe.tokens, self.estimated)

    async def overhead(self, mode: Mode) -> int | None:
        """How many tokens the server should add to a prompt, by the local tokenizer; None where only `usage` tells."""
        if mode == "ids":
            return 0
        if self._local is None:
            return None
        text = await self._as_text(Recipe("text", HEAD))
        return self._local.added_to_text(text) if mode == "text" else self._local.added_to_chat(text)

    async def calibration(self, mode: Mode, ground: int | None = None) -> list[Prompt]:
        """Short prompts to send so that `calibrate` can be told their `usage`. None where nothing is to be learnt.

        None has more than `ground` words: where that is little, texts are made of fewer different ones from then on.
        """
        if not self.estimated or not self._alphabets:
            return []
        alphabet = calibration.fitted(self._alphabets[0], ground)
        self._texts = calibration.assumed(alphabet)
        self._calibrated = calibration.lengths(alphabet, ground)
        return [await self.build(mode=mode, tokens=n, seed="calibration", head=n) for n in self._calibrated]

    def calibrate(self, usages: Mapping[int, int]) -> int | None:
        """From words sent -> tokens that the server counted: what it adds to every prompt, and texts are exact now.

        None where the counts do not add up: then the next `calibration` tries plainer words, while there are any.
        """
        offset = calibration.offset(self._calibrated, usages)
        self.estimated = offset is None
        if offset is None:
            self._alphabets.pop(0)
        return offset

    async def _as_ids(self, recipe: Recipe) -> bytes:
        passage = None if recipe.is_sequence else await self._passage(recipe)
        build = partial(self._ids.build, recipe, passage)
        return build() if recipe.tokens < LONG else await anyio.to_thread.run_sync(build)

    async def _as_text(self, recipe: Recipe) -> str:
        if self._encode is None and not recipe.is_sequence:
            raise PromptError(f"{recipe.content} needs a tokenizer: pass --tokenizer, or use --content words")
        return await self._texts.build(recipe, await self._corpus(recipe.content))

    async def _passage(self, recipe: Recipe) -> Sequence[int]:
        if self._encode is None:
            raise PromptError(f"{recipe.content} needs a tokenizer: pass --tokenizer, or use --content words")
        key = (recipe.content, recipe.seed)
        if key not in self._passages:
            stream = pieces(recipe.content, await self._corpus(recipe.content), f"{recipe.seed}/{recipe.content}")
            self._passages[key] = PieceIds(stream, self._encode, self._unfit)
        return await self._passages[key].first(recipe.tokens)

    def _unfit(self, ids: Collection[int]) -> Collection[int]:
        return self._vocabulary.avoid | (self._local.fragments(ids) if self._local else frozenset())

    async def _corpus(self, content: str) -> str:
        if not content.startswith(CORPUS):
            return ""
        if content not in self._corpora:
            path = content.removeprefix(CORPUS)
            try:
                self._corpora[content] = await anyio.Path(path).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise PromptError(f"the corpus {path} cannot be read as UTF-8 text ({error})") from error
        return self._corpora[content]


async def _told(tokenize: Tokenize, texts: Sequence[str]) -> Sequence[Sequence[int]]:
    told = []
    for text in texts:
        ids = await tokenize(text)
        if ids is None or isinstance(ids, Reply):
            raise TokenizerLost(ids or Reply(sent=True))
        told.append(ids)
    return told


def _are_ids(told: Sequence[int] | Reply | None) -> bool:
    return bool(told) and not isinstance(told, Reply)
