"""Datasets of a workspace: reading them, and uploading, renaming and deleting them."""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, Self

import msgspec
from sqlalchemy.exc import IntegrityError

from mesocosm.datasets.blocks import BLOCKWISE
from mesocosm.datasets.reading import format_of
from mesocosm.rollouts.dataset_check import CheckedDataset, PreviewRow
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.dataset import (
    DatasetDocument,
    DatasetInput,
    DatasetItem,
    DatasetPage,
    DatasetPart,
    DatasetPreview,
    DatasetSource,
    DatasetUpload,
    DatasetVersionDocument,
    DatasetVersionItem,
    checked_dataset_name,
)
from mesocosm.server.service import Service
from mesocosm.store.datasets import Dataset, DatasetFile, DatasetState, DatasetVersion, Upload, pieces
from mesocosm.store.workspaces import Workspace

_MIB = 1 << 20
_VERSIONS = 100
_NO_ROWS = CheckedDataset()


class VisibleDatasets(GrantedObject):
    """The datasets of a workspace that the caller is a member of."""

    def __init__(self, service: Service, viewer: Viewer, workspace: Workspace) -> None:
        super().__init__(service, viewer)
        self._workspace = workspace

    def list(self, limit: int, cursor: str | None) -> DatasetPage:
        """Return a page of datasets, newest first; `cursor` is the last id seen."""
        found = self._store.datasets.list(self._workspace.id, limit=limit + 1, cursor=cursor)
        page = found[:limit]
        current = self._store.datasets.current([dataset.id for dataset in page])
        items = [_item(dataset, current[dataset.id]) for dataset in page if dataset.id in current]
        return DatasetPage(items=items, next_cursor=page[-1].id if len(found) > limit else None)


