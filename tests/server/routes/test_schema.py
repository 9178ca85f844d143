"""Whatever is sent to any route, the answer is one that the OpenAPI document describes, and never a defect."""

import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.server.routes.fillings import described, operation, operations
from tests.server.routes.landscape import Landscape, open_landscape
from tests.server.routes.run_requests.conftest import World

from mesocosm.server.auth import passwords

EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES", "4"))
"""Requests for each route and person; by hand more: `SCHEMA_EXAMPLES=100 pytest …/test_schema.py`."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
WAITED = {504, 503}
"""Statuses above 500 that say what to do; a test episode is not waited for here."""
PEOPLE = ("anonymous", "member", "admin")
KNOWN = "owner"
"""Who has things whose ids are sent now and then."""


@pytest.fixture(scope="module")
def land(tmp_path_factory: pytest.TempPathFactory, empty_store: Any) -> Iterator[Landscape]:
    """The landscape, which everybody changes as they like."""
    with pytest.MonkeyPatch.context() as patch, start_blocking_portal() as portal:
        for name, value in (("MEMORY_KIB", 8), ("PASSES", 1), ("LANES", 1)):
            patch.setattr(passwords, name, value)
        world = World()
        found, close = open_landscape(tmp_path_factory.mktemp("schema") / "results", empty_store, portal, world)
        yield found
        close()
        world.close()


@pytest.fixture(scope="module")
def schema() -> Any:
    """The document as schemathesis reads it."""
    return schemathesis.openapi.from_dict(described())


@pytest.mark.parametrize(("method", "path"), operations())
def test_every_body_has_an_example(method: str, path: str) -> None:
    body = operation(method, path).get("requestBody")
    kinds = body["content"].values() if body else ()
    assert all(_exemplified(kind["schema"]) for kind in kinds)


def _exemplified(schema: dict[str, Any]) -> bool:
    """Whether a schema has an example, or its fields have."""
    if "$ref" in schema:
        return _exemplified(described()["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    within = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("properties", {}).values()]
    return "examples" in schema or any(map(_exemplified, within))


def ask(land: Landscape, who: str, case: Any) -> None:
    """Send one request of somebody, and check the answer."""
    given = case.as_transport_kwargs(base_url="http://127.0.0.1:8010")
    given.pop("cookies", None)
    headers = {
        name: value for name, value in dict(given.pop("headers") or {}).items() if name.lower() != "authorization"
    }
    if isinstance(given.get("data"), bytes | str):
        given["content"] = given.pop("data")
    method, url = given.pop("method"), given.pop("url")
    answer = land.people[who].request(method, url, headers=headers, **given)
    assert isinstance(answer, httpx.Response)
    checks = [check for check in CHECKS if answer.status_code not in WAITED or check is not not_a_server_error]
    case.validate_response(answer, checks=checks)


def test_every_route_says_what_it_does_who_may_and_what_it_refuses() -> None:
    for method, path in operations():
        told = operation(method, path)
        assert told["summary"], (method, path)
        assert told["description"], (method, path)
        assert "4XX" not in told["responses"], (method, path)
        if told["x-access"] not in ("public", "reader"):
            assert "401" in told["responses"], (method, path)


@pytest.mark.parametrize(("method", "path"), [one for one in operations() if not one[1].endswith("/live")])
def test_answers_are_those_of_the_document(land: Landscape, schema: Any, method: str, path: str) -> None:
    operation = schema[path][method]
    ids = _ids(land, path)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy())
    def fuzz(case: Any) -> None:
        for who in PEOPLE:
            ask(land, who, case)
        if ids:
            case.path_parameters = {**case.path_parameters, **ids}
            ask(land, KNOWN, case)

    fuzz()


def _ids(land: Landscape, path: str) -> dict[str, str]:
    """Return ids of things that there are, for the parameters of a path."""
    known = {
        **land.grounds["solo"].ids,
        **land.grounds["token"].ids,
        **land.grounds["team"].ids,
        **land.grounds["workspace"].ids,
    }
    return {name: value for name, value in known.items() if f"{{{name}}}" in path}
