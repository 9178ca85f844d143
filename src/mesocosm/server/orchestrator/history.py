"""The list of runs as the older tool shows it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mesocosm.store.ledger_file import read_ledger
from mesocosm.store.revision import DATABASE_NAME

if TYPE_CHECKING:
    from mesocosm.store import SqlStore


def shown_runs(source: "SqlStore | Path | str", *, limit: int = 200, desc: bool = False) -> list[dict[str, Any]]:
    """Return rows of runs, sorted by agent and run id, at most `limit`; the last ones first with `desc`.

    `source` is an open store, or where one is: a results directory, a SQLite file, a database's URL. A file is answered
    from without opening it as a store, which is much quicker. Keys: run_id, started_at (ISO 8601, UTC), benchmark_id,
    agent, provider, model, status, score (None without one), missing (episodes without a value, by cause). Rows without
    a run of their own (skipped, incompatible, failed before a run) are among them. Raises UnknownName where there are
    no results, UsageError and InfrastructureError where they cannot be read.
    """
    return [_with_missing(row) for row in _rows(source, limit, desc=desc)]


def _with_missing(row: dict[str, Any]) -> dict[str, Any]:
    listed = json.loads(row["metrics"] or "[]")
    missing: dict[str, int] = next((metric.get("missing", {}) for metric in listed if metric.get("primary")), {})
    return {**{name: value for name, value in row.items() if name != "metrics"}, "missing": missing}


def _rows(source: "SqlStore | Path | str", limit: int, *, desc: bool) -> list[dict[str, Any]]:
    if not isinstance(source, Path | str):
        return source.ledger_by_agent(limit, desc=desc)
    if "://" not in str(source):
        path = Path(source)
        rows = read_ledger(path / DATABASE_NAME if path.is_dir() else path, limit, desc=desc)
        if rows is not None:
            return rows
    from mesocosm.store import open_store

    store = open_store(source, create=False)
    try:
        return store.ledger_by_agent(limit, desc=desc)
    finally:
        store.close()
