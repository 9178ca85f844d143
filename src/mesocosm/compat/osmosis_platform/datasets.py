"""`/api/cli/datasets`: datasets of a workspace for the `osmosis` command line.

It uploads and downloads bytes at signed addresses of the routes under `/api`.
"""

from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel

from mesocosm.compat.osmosis_platform.errors import checked
from mesocosm.compat.osmosis_platform.pages import Cursor, Limit, Offset, log_page, offset_page
from mesocosm.compat.osmosis_platform.scope import Place
from mesocosm.compat.osmosis_platform.transport import check_transport
from mesocosm.server.permissions.grant import Grant, Granted
from mesocosm.server.permissions.route_access import Access, Served, access
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.dataset import DatasetDocument, DatasetInput, DatasetItem, DatasetUpload
from mesocosm.server.web.requests import base_url

UPLOAD_S = 12 * 3_600.0
"""How long the address of a part can be used: the last one is reached when all others are sent."""
DOWNLOAD_S = 3_600.0
_PAGE = 100
_PREVIEW = 20
_AT = "@"
"""Between the id of a dataset and the number of a version, in the id of an upload."""

router = APIRouter(prefix="/api/cli/datasets", include_in_schema=False)

Name = Annotated[str, Path(max_length=300)]


class NewDataset(BaseModel):
    """What the command line says about a file."""

    file_name: str
    file_size: int
    extension: str
    overwrite_dataset_id: str | None = None


@router.post("", status_code=201, **access(Access.INSIDER))
def begin_upload(body: NewDataset, place: Place, request: Request, grant: Granted, service: Served) -> dict[str, Any]:
    """Begin an upload: one PUT, or one for each part."""
    base = base_url(request, service.settings)
    check_transport(base)
    workspace = grant.working_workspace(place)
    name, overwrites = body.file_name, body.overwrite_dataset_id
    if overwrites is not None:
        name = workspace.dataset(overwrites).document().name
    given = {"file_name": f"{body.file_name}.{body.extension.lstrip('.')}", "size": body.file_size}
    wanted = checked(DatasetInput, {**given, "name": name, "overwrite": overwrites is not None})
    begun = workspace.datasets().upload(wanted)
    shown = _dataset(workspace.dataset(begun.id).document(), place, base)
    addresses = [base + one for one in _addresses(grant, place, begun)]
    return {
        **shown,
        "id": f"{begun.id}{_AT}{begun.version}",
        "status": begun.status,
        "upload": _instructions(begun, body.file_size, addresses),
    }


def _addresses(grant: Grant, place: str, begun: DatasetUpload) -> Iterator[str]:
    account = grant.account()
    for number in range(1, begun.part_count + 1):
        path = f"/api/workspaces/{place}/datasets/{begun.id}/versions/{begun.version}/parts/{number}"
        yield account.signed_address("PUT", path, {}, UPLOAD_S)


def _instructions(begun: DatasetUpload, size: int, addresses: list[str]) -> dict[str, Any]:
    # Releases up to 0.3.0 want s3_key.
    common = {"s3_key": f"{begun.id}/{begun.version}", "presigned_url": addresses[0], "expires_in": int(UPLOAD_S)}
    if len(addresses) == 1:
        return {"method": "simple", "upload_headers": {}, **common}
    parts = [
        {
            "part_number": number,
            "presigned_url": address,
            "size": min(begun.part_size, size - (number - 1) * begun.part_size),
        }
        for number, address in enumerate(addresses, 1)
    ]
    return {
        "method": "multipart",
        "part_size": begun.part_size,
        "total_parts": len(parts),
        "presigned_urls": parts,
        **common,
    }


