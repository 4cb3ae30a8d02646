"""What do the chunks of one answer add up to? Text, ids, counts, and who said so: of `/v1/completions` or chat. Pure.

A whole body is one chunk. Server text is untrusted: what is kept of it is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from targets.base import Usage
from targets.bodies import at, draft_counts, merged, string, usage
from targets.bodies import token_ids as ids_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from targets.scrape import DraftCounts

TEXT_CHARS = 4_096
IDS_KEPT = 256
_NAME_CHARS = 200
_REASON_CHARS = 64
_TEXT_FIELDS = ("content", "reasoning_content", "reasoning", "refusal", "tool_calls")
_PART_FIELDS = ("text", "thinking", "function.arguments")


@dataclass(slots=True)
class Chunks:
    """The sum of those that were taken. See `targets.base.Reply` for what each part is."""

    text: str = ""
    text_chars: int = 0
    token_ids: list[int] = field(default_factory=list)
    finish_reason: str | None = None
    model: str = ""
    provider: str = ""
    also: str = ""
    draft: DraftCounts | None = None
    counted: bool = False  # the last one, and no other, told how many tokens there are
    _told: Usage = field(default_factory=Usage)

    @property
    def usage(self) -> Usage:
        """Who counts no tokens of a text that is there does not count them."""
        is_told = self._told.completion_tokens != 0 or not self.text_chars
        return self._told if is_told else replace(self._told, completion_tokens=None)

    def take(self, chunk: Mapping[str, object]) -> bool:
        """Add one more; True where it carries a token."""
        self._count(chunk)
        self.model = self._named(self.model, chunk.get("model"))
        self.provider = self._named(self.provider, chunk.get("provider"))
        choice = at(chunk, "choices.0")
        return isinstance(choice, dict) and self._choose(choice)

    def _count(self, chunk: Mapping[str, object]) -> None:
        is_first = self._told == Usage()
        self._told = merged(self._told, usage(chunk.get("usage")))
        self.counted = is_first and self._told != Usage()
        self.draft = draft_counts(chunk.get("timings")) or self.draft

    def _named(self, first: str, told: object) -> str:
        """The first name of its kind that was told. Another one later is kept beside it: somebody else went on."""
        name = (string(told) or "")[:_NAME_CHARS]
        if first and name and name != first:
            self.also = name
        return first or name

    def _choose(self, choice: Mapping[str, object]) -> bool:
        part = choice.get("delta") or choice.get("message") or {}
        text = choice.get("text")
        if not isinstance(text, str):
            text = "".join(_words(at(part, name)) for name in _TEXT_FIELDS)
        self.text_chars += len(text)
        self.text += text[: TEXT_CHARS - len(self.text)]
        ids = ids_in(choice.get("token_ids")) or []
        self.token_ids += ids[: IDS_KEPT - len(self.token_ids)]
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            self.finish_reason = finish[:_REASON_CHARS]
        opens = "delta" in choice and (at(part, "role") is not None or not part)
        return bool(text) or not (opens or finish)


def _words(content: object, deep: int = 2) -> str:
    """The text of one field: as a string, or as a list of parts, which may hold such lists themselves."""
    if isinstance(content, list) and deep:
        return "".join(_words(at(part, name), deep - 1) for part in content for name in _PART_FIELDS)
    return content if isinstance(content, str) else ""
