"""What can an engine's dialect do, and where does it say what? Pure: data, so that a plain table can hold an engine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Tokenizing:
    """How a dialect's server is asked for the ids of a text: POST `path` with `{text_field: text, **fixed}`."""

    path: str
    text_field: str
    fixed: Mapping[str, object] = field(default_factory=dict)
    names_model: bool = False  # the request also carries `model`
    tells_limit: bool = False  # its answer's `max_model_len` is the engine's own


@dataclass(frozen=True, slots=True)
class Source:
    """Where a fact stands: a dotted field of the JSON that a GET of `path` answers; `@` is our model's list item."""

    path: str
    field: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A sign that betrays a dialect: GET `path` is a 2xx whose JSON has `field` (dotted), whose text has `text`, and
    whose headers have `header` ("name: part of the value"). Each of the three that is not empty must hold.
    """

    path: str
    field: str = ""
    text: str = ""
    header: str = ""


@dataclass(frozen=True, slots=True)
class Traits:
    """What a dialect can do."""

    name: str
    ids: bool = True
    ignore_eos: bool = False
    min_tokens: bool = False
    cache_salt: bool = False
    cache_salt_since: tuple[int, int] = (0, 0)  # an older version may refuse what it does not know
    cache_prompt: bool = False  # `cache_prompt: false` switches a prompt cache off for one request
    token_ids: bool = False  # `return_token_ids` gives the ids of what was generated
    largest_prompt_below_limit: int = 1  # how far the largest prompt stays under the limit
    reserved: int = 0  # tokens of the limit that no prompt and output may fill
    health_path: str = "/health"
    wrong_model_is_200: bool = False
    limit_step: int = 1  # the window that it is set to is rounded up to a multiple of so many tokens
    limit_flag: str = "--max-model-len"  # the engine's flag that sets the cap; empty where it has none
    ids_open: bool = False  # whether ids are taken depends on the set-up: one tiny request learns it
    tokenizing: Tokenizing | None = None
    version: tuple[Source, ...] = ()
    limits: tuple[Source, ...] = ()  # best first, after those that any /v1/models may hold
    bounds: tuple[Source, ...] = ()  # what may hold less than the window that is named: then that is the limit
    slots: tuple[Source, ...] = ()
    owners: tuple[str, ...] = ()  # `owned_by` in /v1/models, lower case
    marks: tuple[Mark, ...] = ()  # any of them betrays the dialect
    models_may_fail: bool = False  # /v1/models can be broken although all is well
    verified: bool = False  # run against the real engine, not only against recorded or documented answers

    def as_of(self, version: str | None) -> Traits:
        """What this version takes; one that tells no release (0.1.dev7+gabc) is taken for new."""
        release = re.match(r"v?(\d+)\.(\d+)(?!\d|\.?dev)", version or "")
        is_older = release is not None and tuple(map(int, release.groups())) < self.cache_salt_since
        return replace(self, cache_salt=False) if is_older else self
