"""What in a command that speaks HTTP is a secret, whatever its name is? PURE, in linear time.

The values of headers and of queries, but for those that are known to hold none, and for plain words whose name does not
say that they are one; and the paths of the hooks that chats and monitors give out: whoever knows the path may post.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzer.store.shellwords import Word
    from fuzzer.store.spans import Span

_HEADER_NEXT: Final = re.compile(r"-[a-zS]*H|--(?:proxy-)?header")
_HEADER_HERE: Final = re.compile(r"(?:-[a-zS]*H|--(?:proxy-)?header=)(?=[\w.$-]+:)")
_ITEM: Final = re.compile(r"(?=[A-Za-z][\w-]*:(?![/=]|\d{1,5}(?:/|$)))")  # of HTTPie, which takes headers as words
_ITEMS: Final = frozenset({"http", "https", "xh", "xhs"})
_HARMLESS: Final = frozenset({
    "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "connection", "content-encoding",
    "content-length", "content-type", "expect", "host", "origin", "pragma", "priority", "range", "tags", "title",
    "transfer-encoding", "user-agent", "x-envoy-max-retries", "x-envoy-retry-on",
    "x-envoy-upstream-rq-per-try-timeout-ms", "x-envoy-upstream-rq-timeout-ms", "x-litellm-num-retries",
    "x-litellm-timeout", "x-model", "x-priority", "x-requested-with",
})  # fmt: skip
_QUERY: Final = re.compile(r"(?<=\S)\?([\w.%\[\]-]+=[^\s\"'<>#]*)")
_PAIR: Final = re.compile(r"([^&=]+)=([^&;|`]*)")
_PLAIN_NAME: Final = re.compile(
    r"(?:api-?)?version|async|container|delay|follow|force|format|grace\w*|level|lines|limit|mode|model|name|namespace"
    r"|pod|port|pretty|replicas?|reason|service|signal|since|stderr|stdout|tail|timeout|timestamps|unit|until|wait",
    re.IGNORECASE,
)
_PLAIN_VALUE: Final = re.compile(r"\d{0,3}|true|false|yes|no|on|off", re.IGNORECASE)
_TELLING: Final = re.compile(
    r"secret|token(?!iz|s)|key|auth(?!or(?!iz))|cookie|vault|private|(?<!by)pass|pwd|cred|session|sig(?!nal)"
    r"|(?<![a-z])(?:pin|otp|code|tenant)(?![a-z])",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[A-Z]?[a-z]{0,12}\d{0,5}[a-z]{0,2}|[A-Z]{1,3}\d{1,4}[A-Z]?|[A-Z]{1,5}")  # vllm, gpu1, A100
_LONGEST: Final = 16  # characters of a value that is plain
_NUMBER: Final = re.compile(r"\d{0,7}(?:\.\d{0,3})?")  # a timeout, a priority, a length
_URL: Final = re.compile(r"(?<![\w+.-])[a-z][a-z0-9+.-]{0,30}://[^\s\"'<>?#]+", re.IGNORECASE)
_HOOK: Final = re.compile(
    r"(?<![\w-])(?<!(?<!/)/)"  # where a host begins, and no folder
    r"(?:hooks\.[\w-]{2,60}[\w.-]{0,60}|discord(?:app)?\.com/api/webhooks|[\w-]{0,60}\.?webhook\.office\.com"
    r"|outlook\.office(?:365)?\.com/webhook|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot|api\.telegram\.org"
    r"|hc-ping\.com|maker\.ifttt\.com|events\.pagerduty\.com/integration|uptime\.betterstack\.com/api|cronitor\.link"
    r"|webhook\.site)(?::\d+)?/([^\s\"'<>?#;|&)`]+)",
    re.IGNORECASE,
)
_DRAWN: Final = re.compile(r"/(?:web)?hooks?/(?:[\w-]+/)?(?=[A-Za-z_-]*\d)([\w-]{16,})|/([A-Za-z0-9_]{20,})(?![\w.-])")
_QUOTED: Final = re.compile(r"[\"'\\]")
_PARTS: Final = re.compile(r"[^\W_]{8,}")  # that may be drawn at random; shorter ones (480B, 9f86d08) name a build
_LONG: Final = 10  # characters of a part that no name of a model has, mixed


def is_client(name: str) -> bool:
    """Does it take headers? To other programs `-H` is a host, a home, the names of files."""
    return name in _ITEMS or any(client in name.lower() for client in ("curl", "wget"))


def holds_secret(name: str, value: str) -> bool:
    """May a header's value be a secret? Not where it only says which way to go, or is a number of no telling name."""
    is_number = _NUMBER.fullmatch(value) and not _TELLING.search(name)
    return not (is_number or _is_harmless(name, value))


