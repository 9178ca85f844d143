"""What database errors mean: worth another try, or a message with the file and the remedy."""

from sqlalchemy.exc import DBAPIError

from mesocosm.core.failure import InfrastructureError

_SQLITE_BUSY = {5, 6, 15}
"""SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL."""

_SQLITE_REMEDIES = {
    8: "it is read-only; give this user the right to write the file and its directory, or choose another --results-dir",
    10: "the disk reports an error or a size limit; free space or choose another --results-dir",
    11: "it is damaged; restore a backup, or save what `sqlite3 FILE .recover` still reads",
    13: "the disk is full; free space, then resume: everything committed before is kept",
    14: "it cannot be opened; check that the directory exists and that this user may write there",
    26: "it is no SQLite database; move it away or choose another --results-dir",
}

_POSTGRES_TRANSIENT = {"40001", "40P01", "53300", "55P03", "57P01", "57P02", "57P03"}
"""Serialisation failure, deadlock, too many connections, lock timeout, and the three kinds of shutdown."""

_POSTGRES_REMEDIES = {
    "25006": "the server is read-only; use the primary server's URL",
    "42501": "this database user lacks a privilege; grant it, or use another user in the URL",
    "53100": "the server's disk is full; free space, then resume: everything committed before is kept",
}


def _sqlite_code(error: DBAPIError) -> int | None:
    code = getattr(error.orig, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None


def _sqlstate(error: DBAPIError) -> str | None:
    state = getattr(error.orig, "sqlstate", None)
    return state if isinstance(state, str) else None


def transient(error: DBAPIError) -> bool:
    """Return whether the same transaction may succeed a little later: a lock, or a server that went away."""
    code = _sqlite_code(error)
    if code is not None:
        return code in _SQLITE_BUSY
    if error.connection_invalidated:
        return True
    state = _sqlstate(error)
    if state is None:
        return type(error.orig).__module__.startswith("psycopg") and type(error.orig).__name__ == "OperationalError"
    return state in _POSTGRES_TRANSIENT or state.startswith("08")


def explain(error: DBAPIError, place: str, waited: float) -> InfrastructureError:
    """Return the error that people see: what happened, in which database, what to do about it."""
    words = str(error.orig).strip().splitlines() or [type(error.orig).__name__]
    code, state = _sqlite_code(error), _sqlstate(error)
    if code in _SQLITE_BUSY:
        remedy = f"another process kept it locked for {waited:.0f} s; end that process or wait for it, then try again"
    elif code in _SQLITE_REMEDIES:
        remedy = _SQLITE_REMEDIES[code]
    elif state in _POSTGRES_REMEDIES:
        remedy = _POSTGRES_REMEDIES[state]
    elif transient(error):
        remedy = "the server cannot be reached; check that it runs and that host, port, user and database are right"
    else:
        remedy = "what was committed before stays readable; see --debug for the statement"
    return InfrastructureError(f"the results database {place} cannot be used ({words[0]}): {remedy}")
