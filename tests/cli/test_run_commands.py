"""Looking at runs, scoring them again, deleting them."""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from mesocosm.cli.episodes import without_pictures
from mesocosm.cli.show import framework_words, parameter_words, seeds
from mesocosm.core.run import BenchmarkRef, RunStatus, Selection
from mesocosm.store import open_store

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Played


def many(played: "Played", number: int) -> list[str]:
    """Copy the run until there are `number` of them, and return their ids, newest first."""
    store = open_store(played.results)
    first = store.runs.get(played.run_id)
    ids = [first.id]
    for place in range(1, number):
        copy = store.runs.get(played.run_id)
        copy.id = f"{first.id[:-2]}{(int(first.id[-2:], 16) + place) % 256:02x}"
        copy.created_at += place
        ids.append(store.runs.add(copy).id)
    store.close()
    return ids[::-1]


def changed(played: "Played", **values: Any) -> None:
    """Change the stored row of the run."""
    store = open_store(played.results)
    run = store.runs.get(played.run_id)
    for name, value in values.items():
        setattr(run, name, value)
    store.runs.save(run)
    store.close()


def test_runs_are_listed_with_score_and_interval(mesocosm: "Invoke", played: "Played") -> None:
    listed = mesocosm("run", "list", *played.there)

    head, line = listed.out.splitlines()
    assert head.split() == ["id", "status", "run", "score", "episodes", "started"]
    assert line.split()[:2] == [played.run_id, "finished"]
    assert " · oracle · 6 seeds" in line
    assert "1.0000 [0.6097, 1.0000]" in line
    assert "  6/6  " in line


def test_a_run_that_is_renamed_is_found_by_its_name(mesocosm: "Invoke", mine: "Played") -> None:
    assert mesocosm("run", "rename", mine.run_id, "nightly", *mine.there).code == 0

    assert mesocosm("run", "show", "nightly", "--json", *mine.there).document["run"]["id"] == mine.run_id
    assert mesocosm("run", "rename", "nightly", "", *mine.there).code == 0
    assert "nightly" not in mesocosm("run", "list", *mine.there).out


def test_a_name_that_another_run_has_is_refused(mesocosm: "Invoke", mine: "Played") -> None:
    one, other = many(mine, 2)[:2]
    mesocosm("run", "rename", one, "nightly", *mine.there)

    refused = mesocosm("run", "rename", other, "nightly", *mine.there)

    assert refused.code == 2
    assert f"run {one} is already called 'nightly'" in refused.err


def test_lists_are_read_page_by_page(mesocosm: "Invoke", mine: "Played") -> None:
    ids = many(mine, 5)
    found: list[str] = []
    cursor: tuple[str, ...] = ()
    for _ in range(3):
        page = mesocosm("run", "list", "--limit", "2", *cursor, *mine.there, "--json").document
        found += [run["id"] for run in page["items"]]
        cursor = ("--cursor", page["next"])

    assert found == ids
    assert page["next"] is None
    assert "more: --cursor " in mesocosm("run", "list", "--limit", "2", *mine.there).out


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("--status finished", 1),
        ("--status failed", 0),
        ("--benchmark my-env", 1),
        ("--benchmark other", 0),
        ("--model builtin/oracle", 1),
        ("--model builtin/random", 0),
        ("--search ORACLE", 1),
        ("--search nothing", 0),
    ],
)
def test_lists_can_be_narrowed(mesocosm: "Invoke", played: "Played", words: str, number: int) -> None:
    given = ("run", "list", *words.split(), *played.there)

    assert len(mesocosm(*given, "--json").document["items"]) == number
    assert ("no run matches" in mesocosm(*given).out) == (number == 0)


def test_logs_show_one_task_in_full(mesocosm: "Invoke", played: "Played") -> None:
    shown = mesocosm("run", "logs", played.run_id, "--task", "seed-1", *played.there).out
    other = mesocosm("run", "logs", played.run_id, "--task", "nothing", *played.there)
    assert shown.count(" trial 1 · completed · ") == 1
    assert "… (" not in shown
    assert (other.code, "has no episode of task 'nothing'" in other.err) == (2, True)


