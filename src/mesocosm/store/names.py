"""Runs by the names that people gave them."""

import time

from sqlalchemy import Connection, select, update

from mesocosm.core.failure import UnknownName
from mesocosm.core.run import Run
from mesocosm.store.database import Database
from mesocosm.store.lines import key
from mesocosm.store.rows import json_text, plain, run_from, search_text
from mesocosm.store.schema import run_lines, runs


class Names:
    """Part of the store."""

    _database: Database

    def run_named(self, name: str, kind: str = "") -> Run | None:
        """Return the newest run (of a kind) with exactly this name, None where there is none."""
        lines = select(run_lines.c.run_id).where(run_lines.c.name == key(name.casefold()))
        if kind:
            lines = lines.where(run_lines.c.kind == key(kind))
        wanted = (
            select(runs)
            .where(runs.c.id.in_(lines), runs.c.name == plain(name))
            .order_by(runs.c.created_at.desc(), runs.c.id.desc())
            .limit(1)
        )

        def work(connection: Connection) -> Run | None:
            fields = connection.execute(wanted).mappings().one_or_none()
            return None if fields is None else run_from(fields)

        return self._database.read(work)

    def rename_run(self, run: Run, name: str) -> None:
        """Give a run another name. Raises UnknownName when it is gone."""
        fields = (name, run.benchmark, run.benchmark_title, run.model, run.agent)
        search = search_text(run.id, fields, run.tags)

        def work(connection: Connection) -> int:
            known = connection.execute(
                update(runs).where(runs.c.id == run.id).values(name=plain(name), search=search)
            ).rowcount
            values = {"name": key(name.casefold()), "search": search, "changed_at": time.time()}
            connection.execute(update(run_lines).where(run_lines.c.run_id == run.id).values(values))
            return known

        if not self._database.write(work):
            raise UnknownName(f"there is no run {run.id!r}; it may have been deleted")
        run.name = name

    def save_terms(self, run: Run) -> None:
        """Write spec, info and provenance of a run anew, as after a change of how its scores are read."""
        values = {"spec": json_text(run.spec), "info": json_text(run.info), "provenance": json_text(run.provenance)}

        def work(connection: Connection) -> int:
            return connection.execute(update(runs).where(runs.c.id == run.id).values(values)).rowcount

        if not self._database.write(work):
            raise UnknownName(f"there is no run {run.id!r}; it may have been deleted")
