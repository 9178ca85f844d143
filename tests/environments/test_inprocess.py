"""Environment classes run inside this process."""

import math
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause, EpisodeError, InvalidInput, UsageError
from mesocosm.core.registry import SOURCES
from mesocosm.core.run import BenchmarkRef, Selection
from mesocosm.core.score import Metric
from mesocosm.core.space import SpaceSpec, SpaceType
from mesocosm.core.task import Task
from mesocosm.environments.inprocess import ClassBenchmark, ClassEnvironment, open_class
from mesocosm.environments.sdk import BaseEnv, StepResult

TASK = Task("seed-7", seed=7)
EPISODE = Episode(id="e", run_id="r", task_digest="t", task_id="t", total_reward=1.5, terminal_info={"won": "yes"})


class Counter(BaseEnv):
    """Counts its steps up to three."""

    def reset(self, seed: int | None = None, **params: Any) -> Any:
        self.state: dict[str, Any] = {"seed": seed, "count": 0, "history": []}
        return self.state

    def step(self, action: Any) -> StepResult:
        self.state["count"] += 1
        self.state["history"].append(action)
        return StepResult(self.state, 0.5, self.state["count"] == 3, truncated=False, info={"won": True})


class Failing(BaseEnv):
    """Fails in the way that its class attribute says."""

    error: BaseException = RuntimeError("boom")
    result: Any = None

    def reset(self, seed: int | None = None, **params: Any) -> Any:
        return None

    def step(self, action: Any) -> Any:
        if action == "raise":
            raise self.error
        return self.result

    def close(self) -> None:
        raise RuntimeError("cannot close")


def failing(**attributes: Any) -> type[BaseEnv]:
    return type("Failing", (Failing,), attributes)


async def started(env_class: type[BaseEnv], *, threads: bool = False) -> ClassEnvironment:
    environment = await ClassBenchmark(env_class, threads=threads).environment(TASK, "episode")
    await environment.reset()
    return environment


@pytest.mark.parametrize("threads", [False, True])
async def test_an_episode_runs_from_reset_to_close(threads: bool) -> None:
    environment = await ClassBenchmark(Counter, threads=threads).environment(TASK, "episode")
    assert (await environment.reset()).data == {"seed": 7, "count": 0, "history": []}
    steps = [await environment.step(action) for action in ("a", "b", "c")]
    await environment.close()
    assert [step.terminated for step in steps] == [False, False, True]
    assert [step.reward for step in steps] == [0.5, 0.5, 0.5]
    assert steps[2].info == {"won": True}


async def test_observations_do_not_change_with_the_state_of_the_environment() -> None:
    environment = await started(Counter)
    first = await environment.step("a")
    await environment.step("b")
    assert first.observation.data == {"seed": 7, "count": 1, "history": ["a"]}


async def test_reset_lifts_content_type_and_prompt() -> None:
    class Pictures(Counter):
        def reset(self, seed: int | None = None, **params: Any) -> Any:
            return {"data": b"\x00", "content_type": "image/png", "system_prompt": "look"}

    environment = await ClassBenchmark(Pictures).environment(TASK, "episode")
    observation = await environment.reset()
    assert (observation.data, observation.content_type, observation.system_prompt) == ("AA==", "image/png", "look")


async def test_reset_keeps_a_data_key_of_the_observation() -> None:
    class Data(Counter):
        def reset(self, seed: int | None = None, **params: Any) -> Any:
            return {"data": 1}

    environment = await ClassBenchmark(Data).environment(TASK, "episode")
    assert (await environment.reset()).data == {"data": 1}


async def test_actions_pass_through_parse_action() -> None:
    class Shouting(Counter):
        def parse_action(self, action: Any) -> Any:
            return action.upper()

    step = await (await started(Shouting)).step("a")
    assert step.observation.data["history"] == ["A"]


async def test_coroutine_methods_are_awaited() -> None:
    class Async(Counter):
        async def reset(self, seed: int | None = None, **params: Any) -> Any:
            return seed

    environment = await ClassBenchmark(Async).environment(TASK, "episode")
    assert (await environment.reset()).data == 7


async def test_threads_keep_calls_off_the_event_loop() -> None:
    class Where(Counter):
        def reset(self, seed: int | None = None, **params: Any) -> Any:
            return threading.current_thread() is threading.main_thread()

    places = []
    for threads in (False, True):
        environment = await ClassBenchmark(Where, threads=threads).environment(TASK, "episode")
        places.append((await environment.reset()).data)
    assert places == [True, False]


@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize(
    "error", [RuntimeError("boom"), SystemExit("boom"), StopIteration("boom"), TimeoutError("boom")]
)
async def test_an_exception_fails_the_episode_with_its_traceback(error: BaseException, threads: bool) -> None:
    environment = await started(failing(error=error), threads=threads)
    with pytest.raises(EpisodeError, match=r"Failing\.step\(\) failed: .*boom") as caught:
        await environment.step("raise")
    assert caught.value.cause is Cause.ENVIRONMENT_ERROR
    assert "raise self.error" in caught.value.detail


