"""`mesocosm parity` with the real frameworks, on recordings: scores and rewards are those of their own runner."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.guests import lm_eval_lab as lab
from tests.guests.real import python_of

RECORDINGS = Path(__file__).with_name("recordings")
ACTIONS = RECORDINGS / "actions"
REPLIES = RECORDINGS / "lm-eval" / "replies.jsonl"
TASKS = ("lm_generate", "lm_translation", "lm_choice", "lm_ending", "lm_judgement", "lm_rolling")
STEPPED = [
    ("gym:Taxi-v4", "taxi", 99),
    ("gym:CartPole-v1", "cart_pole", 82),
    ("gym:Pendulum-v1", "pendulum", 46),
    ("gym:Blackjack-v1", "blackjack", 18),
    ("pettingzoo:tictactoe_v3", "tictactoe", 46),
    ("pettingzoo:connect_four_v3", "connect_four", 88),
    ("textarena:TicTacToe-v0", "tic_tac_toe", 48),
    ("skyrl:gsm8k_multi_turn", "sums", 15),
]


def parity(source: str, *words: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "mesocosm", "parity", source, "--json", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def scores(found: dict[str, Any]) -> int:
    return sum(len(one["ours"]["scores"]) for one in found["samples"])


@pytest.mark.parametrize(("source", "name", "count"), STEPPED, ids=[one[0] for one in STEPPED])
def test_every_reward_is_that_of_the_bare_loop(source: str, name: str, count: int, tmp_path: Path) -> None:
    more = ("-P", f"data={ACTIONS / 'rows.jsonl'}") if source.startswith("skyrl:") else ()
    words = ("--actions", str(ACTIONS / f"{name}.jsonl"), "--python", python_of("step"), *more)

    done = parity(source, *words, folder=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["equal"]
    assert scores(found) == count


def test_an_action_that_is_none_fails_on_both_sides(tmp_path: Path) -> None:
    file = tmp_path / "actions.jsonl"
    file.write_text('{"seed": 0, "actions": ["0", "north"]}')

    done = parity("gym:Taxi-v4", "--actions", str(file), "--python", python_of("step"), folder=tmp_path)

    (sample,) = json.loads(done.stdout)["samples"]
    assert "north" in sample["ours"]["failed"]
    assert "north" in sample["theirs"]["failed"]
    assert done.returncode == 1


def test_environments_want_actions(tmp_path: Path) -> None:
    done = parity("gym:Taxi-v4", "--replies", str(REPLIES), folder=tmp_path)

    assert done.returncode == 2
    assert "--actions FILE" in done.stderr


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[str]]:
    if not lab.installed():
        pytest.skip(f"{lab.VARIABLE} names no folder with lm-evaluation-harness")
    for name, value in lab.OFFLINE.items():
        monkeypatch.setenv(name, value)
    return lab.folder(tmp_path / "tasks"), ["--python", lab.python(), "-P", "include_path=.", "-P", "prefix_token=<s>"]


def test_every_score_is_that_of_the_harness(harness: tuple[Path, list[str]]) -> None:
    folder, words = harness

    done = parity(f"lm-eval:{','.join(TASKS)}", "--replies", str(REPLIES), *words, folder=folder)

    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    samples = {one["task"]: one["theirs"]["scores"] for one in found["samples"]}
    assert (len(samples), scores(found)) == (27, 60)
    assert samples["lm_generate/5"]["lm_generate/exact_match,strict-match"] == 1.0
    assert samples["lm_rolling/0"]["lm_rolling/bits_per_byte.document"] > 0


def test_only_the_first_documents_are_asked(harness: tuple[Path, list[str]]) -> None:
    folder, words = harness

    done = parity("lm-eval:lm_choice", "--replies", str(REPLIES), "--limit", "2", *words, folder=folder)

    assert [one["task"] for one in json.loads(done.stdout)["samples"]] == ["lm_choice/0", "lm_choice/1"]


def test_a_text_without_log_probabilities_in_the_recording_is_no_comparison(
    harness: tuple[Path, list[str]], tmp_path: Path
) -> None:
    folder, words = harness
    some = tmp_path / "some.jsonl"
    some.write_text("".join(line for line in REPLIES.read_text().splitlines(keepends=True) if '"tokens"' not in line))

    done = parity("lm-eval:lm_generate,lm_ending", "--replies", str(some), *words, folder=folder)

    assert done.returncode != 0
    assert '"equal"' not in done.stdout
