"""What in a command of the user's is a secret? PURE. Found by its place: there is no list of all that are secret.

Values of options, assignments and JSON members whose name says so; the password of `-u user:password`; what the usual
clients take one by, also on their stdin; what `httpwords` finds; and the forms that the well-known issuers give theirs.
What stands in quotes is read as a command once more. A reference (`$TOKEN`, `$(cat FILE)`) is none; what is set to a
variable that stands in such a place is one. Too much is rather masked than too little: what is masked is only read by
people, and never run. But what the usual commands that restart an engine are full of (volumes, users and groups,
labels) is none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fuzzer.store import httpwords
from fuzzer.store.shellwords import commands
from fuzzer.store.spans import apart

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from fuzzer.store.shellwords import Word
    from fuzzer.store.spans import Span

DEEPEST: Final = 4  # quotes within quotes

# One part of a name says so: `--api-token`, `HF_TOKEN`, `X-Api-Key`; but not `--tokenizer`, not `--max-tokens`.
_PART: Final = re.compile(
    r"[a-z0-9]*(?:passwords?|passwd|passphrase|secrets?|credentials?|token)"
    r"|(?:api|access|secret|private|auth|ssh|account)?keys?|(?:ssh|pg|require)?pass|pwd?|(?:master)?auth"
    r"|authorization|creds?|cookies?",
)
_NOT_ITSELF: Final = frozenset({"file", "path", "dir", "stdin", "fd", "env", "name", "type", "ttl"})  # where it is, ...
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_ASSIGNED: Final = re.compile(r"(?<![\w.-])([\w.-]+)=")
_HEADER: Final = re.compile(r"([\w.-]+):")
_MEMBER: Final = re.compile(r"""(?<![\w.-])([\w.-]+)\\?["']\s*:\s*""")
_MEMBER_VALUE: Final = re.compile(r"""\\"(?:(?!\\").)*(?:\\")?|"(?:\\.|[^"\\])*"?|'[^']*'?|[^\s,}\]]+""", re.DOTALL)
_ISSUED: Final = re.compile(
    r"\b(?:sk-[\w-]{6,}|(?:hf|gh[opusr]|github_pat)_\w{6,}|glpat-[\w-]{6,}|xox[a-z]-[\w-]{6,}|hvs\.[\w-]{6,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{8,}|eyJ[\w-]{6,}(?:\.[\w-]*)*)",
    re.IGNORECASE,
)
_REFERENCE: Final = re.compile(
    r"""\\?["']?(?:(?:bearer|basic|token|apikey)\s+)?(?:\$\w*|\$\{\w+\}|\$\(.*\)?|`.*)\\?["']?""",
    re.IGNORECASE | re.DOTALL,
)

_MADE: Final = re.compile(r"\$\(|`")
_VARIABLE: Final = re.compile(r"\$\{?([A-Za-z_]\w*)")

