"""The list of runs read straight from a SQLite file, for a command that exits at once.

Importing the store would take three times as long as the query.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mesocosm.store.revision import HEAD, VERSION_TABLE
from mesocosm.store.views import ordered_rows, shown_rows

_BLOCK = 500


def read_ledger(path: Path, limit: int, *, desc: bool = False) -> list[dict[str, Any]] | None:
    """Return what `LegacyViews.by_agent` returns; None if the file cannot be read as it is.

    That is, if it is missing, older or newer, locked, or no database. Opening the store then fixes or reports it.
    """
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            found = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()  # noqa: S608
            if found is None or found[0] != HEAD:
                return None
            connection.execute("BEGIN")
            return _rows(connection, limit, desc=desc)
    except sqlite3.Error:
        return None


def _rows(connection: sqlite3.Connection, limit: int, *, desc: bool) -> list[dict[str, Any]]:
    ids = [row[0] for row in connection.execute(ordered_rows(desc=desc), {"most": limit})]
    found: dict[str, dict[str, Any]] = {}
    for start in range(0, len(ids), _BLOCK):
        some = ids[start : start + _BLOCK]
        places = ", ".join("?" * len(some))
        found |= {row["run_id"]: dict(row) for row in connection.execute(shown_rows(f"({places})"), some)}
    return [found[one] for one in ids if one in found]