@pytest.mark.parametrize(
    ("result", "names"),
    [
        (None, "StepResult"),
        ((1, 0.0, True, False, {}), "StepResult"),
        (StepResult(1, math.nan, terminated=False, truncated=False), "reward"),
        (StepResult(1, "much", terminated=False, truncated=False), "reward"),  # type: ignore[arg-type]
        (StepResult(1, 0.0, terminated=False, truncated=False, info=[1]), "info"),  # type: ignore[arg-type]
        (StepResult(sys, 0.0, terminated=False, truncated=False), "JSON"),
        (StepResult(1, 0.0, terminated=False, truncated=False, content_type=5), "content_type"),  # type: ignore[arg-type]
        (StepResult(1, 0.0, terminated=False, truncated=False, system_prompt=5), "system_prompt"),  # type: ignore[arg-type]
    ],
)
async def test_a_bad_step_result_is_named(result: Any, names: str) -> None:
    environment = await started(failing(result=result))
    with pytest.raises(EpisodeError, match=names) as caught:
        await environment.step("go")
    assert caught.value.cause is Cause.ENVIRONMENT_INVALID


async def test_rewards_may_be_any_number() -> None:
    result = StepResult({"grid": (1, 2), "seen": {2, 1}, "x": math.inf}, "0.25", terminated=1, truncated=0)  # type: ignore[arg-type]
    step = await (await started(failing(result=result))).step("go")
    assert (step.reward, step.terminated, step.truncated) == (0.25, True, False)
    assert step.observation.data == {"grid": [1, 2], "seen": [1, 2], "x": None}


async def test_close_never_raises() -> None:
    environment = await started(Failing)
    await environment.close()
    await environment.close()


async def test_step_before_reset_is_a_failure() -> None:
    environment = await ClassBenchmark(Counter).environment(TASK, "episode")
    with pytest.raises(EpisodeError, match="without a reset"):
        await environment.step("a")


async def test_a_constructor_that_fails_fails_the_episode() -> None:
    class Broken(Counter):
        def __init__(self) -> None:
            raise OSError("no data file")

    environment = await ClassBenchmark(Broken).environment(TASK, "episode")
    with pytest.raises(EpisodeError, match=r"Broken\.reset\(\) failed: OSError: no data file"):
        await environment.reset()


async def test_the_oracle_is_asked_where_there_is_one() -> None:
    class Wise(Counter):
        def oracle(self) -> Any:
            return "best"

    assert ClassBenchmark(Wise).info.oracle is True
    assert await (await started(Wise)).oracle() == "best"


async def test_without_an_oracle_the_message_says_what_to_define() -> None:
    assert ClassBenchmark(Counter).info.oracle is False
    with pytest.raises(EpisodeError, match=r"Counter offers no oracle: define BaseEnv\.oracle") as caught:
        await (await started(Counter)).oracle()
    assert caught.value.cause is Cause.MODEL_MISSING


async def test_values_outside_the_declared_spaces_are_noted() -> None:
    class Declared(Counter):
        observation_space: ClassVar = {"type": "text"}
        action_space: ClassVar = {"type": "discrete", "enum_values": ["left", "right"]}

    environment = await ClassBenchmark(Declared).environment(TASK, "episode")
    assert "observation space" in (await environment.reset()).notes[0]
    step = await environment.step("up")
    assert "action space" in step.notes[0]
    assert "observation space" in step.observation.notes[0]
    assert (await environment.step("left")).notes == ()


def test_a_bad_space_is_an_error_of_the_class() -> None:
    class Bad(Counter):
        action_space: ClassVar = {"type": "discrete"}

    with pytest.raises(InvalidInput, match="action_space"):
        ClassBenchmark(Bad)


async def test_the_default_metric_is_the_mean_reward() -> None:
    benchmark = ClassBenchmark(Counter)
    (metric,) = benchmark.info.metrics
    (score,) = await benchmark.grade(TASK, EPISODE)
    assert (metric.aggregation, metric.primary) == ("mean", True)
    assert (score.name, score.value) == (metric.score, 1.5)


async def test_metrics_of_the_class_read_fields_of_the_last_info() -> None:
    class Scored(Counter):
        metrics = (
            Metric("win_rate", "won", "pass_rate", primary=True),
            Metric("best", "reward", "max"),
            Metric("x", "x"),
        )

    scores = {score.name: score for score in await ClassBenchmark(Scored).grade(TASK, EPISODE)}
    assert (scores["won"].value, scores["reward"].value) == (1.0, 1.5)
    assert scores["x"].missing is Cause.VALUE_MISSING


def test_metrics_of_another_type_are_refused() -> None:
    class Wrong(Counter):
        metrics = ("reward",)

    with pytest.raises(UsageError, match="Metric"):
        ClassBenchmark(Wrong)