class WorkingDatasets(VisibleDatasets):
    """The datasets of a workspace in which the caller may upload."""

    def upload(self, given: DatasetInput) -> DatasetUpload:
        """Return where the parts of a file go, and which are there already.

        Raises Refusal: 409 if the name exists and `overwrite` is not set, 413 if the file is larger than datasets may
        be or the workspace has no room, 422 for another format.
        """
        file = self._file(given)
        settings, by = self._service.settings, self._viewer.account_id
        try:
            begun = self._store.datasets.begin(
                self._workspace.id, file, by=by, most_bytes=settings.workspace_datasets_mb * _MIB
            )
        except IntegrityError as error:
            raise Refusal(404, f"the workspace {self._workspace.name!r} was deleted") from error
        if begun.version is None or begun.dataset is None:
            raise self._refused(given, begun)
        if begun.version.state is DatasetState.UPLOADING:
            detail = {"dataset": begun.dataset.name, "version": begun.version.version, "bytes": file.size}
            self._store.audit.note(
                self._viewer.caller.actor, "dataset.upload", f"workspace:{self._workspace.id}", detail
            )
        present = self._store.datasets.parts(begun.dataset.id, begun.version.version)
        return _upload(begun.dataset, begun.version, sorted(present))

    def add_rows(self, reference: str, run_id: str, rows: bytes, columns: str) -> DatasetUpload:
        """Queue rows of a run, as lines of JSON, to be added to a dataset; a name that is free makes a new one.

        `columns` is the JSON of a new dataset's columns. Raises Refusal: 409 while the dataset has no uploaded version,
        413 if there is no room, 422 for an invalid name.
        """
        known = self._store.datasets.get(self._workspace.id, reference)
        try:
            name = checked_dataset_name(reference) if known is None else known.name
        except ValueError as error:
            raise Refusal(422, f"{reference[:200]!r} cannot be the name of a dataset: {error}") from error
        source = DatasetSource(kind="run", run=run_id).model_dump_json(exclude_defaults=True)
        fields = {"name": name, "file_name": f"{name}.jsonl", "format": "jsonl", "digest": "", "source": source}
        file = DatasetFile(**fields, size=len(rows), columns=columns, overwrite=True)
        by, most = self._viewer.account_id, self._service.settings.workspace_datasets_mb * _MIB
        try:
            begun = self._store.datasets.add_rows(self._workspace.id, file, rows, by=by, most_bytes=most)
        except IntegrityError as error:
            raise Refusal(404, f"the workspace {self._workspace.name!r} was deleted") from error
        if begun.dataset is not None and begun.version is None:
            words = f"the dataset {name!r} has no version yet, and one is being uploaded"
            raise Refusal(409, f"{words}; wait for it, or choose another name")
        if begun.dataset is None or begun.version is None:
            raise self._full(f"the rows have {len(rows):,} bytes", begun)
        detail = {"dataset": name, "version": begun.version.version, "run": run_id}
        self._store.audit.note(self._viewer.caller.actor, "dataset.add", f"workspace:{self._workspace.id}", detail)
        return _upload(begun.dataset, begun.version, [])

    def _file(self, given: DatasetInput) -> DatasetFile:
        assert given.name is not None
        ending = PurePosixPath(given.file_name)
        kind = "" if ending.suffix.lower() == ".gz" else format_of(ending)
        if kind not in BLOCKWISE:
            raise Refusal(
                422, f"{given.file_name!r} is no CSV, JSONL or Parquet file by its ending; convert it, or rename it"
            )
        most = self._service.settings.dataset_mb * _MIB
        if given.size > most:
            raise Refusal(
                413, f"{given.file_name!r} has {given.size:,} bytes, and a dataset at most {most:,}; split it"
            )
        columns = given.columns.model_dump(exclude_none=True)
        return DatasetFile(
            name=given.name,
            file_name=given.file_name,
            format=kind,
            size=given.size,
            digest=given.digest or "",
            columns=msgspec.json.encode(columns, order="sorted").decode(),
            overwrite=given.overwrite,
            source="" if given.source is None else given.source.model_dump_json(exclude_defaults=True),
        )

    def _refused(self, given: DatasetInput, begun: Upload) -> Refusal:
        if begun.dataset is not None:
            words = f"the dataset {begun.dataset.name!r} exists; upload a new version of it with --overwrite, or use "
            return Refusal(409, words + "another name", more={"existing_dataset_id": begun.dataset.id})
        return self._full(f"{given.file_name!r} has {given.size:,} bytes", begun)

    def _full(self, what: str, begun: Upload) -> Refusal:
        most = self._service.settings.workspace_datasets_mb * _MIB
        gone = f", {begun.deleted:,} of them in deleted datasets" if begun.deleted else ""
        words = f"{what}, and the datasets of the workspace may have {most:,}: "
        return Refusal(413, f"{words}they have {begun.used:,}{gone}; ask the administrators of the server for more")


