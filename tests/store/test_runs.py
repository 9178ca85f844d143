"""Runs go in and come out unchanged; names are found or explained."""

import threading
import time
from typing import TYPE_CHECKING

import msgspec
import pytest

from mesocosm.core.failure import RunLeased, UnknownName
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Counts, Limits, Run, RunSpec, RunStatus, Selection
from mesocosm.core.score import MetricResult
from mesocosm.core.usage import Usage
from mesocosm.store import Store

if TYPE_CHECKING:
    from tests.store.conftest import Samples

METRIC = MetricResult("accuracy", "mean", 0.5, 0.4, 0.6, "wilson", 10, 9, 9, {"rate_limited": 1}, primary=True)


def test_a_run_comes_back_with_every_field(store: Store, samples: "Samples") -> None:
    spec = RunSpec(
        BenchmarkRef("environment", "words", {"level": 3}),
        ModelSettings("openai/m@http://127.0.0.1:1/v1", temperature=0.5, extra={"top_k": 5}),
        selection=Selection(seeds=(1, 2**63 + 5)),
        limits=Limits(run_usd=1.5),
    )
    run = samples.run(
        spec=spec,
        name="grüße\n😀",
        group_id="group",
        status=RunStatus.STOPPED,
        counts=Counts(10, 4, 1, 1, 2),
        metrics=(METRIC,),
        usage=Usage(1, 2, 3, 4, None, 5),
        started_at=1.25,
        ended_at=2.5,
        heartbeat_at=3.5,
        stop_requested=True,
        error="stopped",
        warnings=("a", "b"),
        tags=("x",),
        info={"id": "words", "metrics": [{"name": "accuracy"}]},
        provenance={"host": "here"},
    )

    store.runs.add(run)

    assert store.runs.get(run.id) == run


def test_attempts_of_one_experiment_are_numbered(store: Store, samples: "Samples") -> None:
    attempts = [store.runs.add(samples.run()).attempt for _ in range(3)]
    other = store.runs.add(samples.run(signature="0" * 32))

    assert attempts == [1, 2, 3]
    assert other.attempt == 1


def test_a_number_is_not_given_twice_after_a_deletion(store: Store, samples: "Samples") -> None:
    first, second = store.runs.add(samples.run()), store.runs.add(samples.run())
    store.runs.delete(first.id)

    assert second.attempt == 2
    assert store.runs.add(samples.run()).attempt == 3


