"""Persistent storage: one SQL schema, in SQLite by default, or PostgreSQL by URL. Start reading at `store`.

Both names are imported lazily: SQLAlchemy takes a fifth of a second to import, and short commands may not need it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mesocosm.store.store import Store, open_store

__all__ = ["Store", "open_store"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mesocosm.store import store

    return getattr(store, name)