class VisibleDataset(GrantedObject):
    """A dataset of a workspace that the caller is a member of. `manages`: the caller may change those of others."""

    def __init__(
        self, service: Service, viewer: Viewer, workspace: Workspace, dataset: Dataset, *, manages: bool = False
    ) -> None:
        super().__init__(service, viewer)
        self._workspace = workspace
        self._dataset = dataset
        self._manages = manages

    @classmethod
    def find(
        cls, service: Service, viewer: Viewer, workspace: Workspace, reference: str, *, manages: bool = False
    ) -> Self:
        """Return a dataset by its id or name. Raises Refusal 404."""
        dataset = service.store.datasets.get(workspace.id, reference)
        if dataset is None:
            raise Refusal(
                404, f"the workspace {workspace.name!r} has no dataset {reference[:200]!r}; list its datasets"
            )
        return cls(service, viewer, workspace, dataset, manages=manages)

    def document(self, number: int | None = None) -> DatasetDocument:
        """Return the dataset with a version, by default the newest uploaded one. Raises Refusal 404."""
        current = self._version(self._shown().version if number is None else number)
        if current is None:
            raise self._no_version(number)
        # Read after the version: a dataset whose version is uploaded must not look as if it had none yet.
        return DatasetDocument(
            **_item(self._dataset, self._shown()).model_dump(),
            versions=list(map(_version_item, self._store.datasets.versions(self._dataset.id, _VERSIONS))),
            current=_version_document(current),
        )

    def preview(self, number: int | None, limit: int) -> DatasetPreview:
        """Return the first rows of a version. Raises Refusal: 404, or 409 if it is not uploaded."""
        version = self._uploaded(number)
        rows = msgspec.json.decode(version.preview, type=list[PreviewRow])[:limit]
        items = [{"row": row, "cells": one.cells, "cut": list(one.cut)} for row, one in enumerate(rows)]
        return DatasetPreview.model_validate({"version": version.version, "rows": version.rows or 0, "items": items})

    def file(self, number: int | None) -> DatasetVersionItem:
        """Return the version whose file `content` yields. Raises Refusal: 404, or 409 if it is not uploaded."""
        return _version_item(self._uploaded(number))

    def content(self, number: int, begin: int, end: int) -> Iterator[bytes]:
        """Yield the bytes of the file of a version from `begin` to before `end`, a part at a time."""
        version = self._uploaded(number)
        digests = list(self._store.datasets.parts(self._dataset.id, version.version).values())
        return pieces(self._store.datasets, digests, version.part_size, begin, end)

    def _shown(self) -> DatasetVersion:
        """Return the newest uploaded version, or else the newest one."""
        found = self._store.datasets.current([self._dataset.id])
        if not found:
            raise Refusal(404, f"the dataset {self._dataset.name!r} was deleted meanwhile")
        return found[self._dataset.id]

    def _uploaded(self, number: int | None) -> DatasetVersion:
        version = self._version(number if number is not None else self._dataset.version)
        if version is None and number is None:
            raise Refusal(409, f"no version of the dataset {self._dataset.name!r} is uploaded yet; see its status")
        if version is None:
            raise self._no_version(number)
        if version.state is not DatasetState.UPLOADED:
            raise Refusal(
                409, f"version {version.version} of the dataset {self._dataset.name!r} is {version.state}, not uploaded"
            )
        return version

    def _version(self, number: int | None) -> DatasetVersion | None:
        return None if number is None else self._store.datasets.version(self._dataset.id, number)

    def _no_version(self, number: int | None) -> Refusal:
        return Refusal(
            404, f"the dataset {self._dataset.name!r} has no version {number}; its versions are listed in it"
        )


class WorkingDataset(VisibleDataset):
    """A dataset of a workspace in which the caller may upload. Creators rename and delete theirs, admins all."""

    def part_size(self, number: int, part: int) -> int:
        """Return the size that a part must have. Raises Refusal: 404, or 409 if the version is not being uploaded."""
        version = self._uploading(number)
        if not 1 <= part <= version.part_count:
            raise Refusal(404, f"the file has {version.part_count} parts, numbered from 1, and no part {part}")
        return version.part_length(part)

    def add_part(self, number: int, part: int, data: bytes, digest: str | None) -> DatasetPart:
        """Store a part, whose SHA-256 is checked if it is given. It may be sent again.

        Raises Refusal: 404, 409 if the version is not being uploaded, 422 if the part has another size or digest.
        """
        version, size = self._uploading(number), self.part_size(number, part)
        if len(data) != size:
            raise Refusal(422, f"part {part} has {len(data):,} bytes, not {size:,}; send it again, in full")
        found = hashlib.sha256(data).hexdigest()
        if digest not in (None, found):
            raise Refusal(422, f"part {part} came with another SHA-256 ({found}) than it was sent with; send it again")
        if not self._store.datasets.add_part(version, part, data):
            raise self._not_uploading(number)
        return DatasetPart(number=part, size=size, digest=found)

    def complete(self, number: int) -> DatasetUpload:
        """Queue the check of a version whose parts are all there. Raises Refusal: 404, 409 if parts are missing."""
        version = self._found(number)
        present = self._store.datasets.parts(self._dataset.id, number)
        if not self._store.datasets.submit(version):
            if version.state is not DatasetState.UPLOADING:
                raise self._not_uploading(number)
            missing = [part for part in range(1, version.part_count + 1) if part not in present]
            listed = ", ".join(map(str, missing[:10])) + (", …" if len(missing) > 10 else "")
            raise Refusal(
                409, f"{len(missing)} of {version.part_count} parts are missing ({listed}); send them, then complete"
            )
        return _upload(self._dataset, self._found(number), sorted(present))

    def abort(self, number: int) -> None:
        """Give an upload up and remove its parts. Raises Refusal: 404, 409 if the version is not being uploaded."""
        version = self._found(number)
        if version.state is DatasetState.CANCELLED:
            return
        if not self._store.datasets.abort(version):
            raise self._not_uploading(number)
        self._note("abort", {"version": number})

    def rename(self, name: str) -> DatasetItem:
        """Rename the dataset. Raises Refusal: 403 unless the caller may, 409 if the name is taken."""
        self._check_change("rename")
        if not self._store.datasets.rename(self._dataset, name):
            raise Refusal(409, f"the workspace {self._workspace.name!r} has another dataset {name!r}; choose a name")
        self._note("rename", {"to": name})
        return _item(msgspec.structs.replace(self._dataset, name=name), self._shown())

    def delete(self) -> None:
        """Delete the dataset; runs keep the versions that they used. Raises Refusal 403 unless the caller may."""
        self._check_change("delete")
        if self._store.datasets.delete(self._dataset):
            self._note("delete", {})

    def _check_change(self, action: str) -> None:
        own = self._dataset.created_by is not None and self._dataset.created_by == self._viewer.account_id
        if not own and not self._manages:
            who = self._dataset.creator or "a former member"
            raise Refusal(
                403,
                f"{who} created the dataset {self._dataset.name!r}; only they and admins of the workspace {action} it",
            )

    def _found(self, number: int) -> DatasetVersion:
        version = self._version(number)
        if version is None:
            raise self._no_version(number)
        return version

    def _uploading(self, number: int) -> DatasetVersion:
        version = self._found(number)
        if version.state is not DatasetState.UPLOADING:
            raise self._not_uploading(number)
        return version

    def _not_uploading(self, number: int) -> Refusal:
        state = self._found(number).state
        return Refusal(
            409,
            f"version {number} of the dataset {self._dataset.name!r} is {state}, not uploading; begin the upload again",
        )

    def _note(self, action: str, detail: dict[str, object]) -> None:
        place, words = f"workspace:{self._workspace.id}", {"dataset": self._dataset.name, **detail}
        self._store.audit.note(self._viewer.caller.actor, f"dataset.{action}", place, words)


