"""Questions about many runs or many tasks at once, on both dialects."""

from typing import TYPE_CHECKING

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.ids import digest
from mesocosm.core.run import RunStatus
from mesocosm.core.score import MetricResult
from mesocosm.core.usage import Usage
from mesocosm.store import Store
from mesocosm.store.episodes import UsageSpread
from mesocosm.store.filters import VisibleTo
from mesocosm.store.run_index import key
from mesocosm.store.run_requests import RunRequest

if TYPE_CHECKING:
    from tests.store.conftest import Samples


def solved(value: float) -> MetricResult:
    return MetricResult("solved", "mean", value, 0.0, 1.0, "wilson", 10, 10, 10, primary=True)


async def test_a_task_leads_to_its_first_finished_trial(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    task = {"task_digest": digest("task"), "task_id": "the task"}
    unfinished = samples.entry(run.id, 0, **task, trial=0, status=EpisodeStatus.CANCELLED)
    second = samples.entry(run.id, 2, **task, trial=2)
    first = samples.entry(run.id, 1, **task, trial=1)
    await samples.write(store, run.id, [unfinished, second, first])
    found = store.episodes.played(run.id, [digest("task"), digest("another")])
    assert {name: (played.task_id, played.episode_id) for name, played in found.items()} == {
        digest("task"): ("the task", first.episode.id)
    }


async def test_thousands_of_tasks_are_looked_up_together(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    await samples.write(store, run.id, [samples.entry(run.id, n) for n in range(3)])
    wanted = [digest({"seed": n}) for n in range(2_000)]
    found = store.episodes.played(run.id, wanted)
    assert {name: played.task_id for name, played in found.items()} == {wanted[n]: f"seed {n}" for n in range(3)}


async def test_the_scores_of_one_name_are_those_among_all_in_the_same_order(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    await samples.write(store, run.id, [samples.entry(run.id, n) for n in (2, 0, 1)])
    every = list(store.episodes.score_rows(run.id))
    assert len(every) == 6
    assert list(store.episodes.score_rows(run.id, "length")) == [row for row in every if row.name == "length"]
    assert list(store.episodes.score_rows(run.id, "speed\0")) == []


def test_lines_and_numbers_of_benchmarks(store: Store, samples: "Samples") -> None:
    long = "x" * 300
    done = store.runs.add(
        samples.run(benchmark=long, status=RunStatus.FINISHED, metrics=(solved(0.5),), model="x/m", created_at=5.0)
    )
    for n in range(8):
        store.runs.add(samples.run(benchmark=f"b{n}"))
    standings = store.benchmarks
    counts = standings.counts()
    assert counts.runs == {key(long): 1, **{f"b{n}": 1 for n in range(8)}}
    assert {change.run_id for change in counts.latest if change.benchmark == key(long)} == {done.id}
    line = (done.id, done.benchmark_digest, "x/m", "loop", "finished", 5.0, 0.5)
    assert standings.lines([key(long)]) == {key(long): [line]}
    every = standings.lines([key(long), *(f"b{n}" for n in range(8)), "none"])
    assert every[key(long)] == [line]
    assert every["none"] == []


def test_a_change_of_a_run_shows_in_the_counts(store: Store, samples: "Samples") -> None:
    run, other = store.runs.add(samples.run()), store.runs.add(samples.run(benchmark="other"))
    standings = store.benchmarks
    before = standings.counts()
    assert standings.counts().changed(before) == set()
    run.status = RunStatus.FINISHED
    store.runs.save(run)
    changed = standings.counts()
    assert changed.changed(before) == {"words"}
    store.runs.delete(other.id)
    assert standings.counts().changed(changed) == {"other"}


def test_contents_come_by_benchmark_the_newest_first(store: Store, samples: "Samples") -> None:
    for benchmark, content, created_at in (("b", "1", 1.0), ("a", "1", 2.0), ("b", "2", 3.0), ("b", "1", 4.0)):
        store.runs.add(samples.run(benchmark=benchmark, benchmark_digest=content, created_at=created_at))
    found = store.benchmarks.contents()
    assert [(content.id, content.digest, content.first_run_at) for content in found] == [
        ("a", "1", 2.0),
        ("b", "2", 3.0),
        ("b", "1", 1.0),
    ]


def test_runs_and_their_results_are_found_by_id(store: Store, samples: "Samples") -> None:
    scored = store.runs.add(samples.run(metrics=(solved(0.5),), info={"vow": {}}, created_at=5.0))
    empty = store.runs.add(samples.run(created_at=6.0))
    standings = store.benchmarks
    ids = [scored.id, empty.id, "none"]
    assert {run_id: run.info for run_id, run in standings.runs(ids).items()} == {scored.id: {}, empty.id: {}}
    assert standings.runs(ids, whole=True)[scored.id].info == {"vow": {}}
    found = standings.measured(ids)
    assert found.keys() == {scored.id, empty.id}
    assert (found[scored.id].metric, found[empty.id].metric) == (solved(0.5), None)
    assert (found[empty.id].planned, found[empty.id].created_at) == (10, 6.0)


def test_a_person_is_shown_the_benchmarks_of_the_runs_that_they_may_see(store: Store, samples: "Samples") -> None:
    mine, hidden = (
        store.runs.add(samples.run(benchmark=name, benchmark_digest=f"digest of {name}", metrics=(solved(0.5),)))
        for name in ("mine", "hidden")
    )
    for run, actor in ((mine, "user:1"), (hidden, "user:2")):
        order = {"domain_id": "", "vow_version": "", "model": "x/m", "created_at": run.created_at}
        store.run_requests.add(RunRequest(run_id=run.id, actor=actor, **order))  # type: ignore[arg-type]
    who, found = VisibleTo("user:1", 1), store.benchmarks
    assert [content.id for content in found.contents(who)] == ["mine"]
    assert found.counts(who).runs == {"mine": 1}
    assert {change.run_id for change in found.counts(who).latest} == {mine.id}
    assert [len(lines) for lines in found.lines(["mine", "hidden"], who).values()] == [1, 0]
    assert set(found.measured([mine.id, hidden.id], who)) == {mine.id}


async def test_what_episodes_used_and_how_much_that_varies(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    assert store.episodes.spread(run.id).episodes == 0
    usages = [Usage(prompt=tokens, completion=0, calls=1) for tokens in (100, 200, 300)]
    times = ((0.0, 1.0), (0.0, 2.0), (0.0, 3.0))
    entries = [
        samples.entry(run.id, n, usage=usage, started_at=start, ended_at=end)
        for n, (usage, (start, end)) in enumerate(zip(usages, times, strict=True))
    ]
    await samples.write(store, run.id, entries)
    found = store.episodes.spread(run.id)
    assert (found.episodes, found.tokens, found.seconds) == (3, UsageSpread(200.0, 100.0), UsageSpread(2.0, 1.0))
