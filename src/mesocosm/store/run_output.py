"""What the programs of runs print: pieces of text in order, of which the first ones are dropped beyond a limit."""

import time

import msgspec
from sqlalchemy import Connection, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from mesocosm.store.database import Database
from mesocosm.store.rows import plain, record_of
from mesocosm.store.schema import runs
from mesocosm.store.tenancy import run_output

PIECE = 64_000
"""Maximum length of a piece in characters."""
MOST_PIECES = 200
"""Maximum number of pieces of a run; older ones are dropped."""


class OutputPiece(msgspec.Struct, frozen=True):
    """A piece of output: its number from 1, when it was stored (UNIX seconds), and whole lines of text."""

    number: int
    at: float
    text: str


class RunOutput:
    """The output of runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, run_id: str, text: str) -> bool:
        """Append text to the output of a run; return False if the run is gone."""
        pieces = [plain(text[place : place + PIECE]) for place in range(0, len(text), PIECE)]
        at = time.time()

        def work(connection: Connection) -> bool:
            if connection.scalar(select(runs.c.id).where(runs.c.id == run_id)) is None:
                return False
            last = connection.scalar(select(func.max(run_output.c.number)).where(run_output.c.run_id == run_id)) or 0
            rows = [
                {"run_id": run_id, "number": number, "at": at, "text": piece}
                for number, piece in enumerate(pieces, last + 1)
            ]
            connection.execute(insert(run_output), rows)
            old = run_output.c.number <= last + len(pieces) - MOST_PIECES
            connection.execute(delete(run_output).where(run_output.c.run_id == run_id, old))
            return True

        try:
            return self._database.write(work) if pieces else True
        except IntegrityError:
            # The previous worker of the run wrote its last lines in this moment.
            return self._database.write(work)

    def after(self, run_id: str, number: int, limit: int) -> tuple[OutputPiece, ...]:
        """Return the pieces after a number (0: from the first one that is kept), at most `limit`."""
        wanted = select(run_output.c.number, run_output.c.at, run_output.c.text)
        wanted = wanted.where(run_output.c.run_id == plain(run_id), run_output.c.number > number)
        rows = self._database.all(wanted.order_by(run_output.c.number).limit(limit))
        return tuple(record_of(OutputPiece, row) for row in rows)
