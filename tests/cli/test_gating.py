"""Gates on the command line: answers, exit codes, and the files that continuous integration reads."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from mesocosm.cli.gate_options import GateFlags
from mesocosm.compat.swecc.documents import Episode, Metric, Run, RunStatus
from mesocosm.core.episode import EpisodeStatus
from mesocosm.engine.comparison.gate import read_condition
from mesocosm.server.schemas.run_request import RunConfig
from mesocosm.store import open_store
from mesocosm.store.revision import DATABASE_NAME

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Outcome, Played


@pytest.fixture
def play(mesocosm: "Invoke", mine: "Played") -> "Invoke":
    """Return what plays the scaffold's environment, whose oracle has a run of six seeds already."""

    def run(
        *words: str | Path, before: tuple[str, ...] = (), model: str = "builtin/random", episodes: int = 6
    ) -> "Outcome":
        there = ("--manifest", mine.manifest, *mine.there, "--model", model, "--episodes", str(episodes))
        return mesocosm(*before, "run", "local", *there, *words)

    return run


def test_a_run_is_judged_alone(play: "Invoke") -> None:
    assert play("--fail-if", "failed>0").code == 0
    assert play("--fail-if", "score<0.99", "--fail-if", "failed>0").code == 1
    assert play("--fail-if", "calls>10").code == 1


def test_a_run_is_judged_against_its_baseline(play: "Invoke", mine: "Played") -> None:
    words = ("--baseline", mine.run_id, "--fail-if", "regression p<0.05")
    worse = play(*words)
    assert worse.code == 1
    assert f"against the baseline {mine.run_id}:" in worse.out
    assert "\ngate closed\n" in worse.out
    assert play(*words, model="builtin/oracle").code == 0


def test_what_cannot_be_told_exits_3_unless_it_is_allowed(play: "Invoke", mine: "Played") -> None:
    words = ("--baseline", mine.run_id, "--fail-if", "regression p<0.05")
    undecided = play(*words, episodes=5)
    assert undecided.code == 3
    assert "CANNOT TELL" in undecided.out
    assert "at least 6 are needed" in undecided.out
    assert play(*words, "--allow-undecided", episodes=5).code == 0


def test_the_command_gate_goes_before_a_command(play: "Invoke", mine: "Played") -> None:
    before = ("gate", "--baseline", mine.run_id, "--")
    assert play(before=before).code == 1
    assert play(before=before, model="builtin/oracle").code == 0
    assert play(before=(*before, "mesocosm"), episodes=3).code == 3


def test_the_command_gate_takes_stored_runs(mesocosm: "Invoke", play: "Invoke", mine: "Played") -> None:
    assert play().code == 0
    assert mesocosm("gate", "--baseline", mine.run_id, *mine.there, "last").code == 1
    itself = mesocosm("gate", "--baseline", mine.run_id, *mine.there, mine.run_id)
    assert itself.code == mesocosm("compare", mine.run_id, mine.run_id, *mine.there).code == 2
    assert "the baseline is the run itself" in itself.err


def test_a_baseline_among_the_stored_runs_is_refused(mesocosm: "Invoke", play: "Invoke", mine: "Played") -> None:
    assert play().code == 0
    refused = mesocosm("gate", "--baseline", mine.run_id, *mine.there, mine.run_id, "last")
    assert refused.code == 2
    assert f"run {mine.run_id}: the baseline is the run itself" in refused.err


def test_a_run_that_is_its_own_baseline_is_that_of_others(play: "Invoke", mine: "Played") -> None:
    play()
    store = open_store(mine.results / DATABASE_NAME)
    try:
        runs = [store.runs.get(one.id) for one in store.runs.list().items]
        judged = GateFlags([read_condition("regression p<0.05")], [mine.run_id]).judge(store, runs)
    finally:
        store.close()
    assert {str(verdict.answer) for verdict in judged.verdicts} == {"fail", "error"}


def test_a_command_that_makes_no_run_cannot_be_gated(mesocosm: "Invoke") -> None:
    outcome = mesocosm("gate", "--", "doctor", "--local")
    assert outcome.code == 2
    assert "neither plays nor compares runs" in outcome.err


def test_the_answers_are_written_as_junit_markdown_and_json(play: "Invoke", mine: "Played", tmp_path: Path) -> None:
    junit, markdown = tmp_path / "out/gate.xml", tmp_path / "out/gate.md"
    conditions = ("failed>0", "score<0.99", "regression p<0.05")
    words = [word for condition in conditions for word in ("--fail-if", condition)]
    outcome = play(*words, "--baseline", mine.run_id, "--junit", junit, "--markdown", markdown, "--json", episodes=4)
    assert outcome.code == 1
    root = ElementTree.fromstring(junit.read_text())
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["3", "1", "1"]
    assert [case[0].tag for case in root.iter("testcase")] == ["system-out", "failure", "error"]
    assert [answer["answer"] for answer in outcome.document["gate"]] == ["pass", "fail", "undecided"]
    text = markdown.read_text()
    assert [line.split()[1] for line in text.splitlines() if line.startswith("- ")] == ["✅", "❌", "❔"]
    assert "Against the baseline" in text


