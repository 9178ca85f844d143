"""Models that administrators of a server added or changed, with keys as ciphertexts: the store has no key."""

import time

import msgspec
from sqlalchemy import delete, func, select

from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.store.database import Database
from mesocosm.store.rows import plain, record_of
from mesocosm.store.schema import models

MOST = 500
"""Maximum number of models."""


class ModelRow(msgspec.Struct, frozen=True):
    """A model: its entry as JSON, and its encrypted key, empty without one of its own."""

    name: str
    entry: str
    sealed: str = ""


class Models:
    """The models of a server besides those of its settings."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self) -> tuple[ModelRow, ...]:
        """Return the models, oldest first."""
        wanted = select(models.c.name, models.c.entry, models.c.sealed)
        rows = self._database.all(wanted.order_by(models.c.created_at, models.c.name))
        return tuple(record_of(ModelRow, row) for row in rows)

    def save(self, model: ModelRow) -> None:
        """Save a model, in place of an earlier one with its name. Raises UsageError above MOST."""
        name = plain(model.name)
        changed = {"entry": plain(model.entry), "sealed": plain(model.sealed)}
        fresh = self._database.insert(models).values({"name": name, **changed, "created_at": time.time()})
        others = select(func.count()).where(models.c.name != name)
        if (self._database.scalar(others) or 0) >= MOST:
            raise UsageError(f"at most {MOST} models can be added; delete one first")
        self._database.execute(fresh.on_conflict_do_update(index_elements=["name"], set_=changed))

    def delete(self, name: str) -> None:
        """Delete a model. Raises UnknownName."""
        if not self._database.execute(delete(models).where(models.c.name == name)):
            raise UnknownName(f"there is no added model {name!r}; it may have been deleted")
