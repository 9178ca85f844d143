"""The place within this process: what it loads, runs and tells."""

import asyncio
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from mesocosm.core.content import Content
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.rollouts.executor import ModelAccess, RolloutExecutor, RowJob
from mesocosm.rollouts.local import InProcessExecutor
from mesocosm.rollouts.sdk.config import AgentWorkflowConfig, ConcurrencyConfig
from mesocosm.rollouts.sdk.context import AgentWorkflowContext, GraderContext, get_rollout_context
from mesocosm.rollouts.sdk.workflow import AgentWorkflow, AgentWorkflowOutput, Grader
from mesocosm.rollouts.source import read_source

HEAD = """
from osmosis_ai.rollout import (
    AgentWorkflow, AgentWorkflowConfig, AgentWorkflowContext, AgentWorkflowOutput, ConcurrencyConfig, Grader,
    GraderConfig, GraderContext, LocalBackend, get_rollout_context,
)

class Player(AgentWorkflow[AgentWorkflowConfig]):
    async def run(self, ctx: AgentWorkflowContext[AgentWorkflowConfig]):
        context = get_rollout_context()
        text = f"{context.chat_completions_url} {context.api_key} {context.rollout_id} {type(self.config).__name__}"
        return [*ctx.prompt, {"role": "assistant", "content": text}]

class Judge(Grader):
    async def grade(self, ctx: GraderContext):
        ctx.set_reward(1.0 if ctx.label == "4" else 0.0)
"""


@pytest.fixture
def work(tmp_path: Path) -> RowJob:
    return RowJob(
        id="try-1",
        prompt=[{"role": "user", "content": "2 + 2"}],
        label="4",
        metadata={"topic": "sums"},
        row=3,
        trial=2,
        seed=17,
        model=ModelAccess("http://model/v1", "key", "m"),
        judge=ModelAccess("http://judge/v1", "judge key", "j"),
        artifacts=tmp_path / "artifacts",
        workflow_seconds=60.0,
        grader_seconds=60.0,
    )


def entry(folder: Path, text: str, name: str = "main.py") -> InProcessExecutor:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(dedent(text))
    return InProcessExecutor(folder, name)


def ignore(*_: str) -> None:
    """Take what nobody wants to know."""


Opened = Callable[[InProcessExecutor], Awaitable[InProcessExecutor]]


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    places: list[InProcessExecutor] = []

    async def open_(place: InProcessExecutor) -> InProcessExecutor:
        places.append(place)
        await place.open(ignore)
        return place

    yield open_
    for place in reversed(places):
        await place.close()


def test_it_is_a_place(tmp_path: Path) -> None:
    place: RolloutExecutor = InProcessExecutor(tmp_path, "main.py")
    assert place.capacity is None


async def test_a_published_rollout_with_a_backend_runs(tmp_path: Path, work: RowJob, opened: Opened) -> None:
    place = await opened(
        entry(tmp_path, HEAD + "\nbackend = LocalBackend(workflow=Player, grader=Judge)\n")  # as published
    )
    assert place.capacity == 4
    ended = await place.run(work, ignore)
    assert ended.sample is not None
    assert ended.sample.messages[-1]["content"] == "http://model/v1 key try-1 NoneType"
    assert (ended.sample.reward, ended.graded, ended.failure) == (1.0, True, None)


async def test_a_backend_that_only_its_app_knows_is_found(tmp_path: Path, work: RowJob, opened: Opened) -> None:
    text = """
    from osmosis_ai.rollout.server import create_rollout_server

    def make():
        config = AgentWorkflowConfig(name="a", concurrency=ConcurrencyConfig(max_concurrent=7))
        return create_rollout_server(backend=LocalBackend(workflow=Player, grader=Judge, workflow_config=config))

    app = make()
    """
    place = await opened(entry(tmp_path, HEAD + dedent(text)))
    assert place.capacity == 7
    assert (await place.run(work, ignore)).graded


async def test_classes_and_configurations_are_found_without_a_backend(
    tmp_path: Path, work: RowJob, opened: Opened
) -> None:
    text = """
    class Special(AgentWorkflowConfig):
        pass

    settings = Special(name="a")
    grading = GraderConfig(name="b")
    """
    place = await opened(entry(tmp_path, HEAD + dedent(text)))
    ended = await place.run(work, ignore)
    assert ended.sample is not None
    assert ended.sample.messages[-1]["content"].endswith(" Special")
    assert ended.graded


async def test_only_the_last_of_derived_classes_counts(tmp_path: Path, work: RowJob, opened: Opened) -> None:
    text = """
    class Better(Player):
        async def run(self, ctx):
            return [{"role": "assistant", "content": "better"}]
    """
    place = await opened(entry(tmp_path, HEAD + dedent(text)))
    ended = await place.run(work, ignore)
    assert ended.sample is not None
    assert ended.sample.messages[0]["content"] == "better"


