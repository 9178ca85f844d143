"""`mesocosm run local`: its flags, its refusals, its exit codes."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.cli import local
from mesocosm.cli.main import call
from mesocosm.core.run import RunSpec
from mesocosm.testing.model_server import ModelServer

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke

pytestmark = pytest.mark.usefixtures("forked")

Specified = Callable[..., RunSpec]

FAILING = """
from bench_common.env_sdk import BaseEnv

class MyEnv(BaseEnv):
    def reset(self, seed=None, **params):
        raise RuntimeError("the world is broken")

    def step(self, action):
        raise AssertionError("nobody came this far")
"""


@pytest.fixture
def specified(scaffolded: Path, monkeypatch: pytest.MonkeyPatch) -> Specified:
    """Return what gives the spec of a command line, in the scaffold, without running it."""
    monkeypatch.chdir(scaffolded)
    found: list[RunSpec] = []

    def keep(given: Any) -> RunSpec:
        found.append(read(given))
        raise KeyboardInterrupt

    read = local.local_spec
    monkeypatch.setattr(local, "local_spec", keep)

    def specified(*words: str) -> RunSpec:
        assert call(["run", "local", *words]) == 130
        return found[-1]

    return specified


@pytest.fixture
def broken(scaffolded: Path, tmp_path: Path) -> Path:
    """Return an environment in which no episode can begin."""
    place = shutil.copytree(scaffolded, tmp_path / "broken")
    (place / "env.py").write_text(FAILING)
    return place


def play(mesocosm: "Invoke", place: Path, *words: str | Path) -> Any:
    return mesocosm("run", "local", "--manifest", place / "benchanything.json", "--quiet", *words)


def test_what_is_not_given_has_the_defaults_of_the_documentation(specified: Specified) -> None:
    spec = specified()

    assert spec.model.name == "ollama/llama3.2"
    assert (spec.model.temperature, spec.model.max_tokens) == (0.0, 512)
    assert (spec.selection.seeds, spec.selection.count, spec.selection.trials) == (None, 5, 1)
    assert spec.parallel == 1
    assert spec.benchmark.options["env_url"] == "http://localhost:8765"
    assert not spec.benchmark.options["explicit_env_url"]


def test_every_flag_reaches_the_run(specified: Specified, scaffolded: Path) -> None:
    spec = specified(
        *("--domain-id", "mine", "--model", "ollama/qwen3@http://127.0.0.1:9/"),
        *("--env-url", "http://127.0.0.1:8888/", "--seeds", "4", "7-9", "--trials", "2"),
        *("--system-prompt", "Be brief."),
        *("--temperature", "0.5", "--max-tokens", "64", "--parallel", "3", "--history", "4", "--history-tokens", "900"),
        *("--technique", 'memory={"window_size": 2}', "--technique", "tool_calling=false", "--reask", "0"),
        *("--structured", "off", "--agent-option", "images=1", "--extra", "top_p=0.9", "--extra", "stop=END"),
        *("--max-steps", "4", "--episode-seconds", "9", "--episode-tokens", "800", "--run-seconds", "90"),
        *("--run-tokens", "8000", "--run-usd", "1.5", "--rpm", "60", "--tpm", "6000", "--retries", "1"),
        *("--timeout", "30", "--step-timeout", "5", "--pass-env", "TOKEN", "--name", "try", "--tag", "a", "b"),
    )

    assert spec.benchmark.source == str(scaffolded / "benchanything.json")
    assert spec.benchmark.options == {
        "env_url": "http://127.0.0.1:8888",
        "explicit_env_url": True,
        "step_timeout": 5.0,
        "pass_env": ["TOKEN"],
        "domain_id": "mine",
    }
    assert spec.selection.seeds == (4, 7, 8, 9)
    assert spec.selection.trials == 2
    assert spec.model.extra == {"top_p": 0.9, "stop": "END"}
    assert (spec.model.temperature, spec.model.max_tokens, spec.model.timeout_s) == (0.5, 64, 30.0)
    assert spec.agent.options == {
        "history": 4,
        "reask": 0,
        "structured": "off",
        "history_tokens": 900,
        "system_prompt": "Be brief.",
        "techniques": {"memory": {"window_size": 2}, "tool_calling": False},
        "images": 1,
    }
    limits = spec.limits
    assert (limits.episode_steps, limits.episode_seconds, limits.episode_tokens) == (4, 9.0, 800)
    assert (limits.run_seconds, limits.run_tokens, limits.run_usd) == (90.0, 8000, 1.5)
    assert (limits.requests_per_minute, limits.tokens_per_minute, limits.retries) == (60.0, 6000.0, 1)
    assert (spec.parallel, spec.name, spec.tags) == (3, "try", ("a", "b"))


def test_another_agent_gets_its_own_options_alone(specified: Specified) -> None:
    spec = specified("--agent", "mine.py:Agent", "--agent-option", "depth=3")

    assert (spec.agent.name, spec.agent.options) == ("mine.py:Agent", {"depth": 3})


@pytest.mark.parametrize(
    ("words", "seeds"),
    [
        ("--seeds 1 2 3", (1, 2, 3)),
        ("--seeds 1 2 --seeds 3", (1, 2, 3)),
        ("--seeds=1 2 3", (1, 2, 3)),
        ("--seeds 1,2,3", (1, 2, 3)),
        ("--seeds 5-7 1", (5, 6, 7, 1)),
        ("--seeds -2 -1", (-2, -1)),
        ("--seeds -2-0", (-2, -1, 0)),
        ("--seeds -3--2", (-3, -2)),
        ("--seeds 7", (7,)),
        ("--seeds 1 2 --parallel 2", (1, 2)),
        ("--episodes 2 --seeds 9", (9,)),
    ],
)
def test_seeds_are_numbers_and_ranges(specified: Specified, words: str, seeds: tuple[int, ...]) -> None:
    assert specified(*words.split()).selection.seeds == seeds


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--seeds", "'--seeds' requires an argument"),
        ("--seeds --quiet", "'--seeds' requires an argument"),
        ("--seeds 1 --seeds --quiet", "'--seeds' requires an argument"),
        ("--seeds one", "'one' is neither an integer nor a range like 0-99"),
        ("--seeds 1.5", "'1.5' is neither an integer"),
        ("--seeds 5-1", "'5-1' ends before it begins; write 1-5"),
        ("--seeds ,", "there is no seed in it"),
        ("--seeds 0-1000000", "more than 1,000,000 seeds; --episodes N takes 0 to N-1"),
        ("--seeds 0-499999 0-500000", "more than 1,000,000 seeds"),
        ("--seeds 9223372036854775808", "a seed is between"),
        ("--seeds 0-99999999999999999999", "a seed is between"),
        ("--episodes 0", "0 is not in the range"),
        ("--episodes 999999999999", "is not in the range"),
        ("--temperature -0.1", "-0.1 is not in the range"),
        ("--temperature nan", "'nan' is not a finite number"),
        ("--timeout inf", "'inf' is not a finite number"),
        ("--run-usd 0", "0.0 is not in the range"),
        ("--parallel many", "'many' is not a valid integer"),
        ("--history 0", "neither 'full' nor 'none' nor a number of turns"),
        ("--technique memory=3", "give a JSON object"),
        ("--technique memory={", "is not a JSON object"),
        ("--agent-option depth", "not of the form NAME=VALUE"),
        ("--model llama", "not of the form provider/name"),
        ("--model builtin/clever", "no built-in model is called 'clever'; known: cheat:NAME, empty, human"),
        ("--model bultin/random", "no model provider is called 'bultin'; did you mean 'builtin'?"),
        ("--model builtin/random --agent nobody", "no agent is called 'nobody'; known: chat, loop"),
        ("--model builtin/random --technique magic", "no technique is called 'magic'; known: memory"),
        ("--model builtin/random --agent-option depth=1", "depth: is not an option; known: history"),
        ("--model builtin/random --env-url nowhere", "must begin with http://"),
    ],
)
def test_a_wrong_flag_is_refused_with_the_reason(
    mesocosm: "Invoke", scaffolded: Path, here: Path, words: str, complaint: str
) -> None:
    refused = mesocosm("run", "local", "--manifest", scaffolded, *words.split())

    assert (refused.code, refused.out) == (2, "")
    assert complaint in refused.err


@pytest.mark.parametrize("value", ["0", "-3"])
def test_fewer_than_one_at_a_time_is_one(specified: Specified, value: str) -> None:
    assert specified("--parallel", value).parallel == 1


@pytest.mark.parametrize("place", [".", "auxiliary", "files"])
def test_the_manifest_is_searched_where_repositories_have_it(
    specified: Specified, scaffolded: Path, here: Path, place: str
) -> None:
    found = here / place / "benchanything.json"
    found.parent.mkdir(exist_ok=True)
    shutil.copy(scaffolded / "benchanything.json", found)

    assert specified().benchmark.source == str(found)


@pytest.mark.parametrize(
    "model", ["openai/gpt-4o-mini", "gemini/gemini-3.1-flash-lite", "anthropic/claude", "vllm/x@http://10.0.0.7/v1"]
)
def test_a_model_elsewhere_is_refused_with_the_reason(
    mesocosm: "Invoke", scaffolded: Path, here: Path, model: str
) -> None:
    refused = play(mesocosm, scaffolded, "--model", model)

    assert refused.code == 2
    assert f"{model} is not on this machine, and 'run local' sends nothing elsewhere unless you allow it" in refused.err
    assert "--allow-cloud" in refused.err
    assert list(here.iterdir()) == []


async def test_a_model_elsewhere_is_asked_when_that_is_allowed(specified: Specified) -> None:
    assert specified("--model", "openai/gpt-4o-mini", "--allow-cloud").model.name == "openai/gpt-4o-mini"


def test_a_missing_manifest_is_named_with_the_places_searched(mesocosm: "Invoke", here: Path) -> None:
    refused = mesocosm("run", "local", "--model", "builtin/random")

    assert refused.code == 2
    for place in ("benchanything.json", "auxiliary/benchanything.json", "files/benchanything.json"):
        assert f"{here}/{place}" in refused.err
    assert "mesocosm init" in refused.err
    assert list(here.iterdir()) == []


def test_a_named_manifest_that_is_missing_is_named(mesocosm: "Invoke", here: Path) -> None:
    refused = mesocosm("run", "local", "--manifest", "nothing.json")

    assert (refused.code, refused.out) == (2, "")
    assert f"manifest {here}/nothing.json cannot be read" in refused.err


def test_every_problem_of_a_manifest_is_listed_also_as_json(mesocosm: "Invoke", here: Path) -> None:
    (here / "benchanything.json").write_text(json.dumps({"adapter": 3, "binding_vow": {"version": "x"}}))

    refused = mesocosm("run", "local", "--model", "builtin/random", "--json")

    document = refused.document
    assert refused.code == 2
    assert document["error"] == "InvalidInput"
    paths = {problem["path"] for problem in document["problems"]}
    assert {"name", "scoring", "adapter", "binding_vow.version", "binding_vow.tier"} <= paths
    assert all(path in refused.err for path in paths)
    assert sorted(path.name for path in here.iterdir()) == ["benchanything.json"]


@pytest.mark.parametrize("place", ["/proc/results", "{manifest}"])
def test_a_results_directory_that_cannot_be_made_is_infrastructure(
    mesocosm: "Invoke", scaffolded: Path, place: str
) -> None:
    named = place.format(manifest=scaffolded / "benchanything.json")

    refused = play(mesocosm, scaffolded, "--model", "builtin/random", "--results-dir", named)

    assert refused.code == 4
    assert f"the results directory {named} cannot be made" in refused.err
    assert "--results-dir" in refused.err


def test_a_database_that_does_not_answer_is_infrastructure(mesocosm: "Invoke", scaffolded: Path) -> None:
    url = "postgresql://me:canary-password@127.0.0.1:1/results"

    refused = play(mesocosm, scaffolded, "--model", "builtin/random", "--database-url", url)

    assert refused.code == 4
    assert "the server cannot be reached" in refused.err
    assert "canary-password" not in refused.err


def test_a_run_in_which_nothing_was_scored_exits_1(mesocosm: "Invoke", broken: Path, tmp_path: Path) -> None:
    ended = play(mesocosm, broken, "--model", "builtin/random", "--episodes", "2", "--results-dir", tmp_path / "r")

    assert ended.code == 1
    assert "0/2 scoreable" in ended.out
    assert "2 environment_error, first in seed-0" in ended.out
    assert "the world is broken" in ended.out
    assert "failed: no episode could be scored" in ended.out


def test_a_run_with_episodes_owed_exits_3_and_says_how_to_go_on(
    mesocosm: "Invoke", scaffolded: Path, tmp_path: Path
) -> None:
    words = ("--model", "builtin/random", "--episodes", "60", "--run-seconds", "0.000001")
    ended = play(mesocosm, scaffolded, *words, "--results-dir", tmp_path, "--json")

    assert ended.code == 3
    assert ended.document["run"]["status"] == "stopped"
    shown = mesocosm("run", "show", "last", "--results-dir", tmp_path)
    assert f"mesocosm run resume {ended.document['run']['id']}" in shown.out


def test_a_model_that_does_not_answer_is_infrastructure_and_leaves_no_run(
    mesocosm: "Invoke", scaffolded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")

    refused = play(mesocosm, scaffolded, "--results-dir", tmp_path)

    assert refused.code == 4
    assert "nothing answers at http://127.0.0.1:1" in refused.err
    assert "ollama serve" in refused.err
    assert mesocosm("run", "list", "--results-dir", tmp_path, "--json").document["items"] == []


async def test_ollama_is_the_default_and_found_by_its_variable(launch: Any, scaffolded: Path, tmp_path: Path) -> None:
    async with ModelServer("25", models=["llama3.2:latest"]) as server:
        before = f"import os; os.environ['OLLAMA_HOST'] = {server.url!r}"
        words = ("--manifest", scaffolded, "--seeds", "1", "2", "3", "--results-dir", tmp_path, "--json")
        run = await launch("run", "local", *words, before=before)
        ended = await run.end()

    assert ended.code == 0, ended.err
    assert ended.document["run"]["model"] == "ollama/llama3.2"
    assert ended.document["run"]["counts"]["completed"] == 3
    assert {request.path for request in server.calls} == {"/api/chat"}
    assert server.calls[0].body["model"] == "llama3.2"
    assert server.calls[0].body["options"] == {"temperature": 0.0, "num_predict": 512}


async def test_a_model_that_was_not_pulled_is_named_with_the_command(
    launch: Any, scaffolded: Path, tmp_path: Path
) -> None:
    async with ModelServer(models=["qwen3:latest"]) as server:
        before = f"import os; os.environ['OLLAMA_HOST'] = {server.url!r}"
        run = await launch("run", "local", "--manifest", scaffolded, "--results-dir", tmp_path, before=before)
        ended = await run.end()

    assert ended.code == 4
    assert "ollama pull llama3.2" in ended.err


async def test_a_model_on_this_machine_may_speak_openai(launch: Any, scaffolded: Path, tmp_path: Path) -> None:
    async with ModelServer("25") as server:
        words = ("--model", f"openai/my-model@{server.openai_url}", "--seeds", "1", "2", "3")
        run = await launch("run", "local", "--manifest", scaffolded, *words, "--results-dir", tmp_path)
        ended = await run.end()

    assert ended.code == 0, ended.err
    assert "[3/3] seed=3" in ended.err
    assert "3/3 scoreable" in ended.out


def test_the_result_is_short_and_says_where_to_look(mesocosm: "Invoke", scaffolded: Path, tmp_path: Path) -> None:
    words = ("--model", "builtin/oracle", "--episodes", "4", "--results-dir", tmp_path)
    ended = mesocosm("run", "local", "--manifest", scaffolded, *words)

    lines = ended.out.splitlines()
    run_id = next(line for line in lines if line.startswith("run ")).removeprefix("run ")
    assert lines[1:4] == [
        "my-env · builtin/oracle · finished",
        "metric       value  95 % interval             n  method",
        "* accuracy  1.0000  [0.5101, 1.0000] weak   4/4  wilson",
    ]
    assert "4/4 scoreable · average reward 1.0000" in ended.out
    assert {f"  mesocosm run show {run_id}", f"  mesocosm run episodes {run_id} --traces"} < set(lines[-3:])
    assert "mesocosm view" in lines[-1]
    assert "Running builtin/oracle on my-env (4 episodes, 1 at a time)" in ended.err
    assert "[4/4] seed=3 reward=1.00  steps=" in ended.err


def test_quiet_says_nothing_on_the_way(mesocosm: "Invoke", scaffolded: Path, tmp_path: Path) -> None:
    words = ("--model", "builtin/oracle", "--episodes", "1", "--results-dir", tmp_path)

    assert play(mesocosm, scaffolded, *words).err == ""


def test_the_call_in_python_finds_the_same_run(mesocosm: "Invoke", scaffolded: Path, here: Path) -> None:
    import mesocosm as mc

    place = shutil.copytree(scaffolded, here / "world")
    words = ("--model", "builtin/oracle", "--seeds", "3-4", "--trials", "2", "--results-dir", here / "results")
    outcome = mesocosm("run", "local", "--manifest", place / "benchanything.json", *words)
    assert outcome.code == 0, outcome.err
    line = next(line for line in outcome.out.splitlines() if "in Python" in line)
    call = line.partition("in Python")[2].strip()
    assert call.startswith('mc.evaluate("world", model="builtin/oracle", only=[3, 4], trials=2, max_tokens=512')
    found = eval(call[:-1] + f", store={str(here / 'results')!r})", {"mc": mc})
    assert found.id in outcome.out


def test_a_run_with_several_trials_shows_pass_at_k(mesocosm: "Invoke", scaffolded: Path, tmp_path: Path) -> None:
    there = ("--results-dir", tmp_path)
    assert play(mesocosm, scaffolded, "--model", "builtin/oracle", "--seeds", "3-4", "--trials", "2", *there).code == 0

    assert "pass^k" in mesocosm("run", "show", "last", *there).out
    passes = json.loads(mesocosm("run", "show", "last", "--json", *there).out)["passes"]
    assert [(one["k"], one["pass_hat_k"]["value"], one["pass_hat_k"]["tasks"]) for one in passes] == [
        (1, 1, 2),
        (2, 1, 2),
    ]


@pytest.mark.parametrize("words", ["--history 2", "--max-steps 3", "--run-usd 1", "--extra a=1", "--reask 2"])
def test_what_only_the_command_can_say_has_no_call_in_python(specified: Specified, words: str) -> None:
    usual = ["--model", "builtin/oracle"]
    given: dict[str, Any] = {"system_prompt": "", "env_url": None, "pass_env": (), "domain_id": None, "cache": ""}
    given |= {"profile": None, "extra": {"a": 1} if "extra" in words else {}}
    assert local.python_of_local(specified(*usual), {**given, "extra": {}}).startswith('mc.evaluate(".", ')
    assert local.python_of_local(specified(*usual, *words.split()), given) == ""
