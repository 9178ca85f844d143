"""`POST /api/cli/eval-runs`: submit an evaluation of a workspace for the `osmosis` command line."""

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from mesocosm.compat.osmosis_platform.errors import checked
from mesocosm.compat.osmosis_platform.eval_runs import run_row
from mesocosm.compat.osmosis_platform.scope import Place
from mesocosm.server.permissions.grant import Grant, Granted
from mesocosm.server.permissions.route_access import Access, Served, access
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.run_request import RolloutInput
from mesocosm.server.web.requests import base_url

router = APIRouter(prefix="/api/cli/eval-runs", include_in_schema=False)


class RunSecrets(BaseModel):
    """Secrets that a run needs, and values that the command line found in its environment or in a file."""

    model_config = ConfigDict(hide_input_in_errors=True)

    required: list[str] = Field(default=[], max_length=200)
    provided: dict[str, SecretStr] = Field(default={}, max_length=200)


class NewEvaluation(BaseModel):
    """The tables of a configuration, as the command line sends them."""

    experiment_config: dict[str, Any]
    evaluation_config: dict[str, Any] = {}
    advanced_config: dict[str, Any] = {}
    env_config: dict[str, Any] = {}
    secrets: RunSecrets = RunSecrets()

    def tables(self) -> dict[str, Any]:
        """Return them as in a configuration file."""
        given = {
            "experiment": self.experiment_config,
            "evaluation": self.evaluation_config,
            "advanced": self.advanced_config,
            "env": self.env_config,
            "secrets": {"required": self.secrets.required} if self.secrets.required else {},
        }
        return {name: table for name, table in given.items() if table}


@router.post("", status_code=201, **access(Access.INSIDER))
def submit(body: NewEvaluation, place: Place, request: Request, grant: Granted, service: Served) -> dict[str, Any]:
    """Submit an evaluation; the code is that of the commit or branch that the configuration names."""
    base = base_url(request, service.settings)
    _check_secrets(grant, place, body.secrets, base)
    wanted = checked(RolloutInput, {"kind": "rollout", "workspace": place, "config": body.tables()})
    return run_row(grant.submit(wanted, body.secrets.provided), base)


def _check_secrets(grant: Grant, place: str, secrets: RunSecrets, base: str) -> None:
    """Raise Refusal 404 if a secret has no value; the command line then says how to set it."""
    known = {one.name for one in grant.working_workspace(place).secrets().list(None)}
    missing = [name for name in secrets.required if name not in known | secrets.provided.keys()]
    if missing:
        words = f"Secret(s) not found: {', '.join(missing)}"
        raise Refusal(404, words, more={"platform_url": f"{base}/workspaces/{place}"})
