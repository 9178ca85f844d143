"""Runs that were played here, pushed to a server."""

import hashlib
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO

from mesocosm.client.datasets import persistently
from mesocosm.client.resource import Resource
from mesocosm.client.transport import pauses, segment
from mesocosm.core.failure import UsageError
from mesocosm.server.schemas.run_import import RunImportDocument, RunImportInput, RunImportPage, RunImportPart


class RunImportsResource(Resource):
    """The caller's imports. Not available to guests."""

    def begin(self, wanted: RunImportInput) -> RunImportDocument:
        """Begin or continue an import; the answer says which parts the server has."""
        return self._one(RunImportDocument, "POST", _path(), wanted)

    def put_part(self, import_id: str, part: int, data: bytes) -> RunImportPart:
        """Send a part, numbered from 1."""
        query = {"digest": hashlib.sha256(data).hexdigest()}
        return RunImportPart.model_validate(self._api.call("PUT", f"{_path(import_id)}/parts/{part}", data, query))

    def complete(self, import_id: str) -> RunImportDocument:
        """End an upload; a worker checks the bundle and stores the run."""
        return self._one(RunImportDocument, "POST", f"{_path(import_id)}/complete")

    def get(self, import_id: str) -> RunImportDocument:
        """Return an import."""
        return self._one(RunImportDocument, "GET", _path(import_id))

    def list(self, *, limit: int = 50, cursor: str | None = None) -> RunImportPage:
        """Return a page of imports, newest first."""
        return self._one(RunImportPage, "GET", _path(), query={"limit": limit, "cursor": cursor})

    def delete(self, import_id: str) -> None:
        """Give an upload up; its parts are removed."""
        self._done("DELETE", _path(import_id))

    def upload(
        self,
        path: Path,
        begun: RunImportDocument,
        *,
        sent: Callable[[int, int], object] = lambda *_: None,
        told: Callable[[str], object] = lambda _: None,
    ) -> RunImportDocument:
        """Upload the bundle of an import, wait for its check, and return the import.

        What the server has already is not sent; a part is sent again after a lost connection. `sent` gets the bytes
        that are there and their total, `told` lines about waiting. An interrupted upload continues with `begin` and
        the next call.
        """
        if begun.status == "uploading":
            with path.open("rb") as source:
                self._send(source, path, begun, sent, told)
            begun = persistently(lambda: self.complete(begun.id), told)
        return self._checked(begun, told)

    def _send(
        self,
        source: IO[bytes],
        path: Path,
        begun: RunImportDocument,
        sent: Callable[[int, int], object],
        told: Callable[[str], object],
    ) -> None:
        present, size = set(begun.present), begun.part_size
        done = sum(min(size, begun.size - (part - 1) * size) for part in present)
        if present:
            told(f"{len(present):,} of {begun.part_count:,} parts are there already")
        if os.fstat(source.fileno()).st_size != begun.size:
            raise UsageError(f"{path} changed while it was uploaded; push the run again")
        sent(done, begun.size)
        for part in range(1, begun.part_count + 1):
            if part in present:
                continue
            source.seek((part - 1) * size)
            data = source.read(size)
            persistently(partial(self.put_part, begun.id, part, data), told)
            done += len(data)
            sent(done, begun.size)

    def _checked(self, begun: RunImportDocument, told: Callable[[str], object]) -> RunImportDocument:
        start, warned, found, waits = time.monotonic(), False, begun, pauses()
        while found.status == "processing":
            if not warned and not found.checking and time.monotonic() - start > 10:
                told("waiting for a worker of the server to check the run")
                warned = True
            time.sleep(next(waits))
            found = persistently(lambda: self.get(begun.id), told)
        return found


def _path(import_id: str = "") -> str:
    return f"/api/run-imports/{segment(import_id)}" if import_id else "/api/run-imports"