async def test_modules_beside_the_entry_file_are_imported_and_forgotten(
    tmp_path: Path, work: RowJob, opened: Opened
) -> None:
    for number in (1, 2):
        folder = tmp_path / str(number)
        place = entry(
            folder,
            """
            from answers import ANSWER
            from osmosis_ai.rollout import AgentWorkflow

            class Player(AgentWorkflow):
                async def run(self, ctx):
                    return [{"role": "assistant", "content": ANSWER}]
            """,
            "src/main.py",
        )
        (folder / "src" / "answers.py").write_text(f"ANSWER = 'of {number}'\n")
        await opened(place)
        ended = await place.run(work, ignore)
        await place.close()
        assert ended.sample is not None
        assert ended.sample.messages[0]["content"] == f"of {number}"
    assert "answers" not in sys.modules
    assert not [path for path in sys.path if str(tmp_path) in path]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "neither a LocalBackend nor a class derived from AgentWorkflow with a run method; found: x"),
        (
            HEAD + "\nclass Other(AgentWorkflow):\n    async def run(self, ctx): ...\n",
            r"several workflow classes \(Other",
        ),
        (HEAD + "\nclass Harsh(Grader):\n    async def grade(self, ctx): ...\n", r"several grader classes \(Harsh"),
        (HEAD + "\na = LocalBackend(workflow=Player)\nb = LocalBackend(workflow=Player)\n", r"makes 2 backends \(a, b"),
        (HEAD + "\na, b = (AgentWorkflowConfig(name=n) for n in 'ab')\n", r"several configurations \(a, b\)"),
        ("import package_that_is_nowhere\n", "runs in worker processes"),
        ("raise SystemExit('stop')\n", "cannot be loaded: SystemExit: stop"),
        ("def broken(:\n", "cannot be loaded: SyntaxError"),
    ],
)
async def test_an_entry_file_that_defines_no_rollout_is_refused(tmp_path: Path, text: str, said: str) -> None:
    place = entry(tmp_path, text)
    path, out = list(sys.path), sys.stdout
    with pytest.raises(UsageError, match=said) as raised:
        await place.open(ignore)
    assert "main.py" in str(raised.value)
    assert "rollouts/local.py" not in str(raised.value)
    assert (sys.path, sys.stdout) == (path, out)


async def test_an_entry_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no entry file .*nowhere\.py"):
        await InProcessExecutor(tmp_path, "nowhere.py").open(ignore)


async def test_another_sdk_that_is_loaded_already_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = type(sys)("osmosis_ai")
    foreign.__file__ = str(tmp_path / "site-packages" / "osmosis_ai" / "__init__.py")
    monkeypatch.setitem(sys.modules, "osmosis_ai", foreign)
    with pytest.raises(UsageError, match="in worker processes"):
        await entry(tmp_path, HEAD).open(ignore)


