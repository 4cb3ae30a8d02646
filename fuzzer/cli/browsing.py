"""How does Datasette show runs.db: under which titles, in which units, with which facets?"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fuzzer.cli.listening import refuse_taken
from fuzzer.cli.streams import say
from fuzzer.errors import UsageFault
from fuzzer.store import History

if TYPE_CHECKING:
    from collections.abc import Mapping

PLUGINS: Final = Path(__file__).parent / "datasette"
RUN: Final = """
WITH of_probes AS (
    SELECT run, position, seq FROM probes UNION ALL SELECT run, position, seq FROM outcomes
    UNION ALL SELECT run, position, seq FROM canaries UNION ALL SELECT run, position, seq FROM deaths
    UNION ALL SELECT run, position, seq FROM revivals
)
SELECT run, position, at_utc, at_s, kind, seq, what
FROM timeline LEFT JOIN of_probes USING (run, position) WHERE run = :run ORDER BY position
"""
HOME: Final = (
    "<p>Which prompt lengths an engine survived. Rows are never changed; <code>ctxfuzz audit</code> checks that.</p>"
)
# name: (what it answers, the columns to facet by, the column to sort by)
TABLES: Final[Mapping[str, tuple[str, tuple[str, ...], str]]] = {
    "run_states": ("How did each run go?", ("command", "model", "status", "finding"), "started_utc"),
    "boundaries": ("Where are the edges?", ("model", "engine_version", "finding"), "ended_utc"),
    "recommendations": ("Which caps were recommended, on which evidence?", ("model", "finding"), "at_utc"),
    "latest_cap_per_model": ("What is safe, as far as we know?", ("model",), "ended_utc"),
    "decisions": ("Why was each length asked, and what came of it?", ("run", "role", "outcome"), "at_utc"),
    "deaths_by_run": ("What did each run kill, and how?", ("model", "engine_version"), "deaths"),
    "deaths": ("What were the engine's last words?", ("corroboration", "signature"), "at_utc"),
    "runs": ("Who asked what of which build, and when?", ("command", "model", "user"), "at_utc"),
    "probes": ("What was sent, committed before it left?", ("role", "content", "mode"), "at_utc"),
    "outcomes": ("What did each probe show?", ("outcome", "corroboration", "length_source"), "at_utc"),
    "canaries": ("Did the engine really work?", ("purpose", "ok"), "at_utc"),
    "health_events": ("When did health change?", ("status", "fault"), "at_utc"),
    "revivals": ("How long was the engine away?", ("came_back",), "at_utc"),
    "seals": ("How did each run end? Its seal's hash covers all rows before it.", ("status", "finding"), "at_utc"),
    "coverage": ("What did the samples of each fuzz cover?", ("run", "condition"), "samples"),
    "timeline": ("What happened, row by row?", ("run", "kind"), "at_utc"),
    "chain": ("Which hash covers which row, and those before it?", ("run", "kind"), "position"),
}
UNITS: Final = {"_s": "s", "_bytes": "B"}


def browse(db: Path, host: str, port: int) -> None:
    """Serve until Ctrl-C. Raises UsageFault where Datasette is not installed, or cannot serve there.

    Any other signal ends it as it ends every command, and takes Datasette along: it would serve on without us.
    """
    if find_spec("datasette") is None:
        raise UsageFault("Datasette is not installed. Install it with: pip install 'ctxfuzz[browse]'")
    with History.open(db) as history:
        shown = metadata(db.stem, history.columns())
    refuse_taken(host, port)
    with tempfile.TemporaryDirectory() as folder:
        about = Path(folder, "metadata.json")
        about.write_text(json.dumps(shown), encoding="utf-8")
        serve = ["serve", str(db), "--metadata", str(about), "--plugins-dir", str(PLUGINS)]
        code = _until_interrupted([sys.executable, "-m", "datasette", *serve, "--host", host, "--port", str(port)])
    if code:  # of Datasette's own, which means something else among ours
        raise UsageFault(f"Datasette did not serve (it left with {code}): what it said about that is above.")


def _until_interrupted(command: list[str]) -> int:
    """The exit code of what serves; 0 where Ctrl-C ended it, for that is how one leaves."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.run(command, check=False).returncode  # noqa: S603  (our own words)
    except KeyboardInterrupt:
        say("")
        return 0
    finally:
        signal.signal(signal.SIGINT, before)


def metadata(database: str, columns: Mapping[str, list[str]]) -> dict[str, Any]:
    """What Datasette is told of the database; one of an older version has not every view yet."""
    from datasette.utils import tilde_encode  # type: ignore[import-untyped]  # noqa: PLC0415  (an extra)

    leads = "".join(
        f'<li><a href="{tilde_encode(database)}/{name}">{escape(title)}</a></li>'
        for name, (title, _, _) in TABLES.items()
        if name in columns
    )
    start = {"description_html": f"{HOME}<ul>{leads}</ul>"}
    tables = {name: _table(name, columns[name]) for name in TABLES if name in columns}
    hidden = {"_sqlite_migrations": {"hidden": True}}
    run = {"sql": RUN, "hide_sql": True, "title": "One run, row by row", "description": "Everything, in its order."}
    shown = {**start, "tables": {**tables, **hidden}, "queries": {"run": run}}
    return {"title": "ctxfuzz", **start, "databases": {database: shown}}


def _table(name: str, columns: list[str]) -> dict[str, Any]:
    title, facets, sort = TABLES[name]
    units = {column: unit for column in columns for end, unit in UNITS.items() if column.endswith(end)}
    return {"title": title, "facets": list(facets), "sort_desc": sort, "units": units}
