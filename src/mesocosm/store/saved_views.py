"""Saved views: named searches of the list of runs, each kept for its owner."""

import time

import msgspec
from sqlalchemy import delete, func, select

from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.store.database import Database
from mesocosm.store.rows import plain, record_of
from mesocosm.store.schema import saved_views

MOST = 50
"""Maximum views of one owner."""


class SavedView(msgspec.Struct, frozen=True):
    """A search of the list of runs with its name; `search` is the query of the page's address."""

    name: str
    search: str


class SavedViews:
    """The saved views of all owners; an owner is an actor of a server, or empty on a laptop."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, owner: str) -> tuple[SavedView, ...]:
        """Return the views of an owner, oldest first."""
        wanted = select(saved_views).where(saved_views.c.owner == owner)
        rows = self._database.all(wanted.order_by(saved_views.c.created_at, saved_views.c.name))
        return tuple(record_of(SavedView, row) for row in rows)

    def save(self, owner: str, view: SavedView) -> None:
        """Save a view, or replace the search of the one with its name. Raises UsageError above MOST."""
        name = plain(view.name)
        values = {"owner": owner, "name": name, "search": plain(view.search), "created_at": time.time()}
        statement = self._database.insert(saved_views).values(values)
        statement = statement.on_conflict_do_update(
            index_elements=["owner", "name"], set_={"search": statement.excluded["search"]}
        )
        others = select(func.count()).where(saved_views.c.owner == owner, saved_views.c.name != name)
        if (self._database.scalar(others) or 0) >= MOST:
            raise UsageError(f"at most {MOST} can be saved; delete one first")
        self._database.execute(statement)

    def delete(self, owner: str, name: str) -> None:
        """Delete a view. Raises UnknownName."""
        mine = delete(saved_views).where(saved_views.c.owner == owner, saved_views.c.name == name)
        if not self._database.execute(mine):
            raise UnknownName(f"there is no saved view {name!r}; it may have been deleted")
