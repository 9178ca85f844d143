"""Worker processes of our own SDK: whatever the code of a row does, the row ends in time and no other one suffers."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.rollouts.executor import LineLog, RowJob, RowOutcome
from mesocosm.rollouts.processes.executor import ProcessExecutor

Opened = Callable[..., Awaitable[ProcessExecutor]]
Working = Callable[..., RowJob]

MAIN = """
import asyncio, os, signal, sys, threading, time
from mesocosm.rollouts import AgentWorkflow, AgentWorkflowConfig, Grader, LocalBackend, get_rollout_context

async def leave():
    sys.exit(3)

async def meet(name):
    # Rows of one process wait for each other, so that they surely run at the same time.
    seen.add(name)
    while not {"one", "other"} <= seen:
        await asyncio.sleep(0.01)

seen = set()

class Player(AgentWorkflow):
    async def run(self, ctx):
        word = ctx.prompt[-1]["content"]
        said = await getattr(self, word.replace(" ", "_"))(ctx)
        return [*ctx.prompt, {"role": "assistant", "content": str(said)}]

    async def fine(self, ctx):
        return "fine"

    async def process(self, ctx):
        await asyncio.sleep(0.2)
        return os.getpid()

    async def sleep(self, ctx):
        time.sleep(60)

    async def spin(self, ctx):
        while True:
            pass

    async def lock(self, ctx):
        threading.Event().wait(60)

    async def hold(self, ctx):
        time.sleep(0.4)
        return "held"

    async def load(self, ctx):
        import slow
        return "loaded"

    async def load_forever(self, ctx):
        import endless

    async def swallow(self, ctx):
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                continue

    async def wait(self, ctx):
        await asyncio.sleep(60)

    async def exit(self, ctx):
        print("out of cheese", file=sys.stderr)
        os._exit(3)

    async def crash(self, ctx):
        os.kill(os.getpid(), signal.SIGSEGV)

    async def exit_in_a_task(self, ctx):
        await asyncio.gather(leave())

    async def cancel_all(self, ctx):
        await asyncio.sleep(0.1)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        return "cancelled all"

    async def patient(self, ctx):
        await asyncio.sleep(0.3)
        return "patient"

    async def cancel_itself(self, ctx):
        asyncio.current_task().cancel()
        await asyncio.sleep(60)

    async def print_one(self, ctx):
        return await self.printing("one")

    async def print_other(self, ctx):
        return await self.printing("other")

    async def printing(self, name):
        await meet(name)
        print(name)
        await asyncio.to_thread(print, name, "in a thread", file=sys.stderr)
        await asyncio.create_task(self.more(name))

    async def more(self, name):
        print(name, "in a task", end="")

    async def variables(self, ctx):
        return sorted(os.environ)

    async def artifact(self, ctx):
        (ctx.artifacts_dir / "note.txt").write_text("kept")

    async def model(self, ctx):
        context = get_rollout_context()
        return f"{context.chat_completions_url} {context.api_key}"

class Judge(Grader):
    async def grade(self, ctx):
        if ctx.sample.messages[0]["content"] == "fine":
            ctx.set_reward(1.0)
        elif ctx.label == "blocks":
            time.sleep(60)
        elif ctx.judge is not None:
            ctx.sample.extra_fields["judge"] = ctx.judge.base_url
        ctx.set_reward(0.5)

