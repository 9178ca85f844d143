"""Run groups: the request of one command, and the outcome of each benchmark."""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, RowMapping, case, exists, func, select, update

from mesocosm.core.failure import UnknownName
from mesocosm.core.group import Outcome, OutcomeStatus, RunGroup
from mesocosm.store.database import Database, Insert
from mesocosm.store.lease_owner import this_process
from mesocosm.store.lookup import resolve
from mesocosm.store.rows import json_text, plain, record_of, values_of
from mesocosm.store.schema import invocations, outcomes, runs

_objects = msgspec.json.Decoder(dict[str, Any])
_words = msgspec.json.Decoder(tuple[str, ...])


class Groups:
    """Run groups and their outcomes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, group: RunGroup) -> None:
        """Insert a group or replace the one with its id, and record this process as the one executing it."""
        values = {**group_values(group), "holder": json_text(this_process())}
        statement = self._database.insert(invocations).values(values)
        new = {name: value for name, value in values.items() if name != "id"}
        statement = statement.on_conflict_do_update(index_elements=["id"], set_=new)
        self._database.execute(statement)

    def finish(self, group_id: str, at: float) -> None:
        """Record that a group finished at `at` (UNIX seconds). Raises UnknownName."""
        over = update(invocations).where(invocations.c.id == group_id).values(finished_at=at)
        if not self._database.execute(over):
            raise UnknownName(f"there is no group {group_id!r}; it was never added, or belongs to another store")

    def get(self, group_id: str) -> RunGroup:
        """Return a group by id or unique prefix. Raises UnknownName with a suggestion."""

        def work(connection: Connection) -> RunGroup:
            found = resolve(connection, invocations, group_id, "group")
            return group_from(connection.execute(select(invocations).where(invocations.c.id == found)).mappings().one())

        return self._database.read(work)

    def save_outcome(self, outcome: Outcome) -> None:
        """Insert an outcome, or replace the one at its position in the group.

        A run that is not stored yet is referred to once it is added. Run and signature of the old outcome stay if the
        new one has none. Raises UnknownName if the group was never added.
        """
        statement = save_statement(self._database.insert(outcomes), outcome)
        known = select(invocations.c.id).where(invocations.c.id == outcome.group_id)

        def work(connection: Connection) -> bool:
            if connection.scalar(known) is None:
                return False
            connection.execute(statement)
            return True

        if not self._database.write(work):
            raise UnknownName(f"there is no group {outcome.group_id!r}; add the group before its outcomes")

    def insert(self, group: RunGroup, found: Sequence[Outcome]) -> None:
        """Insert an imported group and its outcomes, keeping existing ones. Running outcomes become stopped ones."""
        last = max([group.created_at, *(outcome.at for outcome in found)])
        values = group_values(msgspec.structs.replace(group, finished_at=group.finished_at or last))
        statement = self._database.insert(invocations).values(values)
        # Adding a run inserts a bare row for its group, with nothing but the time: that one may be replaced.
        bare = (invocations.c.created_by == "") & invocations.c.holder.is_(None)
        new = {name: value for name, value in values.items() if name != "id"}
        statement = statement.on_conflict_do_update(index_elements=["id"], set_=new, where=bare)

        def work(connection: Connection) -> None:
            connection.execute(statement)
            for outcome in found:
                if outcome.status is OutcomeStatus.RUNNING:
                    outcome = msgspec.structs.replace(outcome, status=OutcomeStatus.STOPPED)  # noqa: PLW2901
                insert = self._database.insert(outcomes).values(outcome_values(outcome))
                connection.execute(insert.on_conflict_do_nothing())

        self._database.write(work)

    def outcomes(self, group_id: str) -> tuple[Outcome, ...]:
        """Return the outcomes of a group so far, ordered by position."""
        return self._outcomes(outcomes.c.group_id == group_id)

    def outcomes_of_comparison(self, comparison_id: str) -> tuple[Outcome, ...]:
        """Return the outcomes of all groups of a comparison, oldest group first; empty if it is unknown."""
        return self._outcomes(outcomes.c.comparison_id == comparison_id) if comparison_id else ()

    def _outcomes(self, condition: ColumnElement[bool]) -> tuple[Outcome, ...]:
        group = select(invocations.c.created_at).where(invocations.c.id == outcomes.c.group_id).scalar_subquery()
        wanted = select(outcomes).where(condition).order_by(group, outcomes.c.group_id, outcomes.c.position)
        return tuple(map(outcome_from, self._database.all(wanted)))

    def failed_to_begin(self, signature: str) -> bool:
        """Return whether an experiment was requested before and no run could be created."""
        begun = (OutcomeStatus.FAILED.value, OutcomeStatus.INCOMPATIBLE.value, OutcomeStatus.STOPPED.value)
        mine = outcomes.c.signature == plain(signature), outcomes.c.status.in_(begun), outcomes.c.ran.is_(False)
        wanted = select(outcomes.c.group_id).where(*mine).limit(1)
        return self._database.scalar(wanted) is not None


def group_values(group: RunGroup) -> dict[str, Any]:
    """Return a group as column values."""
    return values_of(
        group, **{name: json_text(getattr(group, name)) for name in ("request", "benchmarks", "repository")}
    )


def group_from(fields: RowMapping) -> RunGroup:
    """Return the group of a row."""
    return record_of(
        RunGroup,
        fields,
        request=_objects.decode(fields["request"]),
        benchmarks=_words.decode(fields["benchmarks"]),
        repository=_objects.decode(fields["repository"]),
    )


def outcome_values(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as column values; `run_id` is looked up, so that only an existing run is referred to."""
    run = select(runs.c.id).where(runs.c.id == outcome.run_id)
    return values_of(
        outcome,
        status=outcome.status.value,
        extra=json_text(outcome.extra),
        run_id=run.scalar_subquery(),
        ran=exists(run),
    )


def save_statement(statement: Insert, outcome: Outcome) -> Insert:
    """Return the statement that inserts an outcome or replaces the one at its position."""
    values = outcome_values(outcome)
    keys = ("group_id", "position")
    statement = statement.values(values)
    new, old = statement.excluded, outcomes.c
    changed: dict[str, Any] = {name: new[name] for name in values if name not in keys}
    changed["run_id"] = func.coalesce(new["run_id"], old.run_id)
    changed["ran"] = new["ran"] | old.ran
    changed["signature"] = case((new["signature"] == "", old.signature), else_=new["signature"])
    return statement.on_conflict_do_update(index_elements=keys, set_=changed)


def outcome_from(fields: RowMapping) -> Outcome:
    """Return the outcome of a row."""
    status, extra = OutcomeStatus(fields["status"]), _objects.decode(fields["extra"])
    return record_of(Outcome, fields, status=status, extra=extra, run_id=fields["run_id"] or "")
