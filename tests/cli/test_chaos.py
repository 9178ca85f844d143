"""`mesocosm chaos`: it finds nothing on the real engine, and it can find something."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesocosm.chaos.fault import FAULTS
from mesocosm.testing.model_server import ModelServer

Invoke = Callable[..., Any]

SMALL = ("--kills", "1", "--seconds", "0.2", "--json")

FORGETFUL = '''
"""Its reward depends on whether an earlier episode came to its end: a kill changes it."""

from pathlib import Path

from mesocosm.environments.sdk import BaseEnv, StepResult
from mesocosm.environments.server import serve

BEGUN = Path(__file__).with_name("begun")


class Forgetful(BaseEnv):
    title = "Forgetful"
    action_space = {"type": "discrete", "enum_values": ["left", "right"]}

    def reset(self, seed=None, **params):
        self.disturbed = BEGUN.exists()
        BEGUN.touch()
        return {"seed": seed}

    def step(self, action):
        import time
        time.sleep(0.05)
        BEGUN.unlink(missing_ok=True)
        return StepResult({}, float(not self.disturbed), True, False, {})
'''


def test_bench_run_loses_repeats_and_changes_nothing(mesocosm: Invoke) -> None:
    with ModelServer("a word", models=["steady"]) as server:
        done = mesocosm(
            *("chaos", *SMALL, "--faults", "kill", "503", "half", "other-model", "--"),
            *("bench", "run", "--benchmarks", "context-bench", "--max-examples", "8", "--parallel", "2"),
            *("--model", f"openai/steady@{server.openai_url}"),
        )
    assert done.code == 0, done.out + done.err
    found = done.document
    assert [fault["fault"] for fault in found["faults"]] == ["kill", "503", "half", "other-model"]
    assert all(fault["met"] and not fault["findings"] for fault in found["faults"])
    assert found["undisturbed"]["episodes"] == 8
    # Each question was asked once of the model's own server, however often it was played.
    assert found["undisturbed"]["asked_of_model"] == len(server.calls) == 8
    assert found["results"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "list"), "plays nothing on this machine"),
        (("bench", "plan"), "plays nothing on this machine"),
        (("bench", "run", "--results-dir", "there"), "leave --results-dir away"),
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
