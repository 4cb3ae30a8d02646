"""What is a probe done with, and what exactly will it send? Nothing about it is decided later."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import anyio

from fuzzer.before.recount import Recount
from fuzzer.model import Baseline, ProbeSpec, Settings
from fuzzer.prompts.recipe import Recipe
from fuzzer.watch import scrape
from targets.base import Generation, Prompt
from targets.target import Target

if TYPE_CHECKING:
    from fuzzer.enginelog import EngineLog
    from fuzzer.prompts import PromptSource
    from fuzzer.standing import Standing
    from targets.scrape import Scrape


@dataclass(frozen=True, slots=True)
class Rig:
    """What every probe of a run is done with."""

    target: Target
    prompts: PromptSource
    settings: Settings
    limit: int | None = None  # advertised or learnt, tokens
    version: str | None = None
    replicas: bool = False
    engine_log: EngineLog | None = None
    stop: anyio.Event = field(default_factory=anyio.Event)  # set: hang up and close the row
    ground: int | None = None  # tokens: nothing longer is sent ahead of a probe; None: that is unknown
    again: Recipe | None = None  # send this very prompt, whatever length is asked (`replay`)
    recount: Recount = field(default_factory=Recount)

    def yardstick(self, spec: ProbeSpec, standing: Standing) -> Baseline | None:
        """What a canary after this probe is held against. Of several engines, any one may answer it."""
        known = standing.yardstick(spec)
        if known is None or not (self.replicas or self.settings.allow_replicas):
            return known
        return replace(known, canary_model="" if self.replicas else known.canary_model, deployment="")

    async def look(self, standing: Standing) -> Scrape | None:
        """Who the engine is now; None where the metrics do not speak of the one that is asked.

        Of several processes a scrape shows any one.
        """
        return await scrape(self.target) if standing.counted and not self.replicas else None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A probe that is ready to leave: nothing about it is decided later."""

    seq: int
    spec: ProbeSpec
    generation: Generation
    body: bytes = field(repr=False)
    sha256: str
    recipe: Recipe
    before: Scrape | None  # who the engine is as the request leaves

    @property
    def sent_tokens(self) -> int:
        return self.generation.prompt.tokens


async def prepare(rig: Rig, spec: ProbeSpec, standing: Standing, seq: int) -> Prepared:
    """Build the request whose prompt the server will count as `spec.length` tokens, as far as the offset is known."""
    recipe = _recipe(rig, spec, standing, seq)
    generation = await generation_of(rig, spec, recipe)
    body = rig.target.encode(generation)
    before = await rig.look(standing)
    return Prepared(seq, spec, generation, body, hashlib.sha256(body).hexdigest(), recipe, before)


def unsent(rig: Rig, spec: ProbeSpec, standing: Standing, seq: int, known: Scrape | None) -> Prepared:
    """A probe that cannot leave, because nobody tokenizes its text. `known`: the engine when it was last looked at."""
    recipe = _recipe(rig, spec, standing, seq)
    generation = Generation(Prompt(spec.mode, b"", recipe.tokens), spec.output_tokens)
    return Prepared(seq, spec, generation, b"", hashlib.sha256(b"").hexdigest(), recipe, known)


def _recipe(rig: Rig, spec: ProbeSpec, standing: Standing, seq: int) -> Recipe:
    tokens = max(1, spec.length - (standing.offset(spec.mode) or 0))
    seed = str(rig.settings.seed)
    head, salt = (str(seq), None) if spec.compared is None else (f"compared-{spec.length}", str(spec.compared))
    return rig.again or Recipe(spec.mode, tokens, spec.content, seed, head, spec.cache, spec.shared, salt)


async def generation_of(rig: Rig, spec: ProbeSpec, recipe: Recipe) -> Generation:
    """The request of a recipe: over the same vocabulary, in the same dialect, the same one in any process."""
    traits = rig.target.traits
    warm = recipe.cache == "warm"
    return Generation(
        await rig.prompts.rebuild(recipe),
        None if spec.omit_max_tokens else spec.output_tokens,
        stream=spec.stream,
        temperature=spec.temperature,
        ignore_eos=traits.ignore_eos,
        min_tokens=_min_tokens(spec, traits.min_tokens and not traits.ignore_eos, rig.limit),
        cache_salt=_cache_salt(recipe) if traits.cache_salt and not warm else None,
        stop_after=spec.stop_after,
        cold=not warm,
        token_ids=spec.compared is not None and traits.token_ids,
    )


def _cache_salt(recipe: Recipe) -> str:
    return f"ctxfuzz-{recipe.seed}-{recipe.head}" + (f"-{recipe.salt}" if recipe.salt else "")


def _min_tokens(spec: ProbeSpec, wanted: bool, limit: int | None) -> int | None:  # noqa: FBT001  (private)
    """Only where `ignore_eos` is not supported, and never above what the limit leaves."""
    if not wanted or spec.omit_max_tokens:
        return None
    room = spec.output_tokens if limit is None else min(spec.output_tokens, limit - spec.length)
    return max(1, room)
