"""Of which words is a command made, as a shell would read it, and where do they stand? PURE, in linear time.

Not a shell: nothing is expanded, and what it would refuse is read all the same. `shlex` tells words but no places.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# Each piece begins where the last one ended and never has to give anything back: that makes it linear.
_PIECE: Final = re.compile(
    r"""(?P<space>[^\S\n]+)|(?P<operator>[;|&()<>\n`]+)|'(?P<single>[^']*)'?|"(?P<double>(?:\\.|[^"\\])*)"?"""
    r"""|\\(?P<escaped>.?)|(?P<plain>[^\s;|&()<>`'"\\]+)""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word from `start` to `end` of the text. `bare` is what the command is given; `quoted` are the places inside
    quotes; `operator` is what stands before it: empty, or of `; | & ( ) < >`, a line's end and a backtick.
    """

    start: int
    end: int
    bare: str
    quoted: tuple[tuple[int, int], ...] = ()
    operator: str = ""


def words(text: str, start: int, end: int) -> Iterator[Word]:
    """The words between two places of a text."""
    pieces: list[re.Match[str]] = []
    operator = ""
    for piece in _PIECE.finditer(text, start, end):
        if piece["space"] is None and piece["operator"] is None:
            pieces.append(piece)
            continue
        if pieces:
            yield _word(pieces, operator)
            pieces, operator = [], ""
        operator += piece["operator"] or ""
    if pieces:
        yield _word(pieces, operator)


def commands(text: str, start: int, end: int) -> Iterator[list[Word]]:
    """The same by simple commands. A redirection ends none."""
    command: list[Word] = []
    for word in words(text, start, end):
        if command and word.operator.strip("<>"):
            yield command
            command = []
        command.append(word)
    if command:
        yield command


def _word(pieces: list[re.Match[str]], operator: str) -> Word:
    inside = [(piece, piece.lastgroup or "") for piece in pieces]
    return Word(
        pieces[0].start(),
        pieces[-1].end(),
        "".join(piece[group] for piece, group in inside),
        tuple(piece.span(group) for piece, group in inside if group in {"single", "double"}),
        operator,
    )