backend = LocalBackend(workflow=Player, grader=Judge, workflow_config=AgentWorkflowConfig(name="any"))
"""


@pytest.fixture
def rollout(tmp_path: Path) -> Path:
    folder = tmp_path / "rollout"
    folder.mkdir()
    (folder / "main.py").write_text(MAIN)
    (folder / "slow.py").write_text("import time\n\ntime.sleep(0.4)\n")
    (folder / "endless.py").write_text("import time\n\ntime.sleep(60)\n")
    return folder


def words(outcome: RowOutcome) -> str:
    assert outcome.failure is None
    assert outcome.sample is not None
    return str(outcome.sample.messages[-1]["content"])


def cause(outcome: RowOutcome) -> Cause:
    assert outcome.failure is not None
    return outcome.failure.cause


@pytest.mark.parametrize("how", ["sleep", "spin", "lock"])
async def test_a_row_that_blocks_is_ended_in_time_and_named(
    opened: Opened, working: Working, log: LineLog, how: str
) -> None:
    executor = await opened(workers=1)
    async with asyncio.timeout(60):
        blocked, *others = await asyncio.gather(
            executor.run(working(how, workflow_seconds=0.5), log),
            *(executor.run(working("fine"), log) for _ in range(3)),
        )
    assert cause(blocked) is Cause.WORKFLOW_TIMEOUT
    assert blocked.failure is not None
    assert f" in {how}" in blocked.failure.message
    assert blocked.blocked is not None
    assert [words(other) for other in others] == ["fine"] * 3


async def test_a_grader_that_blocks_is_ended_in_time(opened: Opened, working: Working, log: LineLog) -> None:
    from dataclasses import replace

    executor = await opened(workers=1)
    outcome = await executor.run(replace(working("patient", grader_seconds=0.5), label="blocks"), log)
    assert cause(outcome) is Cause.GRADER_TIMEOUT
    assert words(await executor.run(working("fine"), log)) == "fine"


async def test_blocking_that_ends_in_time_is_a_success_that_is_reported(
    opened: Opened, working: Working, log: LineLog
) -> None:
    outcome = await (await opened()).run(working("hold"), log)
    assert words(outcome) == "held"
    assert outcome.blocked is not None
    assert outcome.blocked.where.endswith(" in hold")


async def test_an_import_is_not_called_blocking_because_a_process_does_it_once(
    opened: Opened, working: Working, log: LineLog
) -> None:
    outcome = await (await opened()).run(working("load"), log)
    assert words(outcome) == "loaded"
    assert outcome.blocked is None


async def test_an_import_that_does_not_end_costs_its_own_row_alone(
    opened: Opened, working: Working, log: LineLog
) -> None:
    executor = await opened(workers=1)
    async with asyncio.timeout(60):
        late, other = await asyncio.gather(
            executor.run(working("load forever", workflow_seconds=0.5), log), executor.run(working("fine"), log)
        )
    assert cause(late) is Cause.WORKFLOW_TIMEOUT
    assert words(other) == "fine"


async def test_code_that_ignores_its_cancellation_is_given_up(opened: Opened, working: Working, log: LineLog) -> None:
    executor = await opened(workers=1)
    outcome = await executor.run(working("swallow", workflow_seconds=0.2), log)
    assert cause(outcome) is Cause.WORKFLOW_TIMEOUT
    assert outcome.failure is not None
    assert "goes on although it was cancelled at main.py:" in outcome.failure.message
    assert words(await executor.run(working("fine"), log)) == "fine"


@pytest.mark.parametrize(("how", "said"), [("exit", "ended with exit code 3"), ("crash", "was killed by signal 11")])
async def test_a_row_that_ends_its_process_fails_and_no_other(
    opened: Opened, working: Working, log: LineLog, how: str, said: str
) -> None:
    executor = await opened(workers=1)
    ended = await asyncio.gather(
        executor.run(working(how), log),
        *(executor.run(working("patient"), log) for _ in range(3)),
        return_exceptions=True,
    )
    assert isinstance(ended[0], EpisodeError)
    assert ended[0].cause is Cause.ROLLOUT_FAILED
    assert said in str(ended[0])
    assert [words(one) for one in ended[1:] if isinstance(one, RowOutcome)] == ["patient"] * 3


async def test_the_last_words_of_a_row_that_ends_its_process_are_kept(opened: Opened, working: Working) -> None:
    heard: list[tuple[str, str]] = []
    with pytest.raises(EpisodeError) as caught:
        await (await opened(workers=1)).run(working("exit"), lambda stream, line: heard.append((stream, line)))
    assert "out of cheese" in caught.value.stderr
    assert heard == [("stderr", "out of cheese")]


async def test_an_exit_in_a_task_of_a_row_does_not_end_the_others(
    opened: Opened, working: Working, log: LineLog
) -> None:
    executor = await opened(workers=1)
    other = asyncio.create_task(executor.run(working("patient"), log))
    assert cause(await executor.run(working("exit in a task"), log)) is Cause.WORKFLOW_FAILED
    assert words(await other) == "patient"


async def test_a_row_that_cancels_all_tasks_harms_no_other(opened: Opened, working: Working, log: LineLog) -> None:
    executor = await opened(workers=1)
    ended = await asyncio.gather(
        executor.run(working("cancel all"), log), *(executor.run(working("patient"), log) for _ in range(3))
    )
    assert [words(one) for one in ended[1:]] == ["patient"] * 3


async def test_a_row_that_cancels_itself_is_a_failed_workflow(opened: Opened, working: Working, log: LineLog) -> None:
    outcome = await (await opened(workers=1)).run(working("cancel itself"), log)
    assert cause(outcome) is Cause.WORKFLOW_FAILED


async def test_each_row_gets_the_lines_that_it_printed(opened: Opened, working: Working) -> None:
    executor = await opened(workers=1)
    heard: dict[str, list[tuple[str, str]]] = {"one": [], "other": []}
    await asyncio.gather(
        *(
            executor.run(working(f"print {name}"), lambda stream, line, to=lines: to.append((stream, line)))  # type: ignore[misc]
            for name, lines in heard.items()
        )
    )
    for name, lines in heard.items():
        expected = [("stdout", name), ("stderr", f"{name} in a thread"), ("stdout", f"{name} in a task")]
        assert sorted(lines) == sorted(expected)


async def test_a_cancelled_row_is_cancelled_in_its_process(opened: Opened, working: Working, log: LineLog) -> None:
    executor = await opened(workers=1)
    task = asyncio.create_task(executor.run(working("wait"), log))
    await executor.run(working("fine"), log)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert words(await executor.run(working("fine"), log)) == "fine"


async def test_many_rows_are_played_by_several_processes(opened: Opened, working: Working, log: LineLog) -> None:
    executor = await opened(workers=2)
    seen: set[str] = set()
    async with asyncio.timeout(60):
        while len(seen) < 2:
            outcomes = await asyncio.gather(*(executor.run(working("process"), log) for _ in range(12)))
            seen |= {words(outcome) for outcome in outcomes}
    assert str(os.getpid()) not in seen


async def test_a_worker_sees_no_secrets_of_ours(
    opened: Opened, working: Working, log: LineLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hidden")
    seen = words(await (await opened({"GIVEN": "shown"})).run(working("variables"), log))
    assert "'GIVEN'" in seen
    assert "OPENAI_API_KEY" not in seen


async def test_artifacts_are_written_where_they_are_kept(opened: Opened, working: Working, log: LineLog) -> None:
    job = working("artifact")
    await (await opened()).run(job, log)
    assert (job.artifacts / "note.txt").read_text() == "kept"


async def test_a_row_sees_the_address_of_its_own_model(opened: Opened, working: Working, log: LineLog) -> None:
    job = working("model")
    assert words(await (await opened()).run(job, log)) == f"{job.model.base_url} {job.model.api_key}"


SERVING = """
import contextlib, uvicorn
from mesocosm.rollouts import create_rollout_server

@contextlib.asynccontextmanager
async def lifespan(app):
    open("began", "w").close()
    yield
    open("ended", "w").close()

app = create_rollout_server(backend=backend, lifespan=lifespan)
if __name__ == "__main__":
    HOW
"""


@pytest.mark.parametrize(
    "how",
    [
        'uvicorn.run(app, host="127.0.0.1", port=int(os.environ["_OSMOSIS_ROLLOUT_PORT"]))',
        "asyncio.run(uvicorn.Server(uvicorn.Config(app)).serve())",
    ],
)
async def test_an_entry_file_that_serves_itself_takes_its_rows_from_the_socket(
    opened: Opened, working: Working, log: LineLog, rollout: Path, how: str
) -> None:
    (rollout / "main.py").write_text(MAIN + SERVING.replace("HOW", how))
    executor = await opened()
    assert words(await executor.run(working("fine"), log)) == "fine"
    assert executor._pool is not None
    assert executor._pool._shared[0].transport.shareable
    await executor.close()
    assert (rollout / "began").exists()
    assert (rollout / "ended").exists()
