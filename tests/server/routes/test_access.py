"""Who gets which answer from which route: every route of the OpenAPI document, asked by everybody there can be.

The document says who may (`x-access`); the landscape says whose things are. A route without a rule, or that nobody
knows how to ask, fails.
"""

import asyncio
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from tests.server.routes.conftest import ADDRESS as HERE
from tests.server.routes.fillings import (
    UNMET,
    Ask,
    common,
    crossing,
    default_asks,
    filled,
    operation,
    operations,
)
from tests.server.routes.landscape import ADDRESS, HUSHED, NOBODY_READS, SOLO, TEAM, Ground, Landscape, open_landscape
from tests.server.routes.run_requests.conftest import PROMPT, World

from mesocosm.server.auth import passwords
from mesocosm.server.permissions.route_access import Access

MUTATING = {"POST", "PUT", "PATCH", "DELETE"}
WORKED_WITH = {
    "/api/episodes/{episode_id}/verdicts",
    "/api/episodes/{episode_id}/calls/{seq}/again",
    "/api/runs/{run_id}/scans",
    "/api/runs/{run_id}/scans/forecast",
}
"""What members of a run's workspace may do with it, though only its owner and admins may change it."""
MEMBERS = {"member", "mate", "owner", "admin", "token"}
FAILED_WORDS = "acct-4711"
WORKERS_TOO = {("GET", "/metrics"), ("GET", "/api/batch-runs"), ("GET", "/api/batch-runs/{batch_id}")}
"""What programs with the workers' secret may read beside those whom `x-access` names."""


@pytest.fixture(scope="module")
def land(tmp_path_factory: pytest.TempPathFactory, empty_store: Any) -> Iterator[Landscape]:
    """The landscape; whoever changes it restores it."""
    with pytest.MonkeyPatch.context() as patch, start_blocking_portal() as portal:
        for name, value in (("MEMORY_KIB", 8), ("PASSES", 1), ("LANES", 1)):
            patch.setattr(passwords, name, value)
        world = World()
        found, close = open_landscape(tmp_path_factory.mktemp("landscape") / "results", empty_store, portal, world)
        yield found
        close()
        world.close()


def gate(rule: str) -> set[str]:
    """Return who may use a route at all."""
    everybody = {"anonymous", "guest", "worker", *MEMBERS}
    if rule in ("public", "reader"):
        return everybody
    if rule in ("guest", "holder"):
        return {"guest", *MEMBERS}
    if rule == "admin":
        return {"admin"}
    return {"worker"} if rule == "worker" else MEMBERS


def allowed(ask: Ask, rule: str, ground: Ground | None) -> set[str]:
    """Return who gets what they ask for."""
    if (ask.method, ask.path) in WORKERS_TOO:
        return {"worker", *allowed_people(rule, ground)}
    # A member of a workspace judges runs that only others change.
    judges = ask.path in WORKED_WITH
    if ground is not None and ground.changers is not None and ask.method in MUTATING and not judges:
        ground = replace(ground, inside=ground.changers)
    return allowed_people(rule, ground) - (
        {"token"} if ask.path.startswith(("/api/sessions", "/api/auth/device/{")) else set()
    )


def allowed_people(rule: str, ground: Ground | None) -> set[str]:
    """Return which people get what they ask for."""
    found = gate(rule)
    if ground is None or rule in ("admin", "worker"):
        return found
    if rule == "owner":
        return found & ground.owners
    if rule in ("insider", "holder") or not ground.open:
        return found & ground.inside
    return found


def refusals(path: str, rule: str, who: str) -> set[int]:
    """Return the statuses that somebody may be refused with."""
    if who in gate(rule):
        if path == "/api/teams/{team_id}/members/me":
            return {409}
        return {403, 404, 422} if path == "/api/runs" else {403, 404}
    return {401} if who in ("anonymous", "worker") or rule == "worker" else {403}


def canaries(land: Landscape, who: str, path: str) -> list[str]:
    """Return words that somebody never reads."""
    if who == "worker" and "/batch-runs" in path:
        return []
    found = [NOBODY_READS, *([land.team_code] if who not in ("owner", "token") else [])]
    if who != "admin":
        found += [ADDRESS.partition("//")[2].partition("/")[0], str(land.place)]
    if who not in ("guest", "admin"):
        found.append(land.grounds["guest"].ids["run_id"])
    if who not in ("owner", "token", "admin"):
        found += [SOLO, *(land.grounds[name].ids["run_id"] for name in ("solo", "waiting", "cancelled", "test"))]
        if who != "mate":
            found += [
                TEAM,
                *(land.grounds[name].ids["run_id"] for name in ("team", "shared run")),
                HUSHED,
                PROMPT,
                FAILED_WORDS,
            ]
    return found


def asked(land: Landscape, who: str, ask: Ask) -> httpx.Response:
    """Return an answer; of an endless one only its beginning."""
    person = land.people[who]
    path = filled(land, ask)
    if path.endswith("/live"):
        return begun(land, path, {"Authorization": f"Bearer {person.token}"} if person.token else {})
    given: dict[str, Any] = {"headers": dict(ask.headers)} if ask.headers else {}
    if ask.body is not None:
        given["content" if isinstance(ask.body, bytes) else "json"] = ask.body
    return person.request(ask.method, path, params=ask.query, **given)


