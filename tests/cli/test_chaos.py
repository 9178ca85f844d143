"""`mesocosm chaos`: it finds nothing on the real engine, and it can find something."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesocosm.chaos.fault import FAULTS
from mesocosm.cli.chaos import _led
from mesocosm.core.model import ModelName
from mesocosm.testing.model_server import ModelServer

pytestmark = pytest.mark.usefixtures("forked")

Invoke = Callable[..., Any]

SMALL = ("--kills", "1", "--seconds", "0.2", "--json")

MAIN = """
import os
import tempfile
from pathlib import Path

from mesocosm.rollouts import AgentWorkflow, Grader, LocalBackend, complete

STARTS = Path(os.environ.get("MESOCOSM_RESULTS_DIR") or tempfile.mkdtemp(), "starts")
STARTS.parent.mkdir(exist_ok=True)
with STARTS.open("a") as file:
    file.write("x")


class Asking(AgentWorkflow):
    async def run(self, ctx):
        for n in range(MORE):
            await complete([*ctx.prompt, {"role": "user", "content": str(n)}])
        return [*ctx.prompt, await complete(list(ctx.prompt))]


class Length(Grader):
    async def grade(self, ctx):
        ctx.set_reward(REWARD)


backend = LocalBackend(workflow=Asking, grader=Length)
"""
CONFIG = """
[experiment]
rollout = "asking"
entrypoint = "main.py"
model_path = "openai/steady"
dataset = "rows"
[evaluation]
limit = "all"
batch_size = 2
[model]
base_url = "{url}"
"""


def workspace(root: Path, url: str, reward: str, more: str = "0") -> Path:
    """Write an evaluation of twelve rows, and return its configuration."""
    for folder in ("rollouts/asking", "configs/eval", "data"):
        (root / folder).mkdir(parents=True)
    (root / "rollouts/asking/main.py").write_text(MAIN.replace("REWARD", reward).replace("MORE", more))
    (root / "configs/eval/asking.toml").write_text(CONFIG.format(url=url))
    rows = ({"user_prompt": f"row {n}", "ground_truth": "x"} for n in range(12))
    (root / "data/rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return root / "configs/eval/asking.toml"


@pytest.mark.parametrize("more", [("--in-process",), ()], ids=["in-process", "process"])
def test_eval_run_local_loses_repeats_and_changes_nothing(
    mesocosm: Invoke, tmp_path: Path, more: tuple[str, ...]
) -> None:
    with ModelServer("a word", models=["steady"]) as server:
        config = workspace(tmp_path, server.openai_url, "len(ctx.sample.messages[0]['content']) / 10")
        done = mesocosm("chaos", *SMALL, "--faults", "kill", "--", "eval", "run-local", config, *more)
    assert done.code == 0, done.out + done.err
    (killed,) = done.document["faults"]
    assert (killed["met"], killed["said"]) == (1, "1 killed")
    assert len(server.calls) == 12


def test_run_local_loses_repeats_and_changes_nothing(
    mesocosm: Invoke, scaffolded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scaffolded)
    with ModelServer('{"action": "left"}', models=["steady"]) as server:
        model = f"openai/steady@{server.openai_url}"
        played = ("run", "local", "--model", model, "--episodes", "6", "--parallel", "2")
        done = mesocosm("chaos", *SMALL, "--faults", "kill,down", "--", *played)
    assert done.code == 0, done.out + done.err
    # Two calls are in flight, so that one or both meet a server that is down.
    assert [fault["met"] > 0 for fault in done.document["faults"]] == [True, True]


def test_what_changes_and_is_asked_again_after_an_interruption_is_told(
    mesocosm: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with ModelServer("a word", models=["steady"]) as server:
        config = workspace(
            tmp_path, server.openai_url, "float(STARTS.read_text() == 'x')", "20 * (STARTS.read_text() != 'x')"
        )
        # The fault outlasts the run, which therefore needs a second start.
        lasting = ("--seconds", "60", "--faults", "400", "--json", "--")
        done = mesocosm("chaos", *lasting, "eval", "run-local", config, "--in-process")
    assert done.code == 1, done.out + done.err
    (fault,) = done.document["faults"]
    assert {finding["sort"] for finding in fault["findings"]} == {"changed", "untrue", "twice"}
    # What was found can be looked at.
    assert Path(done.document["results"]).is_dir()


def test_a_command_that_does_not_finish_undisturbed_is_no_measure(mesocosm: Invoke, tmp_path: Path) -> None:
    with ModelServer("a word", models=["other"]) as server:
        config = workspace(tmp_path, server.openai_url, "1.0")
        done = mesocosm("chaos", "--", "eval", "run-local", config, "--in-process")
    assert done.code == 1
    assert "so there is nothing to compare with; its last words:" in done.err


def test_bench_run_loses_repeats_and_changes_nothing(mesocosm: Invoke) -> None:
    with ModelServer("a word", models=["steady"]) as server:
        done = mesocosm(
            *("chaos", *SMALL, "--faults", "kill", "half", "--"),
            *("bench", "run", "--benchmarks", "context-bench", "--max-examples", "8", "--parallel", "2"),
            *("--model", f"openai/steady@{server.openai_url}"),
        )
    assert done.code == 0, done.out + done.err
    found = done.document
    assert [fault["fault"] for fault in found["faults"]] == ["kill", "half"]
    assert all(fault["met"] and not fault["findings"] for fault in found["faults"])
    assert found["undisturbed"]["episodes"] == 8
    # Each question was asked once of the model's own server, however often it was played.
    assert found["undisturbed"]["asked_of_model"] == len(server.calls) == 8
    assert found["results"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "list"), "runs nothing on this machine"),
        (("bench", "plan"), "runs nothing on this machine"),
        (("bench", "run", "--results-dir", "there"), "remove --results-dir"),
        (("run", "local", "--model", "groq/qwen"), "add --allow-cloud"),
        (("run", "local", "--nonsense"), "No such option"),
    ],
)
def test_what_cannot_be_disturbed_is_refused_before_anything_is_played(
    mesocosm: Invoke, words: tuple[str, ...], said: str
) -> None:
    done = mesocosm("chaos", "--", *words)
    assert done.code == 2
    assert said in done.err
    assert "undisturbed" not in done.err


def test_a_fault_that_is_none_is_refused_with_those_there_are(mesocosm: Invoke) -> None:
    done = mesocosm("chaos", "--faults", "flood", "--", "run", "local")
    assert done.code == 2
    assert all(fault.name in done.err for fault in FAULTS)


def test_every_fault_is_listed_in_the_help(mesocosm: Invoke) -> None:
    listed = mesocosm("chaos", "--help").out.split()
    assert [fault.name for fault in FAULTS if fault.name not in listed] == []


def led(words: str, model: str) -> tuple[list[str], dict[str, str]]:
    return _led(words.split(), ModelName.parse(model), lambda url: url.replace("://", "://led."))


@pytest.fixture
def no_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(("_BASE_URL", "_API_BASE")):
            monkeypatch.delenv(name)


@pytest.mark.usefixtures("no_addresses")
def test_every_address_of_a_model_is_led_to_a_server_of_ours() -> None:
    named = "--model=openai/m@http://a/v1 --set model.base_url=http://b/v1 --set model.judge=vllm/j@https://c/v1"
    words, variables = led(f"{named} --set data.url=http://d", "openai/m@http://a/v1")
    assert words[0] == "--model=openai/m@http://led.a/v1"
    assert words[2] == "model.base_url=http://led.b/v1"
    assert words[4] == "model.judge=vllm/j@https://led.c/v1"
    assert words[6] == "data.url=http://d"
    # The key of a provider whose server is named would no longer be sent there, if its variable led elsewhere.
    assert not {"OPENAI_BASE_URL", "VLLM_BASE_URL"} & variables.keys()
    assert variables["GROQ_BASE_URL"] == "https://led.api.groq.com/openai/v1"
    assert variables["ANTHROPIC_BASE_URL"] == "https://led.api.anthropic.com"


@pytest.mark.usefixtures("no_addresses")
def test_an_address_from_the_environment_stays_the_one_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://mine/v1")
    monkeypatch.setenv("MESOCOSM_BASE_URL", "http://platform")
    _, variables = led("--model groq/m", "groq/m")
    assert variables["OPENAI_BASE_URL"] == "http://led.mine/v1"
    # For bench run it stands for any OpenAI-compatible provider, and the platform is no model.
    assert not {"GROQ_BASE_URL", "MESOCOSM_BASE_URL"} & variables.keys()
