"""The shipped examples, played as anybody would play them."""

import importlib.util
import json
import os
import random
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench_common.env_sdk import BaseEnv, StepResult
from mesocosm.core.space import deviations, parse_space
from mesocosm.core.vow import read_vow

EXAMPLES = Path(__file__).parents[2] / "examples"
CLASSES = {
    "word-game": "WordGame",
    "grid-world": "GridWorld",
    "grid-world/image": "PictureWorld",
    "negotiation": "Negotiation",
}
EPISODES = 40
FEWER = {"grid-world/image": 8}  # the rules of grid-world once more, with pictures that take time to draw


@dataclass(frozen=True)
class Example:
    name: str
    manifest: dict[str, Any]
    env_class: type[BaseEnv]

    @property
    def vow(self) -> dict[str, Any]:
        vow: dict[str, Any] = self.manifest["binding_vow"]
        return vow

    def primary(self, results: list[list[StepResult]]) -> float:
        """Return the primary metric of some episodes, by its own rule."""
        scoring = self.manifest["scoring"]
        metric = next(item for item in scoring["metrics"] if item["name"] == scoring["primary_metric"])
        values = [float(steps[-1].info[metric["field"]]) for steps in results]
        if metric["aggregation"] == "pass_rate":
            values = [float(value > metric["pass_threshold"]) for value in values]
        return statistics.mean(values)


@pytest.fixture(scope="module", params=CLASSES)
def example(request: pytest.FixtureRequest) -> Iterator[Example]:
    name: str = request.param
    directory = EXAMPLES / name.partition("/")[0]
    known = set(sys.modules)
    sys.path.insert(0, str(directory))
    try:
        spec = importlib.util.spec_from_file_location("env", directory / "env.py")
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules["env"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield Example(name, manifest(name), getattr(module, CLASSES[name]))
    finally:
        sys.path.remove(str(directory))
        for added in set(sys.modules) - known:  # the next example has an `env` of its own
            if str(directory) in str(getattr(sys.modules[added], "__file__", "")):
                del sys.modules[added]


def manifest(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((EXAMPLES / name / "benchanything.json").read_text(encoding="utf-8"))
    return document


def sample(space: dict[str, Any], rng: random.Random) -> Any:
    if "fields" in space:
        return {name: sample(field, rng) for name, field in space["fields"].items()}
    if space["type"] == "discrete":
        return rng.choice(space["enum_values"])
    if space["type"] == "continuous":
        return rng.uniform(space["bounds"]["low"], space["bounds"]["high"])
    return "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=5))


def play(example: Example, seed: int, policy: Callable[[Any], Any]) -> tuple[Any, list[StepResult]]:
    """Return the first observation and the results of an episode. `policy` gets the environment."""
    env = example.env_class()
    first = env.reset(seed=seed)
    results: list[StepResult] = []
    while not (results and (results[-1].terminated or results[-1].truncated)):
        results.append(env.step(env.parse_action(policy(env))))
    env.close()
    return first, results


def play_randomly(example: Example, seed: int) -> tuple[Any, list[StepResult]]:
    rng = random.Random(f"actions of {seed}")
    return play(example, seed, lambda _: sample(example.vow["action_space"], rng))


def play_well(example: Example, seed: int) -> tuple[Any, list[StepResult]]:
    return play(example, seed, lambda env: env.oracle())


def test_random_actions_score_less_than_the_oracle(example: Example) -> None:
    seeds = range(FEWER.get(example.name, EPISODES))
    chance, ceiling = (
        example.primary([policy(example, seed)[1] for seed in seeds]) for policy in (play_randomly, play_well)
    )
    assert chance < 0.3
    assert ceiling > 0.95


@pytest.mark.parametrize("policy", [play_randomly, play_well])
def test_a_seed_gives_the_same_episode_again_and_another_seed_another(example: Example, policy: Any) -> None:
    one, again, other = (repr(policy(example, seed)) for seed in (5, 5, 6))
    assert one == again != other


def test_everything_shown_is_json_within_what_the_manifest_declares(example: Example) -> None:
    problems: list[Any] = []
    space = parse_space(example.vow["observation_space"], "observation_space", problems)
    assert space is not None
    low, high = (example.vow["reward"]["range"][bound] for bound in ("low", "high"))
    for policy in (play_randomly, play_well):
        for seed in range(10):
            first, results = policy(example, seed)
            data = first["data"] if isinstance(first, dict) and "content_type" in first else first
            for shown in (data, *(result.observation for result in results)):
                json.dumps(shown, allow_nan=False)
                assert deviations(space, shown) == []
            json.dumps([result.info for result in results], allow_nan=False)
            assert all(low <= result.reward <= high for result in results)
            assert len(results) <= example.vow["episode"]["max_steps"]


def test_the_oracle_acts_within_the_declared_space_and_changes_nothing(example: Example) -> None:
    space = parse_space(example.vow["action_space"], "action_space", [])
    assert space is not None
    env = example.env_class()
    env.reset(seed=3)
    state = repr(vars(env))
    assert deviations(space, env.oracle()) == []
    assert repr(vars(env)) == state


@pytest.mark.parametrize("name", CLASSES)
def test_the_manifest_keeps_every_rule_and_says_what_the_runner_needs(name: str) -> None:
    document = manifest(name)
    vow, problems = read_vow(document["binding_vow"])
    assert vow is not None
    assert problems == []
    assert vow.episode.max_steps is not None
    assert vow.episode.parallel_episodes > 1
    assert document["scoring"]["primary_metric"] in [metric["name"] for metric in document["scoring"]["metrics"]]
    assert (EXAMPLES / name / document["adapter"]).is_file()


@pytest.mark.parametrize("name", CLASSES)
def test_the_adapter_serves_an_episode_that_the_oracle_wins(name: str) -> None:
    directory = EXAMPLES / name
    adapter = [sys.executable, manifest(name)["adapter"], "--port", "0"]
    with subprocess.Popen(adapter, cwd=directory, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            address = next(found for line in process.stderr if (found := re.search(r"http://[\d.:]+", line)))
            with httpx.Client(base_url=address.group(), timeout=60) as client:
                last = ask_the_oracle_to_the_end(client)
        finally:
            process.terminate()
    assert last["terminated"]
    assert last["reward"] > 0


def ask_the_oracle_to_the_end(client: httpx.Client) -> dict[str, Any]:
    def post(path: str, **body: Any) -> dict[str, Any]:
        answer: dict[str, Any] = client.post(path, json={"episode_id": "e", **body}).raise_for_status().json()
        return answer

    assert client.get("/health").json()["oracle"] is True
    post("/reset", seed=1)
    while True:
        step = post("/step", action=post("/oracle")["action"])
        if step["terminated"] or step["truncated"]:
            post("/close")
            return step


@pytest.mark.parametrize("name", sorted({name.partition("/")[0] for name in CLASSES}))
def test_the_tests_of_the_author_pass(name: str, tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = ["-m", "pytest", "-q", "-c", str(tmp_path / "pytest.ini"), "-p", "no:cacheprovider", "test_env.py"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(
        [sys.executable, *command, "--rootdir", "."],
        check=False,
        cwd=EXAMPLES / name,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
