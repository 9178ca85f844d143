"""SkyRL-gym, the real one: rows of a file, the rewards of its own loop."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.guests.real import bare, stepped

from mesocosm.core.failure import UsageError
from mesocosm.core.run import Selection

ROWS = [
    {
        "prompt": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"What is {n} + 1?"}],
        "reward_spec": {"method": "rule", "ground_truth": str(n + 1)},
        "extra_info": {"max_turns": 3},
        "data_source": "sums",
    }
    for n in range(3)
]
REPLIES = ["It is #### 1", "I guess #### 7", "no idea"]
LOOP = """
import json, sys, skyrl_gym
given, found = json.load(sys.stdin), []
for row in given["rows"]:
    extras = {key: value for key, value in row.items() if key != "prompt"}
    for reply in given["replies"]:
        env = skyrl_gym.make(given["name"], env_config=None, extras=extras)
        env.init(row["prompt"])
        rewards, done = [], False
        while not done:
            told = env.step(reply)
            rewards.append(told["reward"])
            done = told["done"]
        found.append(rewards)
print(json.dumps(found))
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


@pytest.mark.parametrize("name", ["gsm8k", "gsm8k_multi_turn"])
def test_equal_replies_give_the_rewards_of_its_own_loop(name: str, data: Path) -> None:
    benchmark = stepped("skyrl", name, data=str(data))

    async def play() -> list[list[float]]:
        found: list[list[float]] = []
        for task in benchmark.tasks(Selection()):
            for reply in REPLIES:
                environment = await benchmark.environment_of(task, f"{task.id}/{reply}", 0)
                first = await environment.reset()
                assert first.system_prompt == "Be brief."
                rewards, over = list[float](), False
                while not over:
                    step = await environment.step(reply)
                    rewards.append(step.reward)
                    over = step.terminated
                found.append(rewards)
                await environment.close()
        await benchmark.close()
        return found

    assert asyncio.run(play()) == bare(LOOP, {"name": name, "rows": ROWS, "replies": REPLIES})


def test_rows_are_tasks(data: Path) -> None:
    benchmark = stepped("skyrl", "gsm8k", data=str(data))
    first = next(iter(benchmark.tasks(Selection())))
    assert (benchmark.count(Selection()), first.target, first.labels) == (3, "1", {"data_source": "sums"})
    asyncio.run(benchmark.close())


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("gsm8", {}, "no environment is called gsm8; did you mean gsm8k?"),
        ("gsm8k", {}, "SkyRL-gym brings no data"),
        ("gsm8k", {"data": "nowhere.jsonl"}, "there is no such file"),
    ],
)
def test_what_cannot_be_loaded_is_one_sentence(name: str, options: dict[str, Any], said: str) -> None:
    benchmark = stepped("skyrl", name, **options)
    with pytest.raises(UsageError) as failed:
        _ = benchmark.info
    assert said in str(failed.value)
    asyncio.run(benchmark.close())