async def test_what_the_code_prints_is_told_of_its_row_and_never_printed(
    tmp_path: Path, work: RowJob, opened: Opened, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """
    import asyncio, sys
    print("loading")

    class Player(AgentWorkflow):
        async def run(self, ctx):
            print("one\\ntwo")
            print("to stderr", file=sys.stderr)
            await asyncio.to_thread(print, "from a thread", end="")
            return []
    """
    place = await opened(entry(tmp_path, HEAD + dedent(text)))
    lines: list[tuple[str, str]] = []
    await place.run(work, lambda stream, line: lines.append((stream, line)))
    print("our own")
    assert lines == [("stdout", "one"), ("stdout", "two"), ("stderr", "to stderr"), ("stdout", "from a thread")]
    captured = capsys.readouterr()
    assert captured.out == "our own\n"
    assert "loading" in captured.err


async def test_closing_gives_the_streams_back(tmp_path: Path) -> None:
    out, err = sys.stdout, sys.stderr
    first, second = entry(tmp_path / "a", HEAD), entry(tmp_path / "b", HEAD)
    await first.open(ignore)
    await second.open(ignore)
    assert sys.stdout is not out
    await first.close()
    assert sys.stdout is not out
    await second.close()
    await second.close()
    assert (sys.stdout, sys.stderr) == (out, err)


async def test_it_must_be_open_before_it_runs(tmp_path: Path, work: RowJob) -> None:
    with pytest.raises(EpisodeError, match="open the executor") as raised:
        await entry(tmp_path, HEAD).run(work, ignore)
    assert raised.value.cause is Cause.ROLLOUT_FAILED


class Reporting(AgentWorkflow[AgentWorkflowConfig]):
    async def run(self, ctx: AgentWorkflowContext[AgentWorkflowConfig]) -> Any:
        context = get_rollout_context()
        assert context is not None
        assert ctx.artifacts_dir is not None
        (ctx.artifacts_dir / "note.txt").write_text("kept")
        told = {"role": "assistant", "content": f"{ctx.row_index} {ctx.trial} {ctx.seed} {ctx.metadata}"}
        return AgentWorkflowOutput(messages=[told], metrics={"turns": 1})


class Scoring(Grader):
    async def grade(self, ctx: GraderContext) -> Any:
        assert ctx.judge is not None
        assert ctx.sample is not None
        ctx.set_score("clarity", 0.5)
        ctx.sample.metrics["flag"] = True
        ctx.sample.metrics["note"] = ctx.judge.base_url
        ctx.sample.metrics["bad"] = float("inf")
        ctx.sample.extra_fields["explanation"] = "well done"
        ctx.set_reward("0.5")


async def test_everything_that_a_row_is_and_leaves_comes_across(work: RowJob, opened: Opened) -> None:
    place = await opened(InProcessExecutor.of(workflow=Reporting, grader=Scoring))
    ended = await place.run(work, ignore)
    assert ended.failure is None
    assert ended.sample is not None
    assert ended.sample.messages[0]["content"] == "3 2 17 {'topic': 'sums'}"
    assert ended.sample.metrics == {"turns": 1.0, "clarity": 0.5, "flag": 1.0}
    assert ended.sample.extra == {"note": "http://judge/v1", "explanation": "well done"}
    assert ended.sample.reward == 0.5
    assert (work.artifacts / "note.txt").read_text() == "kept"
    assert ended.workflow_s > 0
    assert ended.grader_s > 0


async def test_the_works_prompt_and_metadata_are_not_the_workflows_to_change(work: RowJob, opened: Opened) -> None:
    class Changing(AgentWorkflow[Any]):
        async def run(self, ctx: AgentWorkflowContext[Any]) -> Any:
            ctx.prompt[0]["content"] = "changed"
            assert ctx.metadata is not None
            ctx.metadata["topic"] = "changed"
            return ctx.prompt

    place = await opened(InProcessExecutor.of(workflow=Changing))
    await place.run(work, ignore)
    assert (work.prompt[0]["content"], work.metadata) == ("2 + 2", {"topic": "sums"})


async def test_a_rollout_without_a_grader_is_not_graded(work: RowJob, opened: Opened) -> None:
    place = await opened(InProcessExecutor.of(workflow=Reporting))
    ended = await place.run(work, ignore)
    assert not ended.graded
    assert ended.failure is not None
    assert ended.failure.cause is Cause.GRADER_ERROR
    assert "the rollout has no grader" in ended.failure.message
    assert ended.sample is not None
    assert ended.sample.reward is None


async def test_a_row_that_a_grader_cannot_grade_says_why(work: RowJob, opened: Opened) -> None:
    place = await opened(InProcessExecutor.of(workflow=Reporting, grader=Scoring))
    ended = await place.run(replace(work, label=None, metadata=None), ignore)
    assert ended.failure is not None
    assert ended.failure.cause is Cause.GRADER_ERROR
    assert "neither a label nor metadata" in ended.failure.message
    assert ended.sample is not None


async def test_a_sample_that_the_grader_removes_is_left_out(work: RowJob, opened: Opened) -> None:
    class Removing(Grader):
        async def grade(self, ctx: GraderContext) -> Any:
            assert ctx.sample is not None
            ctx.set_reward(1)
            ctx.sample.remove_sample = True

    place = await opened(InProcessExecutor.of(workflow=Reporting, grader=Removing))
    ended = await place.run(work, ignore)
    assert ended.sample is not None
    assert (ended.sample.left_out, ended.sample.reward, ended.failure) == (True, None, None)


async def test_a_failed_workflow_has_its_cause_words_and_traceback(work: RowJob, opened: Opened) -> None:
    class Failing(AgentWorkflow[Any]):
        async def run(self, ctx: Any) -> Any:
            raise LookupError("no tool 'add'")

    place = await opened(InProcessExecutor.of(workflow=Failing, grader=Scoring))
    ended = await place.run(work, ignore)
    assert ended.failure is not None
    assert ended.failure.cause is Cause.WORKFLOW_FAILED
    assert ended.failure.message == "LookupError: no tool 'add'"
    assert "in run" in ended.failure.detail
    assert (ended.sample, ended.graded) == (None, False)


async def test_a_failed_grader_leaves_the_sample_without_a_reward(work: RowJob, opened: Opened) -> None:
    class Failing(Grader):
        async def grade(self, ctx: GraderContext) -> Any:
            ctx.set_reward(1)
            raise RuntimeError("after the reward")

    place = await opened(InProcessExecutor.of(workflow=Reporting, grader=Failing))
    ended = await place.run(work, ignore)
    assert ended.failure is not None
    assert (ended.failure.cause, ended.failure.message) == (Cause.GRADER_ERROR, "RuntimeError: after the reward")
    assert ended.sample is not None
    assert (ended.sample.reward, ended.graded) == (None, False)


@pytest.mark.parametrize(("slow", "cause"), [("workflow", "workflow_timeout"), ("grader", "grader_timeout")])
async def test_each_deadline_has_its_cause(work: RowJob, opened: Opened, slow: str, cause: str) -> None:
    class Playing(AgentWorkflow[Any]):
        async def run(self, ctx: Any) -> Any:
            if slow == "workflow":
                await asyncio.Event().wait()
            return []

    class Grading(Grader):
        async def grade(self, ctx: Any) -> Any:
            await asyncio.Event().wait()

    place = await opened(InProcessExecutor.of(workflow=Playing, grader=Grading))
    ended = await place.run(replace(work, workflow_seconds=0.2, grader_seconds=0.2), ignore)
    assert ended.failure is not None
    assert ended.failure.cause == cause


async def test_a_cancelled_run_cancels_the_workflow(work: RowJob, opened: Opened) -> None:
    running, cancelled = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    class Waiting(AgentWorkflow[Any]):
        async def run(self, ctx: Any) -> Any:
            loop.call_soon_threadsafe(running.set)
            try:
                await asyncio.Event().wait()
            finally:
                loop.call_soon_threadsafe(cancelled.set)

    place = await opened(InProcessExecutor.of(workflow=Waiting))
    task = asyncio.create_task(place.run(work, ignore))
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await cancelled.wait()


async def test_a_place_that_was_closed_says_so(work: RowJob) -> None:
    place = InProcessExecutor.of(workflow=Reporting)
    await place.open(ignore)
    await place.close()
    with pytest.raises(EpisodeError, match="closed") as raised:
        await place.run(work, ignore)
    assert raised.value.cause is Cause.ROLLOUT_FAILED


async def test_a_closed_place_keeps_no_descriptors(tmp_path: Path) -> None:
    place = entry(tmp_path, HEAD + "\nbackend = LocalBackend(workflow=Player, grader=Judge)\n")
    await place.open(ignore)
    loop = place._loop
    assert loop is not None
    await place.close()
    for thread in threading.enumerate():
        if thread.name == "rollout":
            await asyncio.to_thread(thread.join, 20)
    assert loop.is_closed()


async def test_its_capacity_is_the_workflows() -> None:
    limited = AgentWorkflowConfig(name="a", concurrency=ConcurrencyConfig(max_concurrent=3))
    assert InProcessExecutor.of(workflow=Reporting).capacity == 4
    assert InProcessExecutor.of(workflow=Reporting, workflow_config=AgentWorkflowConfig(name="a")).capacity is None
    assert InProcessExecutor.of(workflow=Reporting, workflow_config=limited).capacity == 3


async def test_an_entry_file_does_not_configure_the_logging_of_this_process(tmp_path: Path, opened: Opened) -> None:
    before = list(logging.getLogger().handlers)
    serving = "from osmosis_ai.rollout.server import create_rollout_server\n"
    serving += "app = create_rollout_server(backend=LocalBackend(workflow=Player))\n"
    # Whoever has handlers keeps them, so there must be none for the file to be tempted.
    logging.getLogger().handlers[:] = []
    try:
        await opened(entry(tmp_path, HEAD + serving))
        assert logging.getLogger().handlers == []
    finally:
        logging.getLogger().handlers[:] = before


async def test_variables_are_set_while_it_is_open(
    tmp_path: Path, work: RowJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STYLE", "before")
    monkeypatch.delenv("TONE", raising=False)
    entry(
        tmp_path, HEAD + "import os\nbackend = LocalBackend(workflow=Player, grader=Judge)\nSTYLE = os.environ['STYLE']"
    )
    place = InProcessExecutor(tmp_path, "main.py", {"STYLE": "terse", "TONE": "kind"})
    await place.open(print)
    assert (os.environ["STYLE"], os.environ["TONE"]) == ("terse", "kind")
    await place.close()
    assert (os.environ["STYLE"], os.environ.get("TONE")) == ("before", None)


async def test_a_rollout_that_is_edited_before_it_is_loaded_is_not_played(tmp_path: Path, opened: Opened) -> None:
    entry(tmp_path, HEAD)
    content = Content("rollout r", read_source(tmp_path).contents, lambda: read_source(tmp_path).contents)
    entry(tmp_path, HEAD + "\n# edited\n")
    with pytest.raises(EpisodeError, match=r"^main\.py of rollout r has changed since the run began"):
        await opened(InProcessExecutor(tmp_path, "main.py", content=content))
