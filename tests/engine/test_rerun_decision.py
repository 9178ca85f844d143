"""What is done about an experiment that may have been run before."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from mesocosm.core.ids import digest
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Counts, Run, RunSpec, RunStatus
from mesocosm.core.score import MetricResult
from mesocosm.engine import rerun_decision
from mesocosm.engine.rerun_decision import RerunAction, RerunDecision, RerunPolicy, could_not_start, other_server

PLAIN, RERUN, FORCE = RerunPolicy(), RerunPolicy(rerun_failed=True), RerunPolicy(force=True)
DONE = Counts(planned=4, completed=4)
CUT = Counts(planned=4, completed=1)
NOTHING = Counts(planned=4, failed=4)


def run(name: str, status: RunStatus, counts: Counts) -> Run:
    spec = RunSpec(BenchmarkRef("benchmark", "sums"), ModelSettings("builtin/empty"))
    known = ("s", "sums", "Sums", "1", "d", "environment", "builtin/empty", "chat")
    return Run(name, *known, spec, status=status, counts=counts)


@dataclass
class Past:
    """Runs of one experiment, oldest first, and those that go on."""

    runs: list[Run] = field(default_factory=list)
    alive: frozenset[str] = frozenset()
    asked: bool = False

    def latest(self, signature: str) -> Run | None:
        return self.runs[-1] if self.runs else None

    def finished(self, signature: str) -> list[Run]:
        return [run for run in reversed(self.runs) if run.status is RunStatus.FINISHED]

    def failed_to_begin(self, signature: str) -> bool:
        return self.asked

    def active(self, run: Run) -> bool:
        return run.id in self.alive


def decide(past: Past, signature: str, policy: RerunPolicy) -> RerunDecision:
    store: Any = SimpleNamespace(runs=past, leases=past, groups=past)
    return rerun_decision.decide(store, signature, policy)


FINISHED = run("finished", RunStatus.FINISHED, DONE)
FAILED = run("failed", RunStatus.FAILED, NOTHING)
BROKEN = run("broken", RunStatus.FAILED, CUT)
STOPPED = run("stopped", RunStatus.STOPPED, CUT)
KILLED = run("killed", RunStatus.RUNNING, CUT)
ENDED = run("ended", RunStatus.RUNNING, DONE)
EXHAUSTED = run("exhausted", RunStatus.STOPPED, DONE)
PARTIAL = run("partial", RunStatus.PARTIAL, CUT)
LACKING = run("lacking", RunStatus.PARTIAL, DONE)


@pytest.mark.parametrize(
    ("past", "plain", "rerun"),
    [
        ([], RerunAction.RUN, RerunAction.SKIP),
        ([FINISHED], RerunAction.SKIP, RerunAction.SKIP),
        ([FAILED], RerunAction.RUN, RerunAction.RUN),
        ([STOPPED], RerunAction.RESUME, RerunAction.RESUME),
        ([KILLED], RerunAction.RESUME, RerunAction.RESUME),
        ([ENDED], RerunAction.RESUME, RerunAction.RESUME),
        ([EXHAUSTED], RerunAction.RESUME, RerunAction.RESUME),
        ([BROKEN], RerunAction.RESUME, RerunAction.RESUME),
        ([FINISHED, FAILED], RerunAction.SKIP, RerunAction.RUN),
        ([FINISHED, STOPPED], RerunAction.SKIP, RerunAction.RESUME),
        ([FAILED, FINISHED], RerunAction.SKIP, RerunAction.SKIP),
        ([PARTIAL], RerunAction.RESUME, RerunAction.RESUME),
        ([LACKING], RerunAction.RESUME, RerunAction.RESUME),
        ([FINISHED, PARTIAL], RerunAction.RESUME, RerunAction.RESUME),
    ],
)
def test_finished_work_stays_and_owed_work_goes_on(past: list[Run], plain: RerunAction, rerun: RerunAction) -> None:
    assert decide(Past(past), "s", PLAIN).action is plain
    assert decide(Past(past), "s", RERUN).action is rerun


@pytest.mark.parametrize("past", [[], [FINISHED], [STOPPED]])
def test_force_always_makes_a_new_run(past: list[Run]) -> None:
    assert decide(Past(past), "s", FORCE).action is RerunAction.RUN


@pytest.mark.parametrize("policy", [PLAIN, RERUN])
def test_what_another_process_works_on_is_left_to_it(policy: RerunPolicy) -> None:
    made = decide(Past([KILLED], frozenset({"killed"})), "s", policy)
    assert (made.action, made.run) == (RerunAction.SKIP, KILLED)
    assert "is going on" in made.reason


def test_the_run_that_makes_another_needless_is_named() -> None:
    assert decide(Past([FINISHED, FAILED]), "s", PLAIN).run is FINISHED


def test_what_could_not_begin_is_run_again_with_rerun_failed() -> None:
    assert decide(Past(asked=True), "s", RERUN).action is RerunAction.RUN


@pytest.mark.parametrize("cut_off", [STOPPED, KILLED, ENDED, PARTIAL])
def test_a_forced_run_that_was_cut_off_goes_on(cut_off: Run) -> None:
    forced = msgspec.structs.replace(cut_off, provenance={"forced": True})
    made = decide(Past([FINISHED, forced]), "s", FORCE)
    assert (made.action, made.run) == (RerunAction.RESUME, forced)


def test_a_forced_run_that_came_to_its_end_is_followed_by_a_new_one() -> None:
    forced = msgspec.structs.replace(FINISHED, provenance={"forced": True})
    assert decide(Past([forced]), "s", FORCE).action is RerunAction.RUN


def test_a_run_that_another_server_answered_is_not_taken_for_this_ones() -> None:
    old = run("finished", RunStatus.FINISHED, DONE)
    old.provenance = {"server": {"address": "http://a/v1", "models": "one", "judge_address": "http://j/v1"}}
    assert other_server(old, {"address": "http://a/v1", "models": "one"}, "") == ""
    assert other_server(old, {"address": "http://a/v1"}, "") == "", "the server was not reached"
    assert other_server(old, {}, "") == ""
    assert "the address was http://a/v1, is http://b/v1" in other_server(old, {"address": "http://b/v1"}, "")
    changed = other_server(old, {"address": "http://a/v1", "models": "two"}, "; --force runs it anew")
    assert "the list of models was one, is two" in changed
    assert changed.endswith("--same-server; --force runs it anew")
    assert "address of the judge" in other_server(old, {"judge_address": "http://k/v1"}, "")


def test_a_server_that_moved_is_known_at_both_places() -> None:
    old = run("finished", RunStatus.FINISHED, DONE)
    old.provenance = {"server": {"address": "http://a/v1, http://b/v1"}}
    assert other_server(old, {"address": "http://b/v1"}, "") == other_server(old, {"address": "http://a/v1"}, "") == ""


def test_what_a_run_may_lack_is_said_by_the_command_that_asks() -> None:
    lacking = run("tolerant", RunStatus.FINISHED, Counts(planned=10, completed=8, failed=2))
    lacking.metrics = (
        MetricResult("m", "mean", 1.0, 1.0, 1.0, "t", 10, 8, 8, missing={"grader_error": 2}, primary=True),
    )
    past = Past([lacking])
    assert decide(past, "s", PLAIN).action is RerunAction.RESUME
    assert decide(past, "s", RerunPolicy(max_missing=0.2)).action is RerunAction.SKIP


@pytest.mark.parametrize(("cause", "failed"), [("sandbox_failed", True), ("model_unavailable", False)])
def test_a_run_whose_program_cannot_start_has_failed_and_one_in_an_outage_has_not(cause: str, failed: bool) -> None:
    stopped = run("stopped", RunStatus.STOPPED, Counts(planned=4))
    missing = {cause: 2, "not_run": 2}
    stopped.metrics = (MetricResult("m", "mean", None, None, None, "", 4, 0, 0, missing=missing, primary=True),)
    assert could_not_start(stopped) is failed


def test_a_run_that_other_rules_scored_is_not_taken_for_this_ones() -> None:
    told = {"rescored_with": "other", "graded_with": "other"}
    rescored = [msgspec.structs.replace(one, provenance=told) for one in (FINISHED, STOPPED, PARTIAL)]
    for one in rescored:
        made = decide(Past([one]), "s", PLAIN)
        assert made.action is RerunAction.RUN
        assert f"run {one.id} was rescored by other rules" in made.reason
    assert decide(Past([FINISHED, rescored[0]]), "s", PLAIN).run is FINISHED
    again = msgspec.structs.replace(FINISHED, provenance={"rescored_with": "d", "graded_with": "d"})
    assert decide(Past([again]), "s", PLAIN).action is RerunAction.SKIP


def test_a_run_that_is_only_read_in_another_way_keeps_its_place() -> None:
    read = msgspec.structs.replace(FINISHED, provenance={"rescored_with": digest([]), "graded_with": "d"})
    unmarked = msgspec.structs.replace(FINISHED, provenance={"rescored_with": digest([])})
    assert decide(Past([read]), "s", PLAIN).action is RerunAction.SKIP
    assert decide(Past([unmarked]), "s", PLAIN).action is RerunAction.SKIP
