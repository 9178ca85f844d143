"""Imports of the caller: runs that were played elsewhere, uploaded in parts and checked by a worker."""

import hashlib
from collections.abc import Sequence
from typing import Any, Self

import msgspec
from sqlalchemy.exc import IntegrityError

from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.permissions.workspaces import WorkingWorkspace
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests.submission import check_team
from mesocosm.server.schemas.document import instant, moment
from mesocosm.server.schemas.run_import import (
    FolderFileDocument,
    ImportProblem,
    LocalEvaluationInput,
    RunImportDocument,
    RunImportInput,
    RunImportItem,
    RunImportPage,
    RunImportPart,
)
from mesocosm.server.service import Service
from mesocosm.store.run_imports import FolderFile, ImportRoomFull, ImportState, LocalEvaluation, RunImport

_MIB = 1 << 20


class OwnRunImports(GrantedObject):
    """The imports of the caller."""

    def list(self, limit: int, cursor: str | None) -> RunImportPage:
        """Return a page of imports, newest first; `cursor` is the last id seen."""
        self._check_member()
        found = self._store.run_imports.list(self._viewer.caller.actor, limit=limit + 1, cursor=cursor)
        page = found[:limit]
        items = [RunImportItem.model_validate(_fields(one)) for one in page]
        return RunImportPage(items=items, next_cursor=page[-1].id if len(found) > limit else None)

    def begin(self, given: RunImportInput) -> RunImportDocument:
        """Return the import to which the parts of a bundle go; the same bundle again is the same import.

        Raises Refusal: 403 and 404 unless the caller may submit in the workspace or for the team, 409 on a laptop, 413
        if the bundle is too large or there is no room, 422 with both a workspace and a team.
        """
        self._check_member()
        self._check_server()
        return self._begin(self._wanted(given), given.workspace or "")

    def begin_evaluation(self, workspace: str, given: LocalEvaluationInput) -> RunImportDocument:
        """Return the import to which the files of a run of osmosis-ai go; the same files again are the same import.

        Raises Refusal as `begin`, and 409 if other results of the run are here already, unless they are replaced.
        """
        self._check_member()
        self._check_server()
        wanted = self._folder(WorkingWorkspace.find(self._service, self._viewer, workspace).document().id, given)
        earlier = self._store.run_imports.imported(wanted)
        if earlier is not None and earlier.digest != wanted.digest and not given.replaces:
            raise Refusal(409, f"the run {given.name!r} was uploaded already, and its results differ from those here.")
        return self._begin(wanted, workspace)

    def _folder(self, workspace_id: str, given: LocalEvaluationInput) -> RunImport:
        files = tuple(FolderFile(one.path, one.size, one.digest) for one in given.files)
        fields = given.model_dump(exclude={"run_id", "manifest_digest", "started_at", "completed_at", "files"})
        times = {name: getattr(given, name).timestamp() for name in ("started_at", "completed_at")}
        named = sorted((file.path, file.digest) for file in files)
        return RunImport(
            actor=self._viewer.caller.actor,
            actor_name=self._viewer.caller.username or "",
            workspace_id=workspace_id,
            source=given.run_id,
            size=sum(file.size for file in files),
            digest=hashlib.sha256(repr((given.manifest_digest, named)).encode()).hexdigest(),
            evaluation=msgspec.json.encode(LocalEvaluation(**fields, **times, files=files)).decode(),
        )

    def _begin(self, wanted: RunImport, workspace: str) -> RunImportDocument:
        settings = self._service.settings
        if wanted.size > (most := settings.run_import_mb * _MIB):
            raise Refusal(
                413, f"the run has {wanted.size:,} bytes, and this server takes runs of at most {most:,}; ask its "
                "administrators for more"
            )  # fmt: skip
        try:
            begun = self._store.run_imports.begin(
                wanted,
                most_bytes=settings.user_imports_mb * _MIB,
                most_shared=settings.workspace_imports_mb * _MIB,
            )
        except ImportRoomFull as full:
            raise _no_room(wanted, workspace, full) from None
        except IntegrityError as error:
            raise Refusal(404, "the workspace or the team was deleted; choose another") from error
        return OwnRunImport(self._service, self._viewer, begun).document()

    def _wanted(self, given: RunImportInput) -> RunImport:
        viewer, workspace_id = self._viewer, None
        if given.workspace:
            if given.team_id:
                raise Refusal(422, "a run belongs to a workspace or to a team; name one of them")
            workspace_id = WorkingWorkspace.find(self._service, viewer, given.workspace).document().id
        return RunImport(
            actor=viewer.caller.actor,
            actor_name=viewer.caller.username or "",
            team_id=check_team(self._service, viewer, given.team_id),
            workspace_id=workspace_id,
            source=given.run_id,
            host=given.host,
            size=given.size,
            digest=given.digest,
        )

    def _check_server(self) -> None:
        if self._service.local:
            raise Refusal(409, "runs are pushed to servers; here `mesocosm import FILE` takes what was exported")

    def _check_member(self) -> None:
        """Raise Refusal unless the caller has an account."""
        assert self._viewer.user_id is not None


