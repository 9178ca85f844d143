"""`mesocosm bench run`: what was done is skipped, what was cut off goes on, what fails harms nobody else."""

import importlib.util
import json
import re
import shlex
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import mesocosm as mc
from mesocosm.server.runs.commands import repeat_command
from mesocosm.store import open_store
from mesocosm.store.lease_owner import this_process
from mesocosm.store.revision import DATABASE_NAME

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Outcome

pytestmark = pytest.mark.usefixtures("forked")

_spec = importlib.util.spec_from_file_location("shelf", Path(__file__).with_name("shelf.py"))
assert _spec is not None
assert _spec.loader is not None
shelf_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(shelf_module)
put = shelf_module.put

Bench = Callable[..., "Outcome"]


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """Return a folder with one benchmark."""
    put(tmp_path / "shelf", "sums")
    return tmp_path / "shelf"


@pytest.fixture
def bench(mesocosm: "Invoke", shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Return what runs a `bench` command on the shelf."""
    monkeypatch.chdir(tmp_path)

    def bench(*words: str) -> "Outcome":
        return mesocosm("bench", words[0], "--benchmarks-dir", shelf, *words[1:])

    return bench


def statuses(outcome: "Outcome") -> dict[str, str]:
    return {one["benchmark_id"]: one["status"] for one in outcome.document["outcomes"]}


def only(outcome: "Outcome") -> dict[str, Any]:
    (found,) = outcome.document["outcomes"]
    assert isinstance(found, dict)
    return found


RUN = ("run", "sums", "--model", "builtin/oracle", "--json")


def test_a_benchmark_is_run_and_its_score_is_told(bench: Bench) -> None:
    done = bench("run", "--benchmarks", "sums", "--model", "builtin/oracle")
    assert done.code == 0
    assert "sums       succeeded  1.0000  [0.8389, 1.0000] weak  20/20" in done.out
    assert "Summary: succeeded=1 failed=0 skipped=0 incompatible=0\n" in done.out


def test_the_same_command_again_runs_nothing_and_says_so(bench: Bench) -> None:
    first, second = only(bench(*RUN)), bench(*RUN[:-1])
    assert "Nothing was run: all of it was done before." in second.out
    assert re.search(rf"^sums +skipped .* {first['run_id']}$", second.out, re.MULTILINE)


def put_back(results: Path, holder: str | None = None) -> None:
    """Make the run what a process leaves that was killed behind its last episode, or one that still works on it."""
    with closing(sqlite3.connect(results / DATABASE_NAME)) as connection:
        connection.execute("UPDATE runs SET status = 'running', ended_at = NULL, metrics = '[]', holder = ?", [holder])
        connection.execute("UPDATE run_lines SET status = 'running'")
        connection.commit()


def test_a_run_that_was_killed_behind_its_last_episode_gets_its_numbers_and_is_not_played_again(
    bench: Bench, tmp_path: Path
) -> None:
    first = only(bench(*RUN))
    put_back(tmp_path / "benchmark_results")
    again = bench(*RUN)
    assert (again.code, statuses(again)) == (0, {"sums": "succeeded"})
    assert (only(again)["run_id"], only(again)["score"]) == (first["run_id"], first["score"])


def test_what_another_process_works_on_is_incomplete(bench: Bench, tmp_path: Path) -> None:
    bench(*RUN)
    put_back(tmp_path / "benchmark_results", msgspec.json.encode(this_process()).decode())
    again = bench(*RUN)
    assert (again.code, statuses(again)) == (3, {"sums": "skipped"})
    assert "is going on by process" in only(again)["reason"]


def test_skipping_consumes_no_attempt(bench: Bench) -> None:
    for _ in range(3):
        bench(*RUN)
    again = only(bench(*RUN, "--force"))
    assert again["run"]["attempt"] == 2


@pytest.mark.parametrize(
    "change",
    [("-P", "tone=harsh"), ("--temperature", "0.5"), ("--extra", '{"tone": "harsh"}'), ("--max-examples", "3")],
)
def test_what_can_change_the_outcome_makes_another_experiment(bench: Bench, change: tuple[str, str]) -> None:
    bench(*RUN)
    assert only(bench(*RUN, *change))["status"] == "succeeded"


@pytest.mark.parametrize("change", [("--parallel", "2"), ("--timeout", "50"), ("--tag", "nightly")])
def test_what_cannot_change_the_outcome_makes_no_other_experiment(bench: Bench, change: tuple[str, str]) -> None:
    bench(*RUN)
    assert only(bench(*RUN, *change))["status"] == "skipped"


def test_one_broken_benchmark_does_not_stop_the_others(bench: Bench, shelf: Path) -> None:
    put(shelf, "crashing", shelf_module.CRASHING)
    put(shelf, "lacking", shelf_module.LACKING)
    (shelf / "empty").mkdir()
    named = ("crashing", "lacking", "empty", "unknown", "sums")
    done = bench("run", "--benchmarks", *named, "--model", "builtin/oracle", "--json")
    assert done.code == 1
    assert statuses(done) == {
        "crashing": "failed",
        "lacking": "incompatible",
        "empty": "failed",
        "unknown": "failed",
        "sums": "succeeded",
    }


def test_one_that_hangs_while_it_is_opened_is_given_up(bench: Bench, shelf: Path) -> None:
    put(shelf, "hanging", shelf_module.HANGING)
    done = bench("run", "--benchmarks", "hanging,sums", "--model", "builtin/oracle", "--timeout", "1", "--json")
    assert statuses(done) == {"hanging": "failed", "sums": "succeeded"}


def test_what_cannot_run_here_is_no_failure(bench: Bench, shelf: Path) -> None:
    put(shelf, "lacking", shelf_module.LACKING)
    done = bench("run", "--benchmarks", "lacking", "--model", "builtin/oracle", "--show-incompatible")
    assert done.code == 1
    assert "there is no moon here" in done.out


def test_a_benchmark_that_nobody_knows_is_an_error_with_a_suggestion(bench: Bench) -> None:
    done = bench("run", "--benchmarks", "summs", "--model", "builtin/oracle")
    assert done.code == 2
    assert "did you mean 'sums'?" in done.err


def test_unknown_and_wrong_parameters_are_named_together_before_anything_runs(bench: Bench, tmp_path: Path) -> None:
    done = bench(*RUN, "--extra", '{"limt": 3, "per_benchmark": {"sums": {"seed": "four"}, "nonsense": {}}}')
    assert done.code == 2
    assert "limt: is not a parameter of sums; did you mean 'limit'?" in done.err
    assert "per_benchmark.sums.seed: must be a whole number, not 'four'" in done.err
    assert "per_benchmark.nonsense: is not a benchmark" in done.err
    assert not (tmp_path / "benchmark_results").exists()


def test_the_specific_goes_over_the_general(bench: Bench) -> None:
    extra = '{"limit": 9, "per_benchmark": {"sums": {"limit": 4}}}'
    assert only(bench(*RUN, "--extra", extra))["run"]["counts"]["planned"] == 4


def test_a_failed_experiment_is_run_again(bench: Bench) -> None:
    model = ("--model", "openai/m@http://127.0.0.1:9/v1", "--retries", "0")
    words = ("run", "--benchmarks", "sums", *model, "--json")
    assert only(bench(*words))["status"] == "failed"
    assert only(bench(*words))["status"] == "failed"


def test_rerun_failed_leaves_what_succeeded_and_what_never_ran(bench: Bench, shelf: Path) -> None:
    put(shelf, "other")
    bench(*RUN)
    done = bench("run", "--benchmarks", "sums,other", "--model", "builtin/oracle", "--rerun-failed", "--json")
    assert {one["benchmark_id"]: one["reason"] for one in done.document["outcomes"]} == {
        "sums": "latest_status_succeeded",
        "other": "never run before",
    }


async def test_killed_in_the_middle_it_runs_only_what_is_owed(
    launch: Callable[..., Any], gate: Any, shelf: Path, tmp_path: Path
) -> None:
    words = ("bench", "run", "--benchmarks-dir", shelf, "--benchmarks", "sums", "--model", gate.model)
    first = await launch(*words, "--parallel", "1", cwd=tmp_path)
    await first.said("[12/20]")
    await gate.waiting.wait()
    first.process.kill()
    await first.process.wait()
    gate.opened.set()
    second = await (await launch(*words, "--json", cwd=tmp_path)).end()
    third = await (await launch(*words, "--json", cwd=tmp_path)).end()
    assert (second.code, third.code) == (0, 0)
    assert only(second)["run_id"] == only(third)["run_id"]
    assert (only(second)["status"], only(third)["status"]) == ("succeeded", "skipped")
    # Twelve were answered, one was cut off in the middle of its call, eight were owed.
    assert gate.served == 21


def test_a_plan_tells_what_is_done_and_owed_and_writes_nothing(bench: Bench, shelf: Path, tmp_path: Path) -> None:
    put(shelf, "other")
    bench(*RUN)
    before = sorted((tmp_path / "benchmark_results").iterdir())
    words = ("--benchmarks", "sums,other", "--model", "builtin/oracle", "--json")
    plan = bench("plan", *words).document["plan"]
    assert [(one["action"], one["done"], one["owed"]) for one in plan] == [("skip", 20, 0), ("run", 0, 20)]
    assert bench("run", *words, "--dry-run").document["plan"] == plan
    assert sorted((tmp_path / "benchmark_results").iterdir()) == before


def test_a_plan_for_several_models_names_them(bench: Bench) -> None:
    shown = bench("run", "sums", "-m", "builtin/oracle", "-m", "builtin/empty", "--dry-run").out
    assert re.search(r"^builtin/oracle +sums +run +0/20 +20", shown, re.MULTILINE)
    assert re.search(r"^builtin/empty +sums +run +0/20 +20", shown, re.MULTILINE)
    assert "40 episodes pending in 1 benchmark with 2 models" in shown


def test_a_name_finds_the_run_also_when_it_was_done_before(bench: Bench, mesocosm: "Invoke") -> None:
    done = only(bench(*RUN))
    assert statuses(bench(*RUN, "--name", "course")) == {"sums": "skipped"}
    assert mesocosm("run", "show", "course", "--json").document["run"]["id"] == done["run_id"]


def test_one_name_for_two_runs_is_refused(bench: Bench) -> None:
    refused = bench("run", "sums", "-m", "builtin/oracle", "-m", "builtin/empty", "--name", "course")
    assert (refused.code, "--name is for one run" in refused.err) == (2, True)


def test_max_examples_is_said_not_to_work_where_it_does_not(bench: Bench, shelf: Path) -> None:
    fixed = shelf_module.TOML.replace('sampling = "limit"', "")
    put(shelf, "fixed", toml=fixed)
    done = bench("run", "--benchmarks", "fixed,sums", "--model", "builtin/oracle", "--max-examples", "2", "--json")
    assert "fixed always runs whole: --max-examples does nothing there" in done.err
    counts = {one["benchmark_id"]: one["run"]["counts"]["planned"] for one in done.document["outcomes"]}
    assert counts == {"fixed": 20, "sums": 2}


def test_the_name_of_an_agent_that_is_not_installed_is_a_label(bench: Bench) -> None:
    assert only(bench(*RUN, "--agent", "eliza"))["run"]["agent"]["label"] == "eliza"


def test_a_changed_agent_makes_another_experiment(bench: Bench, tmp_path: Path) -> None:
    agent = tmp_path / "own.py"
    agent.write_text("from mesocosm.agents.chat import open_chat\n")
    first = only(bench(*RUN, "--agent", f"{agent}:open_chat"))
    assert only(bench(*RUN, "--agent", f"{agent}:open_chat"))["status"] == "skipped"
    agent.write_text(agent.read_text() + "# with another idea\n")
    again = only(bench(*RUN, "--agent", f"{agent}:open_chat"))
    assert (first["status"], again["status"]) == ("succeeded", "succeeded")


def test_settings_come_from_a_file_too(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "extra.json").write_text(json.dumps({"limit": 5}))
    assert only(bench(*RUN, "--extra", "@extra.json"))["run"]["counts"]["planned"] == 5


def test_a_profile_that_does_not_exist_is_an_error_with_those_that_do(bench: Bench) -> None:
    done = bench(*RUN, "--extra", "@sampel10")
    assert done.code == 2
    assert "sampel10 cannot be read: No such file or directory; name a file, or one of @" in done.err
    assert "@sample10" in done.err


def test_the_reason_of_a_failure_names_its_benchmark_once(bench: Bench) -> None:
    done = bench("run", "--benchmarks", "gsm8k", "--model", "builtin/oracle", "--extra", '{"data_path": "nowhere"}')
    assert done.code == 1
    assert "\ngsm8k: data_path names nowhere" in done.out
    assert "gsm8k: failed (data_path names nowhere" in done.err


def test_two_models_are_compared_with_interval_and_n(bench: Bench, tmp_path: Path) -> None:
    done = bench("compare", "--a", "builtin:oracle", "--b", "builtin:empty", "--benchmarks", "sums")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("Comparison ID: cmp_")
    assert lines[1:4] == ["A: builtin:oracle", "B: builtin:empty", "Benchmarks: sums"]
    assert lines[5].split(" | ")[3].strip() == "delta (B-A)"
    assert [cell.strip() for cell in lines[7].split("|")][3:5] == ["-1.0000", "A"]
    assert lines[7].endswith("20")
    (written,) = (tmp_path / "benchmark_results" / "comparisons").iterdir()
    assert lines[-1] == f"Wrote benchmark_results/comparisons/{written.name}"


def test_a_difference_that_the_test_does_not_bear_out_says_why_it_is_a_tie(bench: Bench) -> None:
    sides = ("--a", "builtin:oracle", "--b", "builtin:empty", "--benchmarks", "sums", "--max-examples", "5")
    done = bench("compare", *sides)
    row = [cell.strip() for cell in done.out.splitlines()[7].split("|")]
    assert row[3:5] == ["-1.0000", "tie"]
    assert "difference excludes 0, but the test does not reject (p = 0.062): a tie until more is known" in done.out


def test_a_stored_comparison_is_shown_again(bench: Bench, mesocosm: "Invoke") -> None:
    made = bench("compare", "--a", "builtin:oracle", "--b", "builtin:empty", "--benchmarks", "sums")
    again = mesocosm("bench", "view-comparison", made.out.splitlines()[0].split()[-1])
    assert again.code == 0
    assert again.out.splitlines()[:8] == made.out.splitlines()[:8]


def test_a_comparison_that_is_not_there_is_an_error(bench: Bench, mesocosm: "Invoke") -> None:
    bench(*RUN)
    done = mesocosm("bench", "view-comparison", "cmp_nothing")
    assert (done.code, done.out) == (1, "")
    assert "no comparison 'cmp_nothing' is stored" in done.err


def test_a_comparison_that_is_not_there_names_the_newest_one(bench: Bench, mesocosm: "Invoke") -> None:
    made = bench("compare", "--a", "builtin:oracle", "--b", "builtin:empty", "--benchmarks", "sums", "--json")
    done = mesocosm("bench", "view-comparison", "cmp_2026")
    assert done.code == 1
    assert done.err.endswith(f"; the newest one is {made.document['comparison_id']}\n")


def test_a_model_against_itself_is_said_to_be_one_run(bench: Bench) -> None:
    words = ("compare", "--a", "builtin:empty", "--b", "builtin:empty", "--benchmarks", "sums")
    run_id = only(bench("run", "sums", "-m", "builtin/empty", "--json"))["run_id"]
    assert f"sums: both sides are the run {run_id}; with --force each side gets its own\n" in bench(*words).out
    assert "both sides" not in bench(*words, "--force").out


def test_runs_are_said_to_differ_only_from_those_of_their_benchmark(
    bench: Bench, shelf: Path, mesocosm: "Invoke"
) -> None:
    put(shelf, "more")
    ids = [
        only(bench("run", "--benchmarks", name, "--model", model, "--json"))["run_id"]
        for name in ("sums", "more")
        for model in ("builtin/oracle", "builtin/empty")
    ]
    assert [line for line in mesocosm("compare", *ids).out.splitlines() if "they differ in" in line] == [
        "sums: they differ in model: builtin/oracle, builtin/empty",
        "more: they differ in model: builtin/oracle, builtin/empty",
    ]


def test_equal_models_are_a_tie(bench: Bench) -> None:
    words = ("compare", "--a", "builtin:empty", "--b", "builtin:random", "--benchmarks", "sums", "--json")
    (row,) = bench(*words).document["rows"]
    assert (row["winner"], row["delta"]) == ("tie", 0.0)


@pytest.mark.parametrize(
    "words",
    [(), ("--temperature", "0.5", "--trials", "2"), ("--agent", "eliza", "--extra", '{"tone": "harsh", "limit": 7}')],
)
def test_the_command_that_the_viewer_shows_repeats_the_same_experiment(
    bench: Bench, mesocosm: "Invoke", words: tuple[str, ...]
) -> None:
    run_id = only(bench(*RUN, *words))["run_id"]
    with closing(open_store("benchmark_results")) as store:
        command = repeat_command(store.runs.get(run_id).spec)
    assert command is not None
    again = mesocosm(*[word for word in shlex.split(command)[1:] if word != "--force"], "--json")
    assert (only(again)["status"], only(again)["run_id"]) == ("skipped", run_id)


BROKEN = """
id = "{name}"
title = "Toy"
description = "A program that fails."
kind = "command"
source = "the tests"
licence = "none"
version = "1"
agent = "program"

[command]
argv = ["{{python}}", "{{folder}}/benchmark.py"]
"""


def test_why_a_program_failed_stands_below_the_table_and_in_run_show(
    bench: Bench, shelf: Path, mesocosm: "Invoke"
) -> None:
    put(shelf, "toy", "import sys\nsys.exit('no key for the judge')", BROKEN)
    done = bench("run", "--benchmarks", "toy", "--model", "builtin/empty")
    assert done.code == 1
    (told,) = [line for line in done.out.splitlines() if "program_failed, first in" in line]
    log = Path(told.rpartition("its output is in ")[2])
    assert log.read_text() == "no key for the judge\n"
    assert "\n    no key for the judge\n" in done.out
    shown = mesocosm("run", "show", "last")
    assert f"its output is in {log}" in shown.out
    assert "\n    no key for the judge\n" in shown.out
    (failure,) = mesocosm("run", "show", "last", "--json").document["failures"]
    assert failure["stderr"] == "no key for the judge"
    again = only(bench("run", "--benchmarks", "toy", "--model", "builtin/empty", "--json"))
    assert again["failures"][0]["cause"] == "program_failed"


def test_benchmarks_are_judged_against_a_run_group(bench: Bench, shelf: Path) -> None:
    put(shelf, "more")
    words = ("run", "--benchmarks", "sums,more", "--json", "--model")
    group = bench(*words, "builtin/oracle").document["run_group_id"]
    judged = ("--baseline", group, "--fail-if", "regression p<0.05", "--fail-if", "missing>2%")
    worse = bench(*words, "builtin/empty", *judged)
    assert worse.code == 1
    answers = [(one["benchmark"], one["answer"]) for one in worse.document["gate"]]
    assert answers == [("sums", "fail"), ("more", "fail"), ("sums", "pass"), ("more", "pass")]
    assert bench(*words, "builtin/oracle", "--force", *judged).code == 0
    itself = bench(*words, "builtin/oracle", "--baseline", bench(*words, "builtin/oracle").document["run_group_id"])
    assert itself.code == 1


def test_the_file_for_older_programs_is_named_only_for_them(bench: Bench) -> None:
    model = ("-m", "builtin/oracle", "-n", "1")
    assert "viewer_data.json" not in bench("run", "sums", *model).out
    assert "viewer_data.json" in bench("run", "--benchmarks", "sums", *model).out


def test_a_comparison_of_two_models_is_judged(bench: Bench, mesocosm: "Invoke") -> None:
    words = ("compare", "--a", "builtin:oracle", "--b", "builtin:empty", "--benchmarks", "sums")
    judged = ("--fail-if", "regression p<0.05")
    worse = bench(*words, *judged, "--json")
    assert (worse.code, worse.document["gate"][0]["answer"]) == (1, "fail")
    again = mesocosm("bench", "view-comparison", worse.document["comparison_id"], "--fail-if", "score<0")
    assert again.code == 1
    assert "NOTHING TO JUDGE: accuracy is 0.0000" in again.out
    assert mesocosm("bench", "view-comparison", worse.document["comparison_id"]).code == 0
    refused = bench(*words, "--fail-if", "acuracy<0.8")
    assert (refused.code, "did you mean 'accuracy'?" in refused.err, "Running" in refused.err) == (2, True, False)
    nothing = bench("compare", "--a", "builtin:empty", "--b", "builtin:empty", "--benchmarks", "sums")
    assert nothing.code == 1
    assert "nothing could be compared" in nothing.err


def test_several_models_are_run_and_compared_with_the_first(bench: Bench) -> None:
    words = ("run", "sums", "-m", "builtin/oracle", "-m", "builtin/empty", "-n", "6")
    done = bench(*words, "--fail-if", "regression p<0.05", "--json")
    assert done.code == 1
    assert [side["outcomes"][0]["status"] for side in done.document["items"]] == ["succeeded", "succeeded"]
    assert [one["answer"] for one in done.document["gate"]] == ["fail"]
    again = bench(*words)
    assert again.code == 0
    assert "Nothing was run" in again.out
    assert re.search(r"builtin/empty +0\.0000 .* worse$", again.out, re.MULTILINE)


def test_parameters_and_settings_are_those_of_extra(bench: Bench) -> None:
    first = only(
        bench("run", "sums", "-m", "builtin/oracle", "--extra", '{"tone": "harsh", "temperature": 0.5}', "--json")
    )
    same = ("-P", "tone=harsh", "--set", "model.temperature=0.5")
    again = only(bench("run", "sums", "-m", "builtin/oracle", *same, "--json"))
    assert (again["status"], again["run_id"]) == ("skipped", first["run_id"])


def test_a_setting_that_benchmarks_do_not_take_is_refused_and_a_misspelt_one_gets_a_suggestion(bench: Bench) -> None:
    assert "did you mean model.temperature?" in bench(*RUN, "--set", "model.temprature=1").err
    assert "benchmarks choose it themselves" in bench(*RUN, "--set", "model.timeout_s=1").err


def test_without_a_name_the_benchmarks_are_listed_and_nothing_is_run(bench: Bench, tmp_path: Path) -> None:
    done = bench("run", "-m", "builtin/oracle")
    assert done.code == 2
    assert "\nsums " in done.out
    assert "which benchmark? Name it" in done.err
    assert not (tmp_path / "benchmark_results").exists()


def test_there_is_no_default_model_for_a_benchmark_that_is_named_alone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = bench("run", "sums")
    assert (refused.code, "which model? Add -m" in refused.err) == (2, True)
    monkeypatch.setenv("MESOCOSM_MODEL", "builtin/oracle")
    assert only(bench("run", "sums", "-n", "2", "--json"))["score"] == 1


def test_benchmarks_are_listed_in_the_shape_of_every_list(bench: Bench) -> None:
    listed = bench("list", "--json")
    assert (listed.code, listed.document["next"]) == (0, None)
    assert "sums" in [one["id"] for one in listed.document["items"]]


def test_a_run_whose_process_is_gone_is_interrupted_everywhere(
    bench: Bench, mesocosm: "Invoke", tmp_path: Path
) -> None:
    bench(*RUN)
    put_back(tmp_path / "benchmark_results")

    (item,) = mesocosm("run", "list", "--status", "interrupted", "--json").document["items"]
    assert item["status"] == "interrupted"
    assert mesocosm("run", "show", "last", "--json").document["run"]["state"] == "interrupted"
    assert mesocosm("run", "list", "--status", "running", "--json").document["items"] == []
    (found,) = mc.runs(status="interrupted", store=tmp_path / "benchmark_results")
    assert found.status == "interrupted"
    assert not mc.runs(status="running", store=tmp_path / "benchmark_results")


@pytest.mark.parametrize("asks", [True, False])
def test_a_judge_is_part_of_the_run_where_one_is_asked(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, asks: bool
) -> None:
    monkeypatch.setattr("mesocosm.cli.bench.request._asks_judge", lambda spec: asks)
    done = bench(*RUN, "--judge", "builtin/empty")
    judge = mc.get_run(only(done)["run_id"], store=tmp_path / "benchmark_results").config.get("judge")

    assert (judge or {}).get("name") == ("builtin/empty" if asks else None)
    assert ("note: sums asks no judge: --judge does nothing there\n" in done.err) is not asks


def test_one_viewer_is_started_for_a_group_and_its_page_is_opened(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("mesocosm.cli.viewer_link.start", lambda *place: "http://127.0.0.1:8877")
    monkeypatch.setattr("mesocosm.cli.viewer_link.open_browser", opened.append)
    done = bench(*RUN[:-1], "--view")
    group = re.search(r"^run group (\S+)$", done.out, re.MULTILINE)

    assert group is not None
    assert opened == [f"http://127.0.0.1:8877/?group={group[1]}"]
    assert f"\n  http://127.0.0.1:8877/?group={group[1]}\n" in done.out
    assert "8877" not in bench(*RUN[:-1], "--fresh", "--no-view").out
