"""Where everything is kept: one SQL schema, SQLite by default and PostgreSQL by URL. Start reading at `store`.

Names are loaded when they are used: SQLAlchemy takes a fifth of a second, and a short command may do without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mesocosm.store.benchmarks import BenchmarkRow
    from mesocosm.store.blobs import Artifact
    from mesocosm.store.changes import ChangeWatch, RunChanges, RunState
    from mesocosm.store.conversation import MessagePage
    from mesocosm.store.episode_lists import EPISODE_SORTS
    from mesocosm.store.event_search import EventPage
    from mesocosm.store.filters import EpisodeFilter, RunFilter
    from mesocosm.store.lease_owner import abandoned, alive, this_process
    from mesocosm.store.leases import Recovered
    from mesocosm.store.legacy_views import LegacyRow
    from mesocosm.store.revision import DATABASE_NAME
    from mesocosm.store.run_lists import SORTS, RunFacets
    from mesocosm.store.series import Histogram, PlanBin, RunSeries, TimeBin
    from mesocosm.store.store import Store, open_store
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
    "LegacyRow",
    "MessagePage",
    "PlanBin",
    "Recovered",
    "RunChanges",
    "RunFacets",
    "RunFilter",
    "RunSeries",
    "RunState",
    "Store",
    "TimeBin",
    "ChangeWatch",
    "abandoned",
    "alive",
    "open_store",
    "this_process",
]

_HOMES = {
    "benchmarks": ("BenchmarkRow",),
    "blobs": ("Artifact",),
    "changes": ("RunChanges", "RunState", "ChangeWatch"),
    "conversation": ("MessagePage",),
    "episode_lists": ("EPISODE_SORTS",),
    "filters": ("EpisodeFilter", "RunFilter"),
    "lease_owner": ("abandoned", "alive", "this_process"),
    "leases": ("Recovered",),
    "legacy_views": ("LegacyRow",),
    "revision": ("DATABASE_NAME",),
    "run_lists": ("SORTS", "RunFacets"),
    "event_search": ("EventPage",),
    "series": ("Histogram", "PlanBin", "RunSeries", "TimeBin"),
    "store": ("Store", "open_store"),
    "views": ("INTERRUPTED",),
}


def __getattr__(name: str) -> Any:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value