# What is given to these by `-u`, `-v`, `-l` is a user, a volume, a label.
_SYSTEM: Final = frozenset(
    {"docker", "docker-compose", "podman", "nerdctl", "crictl", "kubectl", "oc", "systemctl", "systemd-run"}
    | {"journalctl", "sudo", "doas", "runuser", "setpriv", "chroot", "nsenter", "rsync", "scp", "ssh", "install"}
)
_GROUPS: Final = frozenset({"root", "docker", "users", "video", "render", "adm", "staff", "nogroup", "www-data"})
_LABEL: Final = re.compile(r"-[lf]|--(?:selector|labels?|filter|field-selector)")
_NAMED_SECRETS: Final = frozenset({"--secret", "--secret-add", "--secret-rm"})  # by the name that a runtime knows
_LETTERS: Final = {  # options of one letter whose value is a secret, or holds one
    "sshpass": "p", "login": "p", "redis-cli": "a", "ipmitool": "PkKy", "http": "a", "https": "a", "xh": "a",
    "curl": "bUE", "ldapsearch": "w", "ldapmodify": "w", "mongo": "p", "mongosh": "p", "racadm": "p", "ilorest": "p",
    "redfishtool": "p", "sqlcmd": "P", "unzip": "P", "zip": "P", "smbclient": "U", "rpcclient": "U", "winexe": "U",
    "snmpset": "cAX", "snmpget": "cAX", "7z": "p", "supervisorctl": "p",
}  # fmt: skip
_ATTACHED: Final = re.compile(r"mysql|mariadb")  # theirs takes it only without a space
_USER: Final = re.compile(r"-[sSfkLvig]*u|--(?:proxy-)?user")
_USER_HERE: Final = re.compile(r"(?:-u|--(?:proxy-)?user=)[^:]")
_FILE: Final = re.compile(r"[~.]{0,2}/[\w./@%+~-]+\.(?:pem|key|crt|cer|p12|pfx|pub)")
_FROM_STDIN: Final = frozenset({"chpasswd", "passwd", "smbpasswd", "su", "kinit", "cryptsetup"})
_SAYS: Final = frozenset({"echo", "printf"})


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
        meant = {name for start, end in found for name in _referred_to(command[start:end])} - variables
        if not meant:
            break
        variables |= meant
    return apart(span for span in found if _is_told(command, *span))


def _referred_to(value: str) -> Iterator[str]:
    """The variables in a value; of a command that makes it, none."""
    return (name[1] for name in _VARIABLE.finditer(_MADE.split(value, maxsplit=1)[0]))


def _found(command: str, variables: Collection[str]) -> Iterator[Span]:
    """Where one stands, or a reference to one. `variables`: what is referred to."""
    yield from _within(command, 0, len(command), 0, variables)
    yield from _members(command)
    yield from httpwords.queries(command)
    yield from httpwords.hooks(command)
    yield from (token.span() for token in _ISSUED.finditer(command))


def _is_told(text: str, start: int, end: int) -> bool:
    """Does the secret itself stand there, and not where to find it?"""
    value = text[start:end].strip()
    bare = value.strip("\"'\\")
    return bool(bare) and not _REFERENCE.fullmatch(value) and not _FILE.fullmatch(bare)


def _names_one(name: str) -> bool:
    parts = re.split(r"[-_.]+", _HUMP.sub("_", name).lower())
    return parts[-1] not in _NOT_ITSELF and any(map(_PART.fullmatch, parts))


def _members(text: str) -> Iterator[Span]:
    """Values in JSON objects, however the shell quotes them."""
    at = 0
    while (member := _MEMBER.search(text, at)) is not None:
        at = member.end()
        value = _MEMBER_VALUE.match(text, at) if _names_one(member[1]) else None
        if value is not None:
            yield value.span()
            at = value.end()


def _within(text: str, start: int, end: int, depth: int, variables: Collection[str]) -> Iterator[Span]:
    before: list[Word] = []
    for command in commands(text, start, end):
        yield from _of_words(text, command, end if depth else command[-1].end, variables)
        if _reads_one(command):
            yield from _on_stdin(text, before, command, end)
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
        program = name if name in _LETTERS or name in _SYSTEM or _ATTACHED.match(name) or name == "wget" else program
        client = name if httpwords.is_client(name) else client  # for good: a path may end like another program
        yield from _assigned(text, word, before, program, variables)
        value = httpwords.header(text, word, after, behind, client=client, upto=upto)
        value = value or _header(text, word, after, program, upto)
        if value is not None:
            yield value
            if value[1] == upto:
                return
        yield from _option(word, after, before, program)
        yield from _of_user(text, word, after, program)
        yield from _by_letter(word, after, program)
        before = word


def _assigned(text: str, word: Word, before: Word | None, program: str, variables: Collection[str]) -> Iterator[Span]:
    """`NAME=value`, also of an option."""
    option = word.bare.partition("=")[0] if before is None or word.bare.startswith("--") else before.bare
    if program in _SYSTEM and _LABEL.fullmatch(option):
        return
    unquoted = word.quoted[0][0] - 1 if word.quoted else word.end
    for name in _ASSIGNED.finditer(text, word.start, unquoted):
        if name[1] in variables or _names_one(name[1]):
            yield name.end(), word.end
            return


