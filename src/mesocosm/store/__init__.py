"""Where everything is kept: one SQL schema, SQLite by default and PostgreSQL by URL. Start reading at `store`."""

from mesocosm.store.blobs import Artifact
from mesocosm.store.changes import RunChanges, RunState, Watch
from mesocosm.store.conversation import MessagePage
from mesocosm.store.database import DATABASE_NAME
from mesocosm.store.episode_lists import EPISODE_SORTS
from mesocosm.store.filters import EpisodeFilter, RunFilter
from mesocosm.store.holder import abandoned, alive, this_process
from mesocosm.store.ledger import LedgerLine
from mesocosm.store.queries import SORTS, BenchmarkRow, BestRun, RunFacets
from mesocosm.store.recovery import Recovered
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
    "BestRun",
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