def test_an_unknown_status_is_refused_with_the_known_ones(mesocosm: "Invoke", played: "Played") -> None:
    refused = mesocosm("run", "list", "--status", "done", *played.there)

    assert refused.code == 2
    assert "'done' is not one of 'pending', 'running', 'finished', 'partial', 'failed', 'stopped'" in refused.err


@pytest.mark.parametrize("command", ["show", "episodes", "export", "rescore", "resume", "watch", "stop", "delete"])
def test_an_unknown_run_is_refused_with_a_suggestion(mesocosm: "Invoke", played: "Played", command: str) -> None:
    wrong = f"{played.run_id[:-1]}{'0' if played.run_id[-1] != '0' else '1'}"

    near = mesocosm("run", command, wrong, *played.there)
    far = mesocosm("run", command, "nothing", *played.there)

    assert (near.code, far.code) == (2, 2)
    assert f"there is no run '{wrong}'; did you mean {played.run_id}?" in near.err
    assert f"there is no run 'nothing'; the newest one is {played.run_id}" in far.err


def test_a_run_is_named_by_the_beginning_of_its_id_or_as_last(mesocosm: "Invoke", mine: "Played") -> None:
    ids = many(mine, 2)

    assert mesocosm("run", "show", "last", *mine.there, "--json").document["run"]["id"] == ids[0]
    assert mesocosm("run", "show", ids[1], *mine.there, "--json").document["run"]["id"] == ids[1]
    ambiguous = mesocosm("run", "show", mine.run_id[:9], *mine.there)
    assert ambiguous.code == 2
    assert "is the beginning of several run ids" in ambiguous.err


def test_last_of_no_runs_is_an_error(mesocosm: "Invoke", mine: "Played") -> None:
    assert mesocosm("run", "delete", mine.run_id, "--yes", *mine.there).code == 0

    refused = mesocosm("run", "show", "last", *mine.there)

    assert refused.code == 2
    assert "there is no run in" in refused.err


def test_last_is_the_whole_run_like_its_id(mesocosm: "Invoke", played: "Played") -> None:
    by_name = mesocosm("run", "show", "last", *played.there, "--json")

    assert by_name == mesocosm("run", "show", played.run_id, *played.there, "--json")
    assert by_name.document["run"]["provenance"]["mesocosm"]


def test_a_run_is_shown_with_everything_that_makes_its_numbers(mesocosm: "Invoke", played: "Played") -> None:
    shown = mesocosm("run", "show", played.run_id[:-4], *played.there).out

    run = played.run
    for line in (
        "My environment (my-env 1.0.0) · builtin/oracle · finished",
        "* accuracy  1.0000  [0.6097, 1.0000] weak   6/6  wilson",
        f"run        {run.id}",
        "episodes   6 of 6 (6 completed, 0 truncated, 0 timeout, 0 failed)",
        "seeds      0–5",
        "agent      loop, history full, reask 1, structured auto",
        "model      temperature 0, at most 512 tokens a reply",
        f"signature  {run.signature} (attempt 1)",
        f"content    {run.benchmark_digest}",
    ):
        assert f"{line}\n" in shown
    assert "resume" not in shown


