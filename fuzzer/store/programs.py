"""By which options do the usual programs take a secret, and by which none, whatever the name says? PURE.

The password of `-u user:password`, what a client takes by a letter, and what is given on stdin. But what the usual
commands that restart an engine are full of (volumes, users and groups, labels) is none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fuzzer.store.naming import are_references

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fuzzer.store.shellwords import Word
    from fuzzer.store.spans import Span

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
_FROM_STDIN: Final = frozenset({"chpasswd", "passwd", "smbpasswd", "su", "kinit", "cryptsetup"})
_SAYS: Final = frozenset({"echo", "printf"})


def is_known(name: str) -> bool:
    """Is it a program whose options are known here?"""
    return name in _LETTERS or name in _SYSTEM or bool(_ATTACHED.match(name)) or name == "wget"


def is_system(program: str) -> bool:
    """Does it run or manage others? What looks like a secret in its options is mostly none."""
    return program in _SYSTEM


def is_label(program: str, option: str) -> bool:
    """Are the assignments of this option labels?"""
    return program in _SYSTEM and _LABEL.fullmatch(option) is not None


def is_secrets_name(program: str, option: str) -> bool:
    """Does the option take the name by which a runtime knows a secret?"""
    return program in _SYSTEM and option in _NAMED_SECRETS


def of_user(text: str, word: Word, after: Word | None, program: str) -> Iterator[Span]:
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
    if colon >= 0 and begin != "/" and (begin == "$" or not are_references(text[whole[0] : whole[1]])):
        yield colon + 1, closing


def by_letter(word: Word, after: Word | None, program: str) -> Iterator[Span]:
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


def reads_one(command: Sequence[Word]) -> bool:
    """Does it take a password from its stdin?"""
    named = {word.bare.rpartition("/")[2] for word in command}
    flags = [word.bare for word in command if word.bare.startswith("-")]
    by_flag = any("stdin" in flag or flag in {"--with-token", "--passphrase-fd"} for flag in flags)
    asked = "sudo" in named and any(re.fullmatch(r"-[A-Za-z]*S[A-Za-z]*", flag) for flag in flags)
    return by_flag or asked or bool(named & _FROM_STDIN)


def on_stdin(text: str, before: Sequence[Word], command: Sequence[Word], end: int) -> Iterator[Span]:
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
