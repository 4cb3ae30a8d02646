"""What stops us before a prompt can be built? Each message is a sentence with a next step."""

from __future__ import annotations


class PromptError(Exception):
    """No exact prompt can be made from what we have: no readable tokenizer, an empty corpus, an unknown content."""


class TokenizerLost(PromptError):
    """The target does not tokenize any more: it may be dead, or on its way back."""
