"""How does a run read as a page? One self-contained HTML file: no script, no network, every text escaped."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined

from fuzzer.model import Outcome
from fuzzer.report.figures.lifeline import lifeline
from fuzzer.report.figures.measured import acceptance, speeds
from fuzzer.report.figures.search import narrowing, strip
from fuzzer.report.plain import plain, visible
from fuzzer.report.probes import tail
from fuzzer.report.words import plural, span, tokens

if TYPE_CHECKING:
    from jinja2 import Template

    from fuzzer.report.dossier import Dossier


def html(of: Dossier) -> str:
    """The page. Whatever a server said is plain text in it."""
    return _template().render(
        of=of,
        summary=of.summary,
        strip=strip(of),
        narrowing=narrowing(of),
        acceptance=acceptance(of),
        speeds=speeds(of),
        lifeline=lifeline(of),
        hashes={intent.seq: intent.body_sha256 for intent in of.intents},
        outcomes=[outcome for outcome in Outcome if any(seen.outcome is outcome for seen in of.seen)],
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("fuzzer.report"),
        autoescape=True,
        finalize=_seen,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"plain": plain, "tokens": tokens, "span": span, "tail": tail, "lines": _lines}
    environment.globals |= {"plural": plural}
    return environment.get_template("report.html")


def _seen(value: object) -> object:
    """A value, of a text only what can be seen. What is markup already is the template's own."""
    return visible(value) if type(value) is str else value


def _lines(text: str) -> list[str]:
    """A log's lines, each fit to be shown."""
    return [plain(line, 1000) for line in text.splitlines()]
