"""What commands made of benchmarks is kept, replaced and found again."""

from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.failure import UnknownName
from mesocosm.core.group import Outcome, OutcomeStatus, RunGroup, stamped_id
from mesocosm.core.run import RunStatus
from mesocosm.store import Store

if TYPE_CHECKING:
    from tests.store.conftest import Samples


def outcome(group_id: str, position: int = 0, **given: Any) -> Outcome:
    """Return an outcome of a benchmark that was skipped."""
    fields: dict[str, Any] = {
        "group_id": group_id,
        "position": position,
        "benchmark": "words",
        "directory": "word-game",
        "status": OutcomeStatus.SKIPPED,
        "provider": "ollama",
        "model": "llama3.2",
        "agent": "loop",
        "extra": {"sample": 10, "nested": {"ü": None}},
        "signature": "s",
        "reason": "already_succeeded",
        "at": 12.5,
    }
    return Outcome(**(fields | given))


def test_a_group_returns_as_it_was_added(store: Store) -> None:
    group = RunGroup(
        stamped_id("rg"), 10.25, None, "somebody", {"all": True}, ("words", "golf"), {"commit": "abc"}, "cmp_1"
    )

    store.groups.add(group)

    assert store.groups.get(group.id) == group
    assert store.groups.get(group.id[:22]) == group


def test_adding_a_group_again_replaces_it(store: Store) -> None:
    store.groups.add(RunGroup("rg_1", 10.0, request={"all": True}))

    store.groups.add(RunGroup("rg_1", 11.0, benchmarks=("words",)))

    assert store.groups.get("rg_1") == RunGroup("rg_1", 11.0, benchmarks=("words",))


def test_a_finished_group_says_when(store: Store) -> None:
    store.groups.add(RunGroup("rg_1", 10.0))

    store.groups.finish("rg_1", 20.5)

    assert store.groups.get("rg_1").finished_at == 20.5


def test_a_group_that_was_never_added_cannot_be_finished(store: Store) -> None:
    with pytest.raises(UnknownName, match="there is no group 'rg_1'"):
        store.groups.finish("rg_1", 20.5)


def test_a_run_may_name_its_group_before_and_after_it_is_added(store: Store, samples: "Samples") -> None:
    early = store.runs.add(samples.run(group_id="rg_1", created_at=5.0))
    store.groups.add(RunGroup("rg_1", 10.0, created_by="somebody"))
    late = store.runs.add(samples.run(group_id="rg_1"))

    assert {store.runs.get(run.id).group_id for run in (early, late)} == {"rg_1"}
    assert store.groups.get("rg_1") == RunGroup("rg_1", 10.0, created_by="somebody")


def test_outcomes_return_in_the_order_of_their_positions(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run())
    store.groups.add(RunGroup("rg_1", 10.0))
    second = outcome("rg_1", 1, run_id=run.id)
    first = outcome("rg_1", 0, status=OutcomeStatus.INCOMPATIBLE, reason="no docker")
    store.groups.save_outcome(second)
    store.groups.save_outcome(first)

    assert store.groups.outcomes("rg_1") == (first, second)
    assert store.groups.outcomes("rg_2") == ()


def test_an_outcome_replaces_the_one_at_its_place(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run())
    store.groups.add(RunGroup("rg_1", 10.0))
    store.groups.save_outcome(outcome("rg_1", status=OutcomeStatus.RUNNING, reason=""))
    done = outcome("rg_1", status=OutcomeStatus.SUCCEEDED, run_id=run.id, extra={}, at=14.0, comparison_id="cmp_1")

    store.groups.save_outcome(done)

    assert store.groups.outcomes("rg_1") == (done,)


def test_an_outcome_needs_its_group(store: Store) -> None:
    with pytest.raises(UnknownName, match="there is no group 'rg_1'; add the group before"):
        store.groups.save_outcome(outcome("rg_1"))

    assert store.groups.outcomes("rg_1") == ()


def test_an_outcome_survives_its_run(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run())
    store.groups.add(RunGroup("rg_1", 10.0))
    saved = outcome("rg_1", run_id=run.id)
    store.groups.save_outcome(saved)

    store.runs.delete(run.id)

    assert store.groups.outcomes("rg_1") == (outcome("rg_1"),)
    store.groups.save_outcome(saved)
    assert store.groups.outcomes("rg_1") == (outcome("rg_1"),)


def test_outcomes_of_a_comparison_come_from_all_its_groups_the_oldest_first(store: Store) -> None:
    store.groups.add(RunGroup("rg_a", 20.0))
    store.groups.add(RunGroup("rg_b", 10.0))
    found = [outcome(group, place, comparison_id="cmp_1") for group, place in (("rg_b", 0), ("rg_b", 1), ("rg_a", 0))]
    for one in (*reversed(found), outcome("rg_a", 1, comparison_id="cmp_2"), outcome("rg_a", 2)):
        store.groups.save_outcome(one)

    assert store.groups.outcomes_of_comparison("cmp_1") == tuple(found)
    assert store.groups.outcomes_of_comparison("cmp_3") == ()
    assert store.groups.outcomes_of_comparison("") == ()


