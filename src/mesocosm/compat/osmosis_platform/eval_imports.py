"""`/api/cli/eval-runs/imports`: runs of one's own machine, uploaded by `osmosis eval upload` and `eval run --upload`.

The files are sent to signed addresses of the routes under `/api`. A worker computes every number again.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from mesocosm.compat.osmosis_platform.errors import checked
from mesocosm.compat.osmosis_platform.eval_runs import run_row
from mesocosm.compat.osmosis_platform.scope import Place
from mesocosm.compat.osmosis_platform.transport import check_transport
from mesocosm.server.permissions.account import OwnAccount
from mesocosm.server.permissions.grant import Grant, Granted
from mesocosm.server.permissions.route_access import Access, Served, access
from mesocosm.server.permissions.run_imports import OwnRunImport
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.run_import import FolderFileDocument, LocalEvaluationInput, RunImportDocument
from mesocosm.server.web.requests import base_url

router = APIRouter(prefix="/api/cli/eval-runs/imports", include_in_schema=False)

UPLOAD_S = 3_600.0
MOST_PATHS = 100
PATIENCE_S = 270.0
"""How long the end of an upload waits for its check; the command line waits 300 seconds for the answer."""
_PAUSE_S = 0.25

Session = Annotated[str, Path(max_length=100)]


class LocalRollout(BaseModel):
    """The code of a run."""

    name: str
    source_digest: str = ""
    branch: str = ""
    commit_sha: str = ""


class LocalDataset(BaseModel):
    """The data of a run."""

    name: str
    sha256: str
    selected_source_rows: str


class LocalExperiment(BaseModel):
    """What a run is of."""

    rollout: LocalRollout
    entrypoint: str
    model_path: str
    dataset: LocalDataset


class LocalSettings(BaseModel):
    """How it was evaluated."""

    n: int
    pass_threshold: float


class LocalRun(BaseModel):
    """A run."""

    name: str
    started_at: str
    completed_at: str
    experiment_config: LocalExperiment
    evaluation_config: LocalSettings


class Provenance(BaseModel):
    """Where it was run."""

    sdk_version: str = ""
    git_head: str = ""
    git_branch: str = ""
    git_dirty: bool = False
    config_path: str = ""


class LocalFile(BaseModel):
    """A file of its folder."""

    path: str
    size: int
    sha256: str


class NewImport(BaseModel):
    """What the command line says about a run."""

    schema_version: int
    local_run_id: str
    manifest_digest: str
    run: LocalRun
    provenance: Provenance = Provenance()
    files: list[LocalFile]
    reimport: bool = False

    def wanted(self) -> dict[str, Any]:
        """Return the input of the granted object."""
        run, given = self.run, self.run.experiment_config
        return {
            "run_id": self.local_run_id,
            "manifest_digest": self.manifest_digest,
            "name": run.name,
            "started_at": run.started_at,
            "completed_at": run.completed_at,
            "rollout": given.rollout.name,
            "entrypoint": given.entrypoint,
            "model": given.model_path,
            "dataset": given.dataset.name,
            "dataset_digest": given.dataset.sha256,
            "rows": given.dataset.selected_source_rows,
            "source": given.rollout.source_digest,
            "n": run.evaluation_config.n,
            "pass_threshold": run.evaluation_config.pass_threshold,
            "branch": given.rollout.branch or self.provenance.git_branch,
            "commit": given.rollout.commit_sha or self.provenance.git_head,
            "configuration": self.provenance.config_path,
            "dirty": self.provenance.git_dirty,
            "sdk": self.provenance.sdk_version,
            "replaces": self.reimport,
            "files": [{"path": one.path, "size": one.size, "digest": one.sha256} for one in self.files],
        }


class UploadPaths(BaseModel):
    """Files that are to be sent now."""

    paths: list[str] = Field(min_length=1, max_length=MOST_PATHS)


class SentFile(BaseModel):
    """A file that was sent."""

    path: str


@router.post("", status_code=201, **access(Access.INSIDER))
def begin(body: NewImport, place: Place, request: Request, grant: Granted, service: Served) -> dict[str, Any]:
    """Begin an upload, or go on with it."""
    base = base_url(request, service.settings)
    check_transport(base)
    if body.schema_version != 1:
        raise Refusal(400, f"uploads of schema {body.schema_version} are not known here; update the server")
    begun = grant.run_imports().begin_evaluation(place, checked(LocalEvaluationInput, body.wanted()))
    return _session(grant, begun, base)


@router.post("/{session}/uploads", **access(Access.INSIDER))
def list_uploads(
    session: Session, body: UploadPaths, place: Place, request: Request, grant: Granted, service: Served
) -> dict[str, Any]:
    """Return where files are to be sent; those that are there already are left out."""
    base, found = base_url(request, service.settings), _found(grant, place, session)
    files = {file.path: file for file in found.files()}
    unknown = [path for path in body.paths if path not in files]
    if unknown:
        raise Refusal(400, f"the upload has no file {unknown[0][:200]!r}; begin it again")
    size, account = found.document().part_size, grant.account()
    return {
        "files": [
            {**_file(files[path]), "upload": _upload(account, session, files[path], size, base)}
            for path in body.paths
            if not files[path].present
        ]
    }


@router.post("/{session}/uploads/complete", **access(Access.INSIDER))
def complete_file(session: Session, body: SentFile, place: Place, grant: Granted) -> dict[str, Any]:
    """End the upload of a file. Its digest is checked when all files are there."""
    file = next((one for one in _found(grant, place, session).files() if one.path == body.path), None)
    if file is None:
        raise Refusal(400, f"the upload has no file {body.path[:200]!r}; begin it again")
    if not file.present:
        raise Refusal(409, f"parts of {file.path} are missing; send it again")
    return {}


@router.post("/{session}/finalize", **access(Access.INSIDER))
async def finalize(session: Session, place: Place, request: Request, grant: Granted, service: Served) -> dict[str, Any]:
    """End an upload: wait until its run is stored, or say what is wrong with it."""
    base = base_url(request, service.settings)
    found = await run_in_threadpool(_found, grant, place, session)
    document = await run_in_threadpool(found.document)
    if document.status == "uploading":
        document = await run_in_threadpool(found.complete)
    end = time.monotonic() + PATIENCE_S
    while document.status == "processing":
        if time.monotonic() >= end:
            words = "the run is still being checked, or waits for a worker; call the command again in a while"
            raise Refusal(503, words, headers={"Retry-After": "60"})
        await asyncio.sleep(_PAUSE_S)
        document = await run_in_threadpool(grant.run_import(session).document)
    if document.status != "imported":
        issues = [{"key": one.path or "run", "message": f"{one.message}; {one.fix}"} for one in document.problems]
        raise Refusal(400, "the run was refused: its files do not fit together", more={"issues": issues})
    return await run_in_threadpool(_session, grant, document, base)


def _found(grant: Grant, place: str, session: str) -> OwnRunImport:
    """Return an upload to a workspace. Raises Refusal 404."""
    found = grant.run_import(session)
    if found.document().workspace_id != place or not found.files():
        raise Refusal(404, f"the workspace has no upload {session!r}; begin it again")
    return found


def _session(grant: Grant, document: RunImportDocument, base: str) -> dict[str, Any]:
    files = grant.run_import(document.id).files()
    over = document.status == "imported" and document.run_id is not None
    shown: dict[str, Any] = {
        "session_id": document.id,
        "status": "finalized" if over else "uploading",
        "expected_files": len(files),
        "uploaded_files": sum(file.present for file in files),
        "files": [{**_file(file), "state": "uploaded" if file.present else "pending"} for file in files],
    }
    if over and document.run_id is not None:
        run = run_row(grant.run(document.run_id), base)
        shown |= {"eval_run_id": run["id"], "eval_run_name": run["name"], "platform_url": run["platform_url"]}
    return shown


def _file(file: FolderFileDocument) -> dict[str, Any]:
    return {"path": file.path, "size": file.size, "sha256": file.digest}


def _upload(account: OwnAccount, session: str, file: FolderFileDocument, part_size: int, base: str) -> dict[str, Any]:
    addresses = [base + one for one in _addresses(account, session, file)]
    common = {"presigned_url": addresses[0], "expires_in": int(UPLOAD_S)}
    if len(addresses) == 1:
        return {"method": "simple", "upload_headers": {}, **common}
    parts: list[Mapping[str, Any]] = [
        {
            "part_number": number,
            "presigned_url": address,
            "size": min(part_size, file.size - (number - 1) * part_size),
        }
        for number, address in enumerate(addresses, 1)
    ]
    return {
        "method": "multipart",
        "part_size": part_size,
        "total_parts": len(parts),
        "presigned_urls": parts,
        **common,
    }


def _addresses(account: OwnAccount, session: str, file: FolderFileDocument) -> Iterator[str]:
    for number in file.parts:
        yield account.signed_address("PUT", f"/api/run-imports/{session}/parts/{number}", {}, UPLOAD_S)