def test_a_benchmark_of_a_framework_is_shown_with_its_packages_and_parameters(played: "Played") -> None:
    card = {"framework": "Gymnasium", "packages": {"gymnasium": "1.4.0", "numpy": "2.4.6"}, "licence": "MIT"}
    spec = replace(played.run.spec, benchmark=BenchmarkRef("gym", "Taxi-v4", {"mask": True}))
    run = replace(played.run, info={"card": card}, spec=spec)

    assert framework_words(run) == "Gymnasium (gymnasium 1.4.0, numpy 2.4.6, licence MIT)"
    assert parameter_words(run) == "mask True"
    assert (framework_words(played.run), parameter_words(played.run)) == ("", "")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"image": "iVBORw0KGgo" + "A" * 89, "seat": 1}, {"image": "(PNG, 75 bytes)", "seat": 1}),
        (["data:image/jpeg;base64,/9j/" + "A" * 93], ["(JPEG, 90 bytes)"]),
        ("iVBORw0KGgo is how a PNG begins", "iVBORw0KGgo is how a PNG begins"),
        ("a sentence that is longer than sixty letters, and holds no picture at all", None),
    ],
)
def test_pictures_are_told_by_type_and_size(value: Any, words: Any) -> None:
    assert without_pictures(value) == (value if words is None else words)


def test_a_stopped_run_says_how_to_go_on(mesocosm: "Invoke", mine: "Played") -> None:
    changed(mine, status=RunStatus.STOPPED, error="interrupted", counts=mine.run.counts.__class__(planned=9))

    shown = mesocosm("run", "show", "last", *mine.there).out

    assert "stopped: interrupted\n" in shown
    assert f"3 episodes pending; continue with: mesocosm run resume {mine.run_id}" in shown


@pytest.mark.parametrize(
    ("selection", "text"),
    [
        (Selection(count=1), "0–0"),
        (Selection(count=20), "0–19"),
        (Selection(), "all"),
        (Selection((5,)), "5"),
        (Selection((1, 2, 3, 7, 9, 10)), "1–3, 7, 9–10"),
        (Selection((3, 2, 1)), "3, 2, 1"),
        (Selection(tuple(range(0, 40, 2))), "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, …"),
    ],
)
def test_seeds_in_a_row_are_shown_as_a_range(selection: Selection, text: str) -> None:
    assert seeds(selection) == text


def test_episodes_are_one_document_where_nobody_looks(mesocosm: "Invoke", played: "Played") -> None:
    document = mesocosm("run", "episodes", "last", *played.there).document

    assert list(document) == ["run_id", "episodes"]
    assert [episode["seed"] for episode in document["episodes"]] == [0, 1, 2, 3, 4, 5]
    frozen = {"id", "run_id", "seed", "status", "started_at", "ended_at", "steps", "total_reward", "terminal_info"}
    assert all(frozen <= set(episode) for episode in document["episodes"])


def test_traces_come_keyed_by_episode(mesocosm: "Invoke", played: "Played") -> None:
    document = mesocosm("run", "episodes", "last", "--traces", "--limit", "2", *played.there).document

    assert list(document) == ["run_id", "episodes", "traces_by_episode"]
    assert list(document["traces_by_episode"]) == [episode["id"] for episode in document["episodes"]]
    assert len(document["episodes"]) == 2
    for episode in document["episodes"]:
        events = document["traces_by_episode"][episode["id"]]
        assert {event["episode_id"] for event in events} == {episode["id"]}
        assert [event["event_type"] for event in events].count("step_result") == episode["steps"]


def test_episodes_are_a_table_when_plain_text_is_asked_for(mesocosm: "Invoke", played: "Played") -> None:
    head, *lines = mesocosm("run", "episodes", "last", "--plain", *played.there).out.splitlines()

    assert head.split() == ["#", "task", "status", "reward", "steps", "time", "scores", "or", "failure"]
    assert [line.split()[:4] for line in lines] == [[f"{n}", f"seed-{n}", "completed", "1.00"] for n in range(6)]


def test_traces_are_a_timeline_when_plain_text_is_asked_for(mesocosm: "Invoke", played: "Played") -> None:
    told = mesocosm("run", "episodes", "last", "--traces", "--limit", "1", "--plain", *played.there).out

    assert "seed-0 trial 1 · completed" in told
    assert '   0  observation   {"low":1,"high":50,"answer":null,"guesses_left":6}\n' in told
    assert "   1  action        25\n" in told
    assert "\x1b" not in told


