"""The store: everything kept of runs, in one SQLite file or one PostgreSQL database."""

import os
from collections.abc import Callable, Sequence

from mesocosm.core.episode import Episode
from mesocosm.core.run import Holder, Run, RunStatus
from mesocosm.store.blobs import Blobs
from mesocosm.store.bundle import Bundles
from mesocosm.store.changes import Changes
from mesocosm.store.conversation import Conversations
from mesocosm.store.database import PATIENCE, Database, open_database
from mesocosm.store.deletion import Deletion
from mesocosm.store.episodes import Episodes
from mesocosm.store.holder import abandoned
from mesocosm.store.journal import SqlJournal
from mesocosm.store.ledger import Ledger
from mesocosm.store.names import Names
from mesocosm.store.objects import URL_VARIABLE, open_objects
from mesocosm.store.queries import Listing
from mesocosm.store.recovery import Recovery
from mesocosm.store.runs import Runs
from mesocosm.store.series import Series
from mesocosm.store.slices import Slices
from mesocosm.store.verification import Verification
from mesocosm.store.writer import Writer


class SqlStore(
    Runs,
    Names,
    Deletion,
    Recovery,
    Ledger,
    Listing,
    Changes,
    Series,
    Slices,
    Conversations,
    Episodes,
    Bundles,
    Blobs,
    Verification,
):
    """A core.ports.Store and BlobStore over SQL. Methods block and may be called from any thread."""

    @property
    def place(self) -> str:
        """The file or the URL without its password, for messages."""
        return self._database.place

    @property
    def database(self) -> Database:
        """The database, for what a platform keeps beside runs."""
        return self._database

    @property
    def view(self) -> str:
        """What answers over all runs are kept under: the place, and whose eyes it is seen through."""
        return self.place

    def going(self, run: Run) -> bool:
        """Return whether a living process works on a run, as far as can be known from here."""
        return run.status in {RunStatus.PENDING, RunStatus.RUNNING} and not abandoned(run)

    def journal(
        self,
        run_id: str,
        holder: Holder,
        committed: Callable[[Sequence[Episode]], None],
        stop: Callable[[], None],
    ) -> SqlJournal:
        """Open the writer of a run that `holder` holds. Raises RunHeld when it does not.

        `committed` hears of finished episodes once they are durable, `stop` that somebody asked to stop the run; both
        are called from the writer's thread.
        """
        return SqlJournal(Writer(self._database, run_id, holder), committed, stop)

    def close(self) -> None:
        """Close connections."""
        self._database.close()


def open_store(
    place: str | os.PathLike[str], *, create: bool = True, patience: float = PATIENCE, blob_url: str = ""
) -> SqlStore:
    """Open the store in a results directory, a SQLite file or a PostgreSQL URL, migrating it where it is older.

    `patience` is how many seconds a locked file or a vanished server is waited for before an operation gives up. With
    `create` off, a place without results is an UnknownName. Large content is kept in the object store `blob_url`, by
    default that of MESOCOSM_BLOB_URL, else in the database. Raises UsageError, InfrastructureError with the remedy.
    """
    url = blob_url or os.environ.get(URL_VARIABLE, "")
    objects = open_objects(url) if url else None
    database = open_database(place, create=create, patience=patience)
    database.objects = objects
    return SqlStore(database)
