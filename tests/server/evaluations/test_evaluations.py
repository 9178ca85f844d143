"""Evaluations of rollouts on a server: submitted, run by workers in a sandbox, and what of them can be read."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from tests.server.evaluations.conftest import COMMIT, CONFIG, FILES, MAIN, ROWS, OpenTeam, Team
from tests.server.routes.test_listeners import request_of

from mesocosm.core.failure import InfrastructureError, MesocosmError, UsageError
from mesocosm.core.registry import SOURCES
from mesocosm.rollouts import dataset_check
from mesocosm.rollouts.configuration import read_config
from mesocosm.rollouts.spec import SpecOverrides, run_spec
from mesocosm.sandboxes.bubblewrap import available
from mesocosm.server.permissions.grant import grant
from mesocosm.server.permissions.visible_runs import all_runs
from mesocosm.server.runs.watch import Watch
from mesocosm.server.schemas.run import RunChange
from mesocosm.store.tenancy import dataset_versions

pytestmark = pytest.mark.usefixtures("forked_checks")

sandboxed = pytest.mark.skipif(not available(), reason="there is no bubblewrap")


@sandboxed
def test_an_evaluation_is_run_in_a_sandbox_with_code_data_and_model_of_the_server(team: Team) -> None:
    run = team.submitted(name="first")
    assert (run["state"], run["counts"]["planned"]) == ("pending", 8)
    team.work()
    done = team.run(run["id"])
    assert done["state"] == "finished", done
    assert done["primary"]["value"] == 0.75
    assert (done["kind"], done["benchmark"], done["model"]) == ("rollout", "hard", "openai/tiny")
    asked = done["request"]["evaluation"]
    assert (asked["name"], asked["commit"], asked["branch"]) == ("first", COMMIT, "main")
    assert (asked["dataset"], asked["dataset_version"], asked["rollout"]) == ("hard", 1, "sums")
    assert team.model.served == 8


@sandboxed
def test_output_and_artifacts_are_kept_without_secrets(team: Team, tmp_path: Path) -> None:
    value = "tok-9f8e7d6c5b4a3210"
    team.owner.request("PUT", f"/api/workspaces/{team.workspace}/secrets/workspace/TOKEN", json={"value": value})
    config = f'{CONFIG}\n[env]\nGREETING = "hello"\n\n[secrets]\nrequired = ["TOKEN"]\n'
    team.snapshot = team.add_code({**FILES, "configs/eval/sums.toml": config}, tmp_path / "other")
    run = team.submitted(limit=2)
    team.work()
    output = team.owner.get(f"/api/runs/{run['id']}/output").json()
    text = "".join(piece["text"] for piece in output["items"])
    assert "hello" in text
    assert output["ended"] is True
    more = team.owner.get(f"/api/runs/{run['id']}/output", params={"after": output["last"]}).json()
    assert more["items"] == []
    episodes = team.owner.get(f"/api/runs/{run['id']}/episodes").json()["items"]
    whole = team.owner.get(f"/api/runs/{run['id']}/export").text + text
    for episode in episodes:
        (artifact,) = team.owner.get(f"/api/episodes/{episode['id']}").json()["artifacts"]
        assert artifact["name"] == "notes/why.txt"
        content = team.owner.get(f"/api/blobs/{artifact['digest']}").text
        assert content.startswith("label ")
        whole += content
    assert value not in whole
    (used,) = [one for one in team.hosted.service.store.audit.list(limit=100) if one.action == "secret.use"]
    assert (used.target, used.detail) == (f"run:{run['id']}", {"secrets": {"TOKEN": "workspace"}})
    assert team.run(run["id"])["request"]["evaluation"]["scopes"] == {"TOKEN": "workspace"}


@sandboxed
@pytest.mark.parametrize("value", ["tok-9f8e7d6c5b4a3210", "swordfish"])
def test_secrets_in_errors_prompts_and_replies_of_a_rollout_are_not_recorded(
    team: Team, tmp_path: Path, value: str
) -> None:
    main = MAIN.replace(
        "        body =", "        ctx.prompt[-1]['content'] += ' ' + os.environ['TOKEN']\n        body ="
    )
    main = main.replace(
        "        return [",
        "        if 'what is 1' in str(ctx.prompt): raise ValueError(os.environ['TOKEN'])\n        return [",
    )
    main = main.replace(
        "        ctx.set_reward",
        "        if ctx.label == '1': raise ValueError(os.environ['TOKEN'])\n        ctx.set_reward",
    )
    team.owner.request("PUT", f"/api/workspaces/{team.workspace}/secrets/workspace/TOKEN", json={"value": value})
    config = f'{CONFIG}\n[secrets]\nrequired = ["TOKEN"]\n'
    files = {"rollouts/sums/main.py": main, "configs/eval/sums.toml": config}
    team.snapshot = team.add_code(files, tmp_path / "other")
    run = team.submitted(limit=3)
    team.work()
    assert team.run(run["id"])["counts"]["done"] == 3
    episodes = team.owner.get(f"/api/runs/{run['id']}/episodes").json()["items"]
    places = [f"/api/runs/{run['id']}{part}" for part in ("", "/export", "/results", "/output", "/log")]
    places += [f"/api/episodes/{episode['id']}{part}" for episode in episodes for part in ("", "/events")]
    seen = {place: team.owner.get(place) for place in places}
    assert [place for place, answer in seen.items() if answer.status_code != 200] == []
    assert [place for place, answer in seen.items() if value in answer.text] == []
    assert "[redacted]" in seen[places[1]].text


@sandboxed
def test_a_rollout_that_exits_with_a_secret_does_not_tell_it_as_the_reason(team: Team, tmp_path: Path) -> None:
    team.owner.request("PUT", f"/api/workspaces/{team.workspace}/secrets/workspace/TOKEN", json={"value": "swordfish"})
    config = f'{CONFIG}\n[secrets]\nrequired = ["TOKEN"]\n'
    files = {
        "rollouts/sums/main.py": f"{MAIN}\nraise SystemExit(os.environ['TOKEN'])\n",
        "configs/eval/sums.toml": config,
    }
    team.snapshot = team.add_code(files, tmp_path / "other")
    run = team.submitted(limit=1)
    team.work()
    done = team.run(run["id"])
    assert done["state"] == "failed"
    assert "[redacted]" in done["error"]
    assert "swordfish" not in team.owner.get(f"/api/runs/{run['id']}").text


def test_a_secret_without_a_value_is_refused_by_name(team: Team, tmp_path: Path) -> None:
    config = f'{CONFIG}\n[secrets]\nrequired = ["TOKEN", "OTHER"]\n'
    team.snapshot = team.add_code({**FILES, "configs/eval/sums.toml": config}, tmp_path / "other")
    answer = team.submit()
    assert answer.status_code == 422
    assert {problem["path"] for problem in answer.json()["problems"]} == {"TOKEN", "OTHER"}
    assert "mesocosm secret set TOKEN" in answer.text
    assert team.owner.get("/api/runs").json()["items"] == []


def test_the_same_request_with_the_same_name_is_the_same_run(team: Team) -> None:
    first = team.submitted(name="once", limit=3)
    assert team.submitted(name="once", limit=3)["id"] == first["id"]
    other = team.submit(name="once", limit=4)
    assert other.status_code == 409
    assert other.json()["run_id"] == first["id"]
    assert len(team.owner.get("/api/runs").json()["items"]) == 1


def test_a_name_of_another_member_is_taken(team: Team) -> None:
    ben = team.hosted.member("ben")
    team.owner.post(f"/api/workspaces/{team.workspace}/members", {"username": "ben", "role": "member"})
    team.submitted(name="once")
    assert team.submit(ben, name="once").status_code == 409


@pytest.mark.parametrize("name", ["-dash", "a b", "a/b", "x" * 97, "ü", ".."])
def test_a_name_that_is_no_file_name_is_refused(team: Team, name: str) -> None:
    answer = team.submit(name=name)
    assert answer.status_code == 422
    assert "letters, digits" in answer.json()["detail"]


def test_without_a_name_the_configuration_gives_one(team: Team) -> None:
    assert team.submitted()["name"].startswith("sums-20")


def test_viewers_and_strangers_cannot_submit(team: Team) -> None:
    eve, vic = team.hosted.member("eve"), team.hosted.member("vic")
    team.owner.post(f"/api/workspaces/{team.workspace}/members", {"username": "vic", "role": "viewer"})
    assert team.submit(eve).status_code == 404
    assert team.submit(vic).status_code == 403
    assert team.submit(team.hosted.guest()).status_code == 403
    assert team.submit(team.hosted.anonymous).status_code == 401


@pytest.mark.parametrize(
    ("given", "status", "words"),
    [
        ({"configuration": "configs/eval/none.toml"}, 422, "it has configs/eval/sums.toml"),
        ({"configuration": "../../etc/x.toml"}, 422, "is no path of a configuration"),
        ({"configuration": "/etc/x.toml"}, 422, "is no path of a configuration"),
        ({"configuration": ""}, 422, "name a configuration"),
        ({"snapshot": "unknown"}, 404, "has no complete snapshot"),
        ({"snapshot": "unknown", "branch": "main"}, 422, "only one of them"),
        ({"dataset": "none"}, 422, "mesocosm dataset upload"),
        ({"dataset_version": 7}, 422, "the dataset 'hard' has no version 7"),
        ({"rows": "99"}, 422, "99"),
        ({"assignments": {"experiment.model_path": "openai/unknown"}}, 422, "cannot be run here"),
        ({"assignments": {"model.judge": "openai/unknown"}}, 422, "cannot be run here"),
        ({"assignments": {"experiment.rollout": "none"}}, 422, "there is no folder 'none' in rollouts"),
        ({"assignments": {"experiment.entrypoint": "../../etc"}}, 422, "leads out of rollouts/sums"),
        ({"assignments": {"evaluation.outage_seconds": 99999.0}}, 422, "more than the 300"),
        ({"assignments": {"evaluation.n": 0}}, 422, "evaluation.n"),
        ({"config": {"experiment": {}}}, 422, "experiment.rollout"),
        ({"from_run": "none"}, 404, "has no run 'none'"),
        ({"branch": "main"}, 409, "has no repository"),
        ({"strange": 1}, 422, "strange"),
        ({"kind": "unknown"}, 422, "kind"),
        ({"tags": ["\0"]}, 422, "control"),
    ],
)
def test_what_cannot_work_is_refused_with_words_and_stores_nothing(
    team: Team, given: dict[str, Any], status: int, words: str
) -> None:
    answer = team.submit(**given)
    assert answer.status_code == status, answer.text
    assert words in answer.text
    assert str(team.service.settings.data_dir) not in answer.text
    assert team.owner.get("/api/runs").json()["items"] == []


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": "a b"}, "name"),
        ({"snapshot": "unknown"}, "snapshot"),
        ({"configuration": "configs/eval/none.toml"}, "configuration"),
        ({"dataset": "none"}, "dataset"),
        ({"dataset_version": 7}, "dataset_version"),
        ({"rows": "99"}, "rows"),
        ({"assignments": {"experiment.model_path": "openai/unknown"}}, "experiment.model_path"),
        ({"assignments": {"model.judge": "openai/unknown"}}, "model.judge"),
    ],
)
def test_a_refusal_names_the_field_that_it_is_about(team: Team, given: dict[str, Any], field: str) -> None:
    answer = team.submit(**given).json()
    assert [problem["path"] for problem in answer["problems"]] == [field]
    assert answer["problems"][0]["message"] == answer["detail"]


def test_a_run_has_at_most_as_many_samples_as_the_server_allows(open_team: OpenTeam) -> None:
    team = open_team(max_samples_per_run=15)
    answer = team.submit(assignments={"evaluation.n": 2})
    assert answer.status_code == 422
    assert "16 samples" in answer.json()["detail"]
    team.submitted(assignments={"evaluation.n": 2}, rows="0-6")


def test_another_workspace_has_neither_the_dataset_nor_the_snapshot(team: Team) -> None:
    other = team.owner.post("/api/workspaces", {"name": "Other"}).json()["id"]
    assert team.submit(workspace=other).status_code == 404
    mine = team.snapshot
    answer = team.submit(workspace=other, snapshot=mine)
    assert "has no complete snapshot" in answer.text


@sandboxed
def test_a_run_can_be_repeated_with_changed_settings(team: Team) -> None:
    first = team.submitted(name="first", limit=3, tags=["base"])
    again = team.submitted(from_run="first", configuration="", assignments={"evaluation.n": 2})
    assert (again["counts"]["planned"], again["tags"]) == (6, ["base"])
    one, two = first["request"]["evaluation"], again["request"]["evaluation"]
    assert (one["snapshot"], one["dataset_version"]) == (two["snapshot"], two["dataset_version"])
    team.work()
    assert {team.run(run["id"])["state"] for run in (first, again)} == {"finished"}


def test_a_repeated_run_keeps_the_version_of_its_dataset(team: Team) -> None:
    team.submitted(name="first")
    team.add_dataset("hard", ROWS * 2)
    again = team.submitted(from_run="first", configuration="")
    assert again["request"]["evaluation"]["dataset_version"] == 1
    assert team.submitted()["request"]["evaluation"]["dataset_version"] == 2


def test_a_repeated_run_follows_its_dataset_to_another_name(team: Team) -> None:
    team.submitted(name="first")
    place = f"/api/workspaces/{team.workspace}/datasets/hard"
    assert team.owner.request("PATCH", place, json={"name": "harder"}).status_code == 200
    team.add_dataset("hard", ROWS * 2)
    again = team.submitted(from_run="first", configuration="")["request"]["evaluation"]
    assert (again["dataset"], again["dataset_version"]) == ("harder", 1)


def test_a_run_of_a_deleted_dataset_still_names_it_and_is_repeated_with_another_one_alone(team: Team) -> None:
    first = team.submitted(name="first")
    team.owner.request("DELETE", f"/api/workspaces/{team.workspace}/datasets/hard")
    evaluation = team.run(first["id"])["request"]["evaluation"]
    assert (evaluation["dataset"], evaluation["dataset_version"]) == ("hard", 1)
    refused = team.submit(from_run="first", configuration="")
    assert refused.status_code == 422
    assert "the dataset 'hard' of the run 'first' was deleted; upload its file again" in refused.json()["detail"]
    team.add_dataset("other", ROWS)
    again = team.submitted(from_run="first", configuration="", dataset="other")["request"]["evaluation"]
    assert (again["dataset"], again["dataset_version"]) == ("other", 1)


@sandboxed
def test_an_evaluation_is_the_same_experiment_as_a_local_run(team: Team, tmp_path: Path) -> None:
    run = team.submitted()
    code = tmp_path / "code"
    (code / "data").mkdir()
    (code / "data" / "hard.jsonl").write_bytes(ROWS)
    spec = run_spec(read_config(code / "configs/eval/sums.toml"), SpecOverrides(tmp_path / "results"))
    benchmark = SOURCES.get(spec.benchmark.kind)(spec.benchmark)
    stored = team.service.store.runs.get(run["id"])
    assert stored.benchmark_digest == benchmark.info.digest
    assert stored.info["inputs"] == benchmark.info.inputs


@sandboxed
def test_a_rollout_that_cannot_start_fails_with_its_traceback_and_keeps_its_episodes(
    team: Team, tmp_path: Path
) -> None:
    files = {**FILES, "rollouts/sums/main.py": f"raise SystemError('broken at import')\n{MAIN}"}
    team.snapshot = team.add_code(files, tmp_path / "other")
    run = team.submitted()
    team.work()
    done = team.run(run["id"])
    assert done["state"] == "failed"
    assert "broken at import" in done["error"]
    assert done["counts"]["done"] == 0
    assert str(team.service.settings.data_dir) not in done["error"]


def test_refusals_and_faults_of_the_server_name_none_of_its_paths(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    place = team.service.settings.data_dir
    for error in (InfrastructureError, UsageError):

        def fail(*_given: Any, error: type[MesocosmError] = error, **_named: Any) -> None:
            raise error(f"{place}/content/x cannot be written: no space left")

        monkeypatch.setattr(team.service.store.runs, "list", fail)
        detail = team.owner.get("/api/runs").json()["detail"]
        assert detail == "…/content/x cannot be written: no space left"


@sandboxed
def test_why_a_run_failed_is_told_alike_in_lists_and_streams_without_paths_of_the_server(
    team: Team, tmp_path: Path
) -> None:
    code = MAIN.replace("        context = get_rollout_context()", "        os.environ['SEARCH_API_KEY']")
    team.snapshot = team.add_code({**FILES, "rollouts/sums/main.py": code}, tmp_path / "other")
    run = team.submitted()
    team.work()
    vic = team.hosted.member("vic")
    added = team.owner.post(f"/api/workspaces/{team.workspace}/members", {"username": "vic", "role": "viewer"})
    assert added.status_code < 300
    done = team.run(run["id"])
    assert done["error"].startswith("workflow_failed: KeyError: 'SEARCH_API_KEY'; ")
    assert done["commands"]["resume"] is None
    assert done["commands"]["repeat"] == f"mesocosm eval submit --from {run['id']} --branch main"
    log = team.owner.get(f"/api/runs/{run['id']}/log").json()["lines"]
    assert [line["kind"] for line in log].count("error") == 1
    place = str(team.service.settings.data_dir)
    assert place in team.service.store.runs.get(run["id"]).error
    # What the stream of changes reads, before it is narrowed to a listener.
    with closing(Watch(all_runs(team.service))) as watch:
        found = watch.present(run["id"])
    change = RunChange(runs=list(found.runs), deleted=list(found.deleted))
    for person in (team.owner, vic):
        assert person.user_id is not None
        told = grant(team.service, team.service.recognise(request_of(team.hosted, person))).runs().seen(change)
        assert told is not None
        listed = person.get("/api/runs").json()["items"][0]
        assert told.runs[0].error == listed["error"]
        assert "KeyError: 'SEARCH_API_KEY'" in listed["error"]
        texts = [told.model_dump_json()]
        texts += [person.get(f"/api/runs/{run['id']}{rest}").text for rest in ("", "/log", "/output", "/episodes")]
        assert [text for text in texts if place in text] == []


@sandboxed
def test_a_grader_that_fails_on_every_row_stops_the_run_after_a_few_rows_one_by_one(team: Team, tmp_path: Path) -> None:
    judge = MAIN.replace(
        "        ctx.artifacts_dir.mkdir", "        raise KeyError('no label')\n        ctx.artifacts_dir.mkdir"
    )
    team.snapshot = team.add_code({**FILES, "rollouts/sums/main.py": judge}, tmp_path / "other")
    team.add_dataset(data=b"".join(ROWS.replace(b"what", b"what %d" % n) for n in range(4)))
    run = team.submitted()
    team.work()
    done = team.run(run["id"])
    assert (done["state"], done["counts"]["done"], done["counts"]["planned"]) == ("stopped", 6, 32)
    assert done["error"] == "the first 6 episodes all failed alike: grader_error: KeyError: 'no label'"
    assert done["primary"]["value"] is None
    assert team.model.served == 6
    # Its place in the queue is free again.
    assert team.service.store.workers.queue().runs_queued == 0
    request = team.service.store.run_requests.get(run["id"])
    assert request is not None
    assert not request.open


@sandboxed
def test_the_first_row_is_over_before_the_others_begin(team: Team) -> None:
    run = team.submitted()
    team.work()
    first, *others = team.service.store.episodes.list(run["id"]).items
    assert len(others) == 7
    assert all(first.ended_at <= other.started_at for other in others)


@sandboxed
def test_a_run_of_a_member_who_left_gets_no_secrets(team: Team, tmp_path: Path) -> None:
    ben = team.hosted.member("ben")
    path = f"/api/workspaces/{team.workspace}"
    team.owner.post(f"{path}/members", {"username": "ben", "role": "member"})
    team.owner.request("PUT", f"{path}/secrets/workspace/TOKEN", json={"value": "tok-9f8e7d6c5b4a3210"})
    config = f'{CONFIG}\n[secrets]\nrequired = ["TOKEN"]\n'
    team.snapshot = team.add_code({**FILES, "configs/eval/sums.toml": config}, tmp_path / "other")
    run = team.submitted(ben)
    team.owner.request("DELETE", f"{path}/members/{ben.user_id}")
    team.work()
    stored = team.service.store.runs.get(run["id"])
    assert stored.status == "failed"
    assert "no working member" in stored.error
    assert team.model.served == 0


@sandboxed
def test_a_deleted_dataset_version_that_a_run_needs_stays(team: Team) -> None:
    run = team.submitted()
    team.owner.request("DELETE", f"/api/workspaces/{team.workspace}/datasets/hard")
    team.work()
    assert team.run(run["id"])["state"] == "finished"


def test_a_waiting_run_can_be_stopped_and_continued(team: Team) -> None:
    run = team.submitted()
    stopped = team.owner.post(f"/api/runs/{run['id']}/stop").json()
    assert stopped["state"] == "stopped"
    assert team.owner.post(f"/api/runs/{run['id']}/resume").status_code == 202
    assert team.run(run["id"])["request"]["state"] == "queued"


@sandboxed
def test_chosen_rows_are_run_by_their_places_in_the_whole_dataset(team: Team) -> None:
    run = team.submitted(rows="2,5-6")
    team.work()
    episodes = team.owner.get(f"/api/runs/{run['id']}/episodes").json()["items"]
    assert [episode["task_id"] for episode in episodes] == ["2", "5", "6"]
    assert [episode["score"] for episode in episodes] == [1.0, 1.0, 0.0]


@sandboxed
def test_a_ready_made_grader_reads_the_artifacts_and_they_are_kept(team: Team) -> None:
    run = team.submitted(limit=2, assignments={"grader.use": "numeric"})
    team.work()
    done = team.run(run["id"])
    assert (done["state"], done["primary"]["value"]) == ("finished", 1.0)
    kept = team.service.store.artifacts.of_run(run["id"])
    assert [artifact.name for artifact in kept] == ["notes/why.txt", "notes/why.txt"]


@sandboxed
def test_a_judge_is_a_model_of_the_server(team: Team) -> None:
    run = team.submitted(limit=1, assignments={"model.judge": "openai/judge"})
    team.work()
    assert team.run(run["id"])["state"] == "finished"


@sandboxed
def test_nothing_of_a_run_is_left_on_the_machine_of_its_worker(team: Team) -> None:
    team.submitted()
    team.work()
    place = team.service.settings.data_dir / "run-files"
    assert list(place.iterdir()) == []


def test_the_log_says_what_was_submitted(team: Team) -> None:
    run = team.submitted()
    lines = team.owner.get(f"/api/runs/{run['id']}/log").json()["lines"]
    assert lines[0]["text"] == f"submitted by ada: sums at commit {COMMIT[:12]}, dataset hard"


def test_the_command_that_repeats_a_run_is_shown(team: Team) -> None:
    run = team.submitted()
    assert run["commands"]["repeat"] == f"mesocosm eval submit --from {run['id']}"


def test_older_clients_still_list_runs(team: Team) -> None:
    team.submitted()
    answer = team.owner.get("/v1/runs")
    assert answer.status_code == 200, answer.text


SPLITS = b"".join(
    b'{"user_prompt": "what is %d + 1?", "ground_truth": "%d", "split": "%s"}\n'
    % (n, n + 1, b"test" if n % 3 else b"dev")
    for n in range(8)
)


@pytest.mark.parametrize("spans", [dataset_check.MOST_SPANS, 1])
def test_a_split_is_planned_like_that_of_a_file_here(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spans: int
) -> None:
    team.add_dataset("mixed", SPLITS)
    if spans == 1:
        version = team.service.store.datasets.get(team.workspace, "mixed")
        assert version is not None
        fields = {"summary": '{"roles": {"split": ["split"]}, "splits": {"dev": 3, "test": 5}}'}
        mine = dataset_versions.c.dataset_id == version.id
        team.service.store.database.execute(update(dataset_versions).where(mine).values(fields))
    chosen = {"dataset.split": "test"}
    run = team.submitted(dataset="mixed", assignments=chosen)
    code = tmp_path / "code"
    (code / "data").mkdir()
    (code / "data" / "mixed.jsonl").write_bytes(SPLITS)
    config = read_config(code / "configs/eval/sums.toml", {**chosen, "experiment.dataset": "mixed"})
    spec = run_spec(config, SpecOverrides(tmp_path / "results"))
    benchmark = SOURCES.get(spec.benchmark.kind)(spec.benchmark)
    stored = team.service.store.runs.get(run["id"])
    assert stored.counts.planned == 5
    assert stored.info["inputs"] == benchmark.info.inputs
    assert [task.id for task in benchmark.tasks(spec.selection)] == ["1", "2", "4", "5", "7"]
    unknown = team.submit(dataset="mixed", assignments={"dataset.split": "train"})
    assert unknown.status_code in (404, 422)
    assert "it has dev, test" in unknown.text


@sandboxed
def test_rows_of_a_split_are_run_without_its_name(team: Team) -> None:
    team.add_dataset("mixed", SPLITS)
    run = team.submitted(dataset="mixed", assignments={"dataset.split": "dev"})
    team.work()
    episodes = team.owner.get(f"/api/runs/{run['id']}/episodes").json()["items"]
    assert [(episode["task_id"], episode["labels"]) for episode in episodes] == [
        (place, {"split": "dev"}) for place in ("0", "3", "6")
    ]
    observed = team.owner.get(f"/api/episodes/{episodes[0]['id']}/events").json()["items"]
    assert "dev" not in str([event for event in observed if event["kind"] == "observation"])


def test_an_address_of_a_model_is_not_used_and_a_warning_says_so(team: Team) -> None:
    run = team.submitted(assignments={"model.base_url": "http://127.0.0.1:1/v1"})
    assert "the server calls its own model openai/tiny" in run["warnings"][0]
    assert "127.0.0.1:1/" not in team.service.store.runs.get(run["id"]).spec.model.name
