"""How do rows of runs.db lead to each other in Datasette? A plugin of it: runs and probes become links."""

# ruff: noqa: INP001  (Datasette takes every module of the folder for a plugin)

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from datasette import hookimpl  # type: ignore[import-untyped]
from markupsafe import Markup

if TYPE_CHECKING:
    from datasette.app import Datasette  # type: ignore[import-untyped]


@hookimpl  # type: ignore[untyped-decorator]
def render_cell(
    row: Mapping[str, object], value: object, column: str, database: str, datasette: Datasette
) -> Markup | None:
    """A run leads to its state, a probe's number to its intent and outcome; everything else stays as it is."""
    if column not in {"run", "seq"} or value is None or "run" not in row.keys():  # noqa: SIM118  (a row, no dict)
        return None
    if column == "run":
        href = f"{datasette.urls.database(database)}/run?{urlencode({'run': str(value)})}"
    else:
        href = f"{datasette.urls.table(database, 'decisions')}?{urlencode({'run': str(row['run']), 'seq': str(value)})}"
    return Markup('<a href="{}">{}</a>').format(href, value)
