"""The results that a command names, and the runs in them. Nothing here loads what plays runs."""

from typing import TYPE_CHECKING

from mesocosm.cli.main import Options
from mesocosm.cli.progress import ROLLOUT
from mesocosm.core.failure import UnknownName
from mesocosm.core.run import Run

if TYPE_CHECKING:
    from mesocosm.store import SqlStore


def open_results(chosen: Options, *, create: bool = True) -> "SqlStore":
    """Return the store that the options name. Raises UnknownName when it must exist and does not."""
    from mesocosm.store import DATABASE_NAME, open_store

    return open_store(
        chosen.database() or chosen.results() / DATABASE_NAME, create=create, blob_url=chosen.blob_url or ""
    )


def find_run(store: "SqlStore", name: str) -> Run:
    """Return a run by id, a unique beginning of one, its name, or `last`. Raises UnknownName."""
    if name == "last":
        newest = store.list_runs(limit=1).items
        if not newest:
            raise UnknownName(f"there is no run in {store.place} yet; run something first")
        name = newest[0].id
    try:
        return store.get_run(name)
    except UnknownName:
        called = store.run_named(name) if name else None
        if called is None:
            raise
        return called


def find_evaluation(store: "SqlStore", name: str) -> Run:
    """Return the evaluation run called `name`, or with that id, the beginning of one, or `last`. Raises UnknownName."""
    from mesocosm.store import RunFilter

    named = store.run_named(name, ROLLOUT)
    if named is not None:
        return store.get_run(named.id)
    if name == "last":
        newest = store.list_runs(RunFilter(kinds=(ROLLOUT,)), limit=1).items
        if not newest:
            raise UnknownName("there is no evaluation run yet; `mesocosm eval run-local CONFIG` makes one")
        return store.get_run(newest[0].id)
    try:
        return find_run(store, name)
    except UnknownName as error:
        newest = store.list_runs(RunFilter(kinds=(ROLLOUT,)), limit=1).items
        if not newest or "newest" not in str(error):
            raise
        called = newest[0].name or newest[0].id
        raise UnknownName(f"there is no run {name!r}; the newest evaluation is {called}") from None
