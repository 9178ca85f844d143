"""Imports of runs over HTTP: uploads in parts, what their check refuses, and what an imported run is on the server."""

import asyncio
import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.local_runs import command, ids, play_environment, play_rollout
from tests.server.routes.conftest import Hosted, OpenHosted, Person

from mesocosm.environments.scaffold import scaffold
from mesocosm.interop.bundle import write_bundle
from mesocosm.server.leaderboards.boards import leaderboards_of
from mesocosm.server.schemas.metric import MetricDocument
from mesocosm.server.workers.run_imports import import_run
from mesocosm.store import Store, open_store, run_imports
from mesocosm.store.leaderboards import BoardScope
from mesocosm.store.revision import DATABASE_NAME

pytestmark = pytest.mark.usefixtures("forked_checks")

PART = 2_000
IMPORTS = "/api/run-imports"


class Laptop:
    """Results of a machine, and the bundles of their runs."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.floor, self.ceiling, self.rollout = ids(place)

    def store(self) -> Store:
        """Open the results."""
        return open_store(self.place / DATABASE_NAME)

    def bundle(self, run_id: str) -> bytes:
        """Return what is pushed of a run."""
        return bundle_of(self.place, run_id)


def bundle_of(results: Path, run_id: str) -> bytes:
    """Return what is pushed of a run in a results directory."""
    store, file = open_store(results / DATABASE_NAME), io.BytesIO()
    write_bundle(file, [store.bundles.run(run_id)], stable=True)
    store.close()
    return file.getvalue()


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("laptop")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MESOCOSM_NO_VIEW", "1")
        play_environment(place)
        play_rollout(place, place / "workspace")
    return place


@pytest.fixture
def laptop(played: Path, tmp_path: Path) -> Laptop:
    """The results, to be changed."""
    shutil.copytree(played, tmp_path / "laptop")
    return Laptop(tmp_path / "laptop")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_imports, "PART_BYTES", PART)


class Pushes:
    """A server, and ways to push to it."""

    def __init__(self, hosted: Hosted) -> None:
        self.hosted = hosted
        self.store = hosted.service.store
        self.ann = hosted.member("ann")

    def begin(self, data: bytes, run_id: str, who: Person | None = None, **given: Any) -> httpx.Response:
        """Begin an import."""
        fields = {"run_id": run_id, "host": "laptop", "size": len(data), "digest": hashlib.sha256(data).hexdigest()}
        return (who or self.ann).post(IMPORTS, {**fields, **given})

    def put(self, begun: Any, part: int, data: bytes, who: Person | None = None) -> httpx.Response:
        """Send a part."""
        query = {"digest": hashlib.sha256(data).hexdigest()}
        return (who or self.ann).request(
            "PUT", f"{IMPORTS}/{begun['id']}/parts/{part}", content=data, params=query
        )  # fmt: skip

    def end(self, begun: Any, who: Person | None = None) -> httpx.Response:
        """End the upload."""
        return (who or self.ann).post(f"{IMPORTS}/{begun['id']}/complete")

    def check(self) -> None:
        """Do what a worker does with everything that waits."""
        while (claimed := self.store.run_imports.claim("worker", 60.0)) is not None:
            asyncio.run(import_run(self.hosted.service, claimed))

    def push(self, data: bytes, run_id: str, who: Person | None = None, **given: Any) -> Any:
        """Push a bundle, let it be checked, and return the import."""
        answer = self.begin(data, run_id, who, **given)
        assert answer.status_code == 201, answer.text
        begun = answer.json()
        if begun["status"] == "uploading":
            for part in range(1, begun["part_count"] + 1):
                assert self.put(begun, part, data[(part - 1) * PART : part * PART], who).status_code == 200
            assert self.end(begun, who).status_code == 202
            self.check()
        return (who or self.ann).get(f"{IMPORTS}/{begun['id']}").json()


@pytest.fixture
def pushes(hosted: Hosted) -> Pushes:
    return Pushes(hosted)


def blobs(store: Store) -> int:
    with store.database.once() as connection:
        return int(connection.exec_driver_sql("SELECT count(*) FROM blobs").scalar_one())


def edited(data: bytes, change: Callable[[str, list[Any]], list[Any]]) -> bytes:
    """Return a bundle whose members, as lists of their JSON lines, were changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            lines = [json.loads(line) for line in source.read(name).splitlines()]
            kind = name.rpartition("/")[2].partition(".")[0]
            target.writestr(name, "".join(json.dumps(line) + "\n" for line in change(kind, lines)))
    return out.getvalue()


