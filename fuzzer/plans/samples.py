"""Which probes are samples of what a cap admits? PURE: a stream that a seed decides, the same in every process.

Lengths are places where engines like to fail, or come from anywhere, each with the next residue of a KV block; a place
or a residue does not come again before all others have come. Most samples are plain but for one or two conditions, so
that a failure has little to be blamed on.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import cycle
from typing import TYPE_CHECKING, TypeVar

from fuzzer.model import ProbeSpec, Role
from fuzzer.plans.corners import FIRST_TOKENS
from fuzzer.plans.terms import SHORT, Terms
from fuzzer.search.places import BLOCK, RESIDUES, Place, places, residues
from fuzzer.search.suspects import UNKNOWN_DRAFT_TOKENS

if TYPE_CHECKING:
    from targets.base import Mode

VARIED = ((0, 40), (1, 30), (2, 20), (3, 10))  # how many conditions are not plain, and how often, in percent
AT_PLACES = 0.6  # of the lengths; the others come from anywhere, each with the next residue
IN_ORDER = 0.03  # of the samples open a row of lengths that grow, shrink or stay
ROW = 4
OUTPUTS = (1, 2, 15, 16, 17, 64, 128, 256)
HEAD = 16  # tokens that all warm prompts share at the least
COMPANIONS = (1, 2, 3, 7)
FIT_TOGETHER = 4  # caps that companions may fill together
TEMPERATURES = (0.7, 1.0)

Choice = TypeVar("Choice")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds(Terms):
    """What is to be sampled: every prompt + output up to `cap` tokens, under every condition that can be had here.

    `contents` and `modes` are those that can be exact here; `block` and `kv_tokens` are the engine's own figures.
    Raises ValueError where the cap leaves nothing to vary.
    """

    cap: int
    seed: int = 0
    contents: tuple[str, ...] = ("words",)
    modes: tuple[Mode, ...] = ("ids",)
    block: int = BLOCK
    kv_tokens: int | None = None
    suspects: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.cap <= self.output_tokens + SHORT:
            raise ValueError(f"a cap of {self.cap} leaves no room for {self.output_tokens} output tokens")

    @property
    def longest(self) -> int:
        """The longest prompt that the cap admits."""
        return self.cap - 1

    def places(self) -> tuple[list[Place], list[Place]]:
        """Where under the cap engines like to fail: what is tried first, and what comes after."""
        return places(
            self.longest,
            output_tokens=self.output_tokens,
            block=self.block,
            kv_tokens=self.kv_tokens,
            draft_tokens=UNKNOWN_DRAFT_TOKENS if self.draft_tokens is None else self.draft_tokens,
            suspects=self.suspects,
        )

    def sample(self, place: Place) -> ProbeSpec:
        """The plain probe at a place."""
        output = min(self.output_tokens, self.cap - place.length)
        return self.spec(place.length, Role.FUZZ, place.what, output_tokens=output)


def samples(grounds: Grounds) -> Iterator[ProbeSpec]:
    """Samples without end."""
    draw = random.Random(f"{grounds.seed}/samples")  # noqa: S311  (reproducible on purpose)
    lengths = _lengths(grounds, draw)
    while True:
        if draw.random() < IN_ORDER:
            yield from _row(grounds, next(lengths), draw)
        else:
            yield _varied(grounds, grounds.sample(next(lengths)), draw)


def anywhere(grounds: Grounds, draw: random.Random) -> Place:
    """Any length: half of the time any length is as likely as the next, half of the time any magnitude."""
    if draw.random() < 0.5:
        return Place(draw.randint(1, grounds.longest), "anywhere")
    return Place(min(grounds.longest, max(1, round(grounds.longest ** draw.random()))), "any magnitude")


def _lengths(grounds: Grounds, draw: random.Random) -> Iterator[Place]:
    first, later = grounds.places()
    draw.shuffle(first)
    draw.shuffle(later)
    at_places = cycle([*first, *later])
    at_residues = cycle(residues(grounds.block))
    while True:
        if draw.random() < AT_PLACES:
            yield next(at_places)
        else:
            yield _with_residue(next(at_residues), grounds, draw)


def _with_residue(residue: int, grounds: Grounds, draw: random.Random) -> Place:
    """Any length that is so many tokens past a multiple of the largest block."""
    multiple = max(1, anywhere(grounds, draw).length // RESIDUES)
    length = multiple * RESIDUES + residue
    fitting = length if 1 <= length <= grounds.longest else min(grounds.longest, residue or RESIDUES)
    return Place(fitting, f"{residue} past a multiple of {RESIDUES}")


def _row(grounds: Grounds, place: Place, draw: random.Random) -> Iterator[ProbeSpec]:
    """The same conditions at lengths that grow, shrink or stay: the order is what is tried."""
    order = draw.choice(("growing", "shrinking", "repeated"))
    model = _varied(grounds, grounds.sample(place), draw)
    factors = {"growing": (1, 2, 3, 4), "shrinking": (4, 3, 2, 1), "repeated": (ROW,) * ROW}[order]
    for factor in factors:
        length = max(1, place.length * factor // ROW)
        room = grounds.cap - length
        output = room if model.stop_after is not None and not model.omit_max_tokens else min(model.output_tokens, room)
        shared = model.shared if model.shared is not None and model.shared < length else None
        yield replace(
            model, length=length, output_tokens=output, shared=shared, reason=f"order: {order}, to {place.what}"
        )


def _varied(grounds: Grounds, spec: ProbeSpec, draw: random.Random) -> ProbeSpec:
    """The probe with some conditions that are not plain."""
    names = [name for name, weight in WEIGHTS.items() if _is_open(name, grounds, spec) for _ in range(weight)]
    for name in dict.fromkeys(draw.sample(names, min(_weighted(VARIED, draw), len(names)))):
        if _is_open(name, grounds, spec):  # still: another output may have taken the prompt's place
            spec = WAYS[name](grounds, spec, draw)
    return spec


def _is_open(name: str, grounds: Grounds, spec: ProbeSpec) -> bool:
    match name:
        case "content":
            return len(grounds.contents) > 1
        case "mode":
            return len(grounds.modes) > 1
        case "partly warm":
            return spec.length > 2 * grounds.block
        case _:
            return True


def _output(grounds: Grounds, spec: ProbeSpec, draw: random.Random) -> ProbeSpec:
    """Another output; now and then the prompt gives way, so that the last token decoded is the cap's last."""
    output = draw.choice(OUTPUTS)
    if draw.random() < 0.25 and output < grounds.cap and spec.shared is None:
        return replace(spec, length=grounds.cap - output, output_tokens=output, reason=f"{output} decoded to the brim")
    return replace(spec, output_tokens=min(output, grounds.cap - spec.length))


