"""Tell databases of other programs from ours: the benchmark orchestrator of elizaOS names its file as we do."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from mesocosm.core.ids import APPLICATION_ID
from mesocosm.store.revision import DATABASE_NAME, VERSION_TABLE

BESIDE = "mesocosm-results.sqlite"
"""Name of our file in a results directory whose `orchestrator.sqlite` belongs to the elizaOS orchestrator."""

_MAGIC, _ID_AT, _HEADER = b"SQLite format 3\0", slice(68, 72), 100


def is_orchestrator(path: Path) -> bool:
    """Return whether a file is a database of the elizaOS orchestrator: a table `benchmark_runs`, and none of ours."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER)
    except OSError:
        return False
    if not head.startswith(_MAGIC) or int.from_bytes(head[_ID_AT]) == APPLICATION_ID:
        return False
    try:
        with read_only(path) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error:
        return False
    return "benchmark_runs" in tables and VERSION_TABLE not in tables


def own_file(path: Path) -> Path:
    """Return the file to keep results in: `path`, or one beside it if `path` is the orchestrator's database."""
    return path.with_name(BESIDE) if path.name == DATABASE_NAME and is_orchestrator(path) else path


@contextmanager
def read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection to a SQLite file that changes nothing. Raises sqlite3.Error."""
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        try:
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        except sqlite3.OperationalError:
            # In a place that cannot be written, SQLite cannot make the files that a write-ahead log needs.
            if path.with_name(f"{path.name}-wal").exists():
                raise
        else:
            yield connection
            return
    with closing(sqlite3.connect(f"{address}&immutable=1", uri=True)) as connection:
        yield connection
