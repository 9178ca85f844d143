"""Rewards that verifiers leave, good and bad."""

from pathlib import Path

import pytest

from mesocosm.benchmarks.harbor.rewards import NoReward, mean, primary, read_rewards


def left(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


def test_json_comes_before_text(tmp_path: Path) -> None:
    assert read_rewards(left(tmp_path, reward_json='{"a": 1, "b": 0.5, "c": true}', reward_txt="0")) == {
        "a": 1.0,
        "b": 0.5,
        "c": 1.0,
    }


def test_text_is_one_number(tmp_path: Path) -> None:
    assert read_rewards(left(tmp_path, reward_txt=" 0.25\n")) == {"reward": 0.25}


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, "neither reward.json nor reward.txt"),
        ({"reward_txt": ""}, "reward.txt is empty"),
        ({"reward_txt": "good"}, "holds no number"),
        ({"reward_txt": "nan"}, "no finite number"),
        ({"reward_txt": "inf"}, "no finite number"),
        ({"reward_json": "", "reward_txt": "1"}, "reward.json is empty"),
        ({"reward_json": "{", "reward_txt": "1"}, "no JSON"),
        ({"reward_json": "1"}, "no object"),
        ({"reward_json": "{}"}, "no object"),
        ({"reward_json": '{"a": NaN}'}, "no finite number"),
        ({"reward_json": '{"a": 1e999}'}, "no finite number"),
        ({"reward_json": '{"a": "1"}'}, "no finite number"),
        ({"reward_json": '{"a": null}'}, "no finite number"),
        ({"reward_json": '{"": 1}'}, "legible name"),
        ({"reward_json": '{"a": 1' + "0" * 400 + "}"}, "no finite number"),
        ({"reward_json": "[" * 100_000}, "no JSON"),
    ],
)
def test_no_usable_reward_is_none_and_never_0(tmp_path: Path, files: dict[str, str], why: str) -> None:
    with pytest.raises(NoReward, match=why):
        read_rewards(left(tmp_path, **files))


def test_a_link_is_no_reward(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("1")
    (tmp_path / "reward.txt").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NoReward, match="is a link"):
        read_rewards(tmp_path)


@pytest.mark.parametrize(
    ("rewards", "chosen", "value"),
    [
        ({"reward": 0.5, "style": 1.0}, "", 0.5),
        ({"share": 0.5}, "", 0.5),
        ({"a": 0.25, "b": 1.0}, "a", 0.25),
        ({"reward": 0.5, "style": 1.0}, "style", 1.0),
    ],
)
def test_the_reward_that_ranks(rewards: dict[str, float], chosen: str, value: float) -> None:
    assert primary(rewards, chosen) == (value, "")


def test_nobody_guesses_which_of_two_rewards_ranks() -> None:
    value, why = primary({"a": 1.0, "b": 0.0})
    assert value is None
    assert why == "there is no reward 'reward', but a, b; -P reward=NAME chooses the one that ranks"


def test_the_mean_of_steps_counts_a_reward_that_is_not_there_as_0() -> None:
    assert mean([{"reward": 1.0, "style": 1.0}, {"reward": 0.0}]) == {"reward": 0.5, "style": 0.5}
