"""Who may use a route: every route of a platform says so, in code and in the OpenAPI document.

    @router.post("", **access(Access.MEMBER))
    def create(body: TeamInput, caller: Caller, service: Served) -> TeamCreated: ...

The rule is checked before the route runs. Rules about an object (owner, insider, reader) need the object, so there the
check only keeps out who is never allowed, and the route itself asks for the rest.
"""

from enum import StrEnum
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool

from mesocosm.server.auth.principal import NOBODY, Principal
from mesocosm.server.refusal import Refusal
from mesocosm.server.service import Service

READING = frozenset({"GET", "HEAD", "OPTIONS"})


class Access(StrEnum):
    """Rules of access. They stand in the OpenAPI document as `x-access`."""

    PUBLIC = "public"
    """Anybody."""
    READER = "reader"
    """Who may read the object: its owner and their team, and for what is public anybody."""
    GUEST = "guest"
    """Guests and members."""
    MEMBER = "member"
    """Members."""
    HOLDER = "holder"
    """Whose the object is, a guest too, and members of the team that it belongs to."""
    INSIDER = "insider"
    """The owner of the object, and members of the team that it belongs to."""
    OWNER = "owner"
    """The owner of the object alone."""
    ADMIN = "admin"
    """Those who run the platform."""
    WORKER = "worker"
    """Programs that know the workers' secret."""


async def service_of(request: Request) -> Service:
    """Return what the server that answers works with."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


Served = Annotated[Service, Depends(service_of)]
"""A parameter of a route that works on the platform."""


async def principal_of(request: Request, service: Served) -> Principal:
    """Return who asks; once for each request."""
    known = getattr(request.state, "principal", None)
    if isinstance(known, Principal):
        return known
    found = await run_in_threadpool(service.recognise, request) if _speaks(request) else service.nobody
    request.state.principal = found
    return found


def _speaks(request: Request) -> bool:
    """Return whether a request brings anything to be recognised by: most visitors of public pages do not."""
    return "authorization" in request.headers or "cookie" in request.headers


Caller = Annotated[Principal, Depends(principal_of)]
"""A parameter of a route: who asks."""


def access(rule: Access) -> dict[str, Any]:
    """Return what a route's decorator is given so that `rule` holds and is told."""
    return {"dependencies": [Depends(_CHECKS[rule])], "openapi_extra": {"x-access": rule.value}}


async def _anyone(request: Request, caller: Caller) -> None:
    _check_scope(request, caller)


async def _guest(request: Request, caller: Caller) -> None:
    if caller.anonymous:
        raise Refusal(401, "Authentication required", headers={"WWW-Authenticate": "Bearer"})
    _check_scope(request, caller)


async def _member(request: Request, caller: Caller) -> None:
    await _guest(request, caller)
    if not caller.member:
        raise Refusal(403, "SWECC member account required")


async def _admin(request: Request, caller: Caller) -> None:
    await _member(request, caller)
    if not caller.admin:
        raise Refusal(403, "only those who run this platform may do that")


async def _worker(request: Request, service: Served) -> None:
    service.check_worker(request.headers.get("authorization", ""))


def _check_scope(request: Request, caller: Principal) -> None:
    if caller.scope == "read" and request.method not in READING:
        raise Refusal(403, "this personal token may only read; make one with the scope write")


_CHECKS: dict[Access, Any] = {
    Access.PUBLIC: _anyone,
    Access.READER: _anyone,
    Access.GUEST: _guest,
    Access.HOLDER: _guest,
    Access.MEMBER: _member,
    Access.INSIDER: _member,
    Access.OWNER: _member,
    Access.ADMIN: _admin,
    Access.WORKER: _worker,
}

__all__ = ["NOBODY", "Access", "Caller", "Principal", "Served", "access"]