@pytest.mark.parametrize("name", ["floor", "ceiling", "rollout"])
def test_an_imported_run_has_the_numbers_that_it_had(pushes: Pushes, laptop: Laptop, name: str) -> None:
    run_id = getattr(laptop, name)
    done = pushes.push(laptop.bundle(run_id), run_id)
    assert (done["status"], done["problems"], done["local_run_id"]) == ("imported", [], run_id)
    store = laptop.store()
    here, mine = store.runs.get(run_id), list(store.episodes.list(run_id).items)
    store.close()
    there = pushes.ann.get(f"/api/runs/{done['run_id']}").json()
    assert there["metrics"] == [MetricDocument.of(metric).model_dump(mode="json") for metric in here.metrics]
    assert (there["usage"]["prompt"], there["usage"]["calls"]) == (here.usage.prompt, here.usage.calls)
    assert there["counts"]["done"] == here.counts.done == len(mine)
    episodes = pushes.ann.get(f"/api/runs/{done['run_id']}/episodes").json()["items"]
    assert [one["total_reward"] for one in episodes] == [one.total_reward for one in mine]
    assert not {one["id"] for one in episodes} & {one.id for one in mine}, "ids are foreign"
    assert pushes.store.verification.check_run(done["run_id"]).damages == ()


def test_an_imported_run_says_so(pushes: Pushes, laptop: Laptop) -> None:
    done = pushes.push(laptop.bundle(laptop.ceiling), laptop.ceiling)
    store = laptop.store()
    here = store.runs.get(laptop.ceiling)
    store.close()
    (listed,) = pushes.ann.get("/api/runs").json()["items"]
    detail = pushes.ann.get(f"/api/runs/{done['run_id']}").json()
    mark = listed["imported"]
    assert mark == detail["imported"]
    assert (mark["by"], mark["host"], mark["run_id"]) == ("ann", "laptop", laptop.ceiling)
    assert (mark["signature"], mark["chain"], mark["recomputed"]) == (here.signature, here.chain, True)
    assert mark["at"] == mark["last_at"]
    assert detail["signature"] == here.signature


def test_an_imported_run_stays_private(pushes: Pushes, laptop: Laptop) -> None:
    done = pushes.push(laptop.bundle(laptop.ceiling), laptop.ceiling, visibility="gallery_public")
    path = f"/api/runs/{done['run_id']}"
    assert pushes.ann.get(path).json()["visibility"] == "private"
    refused = pushes.ann.request("PATCH", path, json={"visibility": "gallery_public"})
    assert (refused.status_code, "stays private" in refused.json()["detail"]) == (409, True)
    assert pushes.ann.request("PATCH", path, json={"visibility": "private"}).status_code == 200
    assert pushes.hosted.anonymous.get(path).status_code == 404
    assert pushes.hosted.anonymous.get("/api/runs").json()["items"] == []


def test_paths_of_the_machine_that_played_it_are_for_administrators(pushes: Pushes, laptop: Laptop) -> None:
    done = pushes.push(laptop.bundle(laptop.rollout), laptop.rollout)
    shown = pushes.ann.get(f"/api/runs/{done['run_id']}")
    assert shown.json()["provenance"]["eval"]["dataset"] == "arith.jsonl"
    assert "/workspace/" not in shown.text


def test_the_same_run_again_is_the_same_import(pushes: Pushes, laptop: Laptop) -> None:
    data = laptop.bundle(laptop.ceiling)
    assert data == laptop.bundle(laptop.ceiling)
    done = pushes.push(data, laptop.ceiling)
    again = pushes.begin(data, laptop.ceiling).json()
    assert (again["id"], again["status"], again["run_id"]) == (done["id"], "imported", done["run_id"])
    assert pushes.end(again).status_code == 202
    assert len(pushes.ann.get("/api/runs").json()["items"]) == 1


