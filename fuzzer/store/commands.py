"""What in a command of the user's is a secret? PURE. Found by its place: there is no list of all that are secret.

Values of options, assignments, headers and JSON members whose name says so (`naming`); what `programs` and `httpwords`
find; and the forms that the well-known issuers give theirs. What stands in quotes is read as a command once more. What
is set to a variable that stands in such a place is one, too. Too much is rather masked than too little: what is masked
is only read by people, and never run.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fuzzer.store import httpwords, programs
from fuzzer.store.naming import is_told, names_one, referred_to
from fuzzer.store.shellwords import commands
from fuzzer.store.spans import apart

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from fuzzer.store.shellwords import Word
    from fuzzer.store.spans import Span

DEEPEST: Final = 4  # quotes within quotes

_ASSIGNED: Final = re.compile(r"(?<![\w.-])([\w.-]+)=")
_HEADER: Final = re.compile(r"([\w.-]+):")
_MEMBER: Final = re.compile(r"""(?<![\w.-])([\w.-]+)\\?["']\s*:\s*""")
_MEMBER_VALUE: Final = re.compile(r"""\\"(?:(?!\\").)*(?:\\")?|"(?:\\.|[^"\\])*"?|'[^']*'?|[^\s,}\]]+""", re.DOTALL)
_ISSUED: Final = re.compile(
    r"\b(?:sk-[\w-]{6,}|(?:hf|gh[opusr]|github_pat)_\w{6,}|glpat-[\w-]{6,}|xox[a-z]-[\w-]{6,}|hvs\.[\w-]{6,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{8,}|eyJ[\w-]{6,}(?:\.[\w-]*)*)",
    re.IGNORECASE,
)


def secrets_of_command(command: str) -> Iterator[str]:
    """Each of them as the command is given it: without quotes, and where it has more words than one, these too."""
    for start, end in spans(command):
        bare = command[start:end].strip("\"'\\ ")
        yield from dict.fromkeys((bare, *re.split(r"""["'\\\s]+""", bare)))


def spans(command: str) -> list[Span]:
    """Where they stand, from and to: in their order, none within another. In time that grows with the command."""
    variables: set[str] = set()
    for _ in range(DEEPEST):
        found = sorted(_found(command, variables))
        meant = {name for start, end in found for name in referred_to(command[start:end])} - variables
        if not meant:
            break
        variables |= meant
    return apart(span for span in found if is_told(command, *span))


def _found(command: str, variables: Collection[str]) -> Iterator[Span]:
    """Where one stands, or a reference to one. `variables`: what is referred to."""
    yield from _within(command, 0, len(command), 0, variables)
    yield from _members(command)
    yield from httpwords.queries(command)
    yield from httpwords.hooks(command)
    yield from (token.span() for token in _ISSUED.finditer(command))


def _members(text: str) -> Iterator[Span]:
    """Values in JSON objects, however the shell quotes them."""
    at = 0
    while (member := _MEMBER.search(text, at)) is not None:
        at = member.end()
        value = _MEMBER_VALUE.match(text, at) if names_one(member[1]) else None
        if value is not None:
            yield value.span()
            at = value.end()


def _within(text: str, start: int, end: int, depth: int, variables: Collection[str]) -> Iterator[Span]:
    before: list[Word] = []
    for command in commands(text, start, end):
        yield from _of_words(text, command, end if depth else command[-1].end, variables)
        if programs.reads_one(command):
            yield from programs.on_stdin(text, before, command, end)
        before = command
        for word in command:
            for inside in word.quoted if depth < DEEPEST else ():
                yield from _within(text, *inside, depth + 1, variables)


def _of_words(text: str, command: Sequence[Word], upto: int, variables: Collection[str]) -> Iterator[Span]:
    """What the words of one command say; a header goes on `upto` there."""
    program = client = ""
    before: Word | None = None
    nexts = (*command[1:], None, None)
    for word, after, behind in zip(command, nexts, nexts[1:], strict=False):
        name = word.bare.rpartition("/")[2]
        program = name if programs.is_known(name) else program
        client = name if httpwords.is_client(name) else client  # for good: a path may end like another program
        yield from _assigned(text, word, before, program, variables)
        value = httpwords.header(text, word, after, behind, client=client, upto=upto)
        value = value or _header(text, word, after, program, upto)
        if value is not None:
            yield value
            if value[1] == upto:
                return
        yield from _option(word, after, before, program)
        yield from programs.of_user(text, word, after, program)
        yield from programs.by_letter(word, after, program)
        before = word


def _assigned(text: str, word: Word, before: Word | None, program: str, variables: Collection[str]) -> Iterator[Span]:
    """`NAME=value`, also of an option."""
    option = word.bare.partition("=")[0] if before is None or word.bare.startswith("--") else before.bare
    if programs.is_label(program, option):
        return
    unquoted = word.quoted[0][0] - 1 if word.quoted else word.end
    for name in _ASSIGNED.finditer(text, word.start, unquoted):
        if name[1] in variables or names_one(name[1]):
            yield name.end(), word.end
            return


def _header(text: str, word: Word, after: Word | None, program: str, upto: int) -> Span | None:
    """`Name: value` to the end, or `Name:value`; what goes on like a path or a port is none."""
    name = _HEADER.match(text, word.start, word.end)
    if name is None or not names_one(name[1]):
        return None
    value = text[name.end() : word.end]
    if not value:
        return None if after is None else (after.start, upto)
    is_none = programs.is_system(program) or value.startswith("/") or re.fullmatch(r"\d{1,5}", value)
    return None if is_none else (name.end(), word.end)


def _option(word: Word, after: Word | None, before: Word | None, program: str) -> Iterator[Span]:
    """`--name value`, and `set NAME value`."""
    is_set = before is not None and before.bare == "set"
    if after is None or not (word.bare.startswith("-") or is_set) or not re.fullmatch(r"[\w.-]+", word.bare):
        return
    if not names_one(word.bare) or after.bare.startswith("--") or after.operator:
        return
    if not programs.is_secrets_name(program, word.bare):
        yield after.start, after.end
