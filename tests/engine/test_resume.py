"""Going on with a run: what is finished is kept, what is owed is played, nothing is mixed, nobody is disturbed."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from sqlalchemy import text

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import Cause, EpisodeError, RunLeased, UnknownName, UsageError
from mesocosm.core.model import ModelRequest
from mesocosm.core.ports import Observer, Progress
from mesocosm.core.run import BenchmarkRef, LeaseOwner, Run, RunStatus
from mesocosm.engine.session import Control
from mesocosm.store.episodes import Episodes
from mesocosm.store.lease_owner import abandoned, this_process

if TYPE_CHECKING:
    from tests.engine.conftest import Lab

pytestmark = pytest.mark.usefixtures("forked")


def unlike(request: ModelRequest) -> str:
    """Walk a different way for each seed and trial, some of them into a crash."""
    assert request.view is not None
    way = ["end", "left", "left", "crash", "end"][(request.view.seed or 0) % 5 :: 2] or ["end"]
    return way[min(request.view.step, len(way) - 1)] if request.view.step < 3 + request.view.trial else "end"


def outcome(episode: Episode) -> tuple[Any, ...]:
    cause = episode.failure.cause if episode.failure else None
    return episode.index, episode.key, episode.status, episode.scores, episode.total_reward, episode.steps, cause


class Interrupted:
    """A model that stops its run when it is first asked in the episode of `seed`, and never again."""

    def __init__(self, seed: int, answer: Callable[[ModelRequest], str] = lambda request: "end") -> None:
        self.control = Control()
        self.seed = seed
        self.answer = answer
        self.asked: Counter[tuple[int | None, int, int]] = Counter()

    async def __call__(self, request: ModelRequest) -> str:
        view = request.view
        assert view is not None
        self.asked[view.seed, view.trial, view.step] += 1
        if view.seed == self.seed and not self.control.reason:
            self.control.stop("for now", grace=0)
            await asyncio.Event().wait()
        return self.answer(request)


@pytest.mark.parametrize("parallel", [1, 7])
async def test_an_interrupted_run_ends_with_the_numbers_of_an_undisturbed_one(lab: "Lab", parallel: int) -> None:
    interrupted = Interrupted(12, unlike)
    spec = lab.spec(lab.model(interrupted), count=30, trials=2, parallel=parallel)
    run = await lab.run(spec, control=interrupted.control)
    assert (run.status, run.error) == (RunStatus.STOPPED, "for now")
    kept = {episode.key: episode for episode in lab.episodes(run) if episode.status is not EpisodeStatus.CANCELLED}
    assert 12 - parallel < len(kept) < 12 + parallel
    run = await lab.resume(run.id)
    calm = await lab.run(spec)
    assert run.status is calm.status is RunStatus.PARTIAL
    assert (run.metrics, run.counts, run.usage) == (calm.metrics, calm.counts, calm.usage)
    assert list(map(outcome, lab.episodes(run))) == list(map(outcome, lab.episodes(calm)))
    assert {episode.key: episode for episode in lab.episodes(run) if episode.key in kept} == kept
    assert (run.signature, run.attempt, calm.attempt) == (calm.signature, 1, 2)


async def test_a_run_that_goes_on_keeps_no_numbers_of_before(lab: "Lab", monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted = Interrupted(2)
    run = await lab.run(lab.spec(lab.model(interrupted)), control=interrupted.control)
    assert run.metrics
    seen: list[Run] = []
    dropped = type(lab.store.episodes).drop_failed

    def drop(episodes: Episodes, run_id: str) -> int:
        seen.append(lab.store.runs.get(run_id))
        return dropped(episodes, run_id)

    monkeypatch.setattr(type(lab.store.episodes), "drop_failed", drop)
    again = await lab.resume(run.id, retry_failed=True)
    assert [(one.status, one.metrics) for one in seen] == [(RunStatus.RUNNING, ())]
    assert again.metrics


async def test_only_what_is_owed_is_played(lab: "Lab") -> None:
    interrupted = Interrupted(2)
    run = await lab.run(lab.spec(lab.model(interrupted), count=4, trials=2), control=interrupted.control)
    assert run.counts.done == 2
    await lab.resume(run.id)
    assert interrupted.asked == {(seed, trial, 0): 1 for seed in range(4) for trial in range(2)} | {(2, 0, 0): 2}


async def test_a_resumed_run_may_work_on_more_episodes_at_once(lab: "Lab") -> None:
    together = asyncio.Barrier(3)
    control = Control()

    async def meet(request: ModelRequest) -> str:
        if not control.reason:
            control.stop("for now", grace=0)
            await asyncio.Event().wait()
        await together.wait()
        return "end"

    run = await lab.run(lab.spec(lab.model(meet)), control=control)
    again = await asyncio.wait_for(lab.resume(run.id, parallel=3), 120)
    assert (again.status, again.spec.parallel) == (RunStatus.FINISHED, 3)
    assert lab.store.runs.get(run.id).spec.parallel == 3


async def test_the_time_of_all_sessions_is_added_up(lab: "Lab") -> None:
    interrupted = Interrupted(2)
    run = await lab.run(lab.spec(lab.model(interrupted)), control=interrupted.control)
    again = await lab.resume(run.id)
    assert again.provenance["worked_s"] >= run.provenance["worked_s"] > 0
    assert "session_at" not in again.provenance


async def test_the_time_of_a_session_whose_process_died_is_counted_to_its_last_sign_of_life(lab: "Lab") -> None:
    interrupted = Interrupted(2)
    run = await lab.run(lab.spec(lab.model(interrupted)), control=interrupted.control)
    run.status, run.ended_at = RunStatus.RUNNING, None
    run.provenance = {**run.provenance, "worked_s": 30.0, "session_at": 1_000.0}
    lab.store.runs.save(run)
    lab.store.database.write(lambda connection: connection.exec_driver_sql("UPDATE runs SET heartbeat_at = 1100.0"))
    again = await lab.resume(run.id)
    assert 130 <= again.provenance["worked_s"] < 160


async def test_resuming_a_finished_run_plays_nothing(lab: "Lab") -> None:
    model = lab.model()
    run = await lab.run(lab.spec(model))
    again = await lab.resume(run.id)
    assert lab.models[model].calls == 3
    assert (again.status, again.metrics, again.counts) == (run.status, run.metrics, run.counts)


async def test_progress_of_a_resumed_run_counts_what_was_there(lab: "Lab") -> None:
    seen: list[Any] = []

    class Reading(Observer):
        def run_started(self, progress: Progress) -> None:
            self.progress = progress
            seen.append((progress.planned, progress.resumed, progress.done))

        def run_finished(self, run: Run) -> None:
            score = self.progress.score()
            seen.append((self.progress.done, score.n_scored if score else None))

    interrupted = Interrupted(2)
    run = await lab.run(lab.spec(lab.model(interrupted), count=4), control=interrupted.control)
    await lab.resume(run.id, Reading())
    assert seen == [(4, 2, 2), (4, 4)]


async def test_warnings_of_all_sessions_are_kept(lab: "Lab") -> None:
    control = Control()

    async def play(context: Any) -> None:
        if context.task.seed == 2 and not control.reason:
            control.stop("for now", grace=0)
            await asyncio.Event().wait()
        context.warn(f"seed {context.task.seed}")

    run = await lab.run(lab.spec(lab.model(), agent=lab.agent(play), count=4), control=control)
    assert run.warnings == ("seed 0", "seed 1")
    run = await lab.resume(run.id)
    assert run.warnings == ("seed 0", "seed 1", "seed 2", "seed 3")


async def test_what_infrastructure_failed_is_played_again_and_failures_of_the_agent_never(lab: "Lab") -> None:
    broken = True

    def answer(request: ModelRequest) -> str:
        seed = request.view.seed if request.view else None
        if seed == 0:
            raise EpisodeError(Cause.REFUSED, "I would rather not")
        if seed == 1 and broken:
            raise EpisodeError(Cause.MODEL_REJECTED, "status 400")
        return "end"

    run = await lab.run(lab.spec(lab.model(answer)))
    assert (run.status, run.counts.failed, run.counts.completed, run.counts.pending) == (RunStatus.PARTIAL, 1, 1, 1)
    broken = False
    run = await lab.resume(run.id)
    assert (run.status, run.counts.pending) == (RunStatus.FINISHED, 0)
    assert [episode.status.value for episode in lab.episodes(run)] == ["failed", "completed", "completed"]
    assert run.primary is not None
    assert (run.primary.n_worst, run.primary.missing) == (1, {})


async def test_an_unknown_run_is_named(lab: "Lab") -> None:
    with pytest.raises(UnknownName, match="0000"):
        await lab.resume("0000")


def change(file: Path, added: str | None = "# another rule\n") -> None:
    if added is None:
        file.unlink()
    else:
        file.write_text(file.read_text() + added)


async def test_another_content_of_the_benchmark_is_refused_with_both_digests(lab: "Lab", tmp_path: Path) -> None:
    games = shutil.copy(Path(__file__).with_name("games.py"), tmp_path / "changing.py")
    interrupted = Interrupted(2)
    spec = lab.spec(lab.model(interrupted), world=BenchmarkRef("python", f"{games}:Walk"), count=4)
    run = await lab.run(spec, control=interrupted.control)
    change(Path(games))
    with pytest.raises(UsageError, match=f"content digest was {run.benchmark_digest}, is .*start a new run"):
        await lab.resume(run.id)
    assert lab.store.runs.get(run.id) == run


async def test_another_model_file_is_refused_and_named(lab: "Lab", tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(["end"]))
    run = await lab.run(lab.spec(f"builtin/scripted:{script}"))
    script.write_text(json.dumps(["left", "end"]))
    with pytest.raises(UsageError, match=r"what builtin/scripted:script\.json answers from has changed"):
        await lab.resume(run.id)


async def test_a_run_whose_benchmark_is_gone_says_so_and_stays_as_it_is(lab: "Lab", tmp_path: Path) -> None:
    games = Path(shutil.copy(Path(__file__).with_name("games.py"), tmp_path / "moved.py"))
    interrupted = Interrupted(2)
    spec = lab.spec(lab.model(interrupted), world=BenchmarkRef("python", f"{games}:Walk"), count=4)
    run = await lab.run(spec, control=interrupted.control)
    change(games, None)
    with pytest.raises(UsageError, match=r"there is no file .*moved\.py"):
        await lab.resume(run.id)
    assert lab.store.runs.get(run.id) == run


@pytest.fixture
def other_process(lab: "Lab") -> Iterator["subprocess.Popen[str]"]:
    """A process that runs something in the same store and waits in the second episode for a line."""
    here = Path(__file__).parent
    command = [sys.executable, str(here / "patient.py"), lab.store.place, str(here / "games.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


async def test_a_second_runner_is_told_who_has_the_run_and_the_first_goes_on(
    lab: "Lab", other_process: "subprocess.Popen[str]"
) -> None:
    assert other_process.stdout is not None
    assert other_process.stdin is not None
    run_id = (await asyncio.to_thread(other_process.stdout.readline)).strip()
    assert (await asyncio.to_thread(other_process.stdout.readline)).strip() == "waiting"
    lab.name("patient", lab.model())
    with pytest.raises(RunLeased, match=rf"process {other_process.pid} on {os.uname().nodename}"):
        await lab.resume(run_id)
    assert lab.store.runs.get(run_id).status is RunStatus.RUNNING
    said, _ = await asyncio.to_thread(other_process.communicate, "\n")
    assert said.strip() == "finished 4"
    run = lab.store.runs.get(run_id)
    assert (run.status, run.counts.completed, run.error) == (RunStatus.FINISHED, 4, "")


async def test_the_same_process_cannot_work_on_a_run_twice(lab: "Lab") -> None:
    reached, opened = asyncio.Event(), asyncio.Event()

    async def wait(request: ModelRequest) -> str:
        reached.set()
        await opened.wait()
        return "end"

    running = asyncio.create_task(lab.run(lab.spec(lab.model(wait))))
    await asyncio.wait_for(reached.wait(), 120)
    with pytest.raises(RunLeased, match="this very process"):
        await lab.resume(lab.only_run().id)
    opened.set()
    assert (await asyncio.wait_for(running, 120)).status is RunStatus.FINISHED


async def test_a_process_that_lost_its_run_says_so_and_leaves_it_alone(lab: "Lab") -> None:
    reached, opened = asyncio.Event(), asyncio.Event()

    async def wait(request: ModelRequest) -> str:
        if request.view is not None and request.view.seed == 1:
            reached.set()
            await opened.wait()
        return "end"

    running = asyncio.create_task(lab.run(lab.spec(lab.model(wait))))
    await asyncio.wait_for(reached.wait(), 120)
    run_id = lab.only_run().id
    await lab.until(lambda: lab.store.runs.get(run_id).counts.done == 1)
    thief = LeaseOwner("elsewhere", 7, 1.0, "boot")
    with lab.store.database.engine.begin() as connection:
        connection.execute(text("UPDATE runs SET holder = :it"), {"it": msgspec.json.encode(thief).decode()})
    opened.set()
    with pytest.raises(RunLeased, match="process 7 on elsewhere holds it now"):
        await asyncio.wait_for(running, 120)
    run = lab.store.runs.get(run_id)
    assert (run.status, run.holder, run.counts.done, run.error) == (RunStatus.RUNNING, thief, 1, "")


async def test_a_dead_process_is_no_obstacle(lab: "Lab", other_process: "subprocess.Popen[str]") -> None:
    assert other_process.stdout is not None
    run_id = (await asyncio.to_thread(other_process.stdout.readline)).strip()
    assert (await asyncio.to_thread(other_process.stdout.readline)).strip() == "waiting"
    await lab.until(lambda: lab.store.runs.get(run_id).counts.done == 1)
    other_process.kill()
    other_process.wait()
    model = lab.model()
    lab.name("patient", model)
    run = await lab.resume(run_id)
    assert (run.status, run.counts.completed) == (RunStatus.FINISHED, 4)
    assert lab.models[model].calls == 3


async def test_the_stored_spec_starts_the_same_experiment_again(lab: "Lab") -> None:
    run = await lab.run(lab.spec(lab.model(), trials=2, seeds=(4, 5), temperature=0.5))
    again = await lab.run(lab.store.runs.get(run.id).spec)
    assert (again.signature, again.attempt) == (run.signature, 2)


async def test_a_run_names_its_process_before_that_takes_it(lab: "Lab", monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        """Stands for the end of the process."""

    def hold(run_id: str, holder: LeaseOwner) -> None:
        raise Killed

    monkeypatch.setattr(lab.store.leases, "take", hold)
    with pytest.raises(Killed):
        await lab.run(lab.spec(lab.model()))
    (run,) = lab.store.runs.list().items
    assert (run.status, run.holder) == (RunStatus.PENDING, this_process())
    assert not abandoned(run)
    monkeypatch.undo()
    assert (await lab.resume(run.id)).status is RunStatus.FINISHED
