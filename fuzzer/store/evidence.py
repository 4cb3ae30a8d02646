"""What of an Evidence is kept for good? Enough for a stranger to judge the verdict again; bounded, without a secret.

Pure. Kept: how the reply came and ended, what the server said (2,048 characters, nothing that it echoes of the
prompt), health as spans, what the scrapes prove, the canary, the verdict. Left out: generated text, counters.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from fuzzer.store import codec
from fuzzer.store.masking import masked_words
from targets.base import Reply
from targets.scrape import Scrape, restarted, went_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzzer.evidence import Evidence, Verdict
    from targets.base import Health

TEXT_CHARS: Final = 2048
SPANS: Final = 64

# Headers that say who answered, and why so; cookies and credentials are not among them.
_HEADERS: Final = frozenset(
    {"content-type", "content-length", "connection", "date", "retry-after", "server", "transfer-encoding", "via"}
    | {"x-request-id", "x-envoy-upstream-service-time", "x-served-by", "cf-ray"}
)
_ECHO = re.compile(r'"(input|prompt|messages)"\s*:.*', re.DOTALL)
_IDS = re.compile(r"(\d+\s*,\s*){8,}\d*")


def summary(evidence: Evidence, verdict: Verdict | None = None) -> dict[str, Any]:
    """The evidence as small JSON, for `Store.complete`. What a plan asked for is not in it: the intent says that."""
    return {
        "verdict": codec.encode(verdict),
        **{field.name: _kept(field.name, getattr(evidence, field.name)) for field in fields(evidence)},
        **_identity(evidence.before, evidence.after),
    }


def _kept(name: str, value: Any) -> Any:  # noqa: ANN401  (a field of any type, as JSON)
    match name, value:
        case "spec", _:
            return None
        case _, Reply():
            return _reply(value)
        case _, Scrape():
            return _scrape(value)
        case "health_during" | "health_after", _:
            return _spans(value)
        case _:
            return codec.encode(value)


def _reply(reply: Reply) -> dict[str, Any]:
    kept = codec.encode(reply)
    for left_out in ("text", "token_ids", "draft"):  # the draft counts are the observation's
        del kept[left_out]
    kept["headers"] = {
        name.lower(): value[:TEXT_CHARS] for name, value in kept["headers"].items() if name.lower() in _HEADERS
    }
    kept["excerpt"] = _said(kept["excerpt"])
    kept["fault_text"] = _said(kept["fault_text"])
    if kept["error"] is not None:
        kept["error"] = {name: _said(text) if isinstance(text, str) else text for name, text in kept["error"].items()}
    return {name: value for name, value in kept.items() if value not in (None, "", {})}


def _said(text: str) -> str:
    """The server's words, bounded, without what it repeats of ours, and without what it names as a secret."""
    return masked_words(_IDS.sub("[ids]", _ECHO.sub(r'"\1": [left out]', text)))[:TEXT_CHARS]


def _spans(polls: Sequence[Health]) -> list[dict[str, Any]]:
    """Polls that say the same, one after the other, as one span; of too many spans the first and the last 32."""
    spans: list[dict[str, Any]] = []
    for poll in polls:
        said = {"status": poll.status, "fault": codec.encode(poll.fault), "detail": _said(poll.detail)[:200]}
        if spans and all(spans[-1][name] == value for name, value in said.items()):
            spans[-1] |= {"to_s": poll.at_s, "polls": spans[-1]["polls"] + 1}
        else:
            spans.append({"from_s": poll.at_s, "to_s": poll.at_s, "polls": 1, **said})
    return spans if len(spans) <= SPANS else spans[: SPANS // 2] + spans[-SPANS // 2 :]


def _identity(before: Scrape | None, after: Scrape | None) -> dict[str, Any]:
    """What the scrapes prove: why the process must be another one, or that it is the same."""
    if before is None or after is None:
        return {}
    return {"restarted": restarted(before, after), "went_on": went_on(before, after)}


def _scrape(scrape: Scrape) -> dict[str, Any]:
    kept = codec.encode(scrape)
    del kept["monotone"], kept["unread"]
    kept["starts"] = dict(list(kept["starts"].items())[:16])
    return {name: value for name, value in kept.items() if value is not None}
