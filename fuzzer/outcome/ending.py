"""Who ended an answer: the model itself, the number of tokens, or somebody else? PURE.

Each engine has words of its own for its model's end (`stop`, `eos_token`, `stop_sequence`, `end_turn`, `COMPLETE`), so
whatever names nothing else is one. A reason that is missing tells nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzzer.model import Baseline
    from targets.base import Reply

# No more tokens were wanted, or fitted: `length`, `max_tokens`, `MAX_TOKENS`, `model_context_window_exceeded`.
_LENGTH = re.compile(r"length|max|limit|window|context|budget|truncat|incomplete", re.IGNORECASE)
# An engine that failed or gave it up, a limit of time, a rate or a user (`max_time`, `rate_limit`), a filter, or nobody
# knows whom.
_OTHERS = re.compile(
    r"abort|error|fail|cancel|time|(?<![a-z])(?:rate[ _-]?limit|user)|interrupt|preempt|evict|overload"
    r"|insufficient|memory|disconnect"
    r"|filter|flagged|safety|block|prohibit|recitation|polic|guardrail|armor|moderation|refus|spii|malformed"
    r"|other|unknown|unspecified|not_finished|null|none",
    re.IGNORECASE,
)


def by_itself(reply: Reply) -> bool:
    """Did the model end it?"""
    reason = (reply.finish_reason or "").strip()
    return reason != "" and _LENGTH.search(reason) is None and _OTHERS.search(reason) is None


def at_length(reply: Reply) -> bool:
    """Did it end because no more tokens were asked for, or because no more fitted?"""
    reason = reply.finish_reason or ""
    return _LENGTH.search(reason) is not None and _OTHERS.search(reason) is None


def breaks_off(reply: Reply, known: Baseline | None, asked: int) -> bool:
    """Has a stream no reason for its end, before the `asked` tokens came, where good ones gave theirs?

    However well it ends otherwise: there are gateways that count the tokens themselves, and say so of the part that
    came from an engine that they lost, too.
    """
    gives_none = reply.status == 200 and not reply.stopped and reply.finish_reason is None
    return gives_none and known is not None and known.says_why and (reply.usage.completion_tokens or 0) < asked