def _item(dataset: Dataset, current: DatasetVersion) -> DatasetItem:
    return DatasetItem(
        id=dataset.id,
        name=dataset.name,
        status=current.state.value,
        # Not that of the dataset, which was read at another time than this status.
        version=current.version if current.state is DatasetState.UPLOADED else None,
        file_name=current.file_name,
        format=_format(current),
        size=current.size,
        rows=current.rows,
        digest=current.digest,
        creator=dataset.creator,
        created_at=_time(dataset.created_at),
        updated_at=_time(dataset.updated_at),
    )


def _version_fields(version: DatasetVersion) -> dict[str, Any]:
    return {
        "version": version.version,
        "status": version.state.value,
        "file_name": version.file_name,
        "format": version.format,
        "size": version.size,
        "digest": version.digest,
        "rows_digest": version.rows_digest,
        "rows": version.rows,
        "creator": version.creator,
        "created_at": _time(version.created_at),
        "ended_at": None if version.ended_at is None else _time(version.ended_at),
        "source": DatasetSource.model_validate_json(version.source) if version.source else None,
    }


def _version_item(version: DatasetVersion) -> DatasetVersionItem:
    return DatasetVersionItem.model_validate(_version_fields(version))


def _version_document(version: DatasetVersion) -> DatasetVersionDocument:
    text = version.summary or version.faults
    checked = msgspec.json.decode(text, type=CheckedDataset) if text else _NO_ROWS
    names = ("mode", "roles", "columns", "splits", "duplicates", "warnings", "faults", "faults_total")
    plain = msgspec.to_builtins(checked)
    described = {name: plain[name] for name in names if name in plain}
    return DatasetVersionDocument.model_validate({**_version_fields(version), **described})


def _upload(dataset: Dataset, version: DatasetVersion, present: list[int]) -> DatasetUpload:
    return DatasetUpload(
        id=dataset.id,
        name=dataset.name,
        version=version.version,
        status=version.state.value,
        part_size=version.part_size,
        part_count=version.part_count,
        present=present,
    )


def _format(version: DatasetVersion) -> Any:
    return version.format


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
