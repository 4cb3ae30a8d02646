"""How does this simulated endpoint behave? The world as data: loaded from TOML or JSON, checked strictly.

Lengths are tokens, `*_s` are seconds. Every field has a default, so a world file says only what is special about it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from targets.llamacpp import LLAMACPP
from targets.sim.rules import BadRule, Condition
from targets.sim.strict import BadWorld, build

Symptom = Literal[
    "death",  # the engine process aborts
    "error",  # `status` and `message`; the engine lives on
    "busy",  # 429 or 503 with Retry-After
    "hang",  # this request never ends; others are served
    "block",  # this request never ends and holds everybody behind it, until its client gives up
    "wedge",  # nothing is ever served again; the process lives and health is green
    "reset",  # the connection is reset; the engine lives on
    "cut",  # the connection is closed in the middle of the answer; the engine lives on
    "poison",  # an error, and then the same for every later request of this life
    "truncate",  # the prompt is shortened to `keep` tokens without a word
    "garble",  # the answer's text is rubbish (`garble`)
    "speculation-off",  # drafts are made, none is accepted, for everybody in the batch
    "slow",  # the prefill takes `seconds` longer
]
MODIFIERS: frozenset[str] = frozenset({"truncate", "garble", "speculation-off", "slow"})
At = Literal["arrival", "prefill", "decode", "answer", "refusal"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to fail. `at`: on arrival, at the end of the prefill, while decoding, after the answer, after a refusal.

    At `decode` the rule is asked before each token, with O = tokens generated so far plus one.
    """

    when: str
    symptom: Symptom = "death"
    at: At = "prefill"
    status: int = 500
    message: str = ""
    type: str = "InternalServerError"
    last_words: str = "CUDA error: an illegal memory access was encountered"
    later: str = ""  # poison: the message of every later request
    keep: int = 0  # truncate
    garble: Literal["empty", "replacement", "nan", "repeat"] = "repeat"
    seconds: float = 1.0  # slow: how much longer; busy: Retry-After

    @property
    def point(self) -> At:
        """When it strikes: who is busy says so on arrival."""
        return "arrival" if self.symptom == "busy" else self.at


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


@dataclass(frozen=True, slots=True)
class Expect:
    """What a bisect of this world should conclude: read by tests, not by the simulator.

    `flags` are further options of the command line; `needs` names what a plain bisect lacks (concurrency, scan, ...).
    """

    finding: str
    lo: int
    hi: int
    last_good: int | None = None
    first_bad: int | None = None
    output_tokens: int = 32
    exit_code: int = 0
    limit: int | None = None  # the limit that the finding names (`clean-limit`)
    speculation_off_from: int | None = None
    island: int | None = None  # a lone length that fails, which only a scan finds
    restart_on_death: bool = False  # it needs `POST /sim/restart` from `--on-death`
    flags: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class World:
    """One simulated endpoint."""

    name: str = "world"
    dialect: Literal["vllm", "llamacpp", "sglang", "openai"] = "vllm"
    refusal: Literal["vllm", "sglang", "tgi", "llamacpp", "lmstudio", "trtllm", "lmdeploy"] | None = None
    version: str = "0.32.0"
    model: str = "sim"
    seed: int = 0
    vocabulary: int = 6144  # that of the tokenizer which comes with the simulator
    replicas: int = 1
    data_parallel: int = 1
    metrics: bool = True
    tokenize: bool = True
    takes_ids: bool = True
    api_key: str | None = None
    bos: bool = False  # a BOS is added to text prompts
    chat_extra: int = 0  # tokens that the chat template adds beyond its own markers
    eos_after: int | None = None  # the model ends by itself, unless `ignore_eos`
    slots: int = 1  # llama.cpp: requests at once, each with a context of its own
    nondeterministic: float = 0.0  # the share of answers that are not what the same prompt got before
    limit: Limit = field(default_factory=Limit)
    speed: Speed = field(default_factory=Speed)
    cache: Cache = field(default_factory=Cache)
    death: Death = field(default_factory=Death)
    restart: Restart = field(default_factory=Restart)
    health: Health = field(default_factory=Health)
    draft: Draft | None = None
    proxy: Proxy | None = None
    rules: tuple[Rule, ...] = ()
    expect: Expect | None = None

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a `.toml` or `.json` file. Raises BadWorld (with the path) or OSError."""
        import tomllib  # noqa: PLC0415  (the engine process never loads files: its start must stay light)

        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
            data = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
            return cls.from_dict({"name": path.stem} | data)
        except (BadWorld, ValueError) as error:
            raise BadWorld(f"{path}: {error}") from None

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Build and check. Raises BadWorld for unknown fields, wrong types, rules not in the language."""
        world = build(cls, data)
        for index, rule in enumerate(world.rules):
            try:
                Condition(rule.when)
            except BadRule as error:
                raise BadWorld(f"rules[{index}].when: {error}") from None
        _check_numbers(world)
        return replace(world, limit=replace(world.limit, tokens=_held(world)))


def shipped() -> dict[str, Path]:
    """The worlds that come with the package, by name."""
    return {path.stem: path for path in sorted((Path(__file__).parent / "worlds").glob("*.toml"))}


def _held(world: World) -> int:
    """The window that the engine makes of the one that it is set to, in tokens."""
    step = LLAMACPP.limit_step if world.dialect == LLAMACPP.name else 1
    return -(-world.limit.tokens // step) * step


def _check_numbers(world: World) -> None:
    positive = {
        "limit.tokens": world.limit.tokens,
        "speed.prefill": world.speed.prefill,
        "speed.chunk": world.speed.chunk,
        "cache.block": world.cache.block,
        "replicas": world.replicas,
        "data_parallel": world.data_parallel,
        "vocabulary": world.vocabulary,
    }
    for where, value in positive.items():
        if value <= 0:
            raise BadWorld(f"{where} must be above 0, not {value}")
    if world.draft and not 1 <= world.draft.acceptance_length <= world.draft.k + 1:
        raise BadWorld(f"draft.acceptance_length must be from 1 to k + 1 = {world.draft.k + 1}")
    if not 0 <= world.nondeterministic <= 1:
        raise BadWorld("nondeterministic must be from 0 to 1")
    if not 0 <= world.speed.slow_share <= 1:
        raise BadWorld("speed.slow_share must be from 0 to 1")
    if not 0 <= world.health.flaky < 1:
        raise BadWorld("health.flaky must be from 0 to below 1")
    if world.limit.over == "truncate" and not world.limit.keep:
        raise BadWorld("limit.keep must say how many tokens `over = truncate` leaves")
