"""Paths of the older server that are aliases of routes under `/api`: accounts, teams, domains, environments."""

from fastapi import APIRouter
from fastapi.routing import APIRoute

from mesocosm.compat.swecc import login
from mesocosm.server.routes import auth, domains, environments, me, teams

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
        ("GET", "/domains"),
        ("POST", "/domains"),
        ("GET", "/domains/{domain_id}"),
        ("PATCH", "/domains/{domain_id}"),
        ("POST", "/domains/{domain_id}/publish"),
        ("POST", "/developer/environments"),
        ("GET", "/developer/environments"),
        ("DELETE", "/developer/environments/{environment_id}"),
    }
)
"""Methods and paths that the published client calls, without the prefix `/v1`."""

router = APIRouter(include_in_schema=False)
router.include_router(login.router)
for _route in (
    route
    for noun in (me, auth, teams, domains, environments)
    for route in noun.router.routes
    if isinstance(route, APIRoute)
):
    _path, _methods = _route.path.removeprefix("/api"), list(_route.methods or ())
    _path = _path.replace("/environments", "/developer/environments", 1) if _path.startswith("/environments") else _path
    if any((method, _path) in CALLED for method in _methods):
        router.add_api_route(
            f"/v1{_path}",
            _route.endpoint,
            methods=_methods,
            status_code=_route.status_code,
            response_model=_route.response_model,
            response_class=_route.response_class,
            dependencies=_route.dependencies,
        )
