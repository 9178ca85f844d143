"""Open the results that a command names, and find runs in them, without importing what executes runs."""

import re
from typing import TYPE_CHECKING

import click

from mesocosm.cli.command import CommonOptions, options
from mesocosm.cli.render import ROLLOUT
from mesocosm.core.failure import InfrastructureError, UnknownName
from mesocosm.core.run import Run

if TYPE_CHECKING:
    from mesocosm.store import Store


_RECENT = re.compile(r"last(?:~([0-9]{1,3}))?")
CHECKED_S = 0.25
"""Maximum seconds for checking a SQLite file when it is opened.

Enough for 130 to 200 MB that are in memory, or for 5 to 9 MB of a cold file on a slow disk.
"""


def open_results(chosen: CommonOptions, *, create: bool = True, checked: bool = True) -> "Store":
    """Return the store that the options name.

    Raises UnknownName if it must exist and does not, and InfrastructureError for a SQLite file with damaged pages. Pass
    `checked=False` if the caller checks the file itself.
    """
    from mesocosm.store import open_store
    from mesocosm.store.revision import DATABASE_NAME

    store = open_store(
        chosen.database() or chosen.results() / DATABASE_NAME, create=create, blob_url=chosen.blob_url or ""
    )
    if checked and (damage := store.verification.check_file(CHECKED_S)):
        place = store.place
        store.close()
        raise InfrastructureError(
            f"the results database {place} is damaged ({damage}); mesocosm verify names what is lost. Restore a "
            "backup, or save what `sqlite3 FILE .recover` still reads"
        )
    return store


def command_store(*, create: bool = False) -> "Store":
    """Return the running command's store, which is closed with the command. Raises UnknownName without results."""
    store = open_results(options(), create=create)
    click.get_current_context().call_on_close(store.close)
    return store


def find_run(store: "Store", name: str) -> Run:
    """Return a run by id, a unique prefix of one, its name, `last`, or `last~N` (N before it). Raises UnknownName.

    `last` is never a scan, but what was scanned last.
    """
    if recent := _RECENT.fullmatch(name):
        back = int(recent[1] or 0)
        from mesocosm.api.places import newest_runs

        newest = newest_runs(store, back + 1)
        if not newest:
            raise UnknownName(f"there is no run in {store.place} yet; run something first")
        if len(newest) <= back:
            raise UnknownName(f"there are only {len(newest)} runs in {store.place}, so {name} is none")
        name = newest[back].id
    try:
        return store.runs.get(name)
    except UnknownName:
        called = store.runs.named(name) if name else None
        if called is None:
            raise
        return called


def find_evaluation(store: "Store", name: str) -> Run:
    """Return the evaluation run called `name`, or with that id or id prefix, or `last`. Raises UnknownName."""
    from mesocosm.store.filters import RunFilter

    named = store.runs.named(name, ROLLOUT)
    if named is not None:
        return store.runs.get(named.id)
    if name == "last":
        newest = store.runs.list(RunFilter(kinds=(ROLLOUT,)), limit=1).items
        if not newest:
            raise UnknownName("there is no evaluation run yet; `mesocosm eval run-local CONFIG` makes one")
        return store.runs.get(newest[0].id)
    try:
        return find_run(store, name)
    except UnknownName as error:
        newest = store.runs.list(RunFilter(kinds=(ROLLOUT,)), limit=1).items
        if "newest" not in str(error):
            raise
        if not newest:
            first = "`mesocosm eval run-local CONFIG` makes the first"
            raise UnknownName(f"there is no evaluation {name!r}, nor any other; {first}") from None
        called = newest[0].name or newest[0].id
        raise UnknownName(f"there is no run {name!r}; the newest evaluation is {called}") from None
