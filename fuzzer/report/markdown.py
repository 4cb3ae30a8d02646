"""How does a run read in a ticket or a pull request? PURE: Markdown in which nothing of a server's is markup."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fuzzer.report.plain import plain
from fuzzer.report.words import span, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fuzzer.report.dossier import Dossier

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|<>~&@:-])")


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
        yield from (f"    {line}" for line in of.told.text.splitlines())  # indented, it is no markup
        yield ""
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
            yield f"- {whose}, {death.corroboration}: {inert(death.signature)}"
            yield from (f"      {plain(line, 1000)}" for line in death.last_words.splitlines())
        yield ""
    yield "## Conditions\n"
    yield from _table(("", ""), of.conditions)
    yield "## Environment\n"
    yield from _table(("", ""), of.environment)
    yield "## Check it\n"
    for command, shows in of.checks:
        yield f"- {shows}:\n\n      {command}\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(inert(cell) for cell in row)} |"
    yield ""


def inert(text: str) -> str:
    """`text` in one line, its markup escaped."""
    return _MARKUP.sub(r"\\\1", plain(text, 1000))