def _header(text: str, word: Word, after: Word | None, program: str, upto: int) -> Span | None:
    """`Name: value` to the end, or `Name:value`; what goes on like a path or a port is none."""
    name = _HEADER.match(text, word.start, word.end)
    if name is None or not _names_one(name[1]):
        return None
    value = text[name.end() : word.end]
    if not value:
        return None if after is None else (after.start, upto)
    is_none = program in _SYSTEM or value.startswith("/") or re.fullmatch(r"\d{1,5}", value)
    return None if is_none else (name.end(), word.end)


def _option(word: Word, after: Word | None, before: Word | None, program: str) -> Iterator[Span]:
    """`--name value`, and `set NAME value`."""
    is_set = before is not None and before.bare == "set"
    if after is None or not (word.bare.startswith("-") or is_set) or not re.fullmatch(r"[\w.-]+", word.bare):
        return
    if not _names_one(word.bare) or after.bare.startswith("--") or after.operator:
        return
    if program not in _SYSTEM or word.bare not in _NAMED_SECRETS:
        yield after.start, after.end


def _of_user(text: str, word: Word, after: Word | None, program: str) -> Iterator[Span]:
    """`-u user:password`. Numbers are user:group, and what goes on like a URL or a path is no password."""
    here = _USER_HERE.match(word.bare) is not None
    given = word if here else after if _USER.fullmatch(word.bare) else None
    if given is None or re.fullmatch(r"\d+:\d+", given.bare) or "://" in given.bare:
        return
    user, _, group = given.bare.partition(":")
    if program in _SYSTEM and (group in {*_GROUPS, user} or group.isdigit()):
        return
    colon = text.find(":", given.start, given.end)
    closing = given.quoted[-1][1] if given.quoted and text[given.end - 1] in "\"'" else given.end
    whole = given.quoted[0] if given.quoted else (given.start, given.end)
    begin = text[colon + 1 : colon + 2]
    if colon >= 0 and begin != "/" and (begin == "$" or not _all_references(text[whole[0] : whole[1]])):
        yield colon + 1, closing


def _all_references(value: str) -> bool:
    return all(map(_REFERENCE.fullmatch, value.split(":")))


def _by_letter(word: Word, after: Word | None, program: str) -> Iterator[Span]:
    """What clients take by a letter, with a space or without."""
    option = word.bare[:2]
    if _ATTACHED.match(program):
        if option == "-p" and len(word.bare) > 2:
            yield word.start + 2, word.end
    elif option[:1] == "-" and option[1:] and option[1:] in _LETTERS.get(program, ""):
        if len(word.bare) > 2:
            yield word.start + 2, word.end
        elif after is not None:
            yield after.start, after.end


def _reads_one(command: Sequence[Word]) -> bool:
    """Does it take a password from its stdin?"""
    named = {word.bare.rpartition("/")[2] for word in command}
    flags = [word.bare for word in command if word.bare.startswith("-")]
    by_flag = any("stdin" in flag or flag in {"--with-token", "--passphrase-fd"} for flag in flags)
    asked = "sudo" in named and any(re.fullmatch(r"-[A-Za-z]*S[A-Za-z]*", flag) for flag in flags)
    return by_flag or asked or bool(named & _FROM_STDIN)


def _on_stdin(text: str, before: Sequence[Word], command: Sequence[Word], end: int) -> Iterator[Span]:
    """What it is given there: said before the pipe, or after `<<<` and `<<`."""
    if before and command[0].operator.strip() == "|" and before[0].bare in _SAYS:
        for word in before[1:]:
            if not word.bare.startswith(("-", "%")):
                yield word.start, word.end
    for word in command:
        if word.operator == "<<<":
            yield word.start, word.end
        elif word.operator == "<<":
            yield text.find("\n", word.end, end) + 1 or end, end
            return