def _asked(grounds: Grounds, spec: ProbeSpec, draw: random.Random) -> ProbeSpec:
    """All the rest is asked for, or nothing is said; only the first tokens are waited for."""
    omit = draw.random() < 0.3
    output = 1 if omit else grounds.cap - spec.length
    return replace(spec, output_tokens=output, omit_max_tokens=omit, stop_after=FIRST_TOKENS, stream=True)


def _companions(grounds: Grounds, spec: ProbeSpec, draw: random.Random) -> ProbeSpec:
    """Neighbours that are short, as long, or of any length, as far as they fit together."""
    count = draw.choice(COMPANIONS)
    length = draw.choice((SHORT, spec.length, anywhere(grounds, draw).length))
    fitting = min(count, max(1, FIT_TOGETHER * grounds.cap // length))
    return replace(spec, companions=(min(length, grounds.longest),) * fitting)


def _partly_warm(grounds: Grounds, spec: ProbeSpec, draw: random.Random) -> ProbeSpec:
    """A prefix that is shared up to the end of a block, or one token off."""
    shared = draw.randint(1, (spec.length - 2) // grounds.block) * grounds.block + draw.choice((-1, 0, 1))
    return replace(spec, cache="warm", shared=max(shared, HEAD), content="words")


WAYS: dict[str, Callable[[Grounds, ProbeSpec, random.Random], ProbeSpec]] = {
    "output": _output,
    "max_tokens": _asked,
    "companions": _companions,
    "content": lambda grounds, spec, draw: replace(spec, content=draw.choice(grounds.contents), shared=None),
    "warm": lambda _grounds, spec, _draw: replace(spec, cache="warm"),
    "partly warm": _partly_warm,
    "mode": lambda grounds, spec, draw: replace(spec, mode=draw.choice(grounds.modes)),
    "temperature": lambda _grounds, spec, draw: replace(spec, temperature=draw.choice(TEMPERATURES)),
    "stream": lambda _grounds, spec, _draw: spec if spec.stop_after is not None else replace(spec, stream=False),
}

WEIGHTS = {"companions": 3, "output": 2, "content": 2, "max_tokens": 2} | dict.fromkeys(
    ("warm", "partly warm", "mode", "temperature", "stream"), 1
)


def _weighted(choices: tuple[tuple[Choice, int], ...], draw: random.Random) -> Choice:
    return draw.choices([value for value, _ in choices], [weight for _, weight in choices])[0]
