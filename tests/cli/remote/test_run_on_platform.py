"""`mesocosm run …` and `mesocosm eval …` against a platform with a worker: create, watch, look, export, stop."""

import json
import shlex
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from sqlalchemy import update

from mesocosm.cli.remote import watch
from mesocosm.client import Client
from mesocosm.core.run import RunStatus
from mesocosm.server.runs.commands import repeat_request
from mesocosm.server.settings import Settings
from mesocosm.store.schema import runs

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Outcome, Played
    from tests.cli.remote.conftest import Platform, World

WANTED = ("--domain", "word-game", "--vow-version", "1.0.0", "--model", "builtin/random")
EVAL = ("--domain-id", "word-game", "--model", "builtin/random")


def create(platform: "Platform", *words: str) -> "Outcome":
    return platform("run", "create", *WANTED, *words)


@pytest.fixture
def run_id(game: "Platform") -> str:
    """A run of two episodes that is over."""
    seen = create(game, "--episodes", "2", "--wait")
    assert seen.code == 0, seen.err
    return str(seen.document["id"])


def test_a_run_is_created_and_printed_at_once(game: "Platform", world: "World") -> None:
    world.hold = True

    seen = create(game, "--episodes", "3", "--parallel", "2", "--system-prompt", "win", "--name", "first", "--tag", "x")

    assert seen.code == 0
    run = seen.document
    assert seen.out.startswith('{\n  "id": ')
    assert run["status"] in {"pending", "running"}
    assert (run["config"]["num_episodes"], run["config"]["max_parallel"], run["name"]) == (3, 2, "first")
    agent = {"model": "builtin/random", "system_prompt": "win", "techniques": [], "temperature": 0.0, "max_tokens": 512}
    assert run["config"]["agent_config"] == agent
    assert (run["visibility"], run["team_id"], run["tags"]) == ("private", None, ["x"])
    assert seen.err == f"follow it with: mesocosm run watch {run['id']}\n"


def test_a_run_that_is_waited_for_is_judged(game: "Platform") -> None:
    judged = ("--fail-if", "won<0.5", "--fail-if", "failed>0", "--seeds", "4", "5", "--wait")
    seen = create(game, *judged)
    assert seen.code == 0
    assert [answer["answer"] for answer in seen.document["gate"]] == ["pass", "pass"]
    assert "gate open" in seen.err
    assert create(game, *judged, "--fail-if", "won<0.6").code == 1
    for words in (
        ("--fail-if", "won<0.5"),
        ("--fail-if", "regression", "--wait"),
    ):
        assert create(game, *words).code == 2, words


def test_an_official_board_is_declared_run_on_and_shown(game: "Platform") -> None:
    assert "no official board" in game("domain", "protocol", "word-game").err
    declared = game("domain", "declare", "word-game", "--episodes", "2", "--max-tokens", "64")
    assert declared.document["version"] == 1, declared.err
    assert "protocol 1  2 seeds, 64 tokens per reply" in game("domain", "protocol", "word-game").out

    words = ("--domain", "word-game", "--model", "builtin/random", "--official", "--wait")
    run = game("run", "create", *words).document

    assert (run["protocol"], run["visibility"], len(run["config"]["seed_set"])) == (1, "gallery_public", 2)
    board = game("domain", "leaderboard", "word-game", "--official")
    assert "1 of 1" in board.out
    assert "protocol 1" in board.err


def test_a_run_that_is_waited_for_shows_its_progress_and_its_end(game: "Platform") -> None:
    seen = create(game, "--seeds", "4", "5", "--wait")

    assert seen.code == 0
    run = seen.document
    assert (run["status"], run["scores"], run["config"]["seed_set"]) == ("completed", {"won": 0.5}, [4, 5])
    assert "finished: 2/2 done, 0 failed, won 0.5000" in seen.err


def test_the_active_team_is_attached_unless_told_otherwise(game: "Platform", world: "World") -> None:
    world.hold = True
    team = game("team", "create", "--name", "Reefs", "--use", "--json").document["team_id"]

    assert create(game).document["team_id"] == team
    assert create(game, "--solo").document["team_id"] is None
    other = game("team", "create", "--name", "Atolls", "--json").document["team_id"]
    assert create(game, "--team", other).document["team_id"] == other
    assert len(game("team", "runs", team).document) == 1


