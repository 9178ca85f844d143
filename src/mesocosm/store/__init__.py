"""Where everything is kept: one SQL schema, SQLite by default and PostgreSQL by URL. Start reading at `store`."""

from mesocosm.store.blobs import Artifact
from mesocosm.store.database import DATABASE_NAME
from mesocosm.store.filters import EpisodeFilter, RunFilter
from mesocosm.store.holder import abandoned, alive, this_process
from mesocosm.store.queries import SORTS, BenchmarkRow, BestRun, RunFacets
from mesocosm.store.store import SqlStore, open_store

__all__ = [
    "DATABASE_NAME",
    "SORTS",
    "Artifact",
    "BenchmarkRow",
    "BestRun",
    "EpisodeFilter",
    "RunFacets",
    "RunFilter",
    "SqlStore",
    "abandoned",
    "alive",
    "open_store",
    "this_process",
]
