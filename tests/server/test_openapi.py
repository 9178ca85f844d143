"""The description of the API is fresh and complete, and no request that fits into it, or does not, finds a defect."""

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mesocosm.server.app import create_app

if TYPE_CHECKING:
    from tests.server.conftest import ApiClient

COMMITTED = Path(__file__).parents[2] / "viewer" / "openapi.json"
METHODS = {"get", "put", "post", "delete"}


@functools.cache
def described() -> dict[str, Any]:
    return create_app().openapi()


def reading() -> list[tuple[str, dict[str, Any]]]:
    """Routes that are read, with their descriptions: no streams, which do not end, and no files, which take long."""
    return [
        (path, routes["get"])
        for path, routes in described()["paths"].items()
        if "get" in routes and not path.endswith(("/live", "/export", ".csv"))
    ]


def test_the_committed_description_is_fresh() -> None:
    assert json.loads(COMMITTED.read_bytes()) == json.loads(json.dumps(described())), "run docs/generate.py"


def test_every_route_says_what_errors_are() -> None:
    for path, routes in described()["paths"].items():
        for method in METHODS & set(routes):
            answers = routes[method]["responses"]
            assert {"422", "503", "5XX"} <= set(answers), path
            assert "ProblemDocument" in json.dumps(answers["422"]), path
            assert routes[method]["description"], path


def test_routes_have_names_of_their_own() -> None:
    names = [route["operationId"] for routes in described()["paths"].values() for route in routes.values()]
    assert len(names) == len(set(names))


def test_the_server_describes_itself(client: "ApiClient") -> None:
    assert client.get("/openapi.json").json()["paths"].keys() == described()["paths"].keys()


WORDS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["", "0", "-1", "1e999", "nan", str(2**63), "null", "[]", "../..", "%00", "\0", "a" * 2_000, "'--"]
    ),
    st.integers(-(2**70), 2**70).map(str),
)


def fitting(schema: dict[str, Any], found: list[str]) -> st.SearchStrategy[Any]:
    """Values of a parameter as its schema describes them, with ids that there are among its texts."""
    if "anyOf" in schema:
        return st.one_of([fitting(option, found) for option in schema["anyOf"] if option.get("type") != "null"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        return st.lists(fitting(schema["items"], found), min_size=schema.get("minItems", 0), max_size=3)
    if kind == "integer":
        return st.integers(schema.get("minimum", -5), schema.get("maximum", 2**70))
    if kind == "number":
        return st.floats(allow_nan=False, allow_infinity=False)
    if kind == "boolean":
        return st.booleans()
    return st.one_of(st.sampled_from([*found, "the"]), st.text(max_size=20))


@st.composite
def requests(draw: st.DrawFn, found: list[str]) -> tuple[str, dict[str, Any]]:
    """A request whose parameters fit into the description, or do not."""
    path, route = draw(st.sampled_from(reading()))
    query: dict[str, Any] = {}
    for parameter in route.get("parameters", []):
        known = st.sampled_from(found) if parameter["schema"].get("type") == "string" else st.nothing()
        values = st.one_of(fitting(parameter["schema"], found), WORDS, known)
        if parameter["in"] == "path":
            value = draw(values)
            path = path.replace(f"{{{parameter['name']}}}", _quoted(str(value)))
        elif draw(st.booleans()):
            query[parameter["name"]] = draw(values)
    return path, query


def _quoted(text: str) -> str:
    from urllib.parse import quote

    return quote(text.encode("utf-8", "replace"), safe="")


@pytest.fixture(scope="module")
def found(client: "ApiClient", run_id: str, episode_id: str) -> list[str]:
    """Ids of runs and of an episode."""
    return [run_id, episode_id, *(item["id"] for item in client.get("/api/runs").json()["items"])]


def test_no_request_finds_a_defect(client: "ApiClient", found: list[str]) -> None:
    @settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(requests(found))
    def ask(request: tuple[str, dict[str, Any]]) -> None:
        path, query = request
        answer = client.get(path, params=query)
        assert answer.status_code < 500, (path, query, answer.text[:500])
        if answer.status_code >= 400 and answer.headers["content-type"] == "application/problem+json":
            assert {"type", "title", "status", "detail", "code", "problems"} <= set(answer.json())

    ask()
