"""Models that administrators add and change on a running server."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from tests.server.evaluations.conftest import Team
from tests.server.routes.conftest import Person

from mesocosm.core.model import ModelName
from mesocosm.models.endpoint import assign_keys, endpoint
from mesocosm.models.prices import assign_prices, price
from mesocosm.server.managed_models import managed_models
from mesocosm.server.workspace_secrets import rotate
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.model_server import ModelServer

KEY = "sk-of-this-test-0123456789"
NAME = "house/tiny"


@pytest.fixture
def root(team: Team) -> Iterator[Person]:
    """An administrator of the server; what a worker would be given is forgotten afterwards."""
    before = dict(os.environ)
    yield team.hosted.admin()
    assign_keys({})
    assign_prices({})
    for variable in set(os.environ) - set(before):
        del os.environ[variable]


def put(root: Person, name: str = NAME, **given: Any) -> Any:
    """Set a model, and return its document."""
    answer = root.request("PUT", f"/api/admin/models/{name}", json=given)
    assert answer.status_code == 200, answer.text
    assert KEY not in answer.text
    return answer.json()


def served(team: Team) -> str:
    """Return the model server of the team as the target of another model."""
    return f"openai/tiny@{team.model.openai_url}"


def submit(team: Team, model: str, **given: Any) -> Any:
    body = {"kind": "benchmark", "benchmark": "eliza-format", "model": model, "workspace": team.workspace}
    return team.owner.post("/api/runs", {**body, **given})


def names(person: Person) -> set[str]:
    return {one["name"] for one in person.get("/api/models").json()["models"]}


def test_a_model_is_added_with_a_key_that_only_workers_get(team: Team, root: Person) -> None:
    found = put(root, served_as=served(team), key=KEY, price={"input": 2.0, "output": 8.0}, parallel=2)
    assert (found["source"], found["key"], found["available"]) == ("added", "stored", True)
    assert NAME in names(team.hosted.member("eve"))
    assert KEY not in repr(team.service.store.models.list()[0])
    run = submit(team, NAME, parallel=9)
    assert run.status_code == 202, run.text
    assert team.service.store.runs.get(run.json()["id"]).spec.parallel == 2
    team.service.assign_model_keys()
    name = ModelName.parse(served(team))
    assert endpoint(name).key == KEY
    assert (price(name).input, price(name).output) == (2.0, 8.0)  # type: ignore[union-attr]


def test_changes_are_in_the_audit_log_without_the_key(team: Team, root: Person) -> None:
    put(root, served_as=served(team), key=KEY)
    put(root, served_as=served(team), disabled=True)
    assert root.request("DELETE", f"/api/admin/models/{NAME}").status_code == 204
    log = root.get("/api/admin/audit")
    assert KEY not in log.text
    mine = [one for one in log.json()["entries"] if one["object"] == f"model:{NAME}"]
    assert [one["action"] for one in mine] == ["model.delete", "model.set", "model.set"]
    assert [one["detail"].get("key") for one in mine] == [None, "unchanged", "set"]


def test_a_key_stays_with_its_address_and_a_setting_of_the_operator_with_its_own(team: Team, root: Person) -> None:
    put(root, served_as=served(team), key=KEY)
    assert put(root, served_as=served(team), title="Tiny")["key"] == "stored"
    assert put(root, served_as="openai/tiny@http://127.0.0.1:9/v1")["key"] == "none"
    os.environ["MESOCOSM_API_KEY"] = "of-the-operator-0123456789"
    team.service.assign_model_keys()
    assert endpoint(ModelName.parse("openai/tiny@http://127.0.0.1:9/v1")).key == ""


def test_a_disabled_model_and_one_of_other_workspaces_are_not_run(team: Team, root: Person) -> None:
    other = root.post("/api/workspaces", {"name": "tides"}).json()["id"]
    assert put(root, served_as=served(team), workspaces=["tides"])["workspaces"] == [{"id": other, "name": "tides"}]
    assert NAME not in names(team.owner)
    assert NAME in names(root)
    refused = submit(team, NAME)
    assert refused.status_code == 403
    assert "in the workspace 'reefs'" in refused.json()["detail"]
    assert submit(team, NAME, workspace="").status_code == 403
    assert NAME not in submit(team, "house/tinx").json()["detail"]
    put(root, served_as=served(team), workspaces=[team.workspace])
    assert NAME in names(team.owner)
    assert NAME not in names(team.hosted.member("eve"))
    assert submit(team, NAME).status_code == 202
    put(root, served_as=served(team), disabled=True)
    assert "disabled it" in submit(team, NAME).json()["detail"]


def test_a_model_of_the_settings_is_changed_and_the_change_undone(team: Team, root: Person) -> None:
    address = served(team)
    assert put(root, "openai/tiny", served_as=address, guests=True)["source"] == "changed"
    assert root.request("DELETE", "/api/admin/models/openai/tiny").status_code == 204
    found = {one["name"]: one for one in root.get("/api/admin/models").json()["models"]}
    assert (found["openai/tiny"]["source"], found["openai/tiny"]["guests"]) == ("settings", False)
    assert root.request("DELETE", "/api/admin/models/openai/tiny").status_code == 404


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("no-provider", {}, "provider/name"),
        ("replay/etc/passwd", {}, "provider/name"),
        ("house/a*b", {}, "provider/name"),
        (NAME, {"served_as": "replay//etc/passwd"}, "reads a file"),
        (NAME, {"served_as": "builtin/scripted:/etc/passwd"}, "reads a file"),
        (NAME, {"served_as": "openai/x@http://u:p@host/v1"}, "password"),
        (NAME, {"served_as": "tiny"}, "provider/name"),
        (NAME, {"workspaces": ["nowhere"]}, "no workspace 'nowhere'"),
        (NAME, {"price": {"input": -1, "output": 0}}, "price"),
        (NAME, {"strange": 1}, "strange"),
    ],
)
def test_what_is_no_model_is_refused_with_words(root: Person, name: str, given: dict[str, Any], words: str) -> None:
    answer = root.request("PUT", f"/api/admin/models/{name}", json={"key": KEY, **given})
    assert answer.status_code == 422, answer.text
    assert words in answer.text
    assert KEY not in answer.text
    assert not managed_models(root.platform.service.store)


def test_a_model_is_asked_one_word_and_its_key_and_address_are_not_told(team: Team, root: Person) -> None:
    put(root, served_as=served(team), key=KEY)
    found = team.owner.post("/api/models/check", {"model": NAME, "workspace": team.workspace}).json()
    assert (found["answers"], found["error"], found["reply"]) == (True, "", "1")
    assert team.owner.post("/api/models/check", {"model": NAME}).json()["asked_at"] == found["asked_at"]
    gone = "http://127.0.0.1:9/v1"
    put(root, served_as=f"openai/tiny@{gone}", key=KEY)
    lost = team.owner.post("/api/models/check", {"model": NAME})
    assert (lost.json()["answers"], bool(lost.json()["error"])) == (False, True)
    assert KEY not in lost.text
    assert "127.0.0.1:9" not in lost.text


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (ScriptedAnswer(""), "empty text"),
        (ScriptedAnswer("", finish_reason="content_filter"), "withheld"),
        (ScriptedAnswer("", tool_calls=(("rm", {}),), finish_reason="tool_calls"), "called a tool"),
        (ScriptedAnswer("", finish_reason="length", completion_tokens=256), ""),
    ],
)
def test_a_model_that_replies_nothing_does_not_answer(
    team: Team, root: Person, reply: ScriptedAnswer, words: str
) -> None:
    with ModelServer(lambda _body: reply) as server:
        put(root, served_as=f"openai/tiny@{server.openai_url}", key=KEY)
        found = team.owner.post("/api/models/check", {"model": NAME}).json()
    assert (found["answers"], bool(found["error"])) == (not words, bool(words))
    assert words in found["error"]


def test_a_new_key_of_the_server_encrypts_the_keys_of_models_too(team: Team, root: Person) -> None:
    put(root, served_as=served(team), key=KEY)
    before = managed_models(team.service.store)[0].sealed
    rotate(team.service, "system:test")
    after = managed_models(team.service.store)[0].sealed
    assert json.dumps(before.split(".")[1]) != json.dumps(after.split(".")[1])
    team.service.assign_model_keys()
    assert endpoint(ModelName.parse(served(team))).key == KEY
