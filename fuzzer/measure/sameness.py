"""Do two engines generate the same, token for token? PURE: from the answers of both to one prompt, each given twice.

An engine that does not repeat itself cannot be told from one that says something else. So each answer is first compared
with the same engine's other answer, and only where both repeat themselves the two are compared with each other.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal

from fuzzer.model import WELL, Outcome, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fuzzer.observation import Generated, Observation

NEEDLE: Final = "needle"
EXCERPT_CHARS: Final = 60  # before a divergence, and of each continuation: 180 in all
SIGNIFICANT: Final = 0.01
ANSWERED: Final = WELL | {Outcome.GARBLED}  # garbage is compared like anything else

Whose = Literal["both", "neither", "target", "control"]
Arm = Literal["target", "control"]


class Verdict(StrEnum):
    """What comparing came to."""

    SAME = "same"
    DIFFERENT = "different"
    UNDECIDABLE = "undecidable"


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where two answers part: after so many tokens, and characters, that are the same in both.

    `token` is None where the ids are not known, `char` where it is not within the kept text.
    The texts are the servers' own words: `before` is common, `one` and `other` are how the two go on.
    """

    token: int | None
    char: int | None
    before: str = ""
    one: str = ""
    other: str = ""

    @property
    def where(self) -> str:
        count, unit = (self.token, "token") if self.token is not None else (self.char, "character")
        return f"after {count:,} {unit}{'' if count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Needles:
    """Who gave back the words that stand at the head of the prompt, and who those at its tail."""

    head: Whose
    tail: Whose


@dataclass(frozen=True, slots=True)
class Cell:
    """One length and content. `compared`: how many tokens (characters, where `by` is text) are the same in both."""

    length: int
    content: str
    verdict: Verdict
    words: str
    compared: int = 0
    by: Literal["ids", "text"] | None = None
    divergence: Divergence | None = None
    needles: Needles | None = None


@dataclass(frozen=True, slots=True)
class Sameness:
    """All cells, and what they come to. `noisy`: how many times an engine contradicted itself, of `repeated` times.

    `p`: how likely so many differences are if the drafter makes none and the engines are as restless as they were
    seen to be; None where no engine contradicted itself.
    """

    cells: tuple[Cell, ...]
    verdict: Verdict
    words: str
    noisy: int
    repeated: int
    p: float | None = None


Key = tuple[int, str]


def compare(target: Sequence[Observation], control: Sequence[Observation], needles: tuple[str, str]) -> Sameness:
    """What the answers of a target and of its control come to. `needles`: what stands at the head and at the tail.

    Total: what was not answered is not decidable.
    """
    ours, theirs = _by_cell(target), _by_cell(control)
    cells = tuple(_cell(key, ours[key], theirs.get(key, []), needles) for key in sorted(ours))
    pairs = [difference(*made) for arm in (ours, theirs) for seen in arm.values() if (made := _pair(seen)) is not None]
    noisy = sum(parted is not None for parted in pairs)
    verdict, words, p = _verdict(cells, noisy, len(pairs))
    return Sameness(cells, verdict, words, noisy, len(pairs), p)


def difference(one: Generated, other: Generated) -> Divergence | None:
    """Where two answers part, by their ids where both have them, else by their text; None where they do not."""
    char = _parting(one.text, other.text, one.text_chars, other.text_chars)
    if one.token_ids and other.token_ids:
        token = _parting(one.token_ids, other.token_ids, len(one.token_ids), len(other.token_ids))
        return None if token is None else _told(token, char, one.text, other.text)
    return None if char is None else _told(None, char, one.text, other.text)


def _parting(one: Sequence[object], other: Sequence[object], all_of_one: int, all_of_other: int) -> int | None:
    """The first place where two differ. What is kept of both may be the same, and one goes on where the other ends."""
    kept = min(len(one), len(other))
    found = next((at for at in range(kept) if one[at] != other[at]), None)
    if found is not None:
        return found
    return kept if all_of_one != all_of_other else None


def _told(token: int | None, char: int | None, one: str, other: str) -> Divergence:
    if char is None:
        return Divergence(token, None)
    before = one[max(0, char - EXCERPT_CHARS) : char]
    ours, theirs = (text[char : char + EXCERPT_CHARS] for text in (one, other))
    return Divergence(token, char, before, ours, theirs)


def _by_cell(seen: Iterable[Observation]) -> dict[Key, list[Observation]]:
    cells: dict[Key, list[Observation]] = defaultdict(list)
    for one in seen:
        if one.spec.role is Role.MEASURE and one.outcome.is_evidence:
            cells[one.spec.length, one.spec.content].append(one)
    return cells


