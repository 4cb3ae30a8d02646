"""How is a prompt of exactly so many tokens made, of the kind that was asked for?"""

from __future__ import annotations

from fuzzer.prompts.errors import PromptError
from fuzzer.prompts.recipe import Recipe
from fuzzer.prompts.source import PromptSource

__all__ = ["PromptError", "PromptSource", "Recipe"]
