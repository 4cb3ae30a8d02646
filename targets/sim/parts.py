"""Which parts does a simulated endpoint have, and what can be set of each? Data, as a world file says it.

Lengths are tokens, `*_s` are seconds. Every field has a default: that of a quick engine without faults.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Limit:
    """The context window. A prompt that leaves less than `prompt_room` of it is refused (or cut to `keep`).

    `advertised` is what the server says of itself: the same as `tokens` where None, nothing where 0.
    `usable` is what prompt + output can really fill; beyond it the output is clamped, or the sum refused.
    """

    tokens: int = 131072
    advertised: int | None = None
    over: Literal["refuse", "truncate"] = "refuse"
    sum_over: Literal["clamp", "refuse"] = "clamp"
    prompt_room: int = 1
    keep: int | None = None
    usable: int | None = None

    @property
    def shown(self) -> int | None:
        return (self.tokens if self.advertised is None else self.advertised) or None

    @property
    def room(self) -> int:
        return self.tokens if self.usable is None else self.usable


@dataclass(frozen=True, slots=True)
class Speed:
    """`prefill`: tokens per second. `first_run_s`: what the first `first_runs` generations of a life take longer.

    `slow_share` of the requests decode `slow_factor` times as slowly: two modes.
    """

    prefill: float = 8_000_000.0
    decode_s: float = 0.0003
    chunk: int = 8192
    first_run_s: float = 0.0
    first_runs: int = 1
    slow_share: float = 0.0
    slow_factor: float = 2.0


@dataclass(frozen=True, slots=True)
class Draft:
    """A drafter of `k` tokens. `acceptance_length`: tokens per verification step on average, 1 to k + 1.

    `lossy_from`: from so many prompt tokens on a draft is accepted that the target would not have said, and all that
    follows is another text: the same one each time.
    """

    k: int = 3
    acceptance_length: float = 1.45
    lossy_from: int | None = None


@dataclass(frozen=True, slots=True)
class Cache:
    """The prefix cache. `shown`: does `usage` tell `cached_tokens`? `blocks`: as the engine counts them, which of a
    hybrid model are more than fit into `kv_tokens`. `pool_shown`: does it tell `kv_tokens` itself?
    """

    enabled: bool = True
    block: int = 16
    shown: bool = False
    kv_tokens: int = 4_194_304
    blocks: int | None = None
    pool_shown: bool = True


@dataclass(frozen=True, slots=True)
class Death:
    """What a client sees of a death. `silent`: no HTTP answer at all, connections are reset at once.

    `unhealthy_s`: how long health says 503 before nobody listens. `stays`: the API server outlives its engine and
    answers 500 and 503 until it is restarted by hand.
    """

    unhealthy_s: float = 0.1
    silent: bool = False
    stays: bool = False


@dataclass(frozen=True, slots=True)
class Restart:
    """The supervisor. The delay grows by `factor` at each death of a replica, up to `max_s`.

    `policy`: `always`, `never` (it saw exit status 0), or `by-hand` (`POST /sim/restart`, also for the living).
    `loading_s`: the time in which it listens but says 503.
    """

    policy: Literal["always", "never", "by-hand"] = "always"
    delay_s: float = 0.2
    factor: float = 1.0
    max_s: float = 300.0
    loading_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Health:
    """How health lies or lags. `red_after_s`: 503 once a prefill has lasted so long. `blocked_s`: the API answers
    nobody for so long after each generation request came in. `flaky`: the share of polls that a mesh answers with 503.
    """

    slow_s: float = 0.0
    blocked_s: float = 0.0
    red_after_s: float | None = None
    flaky: float = 0.0


@dataclass(frozen=True, slots=True)
class Proxy:
    """A reverse proxy in front. `body_limit`: bytes, None for none."""

    kind: Literal["nginx", "envoy", "litellm"] = "nginx"
    body_limit: int | None = None
    timeout_s: float = 60.0
