"""Where everything is kept: one SQL schema, SQLite by default and PostgreSQL by URL. Start reading at `store`.

Names are loaded when they are used: SQLAlchemy takes a fifth of a second, and a short command may do without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mesocosm.store.blobs import Artifact
    from mesocosm.store.changes import RunChanges, RunState, Watch
    from mesocosm.store.conversation import MessagePage
    from mesocosm.store.episode_lists import EPISODE_SORTS
    from mesocosm.store.filters import EpisodeFilter, RunFilter
    from mesocosm.store.holder import abandoned, alive, this_process
    from mesocosm.store.ledger import LedgerLine
    from mesocosm.store.queries import SORTS, BenchmarkRow, RunFacets
    from mesocosm.store.recovery import Recovered
    from mesocosm.store.revision import DATABASE_NAME
    from mesocosm.store.search import EventPage
    from mesocosm.store.series import Histogram, PlanBin, RunSeries, TimeBin
    from mesocosm.store.store import SqlStore, open_store
    from mesocosm.store.views import INTERRUPTED

__all__ = [
    "DATABASE_NAME",
    "EPISODE_SORTS",
    "INTERRUPTED",
    "SORTS",
    "Artifact",
    "BenchmarkRow",
    "EpisodeFilter",
    "EventPage",
    "Histogram",
    "LedgerLine",
    "MessagePage",
    "PlanBin",
    "Recovered",
    "RunChanges",
    "RunFacets",
    "RunFilter",
    "RunSeries",
    "RunState",
    "SqlStore",
    "TimeBin",
    "Watch",
    "abandoned",
    "alive",
    "open_store",
    "this_process",
]

_HOMES = {
    "blobs": ("Artifact",),
    "changes": (
        "RunChanges",
        "RunState",
        "Watch",
    ),
    "conversation": ("MessagePage",),
    "episode_lists": ("EPISODE_SORTS",),
    "filters": (
        "EpisodeFilter",
        "RunFilter",
    ),
    "holder": (
        "abandoned",
        "alive",
        "this_process",
    ),
    "ledger": ("LedgerLine",),
    "queries": (
        "SORTS",
        "BenchmarkRow",
        "RunFacets",
    ),
    "recovery": ("Recovered",),
    "revision": ("DATABASE_NAME",),
    "search": ("EventPage",),
    "series": (
        "Histogram",
        "PlanBin",
        "RunSeries",
        "TimeBin",
    ),
    "store": (
        "SqlStore",
        "open_store",
    ),
    "views": ("INTERRUPTED",),
}


def __getattr__(name: str) -> Any:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value