def test_what_cannot_work_is_refused_with_the_reason(game: "Platform") -> None:
    many = create(game, "--episodes", "10000000")
    model = game("run", "create", *WANTED[:-1], "openai/unheard-of")

    assert (many.code, many.out) == (1, "")
    assert "episodes" in many.err
    assert "HTTP" not in many.err
    assert model.code == 1
    assert "unheard-of" in model.err


def test_seeds_and_episodes_that_contradict_each_other_are_a_wrong_line(game: "Platform") -> None:
    seen = create(game, "--seeds", "1", "2", "--episodes", "3")

    assert seen.code == 2
    assert "seed_set has 2 seeds for 3 episodes" in seen.err


def test_nobody_can_create_a_run(game: "Platform") -> None:
    game.nobody()

    seen = create(game)

    assert (seen.code, seen.out) == (1, "")
    assert "Not authenticated" in seen.err


def test_get_prints_the_run_its_episodes_and_its_scores(game: "Platform", run_id: str) -> None:
    seen = game("run", "get", run_id)

    assert seen.code == 0
    assert list(seen.document) == ["run", "episodes", "aggregate_scores"]
    assert seen.document["run"]["id"] == run_id
    assert [episode["total_reward"] for episode in seen.document["episodes"]] == [0.5, 0.5]
    assert seen.document["aggregate_scores"] == {"won": 0.5}


def test_episodes_come_with_traces_when_asked(game: "Platform", run_id: str) -> None:
    plain = game("run", "episodes", run_id).document
    traced = game("run", "episodes", run_id, "--traces", "--limit", "1").document

    assert (plain["run_id"], len(plain["episodes"]), plain["traces_by_episode"]) == (run_id, 2, {})
    (episode,) = traced["episodes"]
    kinds = [event["event_type"] for event in traced["traces_by_episode"][episode["id"]]]
    assert {"episode_start", "action", "step_result", "episode_end"} <= set(kinds)


def test_an_export_is_written_with_its_directories(game: "Platform", run_id: str, tmp_path: Path) -> None:
    place = tmp_path / "showcase" / "replay.json"

    seen = game("run", "export", run_id, "-o", place)
    there = game("run", "export", run_id)

    assert (seen.code, seen.out) == (0, f"Wrote {place}\n")
    document = json.loads(place.read_text())
    assert (document["schema_version"], document["run"]["id"]) == ("1", run_id)
    assert there.document["replay"] == document["replay"]


def test_an_export_that_is_refused_leaves_no_file(game: "Platform", tmp_path: Path) -> None:
    seen = game("run", "export", "nonsense", "-o", tmp_path / "replay.json")

    assert seen.code == 1
    assert "nonsense" in seen.err
    assert not (tmp_path / "replay.json").exists()


def test_a_public_run_is_read_by_nobody_in_particular(game: "Platform", run_id: str) -> None:
    url = ("--base-url", game.url)
    game.nobody()
    private = game("run", "get", run_id)
    game.is_now("ada")
    assert game("run", "visibility", run_id, "gallery_public").out == f"run {run_id} is gallery_public\n"
    game.nobody()

    assert private.code == 1
    assert private.document["status_code"] == 404
    assert game("run", "get", run_id).document["run"]["id"] == run_id
    assert game("run", "episodes", run_id, *url).code == 0
    assert run_id in game("gallery").out
    assert run_id in game("domain", "leaderboard", "word-game").out


def test_the_list_of_the_platform_is_asked_for(game: "Platform", run_id: str) -> None:
    seen = game("run", "list", "--remote")

    assert seen.code == 0
    assert f"{run_id}  finished  word-game  builtin/random  0.5000" in seen.out
    listed = game("run", "list", "--remote", "--json", "--limit", "1").document
    assert ([run["id"] for run in listed["items"]], listed["next"]) == ([run_id], None)


