"""Which bytes does a generation send? Whole bodies and stream events, as vLLM and llama.cpp write them."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from targets.sim.world import World

Body = dict[str, Any]
DONE = b"data: [DONE]\n\n"


@dataclass(slots=True)
class Writer:
    """Writes one answer. `usage`: does a stream end with the counts? `prompt`: ids that are told beside its own."""

    world: World
    chat: bool
    usage: bool = False
    token_ids: bool = False
    prompt: Sequence[int] = ()
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:16])
    _started: float = field(default_factory=time.monotonic)

    def body(self, text: str, tokens: list[int], end: Body) -> Body:
        """The whole answer of a request that was not streamed."""
        ids = tokens if self.token_ids else None
        if self.chat:
            message = {"role": "assistant", "content": text, "refusal": None, "reasoning": None}
            choice: Body = {"index": 0, "message": message}
        else:
            choice = {"index": 0, "text": text, "prompt_token_ids": self._prompt_ids()}
        choice |= {"logprobs": None, "finish_reason": end["finish"], "stop_reason": None, "token_ids": ids}
        return self._head(streamed=False) | {"choices": [choice], "usage": self._usage(end)} | self._tail(end)

    def begin(self) -> Iterator[bytes]:
        """What a stream says before its first token: chat tells the role."""
        if self.chat:
            yield self._event({"delta": {"role": "assistant", "content": ""}}, None)

    def token(self, text: str, token: int, finish: str | None) -> bytes:
        told = {"text": text, "prompt_token_ids": self._prompt_ids()}
        part: Body = {"delta": {"content": text}} if self.chat else told
        return self._event(part | {"token_ids": [token] if self.token_ids else None}, finish)

    def end(self, end: Body) -> Iterator[bytes]:
        """What a stream says after its last token."""
        if self.world.dialect == "llamacpp":
            part: Body = {"delta": {}} if self.chat else {"text": ""}
            more = {"usage": self._usage(end)} | self._tail(end)
            yield self._event(part, end["finish"], more)
        elif self.usage:
            yield event(self._head(streamed=True) | {"choices": [], "usage": self._usage(end)})
        yield DONE

    def _prompt_ids(self) -> list[int] | None:
        """All of them with the first token, and none after that."""
        ids, self.prompt = self.prompt, ()
        return list(ids) if self.token_ids and ids else None

    def _event(self, part: Body, finish: str | None, more: Body | None = None) -> bytes:
        choice = {"index": 0, **part, "logprobs": None, "finish_reason": finish}
        return event(self._head(streamed=True) | {"choices": [choice]} | (more or {}))

    def _head(self, *, streamed: bool) -> Body:
        kind = ("chat.completion" + ".chunk" * streamed) if self.chat else "text_completion"
        prefix = "chatcmpl-" if self.chat or self.world.dialect == "llamacpp" else "cmpl-"
        return {"id": prefix + self.id, "object": kind, "created": int(time.time()), "model": self.world.model}

    def _usage(self, end: Body) -> Body:
        usage: Body = {
            "prompt_tokens": end["prompt"],
            "total_tokens": end["prompt"] + end["output"],
            "completion_tokens": end["output"],
        }
        if self.world.cache.shown:
            usage["prompt_tokens_details"] = {"cached_tokens": end["cached"]}
        return usage

    def _tail(self, end: Body) -> Body:
        if self.world.dialect != "llamacpp":
            return {}
        timings = {"cache_n": end["cached"], "prompt_n": end["prompt"] - end["cached"], "predicted_n": end["output"]}
        timings["prompt_ms"] = timings["predicted_ms"] = round((time.monotonic() - self._started) * 1000, 3)
        if self.world.draft:
            timings |= {"draft_n": end["draft_tokens"], "draft_n_accepted": end["accepted"]}
        return {"timings": timings}


def event(body: Body) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"