def test_an_outcome_refers_to_its_run_once_that_is_there(store: Store, samples: "Samples") -> None:
    run = samples.run(group_id="rg_1", signature="s")
    store.groups.add(RunGroup("rg_1", 10.0))
    store.groups.save_outcome(outcome("rg_1", 0, status=OutcomeStatus.RUNNING, run_id=run.id))
    store.groups.save_outcome(outcome("rg_1", 1, status=OutcomeStatus.RUNNING, signature="other"))
    assert [one.run_id for one in store.groups.outcomes("rg_1")] == ["", ""]

    store.runs.add(run)

    assert [one.run_id for one in store.groups.outcomes("rg_1")] == [run.id, ""]


def test_run_and_signature_of_an_outcome_stay_where_the_next_names_none(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run())
    store.groups.add(RunGroup("rg_1", 10.0))
    store.groups.save_outcome(outcome("rg_1", run_id=run.id, status=OutcomeStatus.RUNNING))

    store.groups.save_outcome(outcome("rg_1", status=OutcomeStatus.FAILED, reason="crashed", signature=""))

    assert store.groups.outcomes("rg_1") == (
        outcome("rg_1", run_id=run.id, status=OutcomeStatus.FAILED, reason="crashed"),
    )


def test_words_that_a_database_cannot_hold_are_replaced(store: Store) -> None:
    store.groups.add(RunGroup("rg_1", 10.0))

    store.groups.save_outcome(outcome("rg_1", reason="zero \0 and \ud800", extra={"text": "zero \0"}))

    (found,) = store.groups.outcomes("rg_1")
    assert found.reason == "zero \ufffd and \ufffd"
    assert found.extra == {"text": "zero \0"}


def test_the_newest_run_of_an_experiment_is_found_whatever_its_status(store: Store, samples: "Samples") -> None:
    for status in (RunStatus.FINISHED, RunStatus.FAILED):
        run = store.runs.add(samples.run(signature="a", info={"id": "words"}))
        run.status = status
        store.runs.save(run)
    store.runs.add(samples.run(signature="b"))

    latest = store.runs.latest("a")

    assert latest is not None
    assert (latest.attempt, latest.status, latest.info) == (2, RunStatus.FAILED, {"id": "words"})
    assert [(run.attempt, run.status) for run in store.runs.finished("a")] == [(1, RunStatus.FINISHED)]
    assert list(store.runs.finished("b")) == []
    assert store.runs.latest("c") is None


def test_the_finished_runs_of_an_experiment_come_newest_first(store: Store, samples: "Samples") -> None:
    for status in (RunStatus.FINISHED, RunStatus.FINISHED, RunStatus.STOPPED):
        run = store.runs.add(samples.run(signature="a"))
        run.status = status
        store.runs.save(run)
    assert [run.attempt for run in store.runs.finished("a")] == [2, 1]


def test_a_group_from_elsewhere_comes_with_its_outcomes(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run(group_id="rg_1", created_at=5.0))
    group = RunGroup("rg_1", 10.0, 30.0, request={"all": True}, benchmarks=("words", "golf"))
    found = (outcome("rg_1", 0, status=OutcomeStatus.SUCCEEDED, run_id=run.id), outcome("rg_1", 1, run_id="elsewhere"))

    store.groups.insert(group, found)
    store.groups.insert(group, found)

    assert store.groups.get("rg_1") == group
    assert store.groups.outcomes("rg_1") == (found[0], outcome("rg_1", 1))


def test_a_group_from_elsewhere_changes_nothing_that_is_here(store: Store) -> None:
    here = RunGroup("rg_1", 10.0, request={"all": True})
    store.groups.add(here)
    store.groups.save_outcome(outcome("rg_1", reason="here"))

    store.groups.insert(RunGroup("rg_1", 11.0, 12.0), [outcome("rg_1", reason="there"), outcome("rg_1", 1)])

    assert store.groups.get("rg_1") == here
    assert store.groups.outcomes("rg_1") == (outcome("rg_1", reason="here"), outcome("rg_1", 1))


def test_what_was_going_on_elsewhere_is_stopped_here(store: Store) -> None:
    store.groups.insert(RunGroup("rg_1", 10.0), [outcome("rg_1", status=OutcomeStatus.RUNNING, at=25.0)])

    assert store.groups.outcomes("rg_1")[0].status is OutcomeStatus.STOPPED
    assert store.groups.get("rg_1").finished_at == 25.0