@router.get("", **access(Access.INSIDER))
def list_datasets(
    place: Place, request: Request, grant: Granted, service: Served, limit: Limit = 50, offset: Offset = 0
) -> dict[str, Any]:
    """List the datasets of a workspace, newest first."""
    datasets, base = grant.workspace(place).datasets(), base_url(request, service.settings)
    found: list[DatasetItem] = []
    cursor: str | None = None
    while True:
        page = datasets.list(_PAGE, cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return offset_page("datasets", found, limit, offset, lambda one: _item(one, place, base))


@router.post("/{upload:path}/complete", **access(Access.INSIDER))
def complete_upload(upload: Name, place: Place, request: Request, grant: Granted, service: Served) -> dict[str, Any]:
    """End an upload; a worker checks the file."""
    dataset_id, version = _parted(upload)
    dataset = grant.working_workspace(place).dataset(dataset_id)
    completed = dataset.complete(version)
    shown = _dataset(dataset.document(), place, base_url(request, service.settings))
    return {**shown, "status": completed.status}


@router.post("/{upload:path}/abort", **access(Access.INSIDER))
def abort_upload(upload: Name, place: Place, grant: Granted) -> dict[str, Any]:
    """Give an upload up."""
    dataset_id, version = _parted(upload)
    grant.working_workspace(place).dataset(dataset_id).abort(version)
    return {}


def _parted(upload: str) -> tuple[str, int]:
    dataset_id, _, version = upload.rpartition(_AT)
    if not (version.isdecimal() and version.isascii() and len(version) < 10):
        raise Refusal(404, f"{upload[:200]!r} is not the id of an upload")
    return dataset_id, int(version)


@router.get("/{dataset:path}/download", **access(Access.INSIDER))
def download_dataset(dataset: Name, place: Place, request: Request, grant: Granted, service: Served) -> dict[str, Any]:
    """Return an address from which the file can be downloaded for an hour."""
    base = base_url(request, service.settings)
    check_transport(base)
    found = grant.workspace(place).dataset(dataset)
    file = found.file(None)
    path = f"/api/workspaces/{place}/datasets/{found.document().id}/download"
    address = grant.account().signed_address("GET", path, {"version": str(file.version)}, DOWNLOAD_S)
    return {"presigned_url": base + address, "file_name": file.file_name, "expires_in": int(DOWNLOAD_S)}


@router.get("/{dataset:path}/logs", **access(Access.INSIDER))
def list_logs(dataset: Name, place: Place, grant: Granted, limit: Limit = 50, cursor: Cursor = None) -> dict[str, Any]:
    """Return what happened with the versions of a dataset, and what is wrong with the newest one."""
    found = grant.workspace(place).dataset(dataset)
    number = found.document().versions[0].version
    return log_page(list(_entries(found.document(number))), limit, cursor)


def _entries(found: DatasetDocument) -> Iterator[dict[str, Any]]:
    for one in reversed(found.versions):
        words = f"version {one.version}: upload of {one.file_name} began, {one.size:,} bytes"
        yield _entry(one.created_at.isoformat(), "info", "upload", words)
        if one.ended_at is not None and one.status in ("uploaded", "cancelled"):
            rows = f", {one.rows:,} rows" if one.rows is not None else ""
            yield _entry(one.ended_at.isoformat(), "info", "check", f"version {one.version}: {one.status}{rows}")
    current = found.current
    if current.ended_at is not None:
        at, start = current.ended_at.isoformat(), f"version {current.version}: "
        for words in current.warnings:
            yield _entry(at, "warning", "check", start + words)
        for fault in current.faults:
            told = ": ".join(filter(None, (fault.path, fault.message)))
            yield _entry(at, "error", "check", start + (f"{told}; {fault.fix}" if fault.fix else told))
        if current.faults_total > len(current.faults):
            yield _entry(at, "error", "check", f"{start}{current.faults_total:,} faults in all")


def _entry(timestamp: str, level: str, step: str, message: str) -> dict[str, Any]:
    return {"timestamp": timestamp, "level": level, "step": step, "message": message, "details": None}


@router.get("/{dataset:path}", **access(Access.INSIDER))
def get_dataset(dataset: Name, place: Place, request: Request, grant: Granted, service: Served) -> dict[str, Any]:
    """Return a dataset by its name or id, with its first rows."""
    found = grant.workspace(place).dataset(dataset)
    document = found.document()
    shown = _dataset(document, place, base_url(request, service.settings))
    if document.version is not None:
        shown["data_preview"] = [one.cells for one in found.preview(None, _PREVIEW).items]
    return shown


def _dataset(document: DatasetDocument, place: str, base: str) -> dict[str, Any]:
    """Return a dataset; while a new version is in its check, or if it is refused, with the status of that one."""
    shown, newest = _item(document, place, base), document.versions[0]
    if newest.version != document.version and newest.status in ("processing", "error"):
        shown["status"], shown["updated_at"] = newest.status, newest.created_at.isoformat()
    return shown


def _item(item: DatasetItem, place: str, base: str) -> dict[str, Any]:
    return {
        "id": item.id,
        "file_name": item.name,
        "file_size": item.size,
        "status": item.status,
        "file_format": item.format,
        "original_file_format": item.format,
        "original_file_size": item.size,
        "row_count": item.rows,
        "creator_name": item.creator,
        "created_at": item.created_at.isoformat(),
        "updated_at": item.updated_at.isoformat(),
        "platform_url": f"{base}/workspaces/{quote(place)}/datasets/{item.id}",
        "version": item.version,
        "sha256": item.digest,
    }
