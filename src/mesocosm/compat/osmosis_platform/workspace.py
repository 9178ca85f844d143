"""What the `osmosis` command line does in a workspace besides datasets and runs: secrets, rollouts, models."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query, Request
from pydantic import BaseModel, ConfigDict, SecretStr

from mesocosm.compat.osmosis_platform.errors import checked
from mesocosm.compat.osmosis_platform.pages import Limit, Offset, offset_page
from mesocosm.compat.osmosis_platform.scope import Place
from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, Served, access
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.model import OfferedModel
from mesocosm.server.schemas.repository import SyncedRolloutDocument
from mesocosm.server.schemas.workspace_secret import SecretInput, WorkspaceSecret, name_fault
from mesocosm.server.web.requests import base_url

router = APIRouter(prefix="/api/cli", include_in_schema=False)

Scope = Literal["workspace", "user"]
_OURS: dict[str, Literal["workspace", "personal"] | None] = {
    "workspace": "workspace",
    "user": "personal",
    "all": None,
}


class SecretValue(BaseModel):
    """A secret with its value."""

    model_config = ConfigDict(hide_input_in_errors=True)

    name: str
    value: SecretStr
    scope: Scope = "user"


class SecretName(BaseModel):
    """A secret by its name."""

    name: str
    scope: Scope = "user"


@router.get("/environment-secrets", **access(Access.INSIDER))
def list_secrets(
    place: Place,
    request: Request,
    grant: Granted,
    service: Served,
    limit: Limit = 50,
    offset: Offset = 0,
    scope: Annotated[Literal["workspace", "user", "all"], Query()] = "all",
) -> dict[str, Any]:
    """List the secrets of a workspace and the caller's own in it, without their values."""
    found = grant.workspace(place).secrets().list(_OURS[scope])
    page = offset_page("environment_secrets", found, limit, offset, _secret)
    return {**page, "platform_url": f"{base_url(request, service.settings)}/workspaces/{place}/secrets"}


@router.post("/environment-secrets", **access(Access.INSIDER))
def set_secret(body: SecretValue, place: Place, grant: Granted) -> dict[str, Any]:
    """Set a secret."""
    _check_name(body.name)
    value = checked(SecretInput, {"value": body.value}).value
    if body.scope == "workspace":
        return _secret(grant.managed_workspace(place).secrets().set(body.name, value))
    return _secret(grant.working_workspace(place).secrets().set_personal(body.name, value))


@router.delete("/environment-secrets", **access(Access.INSIDER))
def delete_secret(body: Annotated[SecretName, Body()], place: Place, grant: Granted) -> dict[str, Any]:
    """Delete a secret."""
    if body.scope == "workspace":
        grant.managed_workspace(place).secrets().delete(body.name)
    else:
        grant.workspace(place).secrets().delete_personal(body.name)
    return {}


def _check_name(name: str) -> None:
    if fault := name_fault(name):
        raise Refusal(400, fault)


def _secret(found: WorkspaceSecret) -> dict[str, Any]:
    scope = "user" if found.scope == "personal" else "workspace"
    return {
        "id": f"{scope}/{found.name}",
        "name": found.name,
        "scope": scope,
        "creator_name": found.created_by,
        "created_at": found.created_at.isoformat(),
        "updated_at": found.updated_at.isoformat(),
    }


@router.get("/rollouts", **access(Access.INSIDER))
def list_rollouts(
    place: Place, grant: Granted, limit: Limit = 50, offset: Offset = 0, branch: Annotated[str, Query()] = ""
) -> dict[str, Any]:
    """List the rollouts at the newest synced commit of a branch, by default of the one that is followed."""
    repository = grant.workspace(place).repository()
    found = repository.rollouts(branch)
    name = repository_name(repository.document().identity) if found else ""

    def shown(one: SyncedRolloutDocument) -> dict[str, Any]:
        synced = one.synced_at.isoformat()
        return {
            "id": f"{place}/{one.name}",
            "name": one.name,
            "description": None,
            "last_synced_at": synced,
            "last_synced_commit_sha": one.commit,
            "repo_full_name": name,
            "created_at": synced,
            "is_active": True,
        }

    return offset_page("rollouts", found, limit, offset, shown)


def repository_name(identity: str) -> str:
    """Return `owner/repo` of the identity of a repository."""
    return "/".join(identity.split("/")[-2:])


@router.get("/models/base", **access(Access.INSIDER))
def list_models(grant: Granted, limit: Limit = 50, offset: Offset = 0) -> dict[str, Any]:
    """List the models of the server."""
    return offset_page("models", grant.system().models().models, limit, offset, _model)


@router.get("/models/base/{name:path}", **access(Access.INSIDER))
def get_model(name: Annotated[str, Path(max_length=300)], grant: Granted) -> dict[str, Any]:
    """Return a model of the server."""
    for one in grant.system().models().models:
        if name in (one.name, one.title):
            return _model(one)
    raise Refusal(404, f"this server offers no model {name!r}; list its models")


def _model(found: OfferedModel) -> dict[str, Any]:
    return {
        "id": found.name,
        "model_name": found.name,
        "base_model": found.name,
        "namespace": found.provider,
        "creator_name": found.provider,
        "created_at": "",
        "updated_at": "",
    }


_EMPTY = {"total_count": 0, "has_more": False, "next_offset": None}


@router.get("/models/lora", **access(Access.INSIDER))
def list_adapters(_place: Place) -> dict[str, Any]:
    """Return no trained models: the server does not train."""
    return {"models": [], **_EMPTY}


@router.get("/training-runs", **access(Access.INSIDER))
def list_training_runs(_place: Place) -> dict[str, Any]:
    """Return no training runs: the server does not train."""
    return {"training_runs": [], **_EMPTY}


@router.get("/benchmarks", **access(Access.INSIDER))
def list_benchmarks(_place: Place) -> dict[str, Any]:
    """Return no benchmarks: those of the server run on other commands."""
    return {"benchmarks": [], **_EMPTY}


@router.get("/benchmark-runs", **access(Access.INSIDER))
def list_benchmark_runs(_place: Place) -> dict[str, Any]:
    """Return no runs of benchmarks."""
    return {"benchmark_runs": [], **_EMPTY}