def are_plain(text: str) -> bool:
    """Is it short and made of plain words or numbers: could it stand in any text by chance?"""
    return len(text) <= _LONGEST and (text.isdigit() or _are_words(text))


def header(text: str, word: Word, after: Word | None, behind: Word | None, *, client: str, upto: int) -> Span | None:
    """The value of the header that the `client`, if one is named, is given in this `word`, or in the one `after` it.

    Where the words are those of an inner shell, it begins `behind` that and may go on `upto` there.
    """
    if not client:
        return None
    if _HEADER_HERE.match(word.bare) or (client in _ITEMS and _ITEM.match(word.bare)):
        given, behind = word, after
    elif after is not None and _HEADER_NEXT.fullmatch(word.bare):
        given = after
    else:
        return None
    named, colon, _ = given.bare.partition(":")
    if not colon:  # `-H "$HEADER"`, or the name of a file
        return (given.start, given.end) if "$" in given.bare else None
    name = _HEADER_HERE.sub("", named + colon).strip("\"':").lower()
    span = _value(text, given, behind, upto)
    if span is None:
        return None
    value = text[slice(*span)]
    return None if _is_none(name, value) or _is_harmless(name, _QUOTED.split(value.lstrip("\"'\\"))[0]) else span


def _value(text: str, given: Word, behind: Word | None, upto: int) -> Span | None:
    start = text.index(":", given.start, given.end) + 1
    start += len(text[start : given.end]) - len(text[start : given.end].lstrip())
    end = given.quoted[-1][1] if given.quoted and text[given.end - 1] in "\"'" else given.end
    if start < end:
        return None if text.startswith("//", start) else (start, end)
    if behind is None:
        return None
    is_whole = behind.bare.endswith(("'", '"')) and _are_words(behind.bare.rstrip("\"'"))
    return (behind.start, behind.end if is_whole else upto)


def queries(text: str) -> Iterator[Span]:
    """The values in the queries of URLs."""
    for query in _QUERY.finditer(text):
        for pair in _PAIR.finditer(text, *query.span(1)):
            name, value = pair.groups()
            is_none = _PLAIN_NAME.fullmatch(name) or _PLAIN_VALUE.fullmatch(value) or _is_none(name, value)
            if not is_none:
                yield pair.span(2)


def hooks(text: str) -> Iterator[Span]:
    """What hooks are known by, and what in the path of a URL was drawn at random."""
    for hook in _HOOK.finditer(text):
        if not _are_words(hook[1]):
            yield hook.span(1)
    for drawn in (drawn for url in _URL.finditer(text) for drawn in _DRAWN.finditer(text, *url.span())):
        of_hook, other = drawn.groups(default="")
        if not _are_words(of_hook) or any(map(is_mixed, other.split("_"))):
            yield drawn.span(drawn.lastindex or 0)


def _is_none(name: str, value: str) -> bool:
    """Is a value plain and short, and does its name not say that it is a secret?"""
    bare = value.strip("\"'\\ ")
    return len(bare) <= _LONGEST and _are_words(bare) and not _TELLING.search(name)


def _are_words(text: str) -> bool:
    return all(map(_WORD.fullmatch, re.split(r"[-_.,]", text)))


def _is_harmless(name: str, value: str) -> bool:
    """Is the name known to hold no secret, and was no part of the value drawn at random?"""
    return name.lower() in _HARMLESS and not any(map(is_drawn, _PARTS.findall(value)))


def is_drawn(part: str) -> bool:
    """Was it drawn at random, and is no word, number or name of a build?"""
    return not (part.isalpha() or part.isdigit() or _WORD.fullmatch(part))


def is_mixed(part: str) -> bool:
    """Is it longer, and more mixed, than any part of a model's name?"""
    return len(part) >= _LONG and all(re.search(kind, part) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
