"""What does a body say? Pure readings of JSON that nobody has checked: errors, usage, draft counts.

Server text is untrusted. A number is a count only where it is an int of at least 0; anything else is absent.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from typing import Any

from targets.base import ServerError, Usage
from targets.refusals import names_length
from targets.scrape import DraftCounts

MESSAGE_CHARS = 2_000
_MAX_COUNT = 1 << 53
# How an event's plain words say that they are an error: `[ERROR] ...`, `Internal Server Error`, `RuntimeError: ...`.
_SAYS_ERROR = re.compile(
    r"\W{0,9}(?:internal[ _]server[ _])?[\w.]{0,80}(?:error|exception)\b|\W{0,9}(?:fatal|traceback)\b", re.IGNORECASE
)
# Finish reasons of requests that failed, or that somebody else than we gave up: `error` (vLLM, OpenRouter), `abort`
# (vLLM, SGLang), `cancelled` (Dynamo, of a worker that died), `timeout` (TensorRT-LLM); the rest is of hosted APIs.
_FAILED = {
    "error", "abort", "aborted", "cancelled", "canceled", "timeout", "timed_out", "network_error",
    "insufficient_system_resource",
}  # fmt: skip
# Some say in the text why they failed (LMDeploy); with others it is the last that was generated.
_TEXTS = ("text", "delta.content", "message.content")
_NAMES_FAILURE = re.compile(r"error|exception|fail", re.IGNORECASE)
_MARKUP = re.compile(r"<(script|style)\b.{0,2000}?</\1>|<[/!]?[a-z][^<>]{0,400}>", re.DOTALL | re.IGNORECASE)


def parsed(text: str | bytes) -> Any:  # noqa: ANN401  (JSON is anything)
    """The JSON value of a text, or None where it is none (broken, nested too deeply, digits without end)."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def at(value: object, path: str) -> object:
    """The field at a dotted path of nested objects, or None. A number steps into a list."""
    for name in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def count(value: object) -> int | None:
    """A count, or None where it is negative, a bool, a float, a string or absurd."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MAX_COUNT:
        return value
    return None


def string(value: object) -> str | None:
    return value[:MESSAGE_CHARS] if isinstance(value, str) and value else None


def visible(page: str) -> str:
    """What a reader of a page sees, on one line: no markup. A text that is no page stays as it is."""
    return " ".join(html.unescape(_MARKUP.sub(" ", page)).split())


def usage(value: object) -> Usage:
    """`usage` of an answer, as far as it makes sense. No prompt has 0 tokens: so says who does not count them."""
    return Usage(
        prompt_tokens=count(at(value, "prompt_tokens")) or None,
        completion_tokens=count(at(value, "completion_tokens")),
        cached_tokens=count(at(value, "prompt_tokens_details.cached_tokens")),
    )


def merged(old: Usage, new: Usage) -> Usage:
    """The later count wins, where there is one: engines repeat usage along a stream. A late 0 is no later count."""
    return Usage(
        *(
            late or (late if early is None else early)
            for early, late in (
                (old.prompt_tokens, new.prompt_tokens),
                (old.completion_tokens, new.completion_tokens),
                (old.cached_tokens, new.cached_tokens),
            )
        )
    )


def server_error(value: object) -> ServerError | None:
    """The error that a body or an event holds, in any of the shapes that engines use, or None.

    OpenAI `{"error": {...}}`; plain `{"error": "..."}` (transformers, TGI with `error_type`), also with the words in a
    `message` beside it (Spring, Nest); flat `{"object": "error", "message": ...}` (SGLang, TensorRT-LLM, LMDeploy);
    FastAPI `{"detail": ...}`; `{"text": ..., "error_code": ...}` (FastChat); `{"errors": [...]}` (Workers AI); in the
    choice, with what was generated before it (OpenRouter), or as its finish reason; the first in a list (Gemini).
    """
    if isinstance(value, list) and len(value) == 1 and at(value, "0.error"):
        value = value[0]
    if not isinstance(value, Mapping):
        return None
    error = value.get("error")
    if isinstance(error, Mapping):
        return _described(error, error.get("message"))
    if isinstance(error, str) and error:
        message = string(value.get("message"))
        return _described(value, error if message in {None, error} else f"{error}: {message}")
    if value.get("object") == "error":
        return _described(value, value.get("message"))
    return _choice_error(at(value, "choices.0")) if "choices" in value else _flat_error(value)


def event_error(name: str, data: str, value: object) -> ServerError | None:
    """The error that an event of a stream is: by its JSON `value`, by its name, or by its own plain words; or None."""
    if (error := server_error(value)) is not None:
        return error
    says_so = not isinstance(value, Mapping) and (_SAYS_ERROR.match(data) or names_length(data[:MESSAGE_CHARS]))
    return ServerError(data[:MESSAGE_CHARS]) if says_so or name.lower() == "error" else None


def _flat_error(value: Mapping[str, object]) -> ServerError | None:
    """Of an object that is no answer."""
    if "message" in value:
        return _described(value, value["message"])
    if "detail" in value:
        return _described(value, value["detail"])
    if code := value.get("error_code"):
        return _described({**value, "code": code}, value.get("text"))
    listed = at(value, "errors.0")
    return _described(listed, listed.get("message")) if isinstance(listed, Mapping) else None


def _choice_error(choice: object) -> ServerError | None:
    if not isinstance(choice, Mapping):
        return None
    if isinstance(error := choice.get("error"), Mapping):
        return _described(error, error.get("message"))
    finish = choice.get("finish_reason")
    if not isinstance(finish, str) or finish.lower() not in _FAILED:
        return None
    said = next((text for path in _TEXTS if (text := string(at(choice, path)))), "")
    why = f": {said}" if _NAMES_FAILURE.search(said) else ""
    return ServerError(f"the answer ended with finish_reason {finish}{why}"[:MESSAGE_CHARS])


def _described(fields: Mapping[str, object], message: object) -> ServerError:
    code = fields.get("code")
    return ServerError(
        message=_words(message)[:MESSAGE_CHARS],
        type=string(fields.get("type")) or string(fields.get("error_type")),
        code=code if isinstance(code, int | str) and not isinstance(code, bool) else None,
        param=string(fields.get("param")),
    )


def _words(message: object) -> str:
    """A message as it is, or as JSON, without what FastAPI's validation echoes of the request."""
    if isinstance(message, str):
        return message
    if isinstance(message, list):
        message = [_without_echo(item) for item in message]
    try:
        return json.dumps(message)
    except RecursionError:  # it was read from a shallower place
        return "an error that is nested without end"


def _without_echo(item: object) -> object:
    if isinstance(item, Mapping) and "loc" in item:
        return {name: value for name, value in item.items() if name != "input"}
    return item


def draft_counts(timings: object) -> DraftCounts | None:
    """llama.cpp's `timings` of one request as draft counts, or None where it did not draft.

    It does not say how many drafts there were. Each verification step yields one token and those accepted, and the
    first token comes out of the prefill: so steps = predicted - 1 - accepted.
    """
    drafted, accepted = count(at(timings, "draft_n")), count(at(timings, "draft_n_accepted"))
    predicted = count(at(timings, "predicted_n"))
    if not drafted or accepted is None or predicted is None:
        return None
    return DraftCounts(max(1, predicted - 1 - accepted), drafted, accepted)


def token_ids(value: object) -> list[int] | None:
    """The ids in a tokenizer's answer: a list of ids or of objects with `id`, bare or in a field; None if neither."""
    if isinstance(value, Mapping):
        value = next((value[name] for name in ("tokens", "input_ids", "ids") if name in value), None)
    if not isinstance(value, list):
        return None
    ids = [count(item.get("id") if isinstance(item, Mapping) else item) for item in value]
    return None if None in ids else [number for number in ids if number is not None]
