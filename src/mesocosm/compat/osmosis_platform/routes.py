"""All routes below `/api/cli`. They are not part of the OpenAPI document."""

from typing import Any

from fastapi import APIRouter, Request

from mesocosm.compat.osmosis_platform import (
    datasets,
    eval_files,
    eval_imports,
    eval_runs,
    eval_submission,
    identity,
    workspace,
)
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.refusal import Refusal

router = APIRouter()
for _part in (identity, datasets, workspace, eval_submission, eval_imports, eval_files, eval_runs):
    router.include_router(_part.router)


@router.api_route(
    "/api/cli/{path:path}",
    methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
    include_in_schema=False,
    **access(Access.PUBLIC),
)
def nothing(path: str, request: Request) -> dict[str, Any]:
    """Refuse what the server does not do: training, deployments of models, benchmarks of the hosted platform."""
    words = "it runs evaluations, and keeps datasets and secrets for them"
    raise Refusal(404, f"this server has nothing at {request.method} /api/cli/{path[:200]}; {words}")