def test_watch_follows_a_run_to_its_end(game: "Platform", world: "World", monkeypatch: pytest.MonkeyPatch) -> None:
    def pause(seconds: float) -> None:
        world.release.set()
        time.sleep(seconds)

    world.hold = True
    made = create(game).document["id"]
    assert world.reached.wait(120)
    # The run goes on once it has been seen.
    monkeypatch.setattr(watch, "time", SimpleNamespace(**{**vars(time), "sleep": pause}))

    seen = game("run", "watch", made, "--interval", "0.1")

    assert seen.code == 0
    assert "running: 0/1 done, 0 failed" in seen.err
    assert f"run {made}\n" in seen.out
    assert "* won" in seen.out


def test_last_on_the_platform_is_the_newest_of_ones_own(game: "Platform", run_id: str) -> None:
    seen = game("run", "watch", "last", "--remote", "--json")

    assert (seen.code, seen.document["run"]["id"]) == (0, run_id)
    assert game("run", "get", "last").document["run"]["id"] == run_id
    assert game("run", "visibility", "last", "private").out == f"run {run_id} is private\n"


def test_a_run_of_ones_own_on_the_platform_is_named_by_the_beginning_of_its_id(game: "Platform", run_id: str) -> None:
    assert game("run", "get", run_id[:30]).document["run"]["id"] == run_id
    assert game("run", "show", run_id[:30], "--remote").code == 0
    assert "ffffffff-ffff" in game("run", "show", "ffffffff-ffff").err


def test_last_where_nothing_was_run_here_tells_of_the_platform(game: "Platform") -> None:
    seen = game("run", "watch", "last", "--results-dir", "nowhere")

    assert seen.code == 2
    assert "for your newest run at" in seen.err
    assert "write: last --remote" in seen.err


def test_a_run_of_the_platform_is_shown_like_one_of_here(game: "Platform", run_id: str) -> None:
    seen = game("run", "show", run_id)

    assert seen.code == 0, seen.err
    assert seen.out.startswith("word-game · builtin/random · finished\n")
    assert "* won" in seen.out
    assert game("run", "show", "last", "--remote").out == seen.out
    assert game("run", "show", run_id, "--json").document["run"]["id"] == run_id


def waiting(game: "Platform", world: "World") -> str:
    """Return a run that no worker takes before `world.release`: as many older ones as one may play are held."""
    world.hold = True
    for _ in range(Settings.model_fields["runs_at_once_per_actor"].default):
        create(game)
    return str(create(game).document["id"])


def test_a_run_that_an_outage_stopped_is_incomplete_and_not_failed(game: "Platform", run_id: str) -> None:
    run = game.service.store.runs.get(run_id)
    run.status, run.error = RunStatus.STOPPED, "the model has not answered"
    game.service.store.runs.save(run)
    with game.service.store.database.engine.begin() as connection:
        connection.execute(update(runs).where(runs.c.id == run_id).values(planned=5))

    watched = game("run", "watch", run_id)

    assert watched.code == 3
    assert "· stopped\n" in watched.out
    assert "stopped: the model has not answered" in watched.out
    assert "stopped: 2/5 done, 0 failed" in watched.err
    assert f"mesocosm run resume {run_id} --remote    continues it: 3 episodes pending" in watched.out
    shown = game("run", "get", run_id).document["run"]
    assert (shown["status"], shown["stopped"]) == ("failed", True)
    assert "stopped" in game("run", "list", "--remote").out
    assert game("run", "stop", run_id).out == f"run {run_id} is stopped already\n"


def limits_of(game: "Platform") -> tuple[float, float]:
    """Return the limits that runs have by default."""
    return game.service.settings.outage_s, game.service.settings.max_missing


def repeated(game: "Platform", run_id: str) -> str | None:
    """Return the command that repeats a run."""
    order = game.service.store.run_requests.get(run_id)
    assert order is not None
    return repeat_request(order, game.service.store.runs.get(run_id), limits_of(game))


@pytest.mark.parametrize(
    "words",
    [
        ("--episodes", "3"),
        ("--seeds", "3", "1", "4", "1", "--trials", "2", "--parallel", "2", "--visibility", "gallery_public"),
        ("--seeds=-5", "--seeds=7", "--system-prompt", "-win", "--temperature", "0.5", "--max-tokens", "9"),
        ("--outage-seconds", "7", "--max-missing", "0"),
    ],
)
def test_the_command_that_repeats_a_run_asks_for_the_same(
    game: "Platform", world: "World", words: tuple[str, ...]
) -> None:
    world.hold = True
    first = create(game, *words).document["id"]
    command = repeated(game, first)
    assert command is not None

    game("team", "create", "--name", "mine", "--use")
    seen = game(*shlex.split(command)[1:])

    assert seen.code == 0, seen.err
    before, after = (game.service.store.runs.get(run_id) for run_id in (first, seen.document["id"]))
    assert before.spec == after.spec
    assert after.signature == before.signature
    asked = [game.service.store.run_requests.get(run.id) for run in (before, after)]
    assert asked[0] is not None
    assert asked[1] is not None
    assert (asked[1].config, asked[1].team_id) == (asked[0].config, None)


