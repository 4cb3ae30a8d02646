"""How does a cell of runs.db look in Datasette? A plugin of it: links, units, folded JSON, untrusted text made inert.

HTML is escaped by Datasette itself; what it lets through are control characters and reversed writing.
"""

# ruff: noqa: INP001  (Datasette takes every module of the folder for a plugin)

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from datasette import hookimpl  # type: ignore[import-untyped]
from markupsafe import Markup

from fuzzer.report.plain import plain

if TYPE_CHECKING:
    from datasette.app import Datasette  # type: ignore[import-untyped]

LONGEST = 2_000  # characters of a line


@hookimpl  # type: ignore[untyped-decorator]
def render_cell(
    row: Mapping[str, object], value: object, column: str, database: str, datasette: Datasette
) -> Markup | str | None:
    """A run leads to its rows, a probe's number to why it was asked and what came of it. None: as Datasette does."""
    match value:
        case _ if value is not None and column in {"run", "seq"} and "run" in row.keys():  # noqa: SIM118  (no dict)
            return _link(str(row["run"]), value, column, database, datasette)
        case float() if column.endswith("_s"):
            return Markup("{:.3f}&nbsp;s").format(value)
        case str() if column.endswith("_json"):
            return _folded(value)
        case str() if column.endswith("_utc"):
            return Markup('<span style="white-space: nowrap">{}</span>').format(value)
        case str():
            return _inert(value)
        case _:
            return None


def _link(run: str, value: object, column: str, database: str, datasette: Datasette) -> Markup:
    if column == "run":
        href = f"{datasette.urls.database(database)}/run?{urlencode({'run': run})}"
    else:
        href = f"{datasette.urls.table(database, 'decisions')}?{urlencode({'run': run, 'seq': str(value)})}"
    return Markup('<a href="{}">{}</a>').format(href, value)


def _inert(text: str) -> str:
    return "\n".join(plain(line, LONGEST) for line in text.splitlines())


def _folded(text: str) -> Markup | str:
    """JSON that opens at a click: one cell of it would be wider than the screen."""
    try:
        whole = json.loads(text)
    except ValueError:  # somebody else wrote that row
        return _inert(text)
    if not whole:
        return text
    summary = f"{len(whole)} {'fields' if isinstance(whole, dict) else 'items'}"
    return Markup("<details><summary>{}</summary><pre>{}</pre></details>").format(summary, json.dumps(whole, indent=2))