class Rows(Counter):
    """Has tasks of its own."""

    title = "Rows"
    version = "2.0"
    max_steps = 4
    action_space = SpaceSpec(type=SpaceType.TEXT)

    @classmethod
    def tasks(cls) -> Iterator[Task]:
        for number in range(4):
            yield Task(f"row-{number}", input={"question": number}, target=-number, seed=number % 2)

    def reset(self, seed: int | None = None, task: Task | None = None, **params: Any) -> Any:
        return task.input if task else None


def test_class_attributes_describe_the_benchmark() -> None:
    info = ClassBenchmark(Rows).info
    assert (info.title, info.version, info.max_steps, info.kind, info.parallel) == ("Rows", "2.0", 4, "python", None)
    assert info.description == "Has tasks of its own."
    assert ClassBenchmark(Rows).action_space is Rows.action_space


@pytest.mark.parametrize(
    ("selection", "ids"),
    [
        (Selection(), ["row-0", "row-1", "row-2", "row-3"]),
        (Selection(count=2), ["row-0", "row-1"]),
        (Selection(count=0), []),
        (Selection(count=9), ["row-0", "row-1", "row-2", "row-3"]),
        (Selection(seeds=(1,)), ["row-1", "row-3"]),
    ],
)
def test_tasks_of_the_class_are_selected(selection: Selection, ids: list[str]) -> None:
    benchmark = ClassBenchmark(Rows)
    assert [task.id for task in benchmark.tasks(selection)] == ids
    assert benchmark.count(selection) == len(ids)


async def test_reset_gets_the_task_where_the_class_has_tasks() -> None:
    benchmark = ClassBenchmark(Rows)
    *_, last = benchmark.tasks(Selection())
    environment = await benchmark.environment(last, "episode")
    assert (await environment.reset()).data == {"question": 3}


def test_seeds_are_the_tasks_of_a_class_without_its_own() -> None:
    benchmark = ClassBenchmark(Counter)
    assert [task.seed for task in benchmark.tasks(Selection(count=3))] == [0, 1, 2]
    assert benchmark.count(Selection(count=3)) == 3


SOURCE = """
from mesocosm.environments.sdk import BaseEnv, StepResult
class Tiny(BaseEnv):
    def reset(self, seed=None, **params): return seed
    def step(self, action): return StepResult(None, 1.0, True, False)
"""


def opened(path: Path, source: str, **options: Any) -> Any:
    path.write_text(source)
    return open_class(BenchmarkRef("python", f"{path}:Tiny", options))


def test_the_identity_is_name_and_content_not_place(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one = opened(tmp_path / "a" / "tiny.py", SOURCE).info
    two = opened(tmp_path / "b" / "tiny.py", SOURCE).info
    assert (one.id, one.digest) == (two.id, two.digest)
    assert one.id == "tiny:Tiny"


def test_a_file_that_changes_an_imported_class_is_part_of_its_digest(tmp_path: Path) -> None:
    file = tmp_path / "longer.py"
    file.write_text("from mesocosm.environments.sdk import BaseEnv as Env\n\nallowed = 1\n")
    before = open_class(BenchmarkRef("python", f"{file}:Env")).info.digest
    file.write_text("from mesocosm.environments.sdk import BaseEnv as Env\n\nallowed = 2\n")
    assert open_class(BenchmarkRef("python", f"{file}:Env")).info.digest != before


def test_another_source_is_another_digest(tmp_path: Path) -> None:
    one = opened(tmp_path / "one.py", SOURCE).info
    two = opened(tmp_path / "two.py", SOURCE.replace("1.0", "0.5")).info
    assert one.digest != two.digest


def test_the_kind_is_registered() -> None:
    assert SOURCES.get("python") is open_class


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("class Tiny: pass", "BaseEnv"),
        ("Tiny = 5", "BaseEnv"),
        ("Other = 5", "Tiny"),
        ("class Tiny(", "cannot be imported"),
        ("raise SystemExit('no licence')", "no licence"),
    ],
)
def test_what_cannot_be_used_is_a_usage_error(tmp_path: Path, source: str, names: str) -> None:
    with pytest.raises(UsageError, match=names):
        opened(tmp_path / "wrong.py", source)


@pytest.mark.parametrize(("options", "names"), [({"thread": True}, "thread"), ({"threads": "yes"}, "threads")])
def test_options_that_cannot_work_are_named(tmp_path: Path, options: Any, names: str) -> None:
    with pytest.raises(UsageError, match=names):
        opened(tmp_path / "tiny.py", SOURCE, **options)


async def test_the_thread_option_reaches_the_environment(tmp_path: Path) -> None:
    source = SOURCE.replace("return seed", "import threading; return threading.current_thread().name")
    environment = await opened(tmp_path / "tiny.py", source, threads=True).environment(TASK, "episode")
    assert (await environment.reset()).data != "MainThread"
