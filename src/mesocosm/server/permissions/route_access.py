"""Access rules of routes. Every route declares one, which is enforced and shown in the OpenAPI document.

    @router.post("", **access(Access.MEMBER))
    def create(body: TeamInput, caller: Caller, service: Served) -> TeamCreated: ...

The rule is checked before the route runs. Rules about an object (owner, insider, reader) need the object: the check
here refuses only callers who could never satisfy the rule, and the granted object decides about the others.
"""

from enum import StrEnum
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool

from mesocosm.server.auth.principal import NOBODY, Principal
from mesocosm.server.auth.signed_addresses import SIGNATURE
from mesocosm.server.refusal import Refusal
from mesocosm.server.service import Service

READING = frozenset({"GET", "HEAD", "OPTIONS"})


class Access(StrEnum):
    """Rules of access, `x-access` in the OpenAPI document."""

    PUBLIC = "public"
    """Every caller."""
    READER = "reader"
    """Callers who may read the object: its owner and their team, and everyone if it is public."""
    GUEST = "guest"
    """Guests and members."""
    MEMBER = "member"
    """Members."""
    HOLDER = "holder"
    """The owner of the object, guests included, and members of its team."""
    INSIDER = "insider"
    """The owner of the object and members of its team."""
    OWNER = "owner"
    """The owner of the object; of a workspace also its admins, where the route says so."""
    ADMIN = "admin"
    """Administrators."""
    WORKER = "worker"
    """Programs that know the workers' secret."""


async def service_of(request: Request) -> Service:
    """Return the service of the application."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


Served = Annotated[Service, Depends(service_of)]
"""A parameter of a route: the service."""


async def principal_of(request: Request, service: Served) -> Principal:
    """Return the caller, authenticated once per request."""
    known = getattr(request.state, "principal", None)
    if isinstance(known, Principal):
        return known
    found = await run_in_threadpool(service.recognise, request) if _has_credentials(request) else service.nobody
    request.state.principal = found
    return found


def _has_credentials(request: Request) -> bool:
    """Return whether a request has credentials. Most requests for public pages have none, and need no thread."""
    return "authorization" in request.headers or "cookie" in request.headers or SIGNATURE in request.query_params


Caller = Annotated[Principal, Depends(principal_of)]
"""A parameter of a route: the caller."""


def access(rule: Access) -> dict[str, Any]:
    """Return the arguments for a route's decorator that enforce and document `rule`."""
    return {"dependencies": [Depends(_CHECKS[rule])], "openapi_extra": {"x-access": rule.value}}


async def _anyone(request: Request, caller: Caller) -> None:
    _check_scope(request, caller)


async def _guest(request: Request, caller: Caller) -> None:
    if caller.anonymous and SIGNATURE in request.query_params and "authorization" not in request.headers:
        # As object stores answer: programs ask for another address then.
        raise Refusal(403, "this signed address is not valid, or not any more; ask for another one")
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
        raise Refusal(403, "only administrators may do that")


async def _worker(request: Request, service: Served) -> None:
    service.check_worker(request.headers.get("authorization", ""))


def _check_scope(request: Request, caller: Principal) -> None:
    if caller.scope == "read" and request.method not in READING:
        raise Refusal(403, "this personal token may only read; create one with the scope write")


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
