"""`mesocosm scan`: a model answers a question about every transcript."""

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.engine.reviewing import PassRules
from mesocosm.interop.scan_episodes import tasks_to_scan
from mesocosm.store import open_store
from mesocosm.testing.fault import Fault
from mesocosm.testing.model_server import ModelServer

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Outcome, Played

    from mesocosm.core.episode import Episode

PASSAGE = r"<<{mark} step (\d+), (\w+)>>\n(.*?)(?=\n<<{mark})"


def passages(body: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return step, speaker and text of what a scanner is shown."""
    text = body["messages"][1]["content"]
    found = re.search(r"<<([0-9a-f]{24}) TRANSCRIPT>>", text)
    assert found is not None
    return re.findall(PASSAGE.format(mark=found[1]), text, re.DOTALL)


def says(answer: Any) -> Callable[[Mapping[str, Any]], str]:
    """Return a scanner that always answers this, and quotes the first thing that was said."""

    def answered(body: Mapping[str, Any]) -> str:
        step, _, text = passages(body)[0]
        return json.dumps({"reasoning": "", "answer": answer, "step": int(step), "quote": text[:40]})

    return answered


def scan(mesocosm: "Invoke", mine: "Played", server: ModelServer, *words: str) -> "Outcome":
    model = f"openai/reader@{server.openai_url}"
    return mesocosm("scan", "last", "--ask", "Does it refuse?", "--name", "refuses", "-m", model, *words, *mine.there)


def episodes(mine: "Played") -> "list[Episode]":
    store = open_store(mine.results)
    try:
        return list(store.episodes.list(mine.run_id).items)
    finally:
        store.close()


def test_answers_become_scores_and_labels_of_the_run_with_their_provenance(mesocosm: "Invoke", mine: "Played") -> None:
    with ModelServer(says("yes")) as server:
        outcome = scan(mesocosm, mine, server)

    assert outcome.code == 0, outcome.err
    assert "6 episodes, about" in outcome.err
    assert "scan:refuses  1.0000" in outcome.out
    assert "6/6" in outcome.out
    for episode in episodes(mine):
        (score,) = (one for one in episode.scores if one.name == "scan:refuses")
        assert score.value == 1.0
        assert score.explanation.startswith("yes · step 0 · “")
        assert episode.labels["scan:refuses"] == "yes"
    run = mine.run
    kept = run.provenance["scans"]["refuses"]
    assert (kept["question"], kept["kind"], kept["cost_usd"]) == ("Does it refuse?", "yes_no", 0.0)
    assert run.primary is not None
    assert run.primary.name != "scan:refuses"
    assert "Does it refuse?" in mesocosm("run", "show", "last", *mine.there).out
    assert "yes" in mesocosm("run", "show", "last", "--by", "scan:refuses", *mine.there).out
    assert mesocosm("verify", mine.run_id, *mine.there).code == 0


@pytest.mark.parametrize(("answer", "code"), [("yes", 1), ("no", 0)])
def test_a_gate_is_closed_by_the_share_of_an_answer(mesocosm: "Invoke", mine: "Played", answer: str, code: int) -> None:
    with ModelServer(says(answer)) as server:
        scan(mesocosm, mine, server)

    assert mesocosm("run", "watch", "last", "--fail-if", "scan:refuses>0.05", *mine.there).code == code


def test_a_scan_stays_when_the_run_is_scored_again(mesocosm: "Invoke", mine: "Played") -> None:
    with ModelServer(says("yes")) as server:
        scan(mesocosm, mine, server)

    assert mesocosm("run", "rescore", "last", *mine.there).code == 0

    assert [one.n_scored for one in mine.run.metrics if one.name == "scan:refuses"] == [6]


def test_the_same_command_again_asks_nothing_and_more_episodes_ask_only_what_is_new(
    mesocosm: "Invoke", mine: "Played"
) -> None:
    with ModelServer(says("no")) as server:
        calls = []
        for words in (("--limit", "2"), ("--limit", "2"), ()):
            assert scan(mesocosm, mine, server, *words).code == 0
            calls.append(server.served)

    assert calls == [2, 2, 6]
    assert [one.n_scored for one in mine.run.metrics if one.name == "scan:refuses"] == [6]


def test_a_limit_draws_a_random_sample_that_a_larger_one_contains_and_that_the_seed_changes(
    mesocosm: "Invoke", mine: "Played"
) -> None:
    store = open_store(mine.results)
    run = store.runs.get(mine.run_id)

    def drawn(limit: int | None, seed: int = 0) -> list[str]:
        return [str(task.input["episode"]) for task in tasks_to_scan(store, run, (), limit, seed)]

    every = drawn(None)
    samples = [drawn(limit) for limit in (1, 3, 6, 9)]
    others = {tuple(drawn(3, seed)) for seed in range(1, 20)}
    store.close()

    assert [len(one) for one in samples] == [1, 3, 6, 6]
    assert set(samples[0]) < set(samples[1]) < set(samples[2]) == set(every)
    assert all(one == [episode for episode in every if episode in one] for one in samples)
    assert len(others) > 5


@pytest.mark.parametrize(
    ("reply", "reason", "calls"),
    [
        ("I think yes", "it is not JSON", 12),
        ('{"answer": "yes", "step": 0, "quote": "never said"}', "quote not found", 12),
        ("", "it is empty", 12),
    ],
)
def test_what_does_not_count_is_not_measured_after_a_second_question(
    mesocosm: "Invoke", mine: "Played", reply: str, reason: str, calls: int
) -> None:
    with ModelServer(reply) as server:
        outcome = scan(mesocosm, mine, server)
        assert server.served == calls

    assert outcome.code == 1
    assert f"not measured: 6 of 6 ({reason} 6)" in outcome.out
    assert "--by" not in outcome.out
    assert {score.value for one in episodes(mine) for score in one.scores if score.name == "scan:refuses"} == {None}
    assert all("scan:refuses" not in one.labels for one in episodes(mine))


def test_a_second_answer_in_the_right_form_counts(mesocosm: "Invoke", mine: "Played") -> None:
    right = says("no")

    def at_second(body: Mapping[str, Any]) -> str:
        return "well" if len(body["messages"]) == 2 else right(body)

    with ModelServer(at_second) as server:
        assert scan(mesocosm, mine, server, "--limit", "1").code == 0


@pytest.mark.parametrize(("words", "context"), [(("--context", "100"), None), ((), 570)], ids=["told", "refused"])
def test_a_transcript_that_is_too_long_for_the_model_is_shortened_and_that_is_said(
    mesocosm: "Invoke", mine: "Played", words: tuple[str, ...], context: int | None
) -> None:
    """Either the user says how much fits, or the server refuses the whole one."""
    shown: list[int] = []

    def measured(body: Mapping[str, Any]) -> str:
        shown.append(sum(len(text) for _, _, text in passages(body)))
        return says("no")(body)

    with ModelServer(measured, context=context) as server:
        outcome = scan(mesocosm, mine, server, "--limit", "1", "--set", "model.max_tokens=90", *words)

    assert outcome.code == 0, outcome.err
    assert shown == [shown[0]]
    assert shown[0] <= 500
    (score,) = (score for one in episodes(mine) for score in one.scores if score.name == "scan:refuses")
    assert score.explanation.endswith("not shown to the model)")


def test_a_budget_ends_a_scan_and_keeps_what_is_done(
    mesocosm: "Invoke", mine: "Played", monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text('{"openai/reader": {"input": 1000, "output": 1000, "as_of": "2026-01-31"}}')
    monkeypatch.setenv("MESOCOSM_PRICES", str(prices))
    with ModelServer(says("yes")) as server:
        outcome = scan(mesocosm, mine, server, "--budget", "0.5", "--parallel", "1")
        first = server.served
        assert 0 < first < 6
        assert outcome.code == 3
        assert "pending" in outcome.out
        assert "the budget of $0.5000 will end it before" in outcome.err
        again = scan(mesocosm, mine, server, "--budget", "50")
        assert server.served == 6

    assert again.code == 0
    assert mine.run.provenance["scans"]["refuses"]["cost_usd"] > 0.5


def test_only_some_episodes_are_read(mesocosm: "Invoke", mine: "Played") -> None:
    with ModelServer(says("yes")) as server:
        none = scan(mesocosm, mine, server, "--where", "wrong")
        odd = scan(mesocosm, mine, server, "--where", "rong")
        assert server.served == 0

    assert (none.code, odd.code) == (2, 2)
    assert "no episode of run" in none.err
    assert "--where 'rong' is not understood" in odd.err


def test_another_question_does_not_take_over_a_name(mesocosm: "Invoke", mine: "Played") -> None:
    with ModelServer(says("yes")) as server:
        scan(mesocosm, mine, server)
        other = scan(mesocosm, mine, server, "--labels", "yes,no,perhaps")
        assert server.served == 6

    assert other.code == 2
    assert "has another question" in other.err


def test_a_dry_run_says_what_it_may_cost_and_asks_nothing(mesocosm: "Invoke", mine: "Played") -> None:
    with ModelServer(says("yes")) as server:
        outcome = scan(mesocosm, mine, server, "--dry-run")
        assert server.served == 0

    assert outcome.code == 0
    assert re.fullmatch(
        r"6 episodes, about [\d,.k]+ tokens to read and 900 to write by openai/reader@.*: free\n", outcome.out
    )


def test_a_server_that_fails_leaves_the_rest_pending_and_the_run_without_answers(
    mesocosm: "Invoke", mine: "Played"
) -> None:
    with ModelServer(says("yes"), faults=[Fault(status=401)] * 20) as server:
        outcome = scan(mesocosm, mine, server)

    assert outcome.code == 4
    assert all(one.name != "scan:refuses" for one in mine.run.metrics)


def test_people_can_be_compared_with_a_yes_or_no_and_not_with_labels(mesocosm: "Invoke", mine: "Played") -> None:
    with ModelServer(says("yes")) as server:
        scan(mesocosm, mine, server)
    with ModelServer(says("b")) as server:
        scan(mesocosm, mine, server, "--labels", "a,b", "--name", "kind")

    verdicts = PassRules([mine.run]).verdicts(episodes(mine)[0])

    assert verdicts["scan:refuses"] is True
    assert not any(name.startswith("scan:kind") for name in verdicts)


def test_the_json_has_counts_and_intervals(mesocosm: "Invoke", mine: "Played") -> None:
    with ModelServer(says("a")) as server:
        document = scan(mesocosm, mine, server, "--labels", "a,b", "--json").document

    assert document["scan"]["answers"] == ["a", "b"]
    assert (document["measured"], document["not_measured"]) == (6, {})
    assert document["metrics"]["scan:refuses.a"]["value"] == 1.0
    assert document["metrics"]["scan:refuses.a"]["n"] == 6


def test_the_right_answer_is_not_in_what_the_model_reads(mesocosm: "Invoke", tmp_path: Any) -> None:
    rows = tmp_path / "q.csv"
    rows.write_text("question,answer\nwhich bird?,CANARY\n")
    there = ("--results-dir", str(tmp_path / "results"))
    asked = ("--prompt", "{{question}}", "--grader", "exact", "-m", "builtin/empty", "--no-view")
    assert mesocosm("eval", "ask", rows, *asked, *there).code == 0
    bodies: list[str] = []

    def kept(body: Mapping[str, Any]) -> str:
        bodies.append(json.dumps(body))
        return says("no")(body)

    with ModelServer(kept) as server:
        model = f"openai/reader@{server.openai_url}"
        assert mesocosm("scan", "last", "--ask", "Is it right?", "-m", model, *there).code == 0

    assert "which bird?" in bodies[0]
    assert "CANARY" not in bodies[0]
