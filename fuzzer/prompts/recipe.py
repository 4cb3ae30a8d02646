"""What must be kept of a prompt so that its very bytes can be built again? PURE. Never the text itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal, get_args

from fuzzer.prompts.errors import PromptError
from targets.base import Mode

Content = Literal["words", "repeat", "copy", "random", "code", "cjk", "needle"]
SEQUENCES = frozenset({"words", "repeat", "copy", "random", "needle"})  # orders of single tokens
HEAD = 16  # tokens: a block of the usual prefix caches
CORPUS = "corpus:"  # and then a path; the other passages are code and cjk
WARM = "warm"  # the one head of all prompts that are to share a prefix


@dataclass(frozen=True, slots=True)
class Recipe:
    """A prompt to build, of `tokens` tokens in our own count. Raises PromptError where there can be none like it."""

    mode: Mode
    tokens: int
    content: str = "words"
    seed: str = "0"
    head: str = "0"
    cache: Literal["cold", "warm"] = "cold"
    shared: int | None = None  # of a warm prompt: how many of its first tokens are the common ones; None: all
    salt: str | None = None  # sets apart, for a cache, sendings of one and the same prompt; None: the head does

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise PromptError(f"a prompt of {self.tokens} tokens cannot be sent: ask for 1 or more")
        if self.shared is not None and (self.cache != WARM or not self.is_sequence or self.shared < HEAD):
            raise PromptError(f"only a warm prompt of single words can share a part, of {HEAD} tokens or more")
        if self.content not in get_args(Content) and not self.content.startswith(CORPUS):
            known = ", ".join(get_args(Content))
            raise PromptError(f"no content is called {self.content}: use one of {known}, or {CORPUS}FILE")

    @property
    def is_sequence(self) -> bool:
        return self.content in SEQUENCES

    @property
    def front(self) -> str:
        """What the head is drawn from: no two cold prompts with different heads begin alike."""
        return WARM if self.cache == "warm" else f"cold/{self.head}"

    def as_dict(self) -> dict[str, str | int | None]:
        """Fit for JSON, and for `Recipe(**...)` again."""
        return asdict(self)
