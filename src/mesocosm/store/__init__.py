"""Where everything is kept: one SQL schema, SQLite by default and PostgreSQL by URL. Start reading at `store`.

Both names are loaded when they are used: SQLAlchemy takes a fifth of a second, and a short command may do without it.
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
