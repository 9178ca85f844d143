"""The paths under `/v1` of the older server for accounts and teams, answered by the routes under `/api`."""

from fastapi import APIRouter
from fastapi.routing import APIRoute

from mesocosm.compat.swecc import login
from mesocosm.server.routes import auth, me, teams

CALLED = frozenset(
    {
        ("GET", "/me"),
        ("POST", "/auth/guest"),
        ("POST", "/teams"),
        ("GET", "/teams"),
        ("POST", "/teams/join"),
        ("GET", "/teams/{team_id}"),
        ("DELETE", "/teams/{team_id}"),
        ("DELETE", "/teams/{team_id}/members/me"),
        ("DELETE", "/teams/{team_id}/members/{user_id}"),
        ("POST", "/teams/{team_id}/join-code/regenerate"),
        ("POST", "/teams/{team_id}/transfer"),
        ("GET", "/teams/{team_id}/runs"),
    }
)
"""What the published client calls."""

router = APIRouter(include_in_schema=False)
router.include_router(login.router)
for _route in (*me.router.routes, *auth.router.routes, *teams.router.routes):
    if not isinstance(_route, APIRoute):
        continue
    _path, _methods = _route.path.removeprefix("/api"), list(_route.methods or ())
    if any((method, _path) in CALLED for method in _methods):
        router.add_api_route(
            f"/v1{_path}",
            _route.endpoint,
            methods=_methods,
            status_code=_route.status_code,
            response_model=_route.response_model,
            dependencies=_route.dependencies,
        )
