"""What in a command that speaks HTTP is a secret, whatever its name is? PURE, in linear time.

The values of headers and of queries, but for those that are known to hold none; and the paths of the hooks that chats
and monitors give out: whoever knows the path may post.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzer.store.shellwords import Span, Word

_HEADER_NEXT: Final = re.compile(r"-[a-zS]*H|--(?:proxy-)?header")
_HEADER_HERE: Final = re.compile(r"(?:-[a-zS]*H|--(?:proxy-)?header=)(?=[\w.$-]+:)")
_ITEM: Final = re.compile(r"(?=[A-Za-z][\w-]*:(?![/=]|\d{1,5}(?:/|$)))")  # of HTTPie, which takes headers as words
_ITEMS: Final = frozenset({"http", "https", "xh", "xhs"})
_HARMLESS: Final = frozenset(
    {
        "accept",
        "accept-charset",
        "accept-encoding",
        "accept-language",
        "cache-control",
        "connection",
        "content-encoding",
    }
    | {
        "content-length",
        "content-type",
        "expect",
        "host",
        "origin",
        "pragma",
        "range",
        "transfer-encoding",
        "user-agent",
    }
    | {"x-requested-with", "title", "priority", "tags"}
)
_QUERY: Final = re.compile(r"(?<=\S)\?([\w.%\[\]-]+=[^\s\"'<>#]*)")
_PAIR: Final = re.compile(r"([^&=]+)=([^&;|`]*)")
_PLAIN_NAME: Final = re.compile(
    r"(?:api-?)?version|async|container|delay|follow|force|format|grace\w*|level|lines|limit|mode|model|name|namespace"
    r"|pod|port|pretty|replicas?|reason|service|signal|since|stderr|stdout|tail|timeout|timestamps|unit|until|wait",
    re.IGNORECASE,
)
_PLAIN_VALUE: Final = re.compile(r"\d{0,3}|true|false|yes|no|on|off", re.IGNORECASE)
_HOOK: Final = re.compile(
    r"(?<![\w-])(?:hooks\.[\w.-]{1,60}|discord(?:app)?\.com/api/webhooks|[\w-]{0,60}\.?webhook\.office\.com"
    r"|outlook\.office(?:365)?\.com/webhook|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot|api\.telegram\.org"
    r"|hc-ping\.com|maker\.ifttt\.com|events\.pagerduty\.com/integration|uptime\.betterstack\.com/api|cronitor\.link"
    r"|webhook\.site)(?::\d+)?/([^\s\"'<>?#;|&)`]+)",
    re.IGNORECASE,
)
_DRAWN: Final = re.compile(r"/(?:web)?hooks?/(?:[\w-]+/)?(?=[A-Za-z_-]*\d)([\w-]{16,})|/([A-Za-z0-9_]{20,})(?![\w.-])")


def header(text: str, word: Word, after: Word | None, behind: Word | None, *, program: str, upto: int) -> Span | None:
    """The value of the header that a client is given in this `word`, or in the one `after` it.

    Where the words are those of an inner shell, it begins `behind` that and may go on `upto` there.
    """
    if _HEADER_HERE.match(word.bare) or (program in _ITEMS and _ITEM.match(word.bare)):
        given, behind = word, after
    elif after is not None and _HEADER_NEXT.fullmatch(word.bare):
        given = after
    else:
        return None
    named, colon, _ = given.bare.partition(":")
    if not colon:  # `-H "$HEADER"`, or the name of a file
        return (given.start, given.end) if "$" in given.bare else None
    if _HEADER_HERE.sub("", named + colon).strip("\"':").lower() in _HARMLESS:
        return None
    start = text.index(":", given.start, given.end) + 1
    start += len(text[start : given.end]) - len(text[start : given.end].lstrip())
    end = given.quoted[-1][1] if given.quoted and text[given.end - 1] in "\"'" else given.end
    if start >= end:
        return None if behind is None else (behind.start, upto)
    return None if text.startswith("//", start) else (start, end)


def queries(text: str) -> Iterator[Span]:
    """The values in the queries of URLs."""
    for query in _QUERY.finditer(text):
        for pair in _PAIR.finditer(text, *query.span(1)):
            if not _PLAIN_NAME.fullmatch(pair[1]) and not _PLAIN_VALUE.fullmatch(pair[2]):
                yield pair.span(2)


def hooks(text: str) -> Iterator[Span]:
    """What hooks are known by, and what in a path was drawn at random."""
    for hook in _HOOK.finditer(text):
        yield hook.span(1)
    for drawn in _DRAWN.finditer(text):
        at = drawn.lastindex or 0
        if at == 1 or _is_mixed(drawn[at]):
            yield drawn.span(at)


def _is_mixed(segment: str) -> bool:
    return all(re.search(kind, segment) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
