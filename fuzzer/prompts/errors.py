"""What stops us before a prompt can be built? Each message is a sentence with a next step."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from targets.base import Reply


class PromptError(Exception):
    """No exact prompt can be made from what we have: no readable tokenizer, an empty corpus, an unknown content."""


class TokenizerLost(PromptError):
    """The target does not tokenize any more: it may be dead, or on its way back. `reply`: what came instead of ids."""

    def __init__(self, reply: Reply) -> None:
        super().__init__("the target does not tokenize any more: pass --tokenizer, or use --mode ids")
        self.reply = reply