class OwnRunImport(GrantedObject):
    """An import of the caller; for administrators of the server, any."""

    def __init__(self, service: Service, viewer: Viewer, wanted: RunImport) -> None:
        super().__init__(service, viewer)
        self._import = wanted

    @classmethod
    def find(cls, service: Service, viewer: Viewer, import_id: str) -> Self:
        """Return an import by its id. Raises Refusal 404, also for those of others."""
        found = service.store.run_imports.get(import_id) if viewer.user_id is not None else None
        if found is None or not (viewer.is_owner(found) or viewer.sees_all):
            raise Refusal(404, f"you have no import {import_id[:100]!r}; it was given up, or push the run again")
        return cls(service, viewer, found)

    def document(self) -> RunImportDocument:
        """Return its state, the parts that are there, and what is wrong with its bundle."""
        found = self._import
        present = sorted(self._store.run_imports.parts(found.id)) if found.state is ImportState.UPLOADING else []
        return RunImportDocument.model_validate(
            {
                **_fields(found),
                "checking": found.state is ImportState.PROCESSING and found.claimed_by is not None,
                "digest": found.digest,
                "part_size": found.part_size,
                "part_count": found.part_count,
                "present": present,
                "problems": [
                    ImportProblem(path=one.path, message=one.message, fix=one.fix) for one in found.problems
                ],
            }
        )  # fmt: skip

    def files(self) -> Sequence[FolderFileDocument]:
        """Return the files of a run that comes as a folder; none for a bundle."""
        found, local = self._import, self._import.local
        if local is None:
            return []
        over = found.state in (ImportState.PROCESSING, ImportState.IMPORTED)
        present = set() if over else self._store.run_imports.parts(found.id).keys()
        return [
            FolderFileDocument(
                path=file.path,
                size=file.size,
                digest=file.digest,
                parts=list(numbers),
                present=over or present >= set(numbers),
            )
            for file, numbers in found.numbered(local)
        ]

    def part_size(self, part: int) -> int:
        """Return the size that a part must have. Raises Refusal: 404, or 409 if the import is not being uploaded."""
        self._check_uploading()
        if not 1 <= part <= self._import.part_count:
            raise Refusal(404, f"the run has {self._import.part_count} parts, numbered from 1, and no part {part}")
        return self._import.part_length(part)

    def add_part(self, part: int, data: bytes, digest: str | None) -> RunImportPart:
        """Store a part, whose SHA-256 is checked if it is given. It may be sent again.

        Raises Refusal: 404, 409 if the import is not being uploaded, 422 if the part has another size or digest.
        """
        size = self.part_size(part)
        if len(data) != size:
            raise Refusal(422, f"part {part} has {len(data):,} bytes, not {size:,}; send it again, in full")
        found = hashlib.sha256(data).hexdigest()
        if digest not in (None, found):
            raise Refusal(422, f"part {part} came with another SHA-256 ({found}) than it was sent with; send it again")
        if not self._store.run_imports.add_part(self._import, part, data):
            raise self._not_uploading()
        return RunImportPart(number=part, size=size, digest=found)

    def complete(self) -> RunImportDocument:
        """Queue the check of a bundle whose parts are all there.

        Raises Refusal: 404, 409 if parts are missing, 403 and 404 if the caller may not submit there any more.
        """
        viewer, workspace_id = self._viewer, self._import.workspace_id
        if workspace_id is not None:
            WorkingWorkspace.find(self._service, viewer, workspace_id)
        check_team(self._service, viewer, self._import.team_id)
        if not self._store.run_imports.submit(self._import):
            self._check_uploading()
            present = self._store.run_imports.parts(self._import.id)
            count = self._import.part_count
            missing = [part for part in range(1, count + 1) if part not in present]
            listed = ", ".join(map(str, missing[:10])) + (", …" if len(missing) > 10 else "")
            raise Refusal(409, f"{len(missing)} of {count} parts are missing ({listed}); send them, then complete")
        if self._import.state is ImportState.UPLOADING:
            self._note("run.import")
        return self._again().document()

    def abort(self) -> None:
        """Give an upload up and remove its parts. Raises Refusal 409 if it is being checked, or was imported."""
        if not self._store.run_imports.abort(self._import):
            raise self._not_uploading()
        self._note("run.import.abort")

    def _again(self) -> "OwnRunImport":
        return OwnRunImport.find(self._service, self._viewer, self._import.id)

    def _check_uploading(self) -> None:
        if self._import.state is not ImportState.UPLOADING:
            raise self._not_uploading()

    def _not_uploading(self) -> Refusal:
        current = self._store.run_imports.get(self._import.id)
        state = "removed" if current is None else current.state
        return Refusal(409, f"the import {self._import.id} is {state}, not uploading; push the run again")

    def _note(self, action: str) -> None:
        found = self._import
        detail = {"run": found.source, "bytes": found.size, "workspace": found.workspace_id, "team": found.team_id}
        self._store.audit.note(self._viewer.caller.actor, action, f"import:{found.id}", detail)


def _fields(found: RunImport) -> dict[str, Any]:
    """Return the fields that an import has in lists as well."""
    return {
        "id": found.id,
        "status": found.state.value,
        "local_run_id": found.source,
        "run_id": found.run_id,
        "host": found.host,
        "size": found.size,
        "workspace_id": found.workspace_id,
        "team_id": found.team_id,
        "created_at": instant(found.created_at),
        "ended_at": moment(found.ended_at),
    }


def _no_room(wanted: RunImport, workspace: str, full: ImportRoomFull) -> Refusal:
    whose = f"the runs that were pushed to the workspace {workspace!r}" if full.shared else "the runs you pushed"
    return Refusal(
        413,
        f"the run has {wanted.size:,} bytes, and {whose} may have {full.most:,}: they have {full.used:,}; delete some "
        "of them on the server, or ask its administrators for more",
    )
