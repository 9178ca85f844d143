"""API documents of environments and their versions."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.server.builds.directory import build_directory
from mesocosm.server.builds.log import BuildLog, notes_of
from mesocosm.server.schemas import environment as documents
from mesocosm.server.schemas.document import moment
from mesocosm.server.service import Service
from mesocosm.store.environments import EnvironmentRow, VersionRow

_TAIL = 64_000
_LINES = 200


def environment_document(service: Service, row: EnvironmentRow) -> documents.SubmittedEnvironment:
    """Return the document of an environment."""
    (document,) = environment_documents(service, (row,))
    return document


def environment_documents(service: Service, rows: tuple[EnvironmentRow, ...]) -> list[documents.SubmittedEnvironment]:
    """Return the documents of several environments, in their order."""
    ids = [row.id for row in rows]
    stages, verdicts = service.store.environments.stages(ids), service.store.environments.verdicts(ids)
    return [_environment(row, stages.get(row.id, ""), verdicts.get(row.id)) for row in rows]


def poll_document(service: Service, row: EnvironmentRow) -> documents.EnvironmentPoll:
    """Return the build state of an environment, for polling."""
    return documents.EnvironmentPoll.model_validate(environment_document(service, row).model_dump())


def _environment(row: EnvironmentRow, stage: str, verdict: str | None) -> documents.SubmittedEnvironment:
    fields = {
        **msgspec.structs.asdict(row),
        "github_url": row.source,
        "error_message": row.error or None,
        "created_at": moment(row.created_at),
        "scope": row.scope,
        "submission_version": row.version,
        "resubmitted_at": moment(row.resubmitted_at),
        "ref": row.ref or None,
        "folder": row.folder or None,
        "stage": stage,
        "check": None if verdict is None else documents.EnvironmentCheck.read(verdict),
    }
    return documents.SubmittedEnvironment.model_validate(fields)


def version_document(row: VersionRow, ready: int | None) -> documents.EnvironmentVersion:
    """Return the document of a version; `ready` is the number of the version that runs use."""
    return documents.EnvironmentVersion.model_validate(_version(row, ready))


def version_detail(row: VersionRow, ready: int | None) -> documents.EnvironmentVersionDetail:
    """Return the document of a version with its manifest and the notes of its build."""
    fields = {**_version(row, ready), "manifest": _manifest(row) or None, "notes": notes_of(row.log)}
    return documents.EnvironmentVersionDetail.model_validate(fields)


def _version(row: VersionRow, ready: int | None) -> dict[str, Any]:
    vow = _manifest(row).get("binding_vow")
    version = vow.get("version") if isinstance(vow, dict) else None
    return {
        **msgspec.structs.asdict(row),
        "state": row.state.value,
        "github_url": row.source,
        "ref": row.ref or None,
        "folder": row.folder or None,
        "commit": row.commit_id or None,
        "manifest_path": row.manifest_path or None,
        "vow_version": version if isinstance(version, str) else None,
        "digest": row.digest or None,
        "error_message": row.error or None,
        "created_at": moment(row.created_at),
        "ended_at": moment(row.ended_at),
        "current": row.version == ready,
        "check": documents.EnvironmentCheck.read(row.verdict),
    }


def _manifest(row: VersionRow) -> dict[str, Any]:
    raw = json.loads(row.manifest) if row.manifest else {}
    return raw if isinstance(raw, dict) else {}


def logs_document(service: Service, row: VersionRow) -> documents.EnvironmentLogs:
    """Return the build log of a version, and the last output of its adapter on this machine."""
    place = build_directory(service.settings, row.environment_id, row.version)
    tails = [_tail(place.logs / f"{stream}.log") for stream in ("stdout", "stderr")]
    adapter = "\n".join(tail for tail in tails if tail)
    return documents.EnvironmentLogs(
        environment_id=row.environment_id,
        version=row.version,
        state=row.state.value,
        build=row.log,
        adapter=BuildLog(place.folder).clean(adapter),
    )


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - _TAIL, 0))
            lines = file.read(_TAIL).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-_LINES:])