def test_runs_added_at_once_get_different_numbers(store: Store, samples: "Samples") -> None:
    runs = [samples.run() for _ in range(8)]
    threads = [threading.Thread(target=store.runs.add, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(run.attempt for run in runs) == list(range(1, 9))


def added_at_once(store: Store, runs: list[Run]) -> list[str]:
    """Add runs from a thread each, and return what those were told that were refused."""
    refused: list[str] = []

    def add(run: Run) -> None:
        try:
            store.runs.add(run, alone=True)
        except RunLeased as error:
            refused.append(str(error))

    threads = [threading.Thread(target=add, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return refused


def test_of_many_that_begin_the_same_experiment_at_once_one_is_added(store: Store, samples: "Samples") -> None:
    runs = [samples.run(signature="same", created_at=time.time()) for _ in range(6)]
    refused = added_at_once(store, runs)
    (added,) = store.runs.list().items
    assert refused == [f"run {added.id} of the same experiment is going on"] * 5


def test_what_is_over_keeps_nobody_from_the_same_experiment(store: Store, samples: "Samples") -> None:
    store.runs.add(samples.run(signature="same", status=RunStatus.FINISHED))
    assert store.runs.add(samples.run(signature="same"), alone=True).attempt == 2


def test_of_many_that_begin_under_one_name_at_once_one_is_added(store: Store, samples: "Samples") -> None:
    runs = [samples.run(name="mine", signature=f"of {n}", created_at=time.time()) for n in range(6)]
    refused = added_at_once(store, runs)
    (added,) = store.runs.list().items
    assert len(refused) == 5
    assert all("run 'mine'" in words and added.id in words for words in refused)


def test_runs_without_a_name_or_of_another_kind_are_added_beside_each_other(store: Store, samples: "Samples") -> None:
    for n, (name, kind) in enumerate([("", "a"), ("", "a"), ("mine", "a"), ("mine", "b")]):
        store.runs.add(samples.run(name=name, kind=kind, signature=f"of {n}"), alone=True)
    assert len(store.runs.list().items) == 4


def test_adding_a_stored_run_again_changes_nothing(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run(name="first"))
    again = store.runs.add(msgspec.structs.replace(run, name="second", attempt=7))

    assert again.attempt == 1
    assert store.runs.get(run.id).name == "first"


def test_a_run_is_found_by_a_prefix_that_only_it_has(store: Store, samples: "Samples") -> None:
    store.runs.add(samples.run(id="aaaa-1"))
    store.runs.add(samples.run(id="aaab-2"))

    assert store.runs.get("aaab").id == "aaab-2"
    assert store.runs.get(" AAAA ").id == "aaaa-1"


def test_an_id_that_begins_another_one_is_still_found(store: Store, samples: "Samples") -> None:
    store.runs.add(samples.run(id="aaaa"))
    store.runs.add(samples.run(id="aaaa-1"))

    assert store.runs.get("aaaa").id == "aaaa"


def test_a_prefix_of_several_runs_is_refused_with_their_ids(store: Store, samples: "Samples") -> None:
    store.runs.add(samples.run(id="aaaa-1"))
    store.runs.add(samples.run(id="aaab-2"))

    with pytest.raises(UnknownName, match=r"several run ids: aaaa-1, aaab-2; give more"):
        store.runs.get("aaa")


def test_an_unknown_id_gets_the_nearest_one_suggested(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run())
    wrong = run.id[:10] + "x" + run.id[11:]

    with pytest.raises(UnknownName, match=f"did you mean {run.id}"):
        store.runs.get(wrong)


@pytest.mark.parametrize("name", ["nothing like it", "", "%", "\0"])
def test_an_id_unlike_all_others_is_refused(store: Store, samples: "Samples", name: str) -> None:
    run = store.runs.add(samples.run())

    with pytest.raises(UnknownName, match=f"the newest one is {run.id}"):
        store.runs.get(name)


def test_an_empty_store_says_that_it_is_empty(store: Store) -> None:
    with pytest.raises(UnknownName, match="there are none yet"):
        store.runs.get("aaa")


async def test_saving_a_run_leaves_its_counters_to_the_journal(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    await samples.write(store, run.id, [samples.entry(run.id)])
    run.status, run.metrics, run.started_at, run.ended_at = RunStatus.FINISHED, (METRIC,), 5.0, 6.0
    run.error, run.warnings, run.counts = "e", ("w",), Counts(planned=7, failed=99)

    store.runs.save(run)

    saved = store.runs.get(run.id)
    assert saved.counts == Counts(planned=7, completed=1)
    assert saved.usage == Usage(100, 10, 4, 2, 0.25, 1)
    assert (saved.status, saved.metrics, saved.started_at, saved.ended_at) == (RunStatus.FINISHED, (METRIC,), 5.0, 6.0)
    assert (saved.error, saved.warnings) == ("e", ("w",))


@pytest.mark.parametrize("act", ["save", "stop", "tag", "delete", "hold"])
def test_what_is_done_to_an_unknown_run_is_refused(store: Store, samples: "Samples", act: str) -> None:
    run = samples.run()
    acts = {
        "save": lambda: store.runs.save(run),
        "stop": lambda: store.runs.request_stop(run.id),
        "tag": lambda: store.runs.set_tags(run.id, ["a"]),
        "delete": lambda: store.runs.delete(run.id),
        "hold": lambda: store.leases.take(run.id, store.leases.owner()),
    }

    with pytest.raises(UnknownName, match=run.id):
        acts[act]()


def test_new_tags_replace_the_old_ones_and_can_be_searched_for(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run(tags=("old",)))

    store.runs.set_tags(run.id, ["Über", "new", "Über"])

    assert store.runs.get(run.id).tags == ("Über", "new")
    assert [found.id for found in store.runs.list(text="über").items] == [run.id]
    assert store.runs.list(text="old").items == ()


def test_unfinished_runs_of_an_experiment_come_newest_first(store: Store, samples: "Samples") -> None:
    stopped = store.runs.add(samples.run(status=RunStatus.STOPPED, counts=Counts(2, 2)))
    owing = store.runs.add(samples.run(status=RunStatus.FAILED, counts=Counts(2, 1)))
    store.runs.add(samples.run(status=RunStatus.FINISHED, counts=Counts(2, 1, 1)))
    store.runs.add(samples.run(status=RunStatus.STOPPED, signature="0" * 32))

    assert [run.id for run in store.runs.unfinished(stopped.signature)] == [owing.id, stopped.id]


def test_a_benchmark_of_a_strange_title_is_kept(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run(benchmark_title="a\0b\ud800c"))
    (listed,) = (row for row in store.benchmarks.list() if row.id == run.benchmark)
    assert listed.title == store.runs.get(run.id).benchmark_title


def test_text_that_no_database_takes_is_stored_readably(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run(name="a\0b\ud800c"))

    assert store.runs.get(run.id).name == "a\ufffdb\ufffdc"
