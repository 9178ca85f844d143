"""Numbers and documents that no request should hold are refused on every route, and never a defect.

JSON of other programs may hold NaN, Infinity, numbers of thousands of digits and lists a hundred thousand deep.
"""

import json
import os
import re
from collections.abc import Iterator
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from tests.server.routes.fillings import bodies, default_asks, described, filled, operation, operations
from tests.server.routes.landscape import Landscape, open_landscape
from tests.server.routes.run_requests.conftest import World

from mesocosm.server.auth import passwords

EVERYTHING = bool(os.environ.get("EXTREMES"))
"""By hand each value in each place; else one value in each place, the next one in the next place."""
VALUES = (
    *("NaN", "-Infinity", "1e999", "-1", "9" * 5_000, "-" + "9" * 400, "1e308", "5e-324", "true", "null", '"NaN"', "0"),
    *("[" * 3_000 + "]" * 3_000, '{"a":' * 3_000 + "1" + "}" * 3_000, '"\\ud800"', '"\\u0000"', "1.5", '"1e999"'),
)
QUERY = ("nan", "inf", "-1", "1e999", "9" * 400, "1_000", "٣", "0x10", "", "null", "\x00", "2147483648", "-0.0", "[]")
WAITED = {503, 504}
WHO = ("admin", "owner")


@pytest.fixture(scope="module")
def land(tmp_path_factory: pytest.TempPathFactory, empty_store: Any) -> Iterator[Landscape]:
    """The landscape, which everybody changes as they like."""
    with pytest.MonkeyPatch.context() as patch, start_blocking_portal() as portal:
        for name, value in (("MEMORY_KIB", 8), ("PASSES", 1), ("LANES", 1)):
            patch.setattr(passwords, name, value)
        world = World()
        found, close = open_landscape(tmp_path_factory.mktemp("extremes") / "results", empty_store, portal, world)
        yield found
        close()
        world.close()


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield every place of a document, its leaves and what holds them."""
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*at, key))


def put(document: Any, at: tuple[Any, ...], text: str) -> bytes:
    """Return a document with this text in one of its places."""
    mark = "@@ here @@"
    if not at:
        return text.encode()
    made = json.loads(json.dumps(document))
    inner = made
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = mark
    return json.dumps(made).replace(json.dumps(mark), text).encode()


def check(answer: Any, said: str) -> None:
    """Check that an answer is one: no defect, and JSON where it says so."""
    assert answer.status_code < 500 or answer.status_code in WAITED, (said, answer.status_code, answer.text[:500])
    if answer.headers.get("content-type", "").startswith("application/json") and answer.content:
        json.loads(answer.content, parse_constant=lambda found: pytest.fail(f"{said} gave {found}"))


def test_no_value_in_a_body_is_a_defect(land: Landscape) -> None:
    turn = 0
    for method, path in operations():
        document = bodies(land).get((method, path))
        known = operation(method, path).get("requestBody")
        if known is None or isinstance(document, bytes):
            continue  # bytes have no fields
        extra = dict.fromkeys(_fields(known), 1)
        document = {**extra, **(document or {})}
        for ask in default_asks(land, method, path)[:1]:
            for at in places(document):
                turn += 1
                for text in VALUES if EVERYTHING else (VALUES[turn % len(VALUES)], VALUES[-turn % len(VALUES)]):
                    for who in WHO:
                        body = put(document, at, text)
                        headers = {**ask.headers, "Content-Type": "application/json"}
                        answer = land.people[who].request(method, filled(land, ask), content=body, headers=headers)
                        check(answer, f"{who} {method} {path} {at} {text[:30]}")


def _fields(known: dict[str, Any]) -> list[str]:
    """Return the names of the fields of a body."""
    found: list[str] = []
    for kind in known["content"].values():
        name = re.findall(r'schemas/([^"]+)"', json.dumps(kind["schema"]))
        for one in name:
            found += described()["components"]["schemas"][one].get("properties", {})
    return found


def test_no_value_of_a_query_is_a_defect(land: Landscape) -> None:
    turn = 0
    for method, path in operations():
        named = [one["name"] for one in operation(method, path).get("parameters", ()) if one["in"] == "query"]
        for ask in default_asks(land, method, path)[:1]:
            for name in named if method == "GET" and not path.endswith("/live") else ():
                turn += 1
                for text in QUERY if EVERYTHING else (QUERY[turn % len(QUERY)], QUERY[-turn % len(QUERY)]):
                    for who in WHO:
                        query = {**ask.query, name: text}
                        answer = land.people[who].request(method, filled(land, ask), params=query, headers=ask.headers)
                        check(answer, f"{who} {method} {path} {name}={text[:30]}")


@pytest.mark.parametrize("unit", [b"1e300,", b"{},", b"[[]],", b'"",'])
def test_a_body_of_more_values_than_any_request_needs_is_refused_unread(land: Landscape, unit: bytes) -> None:
    body = b'{"name": [' + unit * (1_900_000 // len(unit)) + b"1]}"
    headers = {"Content-Type": "application/json"}
    answer = land.people["owner"].request("POST", "/api/teams", content=body, headers=headers)
    assert answer.status_code == 413
    assert "more values" in answer.text