def test_the_same_run_in_another_bundle_is_the_same_run(pushes: Pushes, laptop: Laptop) -> None:
    done = pushes.push(laptop.bundle(laptop.ceiling), laptop.ceiling)
    other = edited(laptop.bundle(laptop.ceiling), lambda _kind, lines: lines)
    again = pushes.push(other, laptop.ceiling)
    assert again["id"] != done["id"]
    assert (again["status"], again["run_id"]) == ("imported", done["run_id"])
    assert [one["id"] for one in pushes.ann.get(IMPORTS).json()["items"]] == [again["id"]]
    assert pushes.ann.get(f"{IMPORTS}/{done['id']}").status_code == 404


def test_a_run_that_was_scored_anew_is_refused_until_it_is_deleted(
    pushes: Pushes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "results"
    scaffold(tmp_path / "env")
    monkeypatch.chdir(tmp_path / "env")
    command(results, "run", "local", "--model", "builtin/random", "--episodes", "3", "--quiet")
    (run_id,) = ids(results)
    done = pushes.push(bundle_of(results, run_id), run_id)
    before = pushes.store.runs.get(done["run_id"]).metrics
    manifest = json.loads((tmp_path / "env" / "benchanything.json").read_text())
    manifest["scoring"]["metrics"].append({"name": "mean", "type": "episode_reward", "aggregation": "mean"})
    (tmp_path / "env" / "benchanything.json").write_text(json.dumps(manifest))
    command(results, "run", "rescore", run_id)
    refused = pushes.push(bundle_of(results, run_id), run_id)
    assert refused["status"] == "error", refused
    assert "it was rescored since it was pushed" in refused["problems"][0]["message"]
    assert refused["problems"][0]["fix"] == f"delete run {done['run_id']} on the server, then push it again"
    assert pushes.store.runs.get(done["run_id"]).metrics == before
    assert pushes.ann.request("DELETE", f"/api/runs/{done['run_id']}").status_code == 204
    assert pushes.push(bundle_of(results, run_id), run_id)["status"] == "imported"
    after = pushes.store.runs.get(done["run_id"])
    assert [metric.name for metric in after.metrics][-1] == "mean"
    assert after.rescored


def test_a_run_whose_episodes_are_scored_otherwise_with_the_same_means_is_refused(
    pushes: Pushes, laptop: Laptop
) -> None:
    done = pushes.push(laptop.bundle(laptop.rollout), laptop.rollout)
    with pushes.store.database.once(immediate=True) as connection:
        connection.exec_driver_sql("UPDATE scores SET value = 0.25 WHERE name = 'words'")
    other = edited(laptop.bundle(laptop.rollout), lambda _kind, lines: lines)
    refused = pushes.push(other, laptop.rollout)
    assert "is scored here in another way" in refused["problems"][0]["message"]
    assert refused["problems"][0]["fix"] == f"delete run {done['run_id']} on the server, then push it again"


def test_a_broken_upload_continues(pushes: Pushes, laptop: Laptop) -> None:
    data = laptop.bundle(laptop.floor)
    begun = pushes.begin(data, laptop.floor).json()
    assert (begun["status"], begun["present"], begun["part_count"]) == ("uploading", [], -(-len(data) // PART))
    assert pushes.put(begun, 2, data[PART : 2 * PART]).status_code == 200
    refused = pushes.end(begun)
    assert refused.status_code == 409
    assert f"{begun['part_count'] - 1} of {begun['part_count']} parts are missing (1, 3" in refused.json()["detail"]
    again = pushes.begin(data, laptop.floor).json()
    assert (again["id"], again["present"]) == (begun["id"], [2])
    assert pushes.push(data, laptop.floor)["status"] == "imported"


@pytest.mark.parametrize(
    ("part", "cut", "status", "words"),
    [(1, 1, 422, "bytes, not 2,000"), (99, 0, 404, "and no part 99"), (1, -1, 413, "more were sent")],
)
def test_a_wrong_part_is_refused(pushes: Pushes, laptop: Laptop, part: int, cut: int, status: int, words: str) -> None:
    data = laptop.bundle(laptop.floor)
    begun = pushes.begin(data, laptop.floor).json()
    answer = pushes.put(begun, part, data[: PART - cut])
    assert (answer.status_code, words in answer.json()["detail"]) == (status, True)


def test_a_part_that_came_damaged_is_refused(pushes: Pushes, laptop: Laptop) -> None:
    data = laptop.bundle(laptop.floor)
    begun = pushes.begin(data, laptop.floor).json()
    query = {"digest": hashlib.sha256(data[:PART]).hexdigest()}
    path = f"{IMPORTS}/{begun['id']}/parts/1"
    answer = pushes.ann.request("PUT", path, content=b"!" * PART, params=query)
    assert (answer.status_code, "came with another SHA-256" in answer.json()["detail"]) == (422, True)
    assert pushes.begin(data, laptop.floor).json()["present"] == []


def test_an_upload_is_given_up(pushes: Pushes, laptop: Laptop) -> None:
    data = laptop.bundle(laptop.floor)
    begun = pushes.begin(data, laptop.floor).json()
    pushes.put(begun, 1, data[:PART])
    assert pushes.ann.request("DELETE", f"{IMPORTS}/{begun['id']}").status_code == 204
    assert pushes.ann.get(f"{IMPORTS}/{begun['id']}").status_code == 404
    assert blobs(pushes.store) == 0


def test_an_imported_run_is_not_given_up(pushes: Pushes, laptop: Laptop) -> None:
    done = pushes.push(laptop.bundle(laptop.ceiling), laptop.ceiling)
    answer = pushes.ann.request("DELETE", f"{IMPORTS}/{done['id']}")
    assert (answer.status_code, "is imported, not uploading" in answer.json()["detail"]) == (409, True)


def test_a_deleted_run_may_be_pushed_again(pushes: Pushes, laptop: Laptop) -> None:
    data = laptop.bundle(laptop.ceiling)
    done = pushes.push(data, laptop.ceiling)
    assert pushes.ann.request("DELETE", f"/api/runs/{done['run_id']}").status_code == 204
    assert pushes.ann.get(IMPORTS).json()["items"] == []
    assert pushes.push(data, laptop.ceiling)["run_id"] == done["run_id"]


def raise_score(kind: str, lines: list[Any]) -> list[Any]:
    if kind == "entries":
        score = lines[0]["episode"]["scores"][0]
        score["value"] = 0.25 if score["value"] != 0.25 else 0.5
    return lines


def raise_score_without_seals(kind: str, lines: list[Any]) -> list[Any]:
    raise_score(kind, lines)
    for line in lines if kind == "entries" else ():
        line.pop("checksum", None)
        line.pop("link", None)
    for line in lines if kind == "run" else ():
        line.pop("chain", None)
    return lines


def remove_episode(kind: str, lines: list[Any]) -> list[Any]:
    if kind == "run":
        lines[0]["counts"]["completed"] -= 1
    return lines[1:] if kind == "entries" else lines


def remove_chain(kind: str, lines: list[Any]) -> list[Any]:
    if kind == "run":
        del lines[0]["chain"]
    return lines


def sign_otherwise(kind: str, lines: list[Any]) -> list[Any]:
    if kind == "run":
        lines[0]["signature"] = "0" * len(lines[0]["signature"])
    return lines


def change_model(kind: str, lines: list[Any]) -> list[Any]:
    if kind == "run":
        lines[0]["model"] = lines[0]["spec"]["model"]["name"] = "openai/gpt-99"
    return lines


def raise_metric(kind: str, lines: list[Any]) -> list[Any]:
    if kind == "run":
        lines[0]["metrics"][0]["value"] += 0.125
    return lines


def hide_cost(kind: str, lines: list[Any]) -> list[Any]:
    if kind == "run":
        lines[0]["usage"] = {**lines[0].get("usage", {}), "prompt": 10**6}
    return lines


def swap_trace(kind: str, lines: list[Any]) -> list[Any]:
    if kind == "entries":
        lines[0]["chunks"], lines[1]["chunks"] = lines[1]["chunks"], lines[0]["chunks"]
    return lines


def plant_credential(kind: str, lines: list[Any]) -> list[Any]:
    if kind == "entries":
        lines[0]["episode"]["terminal_info"]["note"] = "sk-" + "a1" * 20
    return lines


def still_running(kind: str, lines: list[Any]) -> list[Any]:
    if kind == "run":
        lines[0]["status"] = "running"
    return lines


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (raise_score, "its checksum is another one"),
        (raise_score_without_seals, "finished episodes have no checksum"),
        (remove_episode, "the chain over them ends with"),
        (remove_chain, "and its row says nothing"),
        (sign_otherwise, "its signature is 0000"),
        (change_model, "its signature is"),
        (raise_metric, "is not what was exported"),
        (hide_cost, "differ in their usage"),
        (swap_trace, "its checksum is another one"),
        (plant_credential, "what looks like a credential"),
        (still_running, "push it when it has ended"),
    ],
)
def test_a_run_that_was_changed_is_refused_and_nothing_of_it_stays(
    pushes: Pushes, laptop: Laptop, change: Callable[[str, list[Any]], list[Any]], words: str
) -> None:
    done = pushes.push(edited(laptop.bundle(laptop.floor), change), laptop.floor)
    assert (done["status"], done["run_id"]) == ("error", None)
    (problem,) = done["problems"]
    assert words in problem["message"], problem
    assert problem["fix"]
    assert pushes.ann.get("/api/runs").json()["items"] == []
    assert (pushes.store.runs.ids(), blobs(pushes.store)) == ([], 0)


def test_what_was_refused_may_be_pushed_as_it_was_recorded(pushes: Pushes, laptop: Laptop) -> None:
    refused = pushes.push(edited(laptop.bundle(laptop.floor), raise_score), laptop.floor)
    done = pushes.push(laptop.bundle(laptop.floor), laptop.floor)
    assert done["status"] == "imported"
    assert pushes.ann.get(f"{IMPORTS}/{refused['id']}").status_code == 404


@pytest.mark.parametrize("data", [b"no archive", b"PK\x05\x06" + b"\0" * 18])
def test_what_is_no_bundle_is_refused(pushes: Pushes, data: bytes) -> None:
    done = pushes.push(data, "run-1")
    assert (done["status"], done["run_id"]) == ("error", None)
    assert "bundle" in done["problems"][0]["message"]
    assert str(pushes.hosted.service.settings.data_dir) not in json.dumps(done)


def test_the_bundle_of_another_run_is_refused(pushes: Pushes, laptop: Laptop) -> None:
    done = pushes.push(laptop.bundle(laptop.floor), laptop.ceiling)
    assert "is no part of the bundle of run" in done["problems"][0]["message"]


def test_imports_are_for_whoever_pushed_them(pushes: Pushes, laptop: Laptop) -> None:
    data = laptop.bundle(laptop.floor)
    begun = pushes.begin(data, laptop.floor).json()
    bob, root = pushes.hosted.member("bob"), pushes.hosted.admin()
    assert bob.get(f"{IMPORTS}/{begun['id']}").status_code == 404
    assert pushes.put(begun, 1, data[:PART], bob).status_code == 404
    assert pushes.end(begun, bob).status_code == 404
    assert bob.request("DELETE", f"{IMPORTS}/{begun['id']}").status_code == 404
    assert bob.get(IMPORTS).json()["items"] == []
    assert root.get(f"{IMPORTS}/{begun['id']}").status_code == 200
    guest, nobody = pushes.hosted.guest(), pushes.hosted.anonymous
    assert (guest.get(IMPORTS).status_code, nobody.get(IMPORTS).status_code) == (403, 401)
    assert pushes.begin(data, laptop.floor, guest).status_code == 403


def test_two_people_push_the_same_run_each_for_themselves(pushes: Pushes, laptop: Laptop) -> None:
    bob = pushes.hosted.member("bob")
    data = laptop.bundle(laptop.ceiling)
    mine, his = pushes.push(data, laptop.ceiling), pushes.push(data, laptop.ceiling, bob)
    assert mine["run_id"] != his["run_id"]
    assert [one["id"] for one in bob.get("/api/runs").json()["items"]] == [his["run_id"]]
    assert bob.get(f"/api/runs/{mine['run_id']}").status_code == 404


def workspace_of(pushes: Pushes, **roles: str) -> tuple[str, dict[str, Person]]:
    """Return the id of a workspace, and people with these roles in it."""
    store = pushes.store.workspaces
    made = store.add("Reef", pushes.ann.user_id)
    assert made is not None
    people = {name: pushes.hosted.member(name) for name in roles}
    for name, role in roles.items():
        store.add_member(made.id, people[name].user_id or 0, role)  # type: ignore[arg-type]
    return made.id, people


def test_a_run_is_pushed_into_a_workspace_by_those_who_work_there(pushes: Pushes, laptop: Laptop) -> None:
    workspace_id, people = workspace_of(pushes, mia="member", vic="viewer")
    data = laptop.bundle(laptop.ceiling)
    done = pushes.push(data, laptop.ceiling, people["mia"], workspace="Reef")
    assert (done["status"], done["workspace_id"]) == ("imported", workspace_id)
    request = pushes.store.run_requests.get(done["run_id"])
    assert request is not None
    assert (request.workspace_id, request.team_id, request.kind) == (workspace_id, None, "imported")
    path, sam = f"/api/runs/{done['run_id']}", pushes.hosted.member("sam")
    assert people["vic"].get(path).json()["imported"]["host"] == "laptop"
    assert people["vic"].request("DELETE", path).status_code == 403
    assert sam.get(path).status_code == 404
    assert pushes.begin(data, laptop.ceiling, people["vic"], workspace="Reef").status_code == 403
    assert pushes.begin(data, laptop.ceiling, sam, workspace="Reef").status_code == 404


def test_who_left_a_workspace_meanwhile_pushes_nothing_into_it(pushes: Pushes, laptop: Laptop) -> None:
    workspace_id, people = workspace_of(pushes, mia="member")
    data = laptop.bundle(laptop.ceiling)
    mia = people["mia"]
    begun = pushes.begin(data, laptop.ceiling, mia, workspace=workspace_id).json()
    for part in range(1, begun["part_count"] + 1):
        pushes.put(begun, part, data[(part - 1) * PART : part * PART], mia)
    pushes.store.workspaces.remove(workspace_id, mia.user_id or 0, by_owner=True)
    assert pushes.end(begun, mia).status_code == 404
    pushes.check()
    assert pushes.store.runs.ids() == []


def test_a_run_of_a_team_is_that_of_its_members(pushes: Pushes, laptop: Laptop) -> None:
    bob = pushes.hosted.member("bob")
    team = pushes.store.teams.add("Reefs", pushes.ann.user_id or 0)
    assert team is not None
    pushes.store.teams.join(team.join_code, bob.user_id or 0, 4)
    data = laptop.bundle(laptop.ceiling)
    done = pushes.push(data, laptop.ceiling, team_id=team.id)
    assert bob.get(f"/api/runs/{done['run_id']}").json()["imported"]["by"] == "ann"
    assert bob.get(f"/api/teams/{team.id}/leaderboard").json() == []
    sam = pushes.hosted.member("sam")
    assert pushes.begin(data, laptop.ceiling, sam, team_id=team.id).status_code == 403
    workspace_of(pushes)
    both = pushes.begin(data, laptop.ceiling, team_id=team.id, workspace="Reef")
    assert (both.status_code, "name one of them" in both.json()["detail"]) == (422, True)


def test_an_imported_run_is_on_no_leaderboard(pushes: Pushes, laptop: Laptop) -> None:
    done = pushes.push(laptop.bundle(laptop.ceiling), laptop.ceiling)
    pushes.store.run_requests.set_visibility(done["run_id"], "gallery_public")
    assert leaderboards_of(pushes.hosted.service).texts(BoardScope()) == ()
    assert pushes.ann.get("/api/gallery/runs").json() == []


def test_an_imported_run_costs_nobody_anything(pushes: Pushes, laptop: Laptop) -> None:
    before = pushes.ann.get("/api/limits").json()
    done = pushes.push(laptop.bundle(laptop.ceiling), laptop.ceiling)
    request = pushes.store.run_requests.get(done["run_id"])
    assert request is not None
    with pushes.store.database.once(immediate=True) as connection:
        connection.exec_driver_sql("UPDATE runs SET cost_usd = 7.0")
    assert pushes.store.runs.get(done["run_id"]).usage.cost_usd == 7.0
    assert pushes.store.run_requests.spent(actor=request.actor, since=0.0).usd == 0.0
    assert pushes.ann.request("DELETE", f"/api/runs/{done['run_id']}").status_code == 204
    assert pushes.store.run_requests.spent(actor=request.actor, since=0.0).usd == 0.0
    after = pushes.ann.get("/api/limits").json()
    assert {**after, "at": None} == {**before, "at": None}


@pytest.mark.parametrize(("action", "words"), [("resume", "was played elsewhere"), ("rescore", "not played by this")])
def test_the_server_plays_and_scores_no_imported_run(pushes: Pushes, laptop: Laptop, action: str, words: str) -> None:
    done = pushes.push(laptop.bundle(laptop.ceiling), laptop.ceiling)
    answer = pushes.ann.post(f"/api/runs/{done['run_id']}/{action}")
    assert (answer.status_code, words in answer.json()["detail"]) == (409, True)


def test_an_imported_run_is_compared_and_exported(pushes: Pushes, laptop: Laptop, tmp_path: Path) -> None:
    floor, ceiling = (pushes.push(laptop.bundle(run_id), run_id)["run_id"] for run_id in (laptop.floor, laptop.ceiling))
    compared = pushes.ann.get("/api/compare", params={"run": [floor, ceiling]})
    assert compared.status_code == 200, compared.text
    exported = pushes.ann.get("/api/export", params={"run": ceiling})
    assert exported.status_code == 200
    file = tmp_path / "run.zip"
    file.write_bytes(exported.content)
    command(tmp_path / "back", "import", file)
    store, back = laptop.store(), open_store(tmp_path / "back" / DATABASE_NAME)
    assert back.runs.get(ceiling).metrics == store.runs.get(laptop.ceiling).metrics
    store.close()
    back.close()


def test_a_run_that_is_too_large_is_refused_at_once(open_hosted: OpenHosted) -> None:
    pushes = Pushes(open_hosted(run_import_mb=1))
    answer = pushes.begin(b"", "run-1", size=(1 << 20) + 1, digest="0" * 64)
    assert (answer.status_code, "takes runs of at most 1,048,576" in answer.json()["detail"]) == (413, True)


def test_a_person_and_a_workspace_have_room_for_so_much(open_hosted: OpenHosted) -> None:
    pushes = Pushes(open_hosted(user_imports_mb=2, workspace_imports_mb=1))
    workspace_of(pushes)
    first = pushes.begin(b"", "run-1", size=1 << 20, digest="0" * 64, workspace="Reef")
    assert first.status_code == 201
    second = pushes.begin(b"", "run-2", size=1, digest="1" * 64, workspace="Reef")
    assert (second.status_code, "the workspace 'Reef' may have 1,048,576" in second.json()["detail"]) == (413, True)
    assert pushes.begin(b"", "run-2", size=1 << 20, digest="1" * 64).status_code == 201
    third = pushes.begin(b"", "run-3", size=1, digest="2" * 64)
    assert (third.status_code, "the runs you pushed may have 2,097,152" in third.json()["detail"]) == (413, True)


def test_imports_are_listed_in_pages(pushes: Pushes) -> None:
    made = [pushes.begin(b"", f"run-{n}", size=9, digest=str(n) * 64).json()["id"] for n in range(3)]
    first = pushes.ann.get(IMPORTS, params={"limit": 2}).json()
    assert [one["id"] for one in first["items"]] == [made[2], made[1]]
    rest = pushes.ann.get(IMPORTS, params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert ([one["id"] for one in rest["items"]], rest["next_cursor"]) == ([made[0]], None)


def test_pushing_is_noted(pushes: Pushes, laptop: Laptop) -> None:
    pushes.push(laptop.bundle(laptop.ceiling), laptop.ceiling)
    noted = [one for one in pushes.store.audit.list(limit=9) if one.action == "run.import"]
    assert [one.actor for one in noted] == [f"user:{pushes.ann.user_id}"]
