"""How are numbers and spans written? PURE."""

from __future__ import annotations

from shlex import quote

from fuzzer.report.plain import visible


def tokens(count: int | None) -> str:
    """262144 -> 262,144; nothing known -> a dash."""
    return "-" if count is None else f"{count:,}"


def span(seconds: float) -> str:
    """A span in the units that a reader thinks in: 0.41 s, 12.3 s, 3m 12s, 1h 04m."""
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest:02d}s"
    return f"{minutes // 60}h {minutes % 60:02d}m"


def argument(word: object) -> str:
    """One word of a command line that is shown, as a shell takes it: in one line, and without what nobody would see."""
    return quote(visible(str(word)).replace("\n", " "))


def in_database(db: str) -> str:
    """What a command line ends with so that it reads this record; nothing where it is the default one."""
    return "" if db == "runs.db" else f" --db {argument(db)}"


PLURALS = {"canary": "canaries", "pass": "passes"}


def plural(count: int, thing: str) -> str:
    """1 death, 2 deaths."""
    return f"{count:,} {thing if count == 1 else PLURALS.get(thing, thing + 's')}"
