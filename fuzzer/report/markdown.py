"""How does a run read in a ticket or a pull request? PURE: Markdown in which nothing of a server's is markup."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fuzzer.report.plain import plain, visible
from fuzzer.report.words import span, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fuzzer.report.dossier import Dossier

# A list begins only a line; without brackets parentheses are none. The last: GitHub makes a link of it.
_MARKUP = re.compile(r"(^[+-]|[\\`*_{}\[\]#!|<>~&@:]|(?<=www)\.)")


def markdown(of: Dossier) -> str:
    """The report, short enough to be pasted."""
    return "\n".join(_lines(of)) + "\n"


def _lines(of: Dossier) -> Iterator[str]:
    summary = of.summary
    yield f"# {inert(summary.title if summary else f'Run {of.run.run}: {of.run.status}')}"
    yield ""
    if summary is not None:
        yield from _table(("", ""), [(label, text) for label, text in summary.rows])
    if of.told is not None:
        yield f"## {of.told.key.capitalize()}\n"
        yield from _verbatim(of.told.text.splitlines())
    yield "## Probes\n"
    rows = [
        (
            str(seen.seq),
            seen.spec.role,
            tokens(seen.length),
            str(seen.spec.output_tokens),
            seen.outcome,
            span(seen.duration_s),
            seen.signature or seen.reason,
        )
        for seen in of.seen
    ]
    yield from _table(("#", "role", "prompt tokens", "output", "outcome", "took", "what it showed"), rows)
    if of.deaths:
        yield "## Deaths\n"
        for death in of.deaths:
            whose = "nobody's" if death.seq is None else f"probe {death.seq}"
            yield f"- {whose}, {inert(death.corroboration)}: {inert(death.signature)}\n"
            yield from _verbatim((plain(line, 1000) for line in death.last_words.splitlines()), within="  ")
    yield "## Conditions\n"
    yield from _table(("", ""), of.conditions)
    yield "## Environment\n"
    yield from _table(("", ""), of.environment)
    yield "## Check it\n"
    for command, shows in of.checks:
        yield f"- {shows}:\n"
        yield from _verbatim([command], within="  ")


def _verbatim(lines: Iterable[str], within: str = "") -> Iterator[str]:
    """Lines of code, in which nothing is markup, after an empty line: right after a text they would go on with it.

    `within` is the indent of the list's item that they belong to.
    """
    yield from (f"{within}    {visible(line)}" for line in lines)
    yield ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(inert(cell) for cell in row)} |"
    yield ""


def inert(text: str) -> str:
    """`text` in one line, its markup escaped."""
    return _MARKUP.sub(r"\\\1", plain(text, 1000))