def _pair(seen: Sequence[Observation]) -> tuple[Generated, Generated] | None:
    """The first two answers of a cell; None where there are not two."""
    made = [one.generated for one in seen if one.outcome in ANSWERED and one.generated is not None]
    return (made[0], made[1]) if len(made) > 1 else None


def _cell(key: Key, ours: Sequence[Observation], theirs: Sequence[Observation], needles: tuple[str, str]) -> Cell:
    length, content = key
    answers = {"target": _pair(ours), "control": _pair(theirs)}
    one, other = answers["target"], answers["control"]
    if one is None or other is None:
        why = _unanswered("target", ours) if one is None else _unanswered("control", theirs)
        return Cell(length, content, Verdict.UNDECIDABLE, why)
    found = _retrieved(one[0], other[0], needles) if content == NEEDLE else None
    if len({answer.prompt_sha256 for answer in (*one, *other)}) > 1:
        words = "not decidable: the two make different prompts of it; name one --tokenizer for both"
        return Cell(length, content, Verdict.UNDECIDABLE, words, needles=found)
    for name, (first, again) in (("target", one), ("control", other)):
        if (parted := difference(first, again)) is not None:
            words = f"not decidable: the {name} does not repeat itself {parted.where}"
            return Cell(length, content, Verdict.UNDECIDABLE, words, divergence=parted, needles=found)
    if not all(answer.token_ids or answer.text for answer in (*one, *other)):
        return Cell(length, content, Verdict.UNDECIDABLE, "not decidable: an answer tells neither ids nor a text")
    by: Literal["ids", "text"] = "ids" if one[0].token_ids and other[0].token_ids else "text"
    parted = difference(one[0], other[0])
    if parted is None:
        whole = len(one[0].token_ids) if by == "ids" else len(one[0].text)
        return Cell(length, content, Verdict.SAME, "identical", whole, by, needles=found)
    agreed = parted.token if by == "ids" else parted.char
    return Cell(length, content, Verdict.DIFFERENT, f"differs {parted.where}", agreed or 0, by, parted, found)


def _unanswered(arm: Arm, seen: Sequence[Observation]) -> str:
    failed = next((one for one in seen if one.outcome not in ANSWERED), None)
    if failed is not None:
        return f"not decidable: the {arm}: {failed.outcome}"
    return f"not decidable: the {arm} was not asked{' twice' if seen else ''}"


def _retrieved(one: Generated, other: Generated, needles: tuple[str, str]) -> Needles:
    head, tail = (_whose(_says(one.text, word), _says(other.text, word)) for word in needles)
    return Needles(head, tail)


def _says(text: str, needle: str) -> bool:
    """Its words in a row, whatever stands between them but other words."""
    words = r"\W+".join(map(re.escape, needle.split()))
    return re.search(rf"\b{words}\b", text, re.IGNORECASE) is not None


def _whose(ours: bool, theirs: bool) -> Whose:  # noqa: FBT001  (private)
    if ours and theirs:
        return "both"
    return "target" if ours else "control" if theirs else "neither"


def _verdict(cells: Sequence[Cell], noisy: int, repeated: int) -> tuple[Verdict, str, float | None]:
    """Different where something differs and no engine contradicts itself; where one does, only against its odds."""
    if not cells:
        return Verdict.UNDECIDABLE, "nothing was answered", None
    counts = _counted(cells)
    differing, decided = counts[Verdict.DIFFERENT], counts[Verdict.DIFFERENT] + counts[Verdict.SAME]
    if not differing:
        if decided and decided == len(cells):
            return Verdict.SAME, f"identical in {decided} of {decided} cells", None
        rest = f"; identical in the other {decided}" if decided else ""
        return Verdict.UNDECIDABLE, f"{len(cells) - decided} of {len(cells)} cells are not decidable{rest}", None
    words = f"different in {differing} of {decided} cells that can be decided"
    if not noisy:
        return Verdict.DIFFERENT, words, None
    p = _odds(differing, decided, noisy, repeated)
    restless = f"an engine contradicted itself {noisy} of {repeated} times (p = {p:.2g})"
    if p < SIGNIFICANT:
        return Verdict.DIFFERENT, f"{words}: more than noise, though {restless}", p
    return Verdict.UNDECIDABLE, f"{words}, which may be noise: {restless}", p


def _counted(cells: Sequence[Cell]) -> Mapping[Verdict, int]:
    return {verdict: sum(cell.verdict is verdict for cell in cells) for verdict in Verdict}


def _odds(differing: int, decided: int, noisy: int, repeated: int) -> float:
    """Fisher's exact test, one-sided: do the two differ from each other more often than each from itself?"""
    from scipy.stats import hypergeom  # noqa: PLC0415  (a second to load)

    return float(hypergeom.sf(differing - 1, decided + repeated, differing + noisy, decided))
