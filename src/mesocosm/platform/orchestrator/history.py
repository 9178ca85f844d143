"""The list of runs as the older tool shows it."""

from typing import Any

from mesocosm.store import SqlStore


def shown_runs(store: SqlStore, *, limit: int = 200, desc: bool = False) -> list[dict[str, Any]]:
    """Return rows of runs, sorted by agent and run id, at most `limit`; the last ones first with `desc`.

    Keys: run_id, started_at (ISO 8601, UTC), benchmark_id, agent, provider, model, status, score (None without one).
    Rows without a run of their own (skipped, incompatible, failed before a run) are among them.
    """
    return store.ledger_by_agent(limit, desc=desc)