def begun(land: Landscape, path: str, headers: dict[str, str]) -> httpx.Response:
    """Return status and headers of a stream, whose reader goes at once."""

    async def listen() -> httpx.Response:
        started: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        data = bytearray()

        async def receive() -> dict[str, Any]:
            await asyncio.shield(started)
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start" and not started.done():
                started.set_result(message)
            data.extend(message.get("body", b""))

        request = httpx.Request("GET", HERE + path, headers=headers)
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
            "headers": request.headers.raw,
            "server": ("127.0.0.1", 8010), "client": ("127.0.0.1", 1),
        }  # fmt: skip
        await asyncio.wait_for(land.hosted.app(scope, receive, send), 120)
        start = started.result()
        return httpx.Response(start["status"], headers=start["headers"], content=bytes(data))

    answer: httpx.Response = land.hosted.portal.call(listen)
    return answer


def hold(land: Landscape, ask: Ask) -> set[int]:
    """Ask as everybody, and check every answer. Returns the statuses of those who may."""
    found: set[int] = set()
    rule = ask.rule or operation(ask.method, ask.path)["x-access"]
    ground = land.grounds[ask.ground] if ask.ground else None
    may = allowed(ask, rule, ground)
    before = land.content() if ask.method in MUTATING else {}
    # Unknown words, and who only reads, are nobody else than others on every ground.
    seldom = {"worker", "token"} if ask.ground not in ("", "solo", "token") and ask.method == "GET" else set()
    may -= seldom
    refused = sorted(set(land.people) - may - seldom)
    for who in [*refused, *sorted(may)]:
        answer = asked(land, who, ask)
        told = (who, ask, answer.status_code, answer.text[:500])
        if who == "token" and ask.method in MUTATING and rule != "worker":
            assert answer.status_code in {403, *refusals(ask.path, rule, who)}, told
        elif who in may or ask.listed:
            if who in may:
                found.add(answer.status_code)
            assert answer.status_code not in {401, 403} or who not in may, told
        else:
            assert answer.status_code in refusals(ask.path, rule, who), told
        if answer.is_success:
            leaked = [word for word in canaries(land, who, ask.path) if word in answer.text]
            assert not leaked, (leaked, *told)
        elif who in refused:
            assert not [
                word for word in canaries(land, who, ask.path) if word in answer.text.replace(*_echo(land, ask))
            ], told
        if before:
            if who in may and who != "token":
                land.restore()
            else:
                assert land.content() == before, told
    return found


def test_leaving_a_team_of_others_says_no_more_than_leaving_none(land: Landscape) -> None:
    told = [land.cid.request("DELETE", f"/api/teams/{team}/members/me") for team in (land.team, uuid4())]
    assert [answer.status_code for answer in told] == [409, 409]
    assert told[0].text == told[1].text


def without(answer: httpx.Response, ids: Mapping[str, str]) -> tuple[int, str]:
    """Return status and words of an answer, without the ids of its request."""
    words = answer.text
    for name in sorted(ids.values(), key=len, reverse=True):
        words = words.replace(name, "ID").replace(name[:36], "ID")
    return answer.status_code, words


def elsewhere(name: str) -> str:
    """Return an id of the same form that nothing has."""
    run, dot, place = name.partition(".")
    if len(run) == 36:
        return f"{uuid4()}{dot}{place}"
    return name[::-1]


def test_things_of_others_and_ids_that_nobody_has_are_answered_alike(land: Landscape) -> None:
    compared, differing = 0, []
    for method, path in operations():
        names = [name for name in re.findall(r"{(\w+)}", path) if name != "seq" and name not in common(land, path)]
        for ask in default_asks(land, method, path) if names else ():
            ground = land.grounds[ask.ground]
            if ground.open:
                continue
            here = {name: ground.ids[name] for name in names}
            nowhere = {name: elsewhere(value) for name, value in here.items()}
            for who in sorted({"anonymous", "guest", "member"} - ground.inside):
                told = without(asked(land, who, ask), here)
                with patch.dict(land.grounds, nowhere=replace(ground, ids=ground.ids | nowhere)):
                    unknown = without(asked(land, who, replace(ask, ground="nowhere")), nowhere)
                if told != unknown:
                    differing.append((who, method, path, ask.ground, told, unknown))
                compared += 1
    assert not differing, "\n".join(map(str, differing))
    assert compared > 300


def _echo(land: Landscape, ask: Ask) -> tuple[str, str]:
    """Return what a refusal may repeat of the request."""
    return (land.grounds[ask.ground].ids.get("run_id", "\0") if ask.ground else "\0"), ""


@pytest.mark.parametrize(("method", "path"), operations())
def test_a_route_answers_whom_it_says_it_answers(land: Landscape, method: str, path: str) -> None:
    assert operation(method, path).get("x-access") in set(Access), "a route without a rule: use access(...)"
    asks = default_asks(land, method, path)
    assert asks, "tell fillings.py how this route is asked"
    statuses: set[int] = set()
    for ask in asks:
        statuses |= hold(land, ask)
    wanted = UNMET.get((method, path)) or {
        int(code) for code in operation(method, path)["responses"] if code[0] in "23" and code[1:].isdigit()
    }
    assert statuses & wanted, statuses
    assert statuses <= {*wanted, 400, 404, 409}, statuses


def test_ids_of_others_in_queries_and_bodies_lead_nowhere(land: Landscape) -> None:
    for ask in crossing(land):
        statuses = hold(land, ask)
        assert statuses & {200, 201, 202, 422, 504}, (ask, statuses)