def test_flags_that_judge_nothing_are_refused_before_anything_is_played(play: "Invoke", tmp_path: Path) -> None:
    for words in (
        ("--junit", str(tmp_path / "gate.xml")),
        ("--fail-if", "regression"),
        ("--fail-if", "missing>2"),
        ("--fail-if", "failed>2%"),
        ("--fail-if", "score<0.5", "--baseline", "nowhere"),
    ):
        outcome = play(*words)
        assert outcome.code == 2, words
        assert "run 0" not in outcome.out


def test_a_metric_that_the_benchmark_does_not_have_is_refused_before_anything_is_played(play: "Invoke") -> None:
    refused = play("--fail-if", "acuracy<0.5")
    assert refused.code == 2
    assert "did you mean 'accuracy'?" in refused.err
    assert "run " not in refused.out


def test_a_run_that_is_watched_is_judged(mesocosm: "Invoke", mine: "Played") -> None:
    assert mesocosm("run", "watch", mine.run_id, *mine.there, "--fail-if", "score>0.5").code == 1
    assert mesocosm("run", "watch", mine.run_id, *mine.there, "--fail-if", "score<0.5").code == 0


def test_runs_of_which_none_can_be_compared_exit_1(mesocosm: "Invoke", mine: "Played", tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert mesocosm("init", "--dir", other).code == 0
    manifest = other / "benchanything.json"
    words = ("--manifest", manifest, "--model", "builtin/oracle", "--episodes", "6")
    assert mesocosm("run", "local", *words, *mine.there).code == 0
    junit = tmp_path / "gate.xml"
    outcome = mesocosm("compare", mine.run_id, "last", *mine.there)
    assert outcome.code == 1
    assert "none of these runs can be compared" in outcome.err
    gated = mesocosm("compare", mine.run_id, "last", *mine.there, "--fail-if", "regression", "--junit", junit)
    assert gated.code == 1
    assert ElementTree.fromstring(junit.read_text()).get("errors") == "2"


def test_a_run_of_a_platform_is_judged_by_the_episodes_that_it_tells_of() -> None:
    began = datetime(2026, 1, 1, tzinfo=UTC)
    episodes = [
        Episode(
            id=str(number),
            run_id="r",
            seed=number // 2,
            trial=number % 2,
            status=EpisodeStatus.COMPLETED,
            started_at=began,
            ended_at=began + timedelta(seconds=number),
            scores={"accuracy": float(number % 2)},
            terminal_info={"total_tokens": 100},
        )
        for number in range(4)
    ]
    agent = {"model": "a/b"}
    config = RunConfig(domain_id="d", binding_vow_version="1", agent_config=agent, num_episodes=4)  # type: ignore[arg-type]
    metric = Metric(name="accuracy", value=0.5, aggregation="pass_rate", n_planned=4, n_scored=4, primary=True)
    over = Run(id="r", config=config, status=RunStatus.COMPLETED, planned=4, finished=4, metrics=[metric])
    texts = ("latency.max>2.5", "latency.max>3.5", "tokens>399", "tokens>400", "pass@2<1")
    gate = GateFlags([read_condition(text) for text in texts])
    gate.check_remote(wait=True)
    answers = [str(verdict.answer) for verdict in gate.judge_remote(over, episodes).verdicts]
    assert answers == ["fail", "pass", "fail", "pass", "pass"]


def test_a_gate_does_not_open_where_a_benchmark_of_the_baseline_was_not_run(mesocosm: "Invoke", tmp_path: Path) -> None:
    def run(*words: str) -> "Outcome":
        sized = ("--model", "builtin/oracle", "--max-examples", "6", "--quiet", "--results-dir", tmp_path)
        return mesocosm("bench", "run", "--benchmarks", *words, *sized)

    both = run("context-bench,eliza-format", "--json")
    assert both.code == 0, both.err
    group = both.document["run_group_id"]

    one = run("context-bench", "--force", "--baseline", group)

    assert one.code == 3
    assert "the baseline includes this benchmark, but it was not run here" in one.out
    assert "gate undecided, which does not open it" in one.out
    assert run("context-bench,eliza-format", "--force", "--baseline", group).code == 0