def test_an_export_goes_to_a_file_or_to_standard_output(mesocosm: "Invoke", played: "Played", tmp_path: Path) -> None:
    file = tmp_path / "deep" / "replay.json"
    written = mesocosm("run", "export", "last", "-o", file, *played.there)
    told = mesocosm("run", "export", "last", *played.there)
    dash = mesocosm("run", "export", "last", "-o", "-", *played.there)

    assert written.out == f"Wrote {file}\n"
    documents = [json.loads(file.read_text()), told.document, dash.document]
    for document in documents:
        document.pop("exported_at")
    assert documents[0] == documents[1] == documents[2]


def test_an_export_that_cannot_be_written_leaves_the_old_one(
    mesocosm: "Invoke", played: "Played", tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("old")

    for output in (tmp_path / "file" / "replay.json", tmp_path):
        refused = mesocosm("run", "export", "last", "-o", output, *played.there)
        assert refused.code == 2
        assert str(output) in refused.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_scoring_again_takes_an_edited_manifest(mesocosm: "Invoke", mine: "Played", tmp_path: Path) -> None:
    place = shutil.copytree(mine.manifest.parent, tmp_path / "edited")
    document = json.loads((place / "benchanything.json").read_text())
    document["scoring"] = {
        "primary_metric": "fewest",
        "metrics": [{"name": "fewest", "type": "terminal_field", "field": "guesses", "aggregation": "min"}],
    }
    (place / "benchanything.json").write_text(json.dumps(document))

    scored = mesocosm("run", "rescore", "last", "--manifest", place / "benchanything.json", *mine.there)

    assert scored.code == 0
    assert "* fewest  " in scored.out
    assert [metric.name for metric in mine.run.metrics] == ["fewest"]
    episodes = mesocosm("run", "episodes", "last", *mine.there).document["episodes"]
    assert [list(episode["scores"]) for episode in episodes] == [["fewest"]] * 6
    shown = mesocosm("run", "show", "last", *mine.there)
    assert "warning: rescored with content" in shown.out
    assert " rescored " in mesocosm("run", "list", *mine.there).out
    assert "rescored with content" in mesocosm("run", "show", "last", *mine.there, "--json").document["run"]["rescored"]


def test_scoring_again_without_change_gives_the_same_numbers(mesocosm: "Invoke", mine: "Played") -> None:
    before = mine.run.metrics

    assert mesocosm("run", "rescore", "last", *mine.there).code == 0

    assert mine.run.metrics == before
    assert mine.run.holder is None


def test_a_manifest_that_is_missing_scores_nothing(mesocosm: "Invoke", mine: "Played") -> None:
    before = mine.run

    refused = mesocosm("run", "rescore", "last", "--manifest", "nothing.json", *mine.there)

    assert refused.code == 2
    assert mine.run == before


def test_a_finished_run_is_only_shown_when_resumed(mesocosm: "Invoke", mine: "Played") -> None:
    before = mine.run

    resumed = mesocosm("run", "resume", "last", *mine.there)

    assert resumed.code == 0
    assert resumed.err == f"run {mine.run_id} is finished, no episode is pending\n"
    assert "6/6 scoreable" in resumed.out
    assert mine.run == before


def test_a_run_that_changed_since_cannot_go_on(mesocosm: "Invoke", mine: "Played", tmp_path: Path) -> None:
    place = shutil.copytree(mine.manifest.parent, tmp_path / "edited")
    words = ("--manifest", place, "--model", "builtin/oracle", "--episodes", "40", "--run-seconds", "0.000001")
    assert mesocosm("run", "local", *words, "--quiet", *mine.there).code == 3
    (place / "env.py").write_text((place / "env.py").read_text() + "\n# edited\n")

    refused = mesocosm("run", "resume", "last", *mine.there)

    assert refused.code == 2
    assert "cannot go on, it would mix two experiments: the content digest was" in refused.err


def test_a_budget_can_be_raised_when_a_run_is_resumed(mesocosm: "Invoke", mine: "Played") -> None:
    words = ("--manifest", mine.manifest, "--model", "builtin/oracle", "--episodes", "8", "--run-seconds", "0.000001")
    assert mesocosm("run", "local", *words, "--quiet", *mine.there).code == 3

    resumed = mesocosm("run", "resume", "last", "--run-seconds", "60", "--parallel", "0", "--quiet", *mine.there)

    assert resumed.code == 0
    assert "8/8 scoreable" in resumed.out


@pytest.mark.parametrize("answer", ["y\n", "yes\n"])
def test_deleting_asks_and_does_it(mesocosm: "Invoke", mine: "Played", answer: str) -> None:
    deleted = mesocosm("run", "delete", "last", *mine.there, stdin=answer)

    assert (deleted.code, deleted.out) == (0, f"deleted run {mine.run_id}\n")
    assert deleted.err.startswith("delete 1 run with 6 episodes? This cannot be undone [y/N]: ")
    assert mesocosm("run", "list", *mine.there, "--json").document["items"] == []


@pytest.mark.parametrize("answer", ["n\n", "\n"])
def test_deleting_is_given_up_without_a_yes(mesocosm: "Invoke", mine: "Played", answer: str) -> None:
    kept = mesocosm("run", "delete", "last", *mine.there, stdin=answer)

    assert (kept.code, kept.out) == (1, "")
    assert kept.err.endswith("nothing was deleted\n")
    assert mine.run.counts.completed == 6


def test_deleting_where_nobody_answers_needs_a_flag(mesocosm: "Invoke", mine: "Played") -> None:
    refused = mesocosm("run", "delete", "last", *mine.there)

    assert refused.code == 2
    assert "repeat the command with --yes" in refused.err
    assert mine.run.counts.completed == 6


def test_several_runs_are_deleted_at_once_and_all_or_none_are_known(mesocosm: "Invoke", mine: "Played") -> None:
    ids = many(mine, 3)

    assert mesocosm("run", "delete", ids[0], "nothing", "--yes", *mine.there).code == 2
    assert len(mesocosm("run", "list", *mine.there, "--json").document["items"]) == 3
    deleted = mesocosm("run", "delete", ids[0], ids[1], ids[0], "--yes", "--json", *mine.there)

    assert deleted.document == {"deleted": [ids[0], ids[1]]}
    assert [run["id"] for run in mesocosm("run", "list", *mine.there, "--json").document["items"]] == [ids[2]]


def test_only_a_run_that_goes_on_can_be_stopped(mesocosm: "Invoke", played: "Played") -> None:
    refused = mesocosm("run", "stop", "last", *played.there)

    assert refused.code == 2
    assert "is finished; only a running one can be stopped" in refused.err


@pytest.mark.parametrize(("status", "code"), [(RunStatus.FINISHED, 0), (RunStatus.FAILED, 1), (RunStatus.STOPPED, 3)])
def test_watching_a_run_that_is_over_exits_as_it_did(
    mesocosm: "Invoke", mine: "Played", status: RunStatus, code: int
) -> None:
    changed(mine, status=status)

    watched = mesocosm("run", "watch", "last", *mine.there)

    assert watched.code == code
    assert watched.err == f"{status}: 6/6 done, 0 failed\n"
    assert "6/6 scoreable" in watched.out


def test_a_run_that_was_never_taken_up_is_not_waited_for(mesocosm: "Invoke", mine: "Played") -> None:
    changed(mine, status=RunStatus.PENDING)
    store = open_store(mine.results)
    old = store.runs.get(mine.run_id)
    old.id = f"{old.id[:-1]}z"
    old.created_at -= 60
    store.runs.add(old)
    store.close()

    watched = mesocosm("run", "watch", old.id, *mine.there)

    assert watched.code == 3
    assert "its process is gone" in watched.err
