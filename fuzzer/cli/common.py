"""What was every command that probes told, and what of it does a run's record keep?

A resumed run takes what decides what is asked from its record (`settings`, `restored`), the rest from its user.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from fuzzer.model import FAIL_ON_DEFAULT, Caching, Outcome
from targets.base import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonFlags:
    """What every command that probes was told. Lengths are tokens, `*_s` seconds; None means: find out."""

    url: str
    health_url: str | None = None
    metrics_url: str | None = None
    model: str | None = None
    api_key: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    cacert: Path | None = None
    insecure: bool = False
    engine: str = "auto"
    tokenizer: str | None = None
    mode: Mode | None = None
    content: str = "words"
    output_tokens: int = 32
    draft_tokens: int | None = None
    stream: bool = True
    cache: Caching = "cold"
    companions: int = 0
    companion_length: int = 512
    timeout_s: float = 600.0
    health_interval_s: float = 1.0
    revival_timeout_s: float = 1800.0
    death_spacing_s: float = 0.0
    max_deaths: int = 12
    max_time_s: float | None = None
    allow_busy: bool = False
    allow_replicas: bool = False
    fail_on: frozenset[Outcome] = FAIL_ON_DEFAULT
    on_death: str | None = None
    engine_log: str | None = None
    engine_log_cmd: str | None = None
    seed: int | None = None
    db: Path = Path("runs.db")
    dry_run: bool = False
    json: bool = False
    verbose: bool = False
    quiet: bool = False

    def settings(self) -> dict[str, object]:
        """What a run's record keeps of the flags, as plain JSON: all that decides what is asked, and no secret.

        Headers may decide who answers: their names are kept, for whoever goes on to give their values again.
        """
        kept = {name: getattr(self, name) for name in RECORDED}
        return kept | {"fail_on": sorted(self.fail_on), HEADER_NAMES: names_of(self.headers)}

    def seeded(self) -> CommonFlags:
        """These flags with the seed that everything is drawn from: as told, else drawn now."""
        return self if self.seed is not None else replace(self, seed=random.SystemRandom().getrandbits(32))

    def restored(self, settings: Mapping[str, object], without: Collection[str] = ()) -> CommonFlags:
        """These flags with everything that a record keeps, `without` these, taken from it: how a run goes on as begun.

        But for commands: one that is said now covers the recorded one. What is masked is never run, nor sent anywhere.
        """
        own = {name for name in (*withheld(settings), *without) if name in RECORDED}
        own |= {name for name in COMMANDS if getattr(self, name) is not None}
        kept: dict[str, Any] = {name: value for name, value in settings.items() if name in RECORDED and name not in own}
        if "fail_on" in kept:
            kept["fail_on"] = frozenset(map(Outcome, kept["fail_on"]))
        return replace(self, **kept)


OF_THIS_CALL = frozenset({"api_key", "headers", "cacert", "insecure", "db", "dry_run", "json", "verbose", "quiet"})
RECORDED = tuple(field.name for field in fields(CommonFlags) if field.name not in OF_THIS_CALL)

COMMANDS = ("on_death", "engine_log_cmd")
ADDRESSES = ("url", "health_url", "metrics_url")
HEADER_NAMES = "header_names"


def flag_of(name: str) -> str:
    """How a parameter is written on a command line."""
    return f"--{name.replace('_', '-')}"


def names_of(headers: Collection[tuple[str, str]]) -> list[str]:
    """The names of headers, in lower case: they hold no secret."""
    return sorted({name.lower() for name, _ in headers})


def withheld(settings: Mapping[str, object]) -> list[str]:
    """The commands and the URLs that held a secret: what a record keeps of them is masked, and can only be read."""
    from fuzzer.store.masking import MASK  # noqa: PLC0415  (heavy)

    return [name for name in (*COMMANDS, *ADDRESSES) if MASK in str(settings.get(name))]
