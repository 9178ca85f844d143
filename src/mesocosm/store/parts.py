"""Files uploaded in parts, numbered from 1. Each part is a blob; a blob stays as long as a part refers to it."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, Update, and_, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from mesocosm.core.entry import Blob
from mesocosm.core.ids import digest_bytes
from mesocosm.store.blobs import Blobs, blob_row, blob_rows, drop_orphans
from mesocosm.store.database import Database
from mesocosm.store.schema import blobs

PART_BYTES = 4 << 20
"""Size of a part: a server keeps a few of them in memory for each upload."""

_BYTES = "application/octet-stream"


class UploadedParts:
    """The parts in a table, whose columns are those of an upload's key, `number`, `digest` and `size`."""

    def __init__(self, database: Database, table: Table) -> None:
        self._database = database
        self._blobs = Blobs(database)
        self._table = table
        self._key = [column.name for column in table.primary_key.columns if column.name != "number"]

    def digests(self, *key: Any) -> dict[int, str]:
        """Return the digests of the parts that are there, by their numbers."""
        wanted = select(self._table.c.number, self._table.c.digest).where(self.of(*key))
        return {row["number"]: row["digest"] for row in self._database.all(wanted.order_by(self._table.c.number))}

    def read(self, digest: str) -> bytes:
        """Return the bytes of a part. Raises UnknownName if it was removed meanwhile."""
        return self._blobs.get(digest).data

    def add(self, key: tuple[Any, ...], number: int, data: bytes, uploading: Update) -> bool:
        """Store a part in place of an earlier one; return False if `uploading`, of the upload's row, changes none."""
        blob = Blob(digest_bytes(data), _BYTES, data)
        row = blob_row(blob, self._database.objects)
        table, mine = self._table, self.of(*key)

        def work(connection: Connection) -> bool:
            if not connection.execute(uploading).rowcount:
                return False
            before = connection.scalar(select(table.c.digest).where(mine, table.c.number == number))
            self._database.add(connection, blobs, [row], known="keep")
            if before != blob.digest:
                connection.execute(delete(table).where(mine, table.c.number == number))
                fields = dict(zip(self._key, key, strict=True)) | {"number": number, "digest": blob.digest}
                connection.execute(insert(table).values(**fields, size=len(data)))
            if before is not None and before != blob.digest:
                drop_orphans(connection, [before])
            return True

        try:
            return self._database.write(work)
        except IntegrityError:
            # Another upload removed the same content in this moment.
            return self._database.write(work)

    def blobs(self, pieces: Sequence[bytes]) -> list[tuple[Any, ...]]:
        """Return the rows of the blobs of these parts, for `insert`; large ones are stored in the object store."""
        return blob_rows([Blob(digest_bytes(data), _BYTES, data) for data in pieces], self._database.objects)

    def insert(self, connection: Connection, key: tuple[Any, ...], rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert all parts of an upload at once, in their order: the rows of their blobs."""
        self._database.add(connection, blobs, list({row[0]: row for row in rows}.values()), known="keep")
        mine = dict(zip(self._key, key, strict=True))
        for number, (digest, _type, size, *_) in enumerate(rows, 1):
            connection.execute(insert(self._table).values(**mine, number=number, digest=digest, size=size))

    def total(self, connection: Connection, *key: Any) -> tuple[int, int]:
        """Return the number of parts that are there, and their bytes."""
        wanted = select(func.count(), func.coalesce(func.sum(self._table.c.size), 0)).where(self.of(*key))
        count, size = connection.execute(wanted).one()
        return int(count), int(size)

    def drop(self, connection: Connection, *key: Any, after: int = 0) -> int:
        """Remove the parts of an upload whose number is above `after`, and those blobs that nothing else needs.

        Return how many parts were removed.
        """
        mine = and_(self.of(*key), self._table.c.number > after)
        digests = connection.scalars(select(self._table.c.digest).where(mine)).all()
        connection.execute(delete(self._table).where(mine))
        drop_orphans(connection, sorted(set(digests)))
        return len(digests)

    def of(self, *key: Any) -> ColumnElement[bool]:
        """Return the condition that a part belongs to an upload."""
        return and_(*(self._table.c[name] == value for name, value in zip(self._key, key, strict=True)))


def part_count(size: int, part_size: int) -> int:
    """Return the number of parts of a file."""
    return -(-size // part_size)


def part_length(size: int, part_size: int, number: int) -> int:
    """Return the size of a part of a file."""
    return min(part_size, size - (number - 1) * part_size)
