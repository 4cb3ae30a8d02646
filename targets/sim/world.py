"""How does this simulated endpoint behave? The world as data: loaded from TOML or JSON, checked strictly.

Every field has a default, so a world file says only what is special about it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from targets.llamacpp import LLAMACPP
from targets.sim.failing import Rule
from targets.sim.parts import Cache, Death, Draft, Health, Limit, Proxy, Restart, Speed
from targets.sim.rules import BadRule, Condition
from targets.sim.strict import BadWorld, build


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