@pytest.mark.parametrize(
    "changed", [{"protocol": 1}, {"purpose": "test"}, {"config": {"agent_config": {"techniques": [{}]}}}]
)
def test_what_no_command_asks_for_again_has_none(game: "Platform", run_id: str, changed: dict[str, Any]) -> None:
    order = game.service.store.run_requests.get(run_id)
    assert order is not None
    run = game.service.store.runs.get(run_id)
    limits = limits_of(game)
    assert repeat_request(order, run, limits) is not None
    assert repeat_request(msgspec.structs.replace(order, **changed), run, limits) is None


def test_stop_cancels_a_run(game: "Platform", world: "World") -> None:
    made = waiting(game, world)

    seen = game("run", "stop", made)

    assert (seen.code, seen.out) == (0, f"run {made} is stopped; 0 finished episodes are kept\n")
    world.release.set()
    assert game("run", "watch", made).code == 1
    assert game("run", "stop", made, "--json").document["run"]["status"] == "cancelled"


def test_a_stopped_run_is_queued_again(game: "Platform", world: "World") -> None:
    made = waiting(game, world)
    game("run", "stop", made)
    world.release.set()

    limited = game("run", "resume", made, "--parallel", "2")
    seen = game("run", "resume", made)

    assert limited.code == 2
    # A worker may have taken it by now.
    again = seen.out.replace(" is running again", " is pending again")
    assert (seen.code, again) == (0, f"run {made} is pending again; follow it with: mesocosm run watch {made}\n")
    assert game("run", "watch", made).code == 0


def test_a_run_that_owes_nothing_is_not_queued_again(game: "Platform", run_id: str) -> None:
    seen = game("run", "resume", run_id)

    assert (seen.code, seen.out) == (1, "")
    assert "pending" in seen.err


def test_a_run_is_deleted_when_agreed(game: "Platform", run_id: str) -> None:
    asked = game("run", "delete", run_id, stdin="n\n")
    seen = game("run", "delete", run_id, "--yes")

    assert asked.code == 1
    assert "delete 1 run with 2 episodes?" in asked.err
    assert (seen.code, seen.out) == (0, f"deleted run {run_id}\n")
    assert game("run", "get", run_id).document["status_code"] == 404


def test_a_run_that_is_here_stays_here(game: "Platform", played: "Played") -> None:
    seen = game("run", "episodes", played.run_id, *played.there)

    assert seen.code == 0
    assert len(seen.document["episodes"]) == 6


def test_an_unknown_run_is_looked_for_on_the_platform_only_by_who_is_logged_in(
    game: "Platform", mesocosm: "Invoke"
) -> None:
    asked = game("run", "episodes", "01nonsense")
    game.nobody()
    alone = mesocosm("run", "episodes", "01nonsense")

    assert (asked.code, asked.document["error"], asked.document["status_code"]) == (1, "http_error", 404)
    assert alone.code == 2
    assert "HTTP" not in alone.err


async def test_ctrl_c_leaves_the_run_and_says_so(game: "Platform", world: "World", launch: "object") -> None:
    world.hold = True
    made = create(game).document["id"]
    assert callable(launch)
    program = await launch("run", "watch", made, "--interval", "0.1")
    await program.said("0/1 done")

    program.signal(signal.SIGINT)
    seen = await program.end()

    assert seen.code == 130
    assert f"run {made} keeps running; follow it with: mesocosm run watch {made}" in seen.err
    assert Client().runs.get(made).state in {"pending", "running"}


