"""Rows of the older orchestrator's tables, read from the views: in pages, or as a stream."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, bindparam, text

from mesocosm.store.database import Database
from mesocosm.store.views import NEWEST_ROWS, TOTALS, ordered_rows, shown_rows

_BLOCK = 500
_STREAMED = 1_000


class LegacyRow(msgspec.Struct, frozen=True):
    """The columns of a row of `benchmark_runs` that summaries need."""

    run_id: str
    benchmark_id: str
    agent: str
    provider: str
    model: str
    status: str
    attempt: int
    score: float | None
    unit: str | None
    higher_is_better: int | None
    started_at: str
    ended_at: str | None
    benchmark_version: str | None
    high_score_label: str | None
    high_score_value: float | None
    delta_to_high_score: float | None


class LegacyViews:
    """Rows of `benchmark_runs` and `run_groups`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def by_agent(self, limit: int, *, desc: bool = False) -> list[dict[str, Any]]:
        """Return the first (with `desc` the last) `limit` rows by agent and run id, as shown in a list of runs."""
        ordered, wanted = text(ordered_rows(desc=desc)), text(shown_rows(":ids"))
        wanted = wanted.bindparams(bindparam("ids", expanding=True))

        def work(connection: Connection) -> list[dict[str, Any]]:
            ids = list(connection.scalars(ordered, {"most": limit}))
            found: dict[str, dict[str, Any]] = {}
            for start in range(0, len(ids), _BLOCK):
                rows = connection.execute(wanted, {"ids": ids[start : start + _BLOCK]}).mappings()
                found |= {row["run_id"]: dict(row) for row in rows}
            return [found[one] for one in ids if one in found]

        return self._database.read(work)

    def lines(self) -> Iterator[LegacyRow]:
        """Stream all rows of `benchmark_runs`, unordered."""
        names = LegacyRow.__struct_fields__
        for row in self._stream(f"SELECT {', '.join(names)} FROM benchmark_runs"):  # noqa: S608
            yield LegacyRow(*row)

    def newest_runs(self, limit: int) -> Iterator[dict[str, Any]]:
        """Yield the newest rows of `benchmark_runs` with all columns, reading a few hundred at a time."""
        yield from self._rows_in_order("benchmark_runs", "run_id", NEWEST_ROWS, limit)

    def newest_groups(self, limit: int) -> Iterator[dict[str, Any]]:
        """Yield the newest rows of `run_groups` with all columns, reading a few hundred at a time."""
        newest = "SELECT id FROM invocations ORDER BY created_at DESC, id DESC LIMIT :most"
        yield from self._rows_in_order("run_groups", "run_group_id", newest, limit)

    def totals(self) -> tuple[int, int]:
        """Return the number of rows of `benchmark_runs` and of `run_groups`."""

        def work(connection: Connection) -> tuple[int, int]:
            rows, groups = connection.execute(text(TOTALS)).one()
            return int(rows), int(groups)

        return self._database.read(work)

    def _rows_in_order(self, view: str, key: str, ordered: str, limit: int) -> Iterator[dict[str, Any]]:
        ids = self._database.read(lambda connection: list(connection.scalars(text(ordered), {"most": limit})))
        for start in range(0, len(ids), _BLOCK):
            yield from self._whole_rows(view, key, ids[start : start + _BLOCK])

    def _whole_rows(self, view: str, key: str, ids: Sequence[str]) -> list[dict[str, Any]]:
        wanted = text(f"SELECT * FROM {view} WHERE {key} IN :ids")  # noqa: S608
        wanted = wanted.bindparams(bindparam("ids", expanding=True))

        def work(connection: Connection) -> list[dict[str, Any]]:
            found = {row[key]: dict(row) for row in connection.execute(wanted, {"ids": list(ids)}).mappings()}
            return [found[one] for one in ids if one in found]

        return self._database.read(work)

    def _stream(self, query: str) -> Iterator[Sequence[Any]]:
        with self._database.once() as connection:
            yield from connection.execution_options(yield_per=_STREAMED).execute(text(query))
