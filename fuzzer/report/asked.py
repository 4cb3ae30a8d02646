"""With which flags was a run asked, so that the next command asks under the same conditions? PURE: from its record.

Said is only what is not as usual. The seed is not: it would draw the very prompts that a prefix cache may hold. Nor are
suspects of a configuration, which guide a search and are no condition of its answer. A record keeps no secret: a flag
whose value held one cannot be repeated, and is only named.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fuzzer.model import FAIL_ON_DEFAULT
from fuzzer.store.masking import MASK
from targets.table import DIALECTS, OPENAI

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fuzzer.store import Run

# What every command that probes is told (a record's settings), and what holds where nothing was said.
COMMON: Final[Mapping[str, object]] = {
    "health_url": None,
    "metrics_url": None,
    "model": None,
    "engine": "auto",
    "tokenizer": None,
    "mode": None,
    "content": "words",
    "output_tokens": 32,
    "draft_tokens": None,
    "stream": True,
    "cache": "cold",
    "companions": 0,
    "companion_length": 512,
    "timeout_s": 600.0,
    "health_interval_s": 1.0,
    "revival_timeout_s": 1800.0,
    "death_spacing_s": 0.0,
    "max_deaths": 12,
    "max_time_s": None,
    "allow_busy": False,
    "allow_replicas": False,
    "fail_on": sorted(FAIL_ON_DEFAULT),
    "on_death": None,
    "engine_log": None,
    "engine_log_cmd": None,
}
# The same of a search (its question), and the engines that it is compared with.
SEARCH: Final[Mapping[str, object]] = {
    "axis": "prompt",
    "prompt_tokens": 64,
    "resolution": 1,
    "suspects": [],
    "strategy": "auto",
    "confidence": 0.95,
    "tolerate": 0.3,
    "attribute_axis": True,
    "round_to": 16,
    "require": None,
    "scan": 0,
    "controls": [],
}
# What `verify --from-run` takes from the run itself: a cap holds under these.
FROM_RUN: Final = ("output_tokens", "content", "cache", "companions", "companion_length")
NOTHING: Final[Mapping[str, object]] = {}
SUSPECT: Final = "--suspect"  # the name of one that the user named by number
CORPUS: Final = "corpus:"


class Asked(NamedTuple):
    """Flags with their values, as words of a command line; and flags that cannot be repeated."""

    words: tuple[str, ...]
    secret: tuple[str, ...]


def common_of(run: Run, but: Mapping[str, object] = NOTHING, *, without: Sequence[str] = ()) -> Asked:
    """What every command that probes was told. `but`: where the run varied its conditions; `without`: not these."""
    given = {name: value for name, value in {**run.record.settings, **but}.items() if name in COMMON}
    return _asked({name: value for name, value in given.items() if name not in without}, COMMON)


def search_of(run: Run) -> Asked:
    """What a bisect alone was told, but for its ends; nothing of another plan."""
    if run.record.plan != "bisect":
        return Asked((), ())
    given: dict[str, Any] = {name: value for name, value in run.record.question.items() if name in SEARCH}
    step = DIALECTS.get(run.record.engine, OPENAI).limit_step
    if step > 1 and given.get("round_to") == step:
        del given["round_to"]  # the engine's own, which nobody has to say
    given["suspects"] = [value for value, name, *_ in given.get("suspects", ()) if name == SUSPECT]
    controls: Any = run.record.settings.get("controls", ())
    given["controls"] = [f"{name}={url}" for name, url in controls]
    return _asked(given, SEARCH)


def _asked(given: Mapping[str, object], usual: Mapping[str, object]) -> Asked:
    words: list[str] = []
    secret: list[str] = []
    for name, value in given.items():
        if value == usual[name]:
            continue
        said = tuple(_words(name, value))
        if any(MASK in word for word in said):
            secret.append(said[0])
        else:
            words += said
    return Asked(tuple(words), tuple(secret))


def _words(name: str, value: object) -> Iterator[str]:
    flag = f"--{name.removesuffix('_s').replace('_', '-')}"
    match value:
        case bool():
            yield flag if value else f"--no-{flag.removeprefix('--')}"
        case float():
            yield from (flag, f"{Decimal(str(value)).normalize():f}")
        case str() if value.startswith(CORPUS):
            yield from ("--corpus", value.removeprefix(CORPUS))
        case list() if name == "fail_on":
            yield from (flag, ",".join(value))
        case list():
            for each in value:
                yield from (flag.removesuffix("s"), str(each))
        case _:
            yield from (flag, str(value))


def counts_output(run: Run) -> bool:
    """Were output tokens searched, after a prompt that was held?"""
    return run.record.question.get("axis") == "output"