def test_an_eval_waits_and_aggregates(game: "Platform") -> None:
    seen = game("eval", "run", *EVAL, "--num-episodes", "2", "--seed-set", "[7,8]")

    assert seen.code == 0
    run = seen.document
    assert (run["status"], run["visibility"], run["aggregate_scores"]) == ("completed", "private", {"won": 0.5})
    assert [episode["seed"] for episode in run["episodes"]] == [7, 8]
    assert run["config"]["agent_config"]["max_tokens"] == 4096


def test_an_eval_that_is_not_waited_for_prints_the_run(game: "Platform", world: "World") -> None:
    world.hold = True

    seen = game("eval", "run", *EVAL, "--no-wait")

    assert seen.code == 0
    assert "aggregate_scores" not in seen.document
    assert seen.document["status"] in {"pending", "running"}


@pytest.mark.parametrize("text", ["[1,", "3", "[]", '["1"]', "[true]"])
def test_a_set_of_seeds_must_be_integers(mesocosm: "Invoke", text: str) -> None:
    seen = mesocosm("eval", "run", *EVAL, "--seed-set", text)

    assert seen.code == 1
    assert "--seed-set must be a JSON array of integers" in seen.err


def test_a_draft_is_evaluated_only_when_allowed(game: "Platform") -> None:
    Client().domains.unpublish("word-game")

    refused = game("eval", "run", *EVAL)
    allowed = game("eval", "run", *EVAL, "--allow-draft")

    assert refused.code == 1
    assert refused.document == {
        "error": "domain_not_published",
        "status": "draft",
        "hint": "Use --allow-draft to bypass.",
    }
    assert (allowed.code, allowed.document["status"]) == (0, "completed")


def test_a_test_episode_is_printed(game: "Platform") -> None:
    seen = game("eval", "test", *EVAL, "--seed", "42")

    assert seen.code == 0
    assert (seen.document["status"], seen.document["seed"], seen.document["total_reward"]) == ("completed", 42, 0.5)


def test_a_test_episode_that_fails_exits_with_1(game: "Platform") -> None:
    seen = game("eval", "test", *EVAL, "--env-url", "http://127.0.0.1:1")

    assert seen.code == 1
    assert seen.document["status"] in {"failed", "cancelled"}
    assert f"episode {seen.document['status']}" in seen.err


@pytest.mark.parametrize(
    "words",
    [("eval", "test", *EVAL), ("eval", "run", *EVAL), ("run", "get", "x"), ("run", "episodes", "x", "--remote")],
)
def test_programs_read_that_nothing_answered(
    mesocosm: "Invoke", monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("SWECC_BENCH_TOKEN", "t")

    seen = mesocosm(*words, "--base-url", "http://127.0.0.1:1")

    assert seen.code == 1
    assert (seen.document["error"], seen.document["kind"]) == ("connection_error", "ConnectionRefusedError")
    assert seen.document["url"].startswith("http://127.0.0.1:1/")
    assert "is the server running" in seen.document["hint"]
    assert "Traceback" not in seen.err


def test_what_was_said_is_searched_on_the_server_as_it_is_here(game: "Platform", run_id: str) -> None:
    from mesocosm.server.schemas.search import SearchPage

    game.service.store.search.index.update()

    whole = game("search", "word*", "--remote", "--json").document
    one = game("search", "word*", "--remote", "--run", run_id, "--limit", "1")

    assert SearchPage.model_validate(whole).searched is not None
    assert whole["searched"]["episodes"] == 2
    assert one.code == 0
    assert "of 2 episodes" in one.out or "in 2 episodes" in one.out
    assert game("search", "word*", "--remote", "--run", "0" * 36).code != 0
    assert "leave --index out" in game("search", "--index", "--remote").err


def test_a_scan_is_queued_on_the_server(game: "Platform", run_id: str) -> None:
    asked = ("scan", run_id, "--ask", "Does it refuse?", "--name", "refuses", "-m", "builtin/random", "--remote")

    foreseen = game(*asked, "--dry-run")
    queued = game(*asked, "--limit", "1", "--json")

    assert (foreseen.code, "2 episodes, about" in foreseen.out) == (0, True), foreseen.err
    assert queued.code == 0, queued.err
    assert (queued.document["benchmark"], queued.document["counts"]["planned"]) == ("scan:refuses", 1)
    assert "leave it out with --remote" in game(*asked, "--fresh").err
