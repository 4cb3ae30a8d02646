"""What in a command of the user's is a secret? PURE. Found by its place: there is no list of all that are secret.

Values of options, assignments, headers and JSON members whose name says so; the password of `-u user:password`; what
the usual clients take one by; and the forms that the well-known issuers give theirs. A reference (`$TOKEN`,
`$(cat FILE)`) is none. Too much is rather masked than too little: what is masked is only read by people, and never run.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD: Final = (
    r"(?:[a-z0-9]*(?:passwords?|passwd|passphrase|secrets?|credentials?|token)"
    r"|(?:api|access|secret|private|auth)?keys?|(?:ssh|pg)?pass|pwd|auth|authorization|creds?|cookies?)"
)
# One part of it says so, whole: `--api-token`, `HF_TOKEN`, `X-Api-Key`; but not `--tokenizer`, not `--max-tokens`.
_NAME: Final = rf"(?:[a-z0-9]*[-_.])*?{_WORD}(?:[-_.][a-z0-9]+)*"
_BEFORE: Final = r"(?<![a-z0-9_.-])"
_VALUE: Final = (
    r"""(?P<secret>(?:\\"[^"\\]*\\"|"(?:\\.|[^"\\])*"|'[^']*'|\$\([^)]*\)|`[^`]*`|\\.|[^\s"'`\\;|&<>()])+)"""
)
_SCHEME: Final = r"(?:bearer|basic|token|apikey)\s"
# Numbers are user:group, and what goes on like a URL or a path is no password.
_USER: Final = (
    r"""(?<![\w-])(?:-[sSfkLvig]*u\s*|--(?:proxy-)?user[\s=]+)(?P<quote>["'])?(?!\d+:\d+\b)[^\s"':/]+:(?!/)"""
)
_ISSUED: Final = (
    r"sk-[\w-]{6,}|(?:hf|gh[opusr]|github_pat)_\w{6,}|glpat-[\w-]{6,}|xox[a-z]-[\w-]{6,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{8,}|eyJ[\w-]{6,}(?:\.[\w-]*)+"
)
_SECRETS: Final = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        # a header, to the end of its quotes
        rf"""["']\s*{_NAME}\s*:\s*(?P<secret>[^"'\n]+)""",
        rf"""{_BEFORE}{_NAME}:\s+(?P<secret>[^\s"'][^"'\n]*)""",
        # a member of a JSON object
        rf"""{_BEFORE}{_NAME}\\?["']\s*:\s*(?P<secret>\\?"[^"]*"?|\\?'[^']*'?|[^\s,}}]+)""",
        # an assignment, or a header without quotes; an option
        rf"""{_BEFORE}{_NAME}(?:["']?\s*=\s*|:)(?!{_SCHEME}){_VALUE}""",
        rf"""{_BEFORE}--?{_NAME}\s+(?!--){_VALUE}""",
        rf"""{_USER}(?P<secret>(?(quote)(?:(?!(?P=quote)).)+|[^\s"']+))""",
        # what clients take by a letter
        rf"""\b(?:mysql|mariadb)[\w-]*\s(?:[^|;&]{{0,400}}?\s)?-p{_VALUE}""",
        rf"""\bsshpass\s(?:[^|;&]{{0,400}}?\s)?-p\s*{_VALUE}""",
        rf"""\blogin\s(?:[^|;&]{{0,400}}?\s)?-p\s+{_VALUE}""",
        rf"""\bredis-cli\s(?:[^|;&]{{0,400}}?\s)?-a\s+{_VALUE}""",
        rf"""\b(?P<secret>{_ISSUED})""",
    )
)
_REFERENCE: Final = re.compile(
    rf"""\\?["']?(?:{_SCHEME}\s*)?(?:\$\w+|\$\{{\w+\}}|\$\(.*\)?|`.*)\\?["']?""", re.IGNORECASE | re.DOTALL
)


def secrets_of_command(command: str) -> Iterator[str]:
    """Each of them as the command is given it: without quotes, and where it has more words than one, these too."""
    for start, end in spans(command):
        bare = command[start:end].strip("\"'\\ ")
        yield from dict.fromkeys((bare, *re.split(r"""["'\\\s]+""", bare)))


def spans(command: str) -> list[tuple[int, int]]:
    """Where they stand, from and to: in their order, none within another."""
    found = [
        match.span("secret")
        for pattern in _SECRETS
        for match in pattern.finditer(command)
        if not _REFERENCE.fullmatch(match["secret"].strip())
    ]
    apart: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if apart and start < apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return apart
