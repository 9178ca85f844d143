"""Datasets of a workspace on a server: listing, uploading in parts, downloading."""

import hashlib
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, TypeVar

from mesocosm.client.error import ApiError
from mesocosm.client.resource import Resource
from mesocosm.client.transport import pauses, segment
from mesocosm.core.failure import UsageError
from mesocosm.server.schemas.dataset import (
    DatasetChange,
    DatasetDocument,
    DatasetInput,
    DatasetItem,
    DatasetPage,
    DatasetPart,
    DatasetPreview,
    DatasetUpload,
)
from mesocosm.server.schemas.dataset_rows import DatasetAddition, DatasetRowsInput

T = TypeVar("T")

WAITS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds between tries of a request whose connection was lost, or that a busy server refused."""
_BUSY = frozenset({0, 429, 500, 502, 503, 504})


class DatasetsResource(Resource):
    """Datasets of a workspace, each named by its id or name; so is the workspace. Not available to guests."""

    def begin(self, workspace: str, file: DatasetInput) -> DatasetUpload:
        """Begin or continue an upload; the answer says which parts the server has."""
        return self._one(DatasetUpload, "POST", _path(workspace), file)

    def put_part(self, workspace: str, dataset: str, version: int, part: int, data: bytes) -> DatasetPart:
        """Send a part, numbered from 1."""
        path = f"{_path(workspace, dataset)}/versions/{version}/parts/{part}"
        answer = self._api.call("PUT", path, data, {"digest": hashlib.sha256(data).hexdigest()})
        return DatasetPart.model_validate(answer)

    def complete(self, workspace: str, dataset: str, version: int) -> DatasetUpload:
        """End an upload; a worker checks the file."""
        path = f"{_path(workspace, dataset)}/versions/{version}/complete"
        return self._one(DatasetUpload, "POST", path)

    def abort(self, workspace: str, dataset: str, version: int) -> None:
        """Give an upload up; its parts are removed."""
        self._done("POST", f"{_path(workspace, dataset)}/versions/{version}/abort")

    def add_rows(self, workspace: str, dataset: str, rows: DatasetRowsInput) -> DatasetAddition:
        """Add the tasks of a run's episodes as rows; a worker does it, for which `checked` waits."""
        return self._one(DatasetAddition, "POST", f"{_path(workspace, dataset)}/rows", rows)

    def list(self, workspace: str, *, limit: int = 50, cursor: str | None = None) -> DatasetPage:
        """Return a page of datasets, newest first."""
        return self._one(DatasetPage, "GET", _path(workspace), query={"limit": limit, "cursor": cursor})

    def get(self, workspace: str, dataset: str, *, version: int | None = None) -> DatasetDocument:
        """Return a dataset with a version, by default the newest uploaded one."""
        return self._one(DatasetDocument, "GET", _path(workspace, dataset), query={"version": version})

    def preview(
        self, workspace: str, dataset: str, *, version: int | None = None, limit: int | None = None
    ) -> DatasetPreview:
        """Return the first rows, at most 20."""
        query = {"version": version, "limit": limit}
        return self._one(DatasetPreview, "GET", f"{_path(workspace, dataset)}/preview", query=query)

    def rename(self, workspace: str, dataset: str, name: str) -> DatasetItem:
        """Rename a dataset. For its creator and admins of the workspace."""
        return self._one(DatasetItem, "PATCH", _path(workspace, dataset), DatasetChange(name=name))

    def delete(self, workspace: str, dataset: str) -> None:
        """Delete a dataset. For its creator and admins of the workspace."""
        self._done("DELETE", _path(workspace, dataset))

    def download(
        self,
        workspace: str,
        dataset: str,
        file: IO[bytes],
        *,
        version: int | None = None,
        told: Callable[[str], object] = lambda _: None,
    ) -> DatasetItem:
        """Write the file of a version into `file`, which is empty, and check its digest.

        A lost connection is continued; `told` gets a line about each.
        """
        document = self.get(workspace, dataset, version=version)
        current = document.current
        path, query = f"{_path(workspace, document.id)}/download", {"version": current.version}

        def fetch() -> None:
            if (start := file.tell()) < current.size:
                self._api.download(path, file, query, start=start)

        persistently(fetch, told)
        file.seek(0)
        found = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
        if found != current.digest:
            raise UsageError(f"{document.name}: the download has the SHA-256 {found}, not {current.digest}; try again")
        return document

    def upload(
        self,
        workspace: str,
        path: Path,
        file: DatasetInput,
        *,
        sent: Callable[[int, int], object] = lambda *_: None,
        told: Callable[[str], object] = lambda _: None,
    ) -> DatasetDocument:
        """Upload a file described by `file`, wait for its check, and return the dataset with this version.

        What the server has already is not sent; a part is sent again after a lost connection. `sent` gets the bytes
        that are there and their total, `told` lines about waiting. An interrupted upload continues with the next call.
        Raises UsageError if the file changes meanwhile.
        """
        with path.open("rb") as source:
            begun = self.begin(workspace, file)
            here = (workspace, begun.id, begun.version)
            if begun.status == "uploading":
                self._send(source, path, file, begun, workspace, sent, told)
                persistently(lambda: self.complete(*here), told)
        return self.checked(workspace, begun.id, begun.version, told)

    def _send(
        self,
        source: IO[bytes],
        path: Path,
        file: DatasetInput,
        begun: DatasetUpload,
        workspace: str,
        sent: Callable[[int, int], object],
        told: Callable[[str], object],
    ) -> None:
        present, size = set(begun.present), begun.part_size
        done = sum(min(size, file.size - (part - 1) * size) for part in present)
        if present:
            told(f"{len(present):,} of {begun.part_count:,} parts are there already")
        sent(done, file.size)
        for part in range(1, begun.part_count + 1):
            if part in present:
                continue
            source.seek((part - 1) * size)
            data = source.read(size)
            if len(data) != min(size, file.size - (part - 1) * size):
                raise _changed(path)
            persistently(partial(self.put_part, workspace, begun.id, begun.version, part, data), told)
            done += len(data)
            sent(done, file.size)
        if os.fstat(source.fileno()).st_size != file.size:
            raise _changed(path)

    def checked(
        self, workspace: str, dataset: str, version: int, told: Callable[[str], object] = lambda _: None
    ) -> DatasetDocument:
        """Wait until a worker has checked a version, and return the dataset with it."""
        start, warned, waits = time.monotonic(), False, pauses()
        while True:
            found = persistently(lambda: self.get(workspace, dataset, version=version), told)
            if found.current.status != "processing":
                return found
            if not warned and time.monotonic() - start > 10:
                told("waiting for a worker of the server to check the file")
                warned = True
            time.sleep(next(waits))


def describe_file(path: Path) -> tuple[int, str]:
    """Return the size of a file and its SHA-256."""
    with path.open("rb") as source:
        digest = hashlib.file_digest(source, "sha256").hexdigest()
        return source.tell(), digest


def persistently(work: Callable[[], T], told: Callable[[str], object]) -> T:
    """Return the result of `work`, tried again after a lost connection and while the server is busy."""
    for wait in WAITS:
        try:
            return work()
        except ApiError as error:
            if error.status not in _BUSY:
                raise
            seconds = max(wait, min(error.retry_after or 0.0, 60.0))
            told(f"{error.detail}; trying again in {seconds:.0f} s")
            time.sleep(seconds)
    return work()


def _changed(path: Path) -> UsageError:
    return UsageError(f"{path} changed while it was uploaded; upload it again once nothing writes to it")


def _path(workspace: str, dataset: str = "") -> str:
    base = f"/api/workspaces/{segment(workspace)}/datasets"
    return f"{base}/{segment(dataset)}" if dataset else base
