"""What verdicts say: the drawing of episodes, agreement with graders, and scores of the run."""

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.engine.test_grading import Strict

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import Cause, UsageError
from mesocosm.core.model import ModelSettings
from mesocosm.core.review import AskedLabel, LabelOption, Round, RoundItem, Verdict, current
from mesocosm.core.run import BenchmarkRef, Run, RunSpec
from mesocosm.core.score import Metric, Score
from mesocosm.engine.reviewing import (
    HUMAN,
    Judged,
    PassRules,
    draw,
    human_score,
    judged,
    most_disputed,
    report,
    take_as_scores,
)

if TYPE_CHECKING:
    from tests.engine.conftest import Lab

METRICS = [Metric("accuracy", "exact", primary=True), Metric("judged", "judge", "pass_rate", threshold=0.7)]
ROUND = Round(id="round", name="round")
ADA, BEN, CID = "ada", "ben", "cid"


def run_of(metrics: list[Metric] = METRICS) -> Run:
    return Run(
        id="run",
        signature="",
        benchmark="b",
        benchmark_title="",
        benchmark_version="",
        benchmark_digest="",
        kind="",
        model="",
        agent="",
        spec=RunSpec(BenchmarkRef("k", "s"), ModelSettings("m")),
        info={"metrics": msgspec.to_builtins(metrics)},
    )


def episode(number: int, exact: float | None = 1.0, judge: float | None = None, cluster: str = "") -> Episode:
    scores = (Score("exact", exact), *([] if judge is None else [Score("judge", judge)]))
    return Episode(
        str(number), "run", f"task {number}", "", scores=scores, cluster=cluster, status=EpisodeStatus.COMPLETED
    )


def says(number: int, author: str, answer: Any, **given: Any) -> Verdict:
    return Verdict(
        id=f"{author} {number} {given.get('settles')}",
        episode_id=str(number),
        author=author,
        author_name=author,
        answer=answer,
        **given,
    )


def items_of(episodes: list[Episode], verdicts: list[Verdict]) -> tuple[Judged, ...]:
    listed = [RoundItem("round", number, "run", one.id) for number, one in enumerate(episodes, 1)]
    return judged(listed, episodes, verdicts, PassRules([run_of()]))


def test_a_sample_depends_on_its_seed_alone() -> None:
    episodes = [episode(number, exact=number % 2, judge=0.9) for number in range(30)]
    passing = PassRules([run_of()])

    def drawn(seed: int, order: Any = "drawn") -> tuple[str, ...]:
        return draw(episodes, sample=10, seed=seed, order=order, passing=passing)

    assert drawn(1) == drawn(1) != drawn(2)
    assert sorted(drawn(1, "disputed")) == sorted(drawn(1))
    assert draw(episodes, sample=None, seed=1, order="drawn", passing=passing) == tuple(one.id for one in episodes)
    assert len(draw(episodes, sample=99, seed=1, order="drawn", passing=passing)) == 30


def test_disputed_episodes_come_first() -> None:
    episodes = [episode(1, 1.0, 0.9), episode(2, 1.0, 0.2), episode(3, 0.0, 0.1)]
    earlier = [says(3, ADA, "", grader="wrong"), says(3, BEN, "right")]

    found = draw(episodes, sample=None, seed=0, order="disputed", passing=PassRules([run_of()]), earlier=earlier)

    assert found == ("3", "2", "1")


@pytest.mark.parametrize(
    ("score", "passed"),
    [
        (Score("exact", 1.0), True),
        (Score("exact", 0.0), False),
        (Score("exact", 0.4), None),
        (Score("exact", None, Cause.GRADER_ERROR), None),
        (Score("exact", None, worst=True), False),
        (Score("judge", 0.71), True),
        (Score("judge", 0.7), False),
        (Score("undeclared", 1.0), True),
        (Score("undeclared", 3.0), None),
    ],
)
def test_scores_are_right_or_wrong_by_their_threshold_or_not_at_all(score: Score, passed: bool | None) -> None:
    assert PassRules([run_of()]).passed("run", score) is passed


def test_the_majority_decides_and_unsure_is_no_vote() -> None:
    verdicts = [
        *(says(1, author, answer) for author, answer in ((ADA, "right"), (BEN, "right"), (CID, "wrong"))),
        *(says(2, author, answer) for author, answer in ((ADA, "right"), (BEN, "wrong"))),
        *(says(3, author, answer) for author, answer in ((ADA, "unsure"), (BEN, "wrong"))),
        *(says(4, author, answer) for author, answer in ((ADA, "faulty"), (BEN, "faulty"))),
        says(5, ADA, "unsure"),
    ]

    found = items_of([episode(number) for number in range(1, 7)], verdicts)

    assert [item.called for item in found] == ["right", "", "wrong", "faulty", "", ""]
    assert [item.disputed for item in found] == [True, True, True, False, False, False]
    assert [item.item.number for item in most_disputed(found)][:3] == [2, 3, 1]


def test_a_settled_item_has_the_word_of_who_settled_it() -> None:
    verdicts = [says(1, ADA, "right"), says(1, BEN, "wrong"), says(1, CID, "faulty", settles=True)]

    (item,) = items_of([episode(1)], verdicts)

    assert (item.called, item.disputed, len(item.verdicts)) == ("faulty", False, 2)


def test_withdrawn_and_replaced_verdicts_do_not_count() -> None:
    first = says(1, ADA, "right")
    second = msgspec.structs.replace(first, id="2", answer="wrong", replaces=first.id)
    third = msgspec.structs.replace(second, id="3", withdrawn=True, replaces="2")

    assert current((first, second)) == (second,)
    assert current((first, second, third)) == ()


def judge_of(table: dict[tuple[float, str], int]) -> tuple[list[Episode], list[Verdict]]:
    """Return episodes and one person's verdicts with these counts by judge and person."""
    cells = [cell for cell, count in table.items() for _ in range(count)]
    episodes = [episode(number, exact=None, judge=judge) for number, (judge, _) in enumerate(cells)]
    return episodes, [says(number, ADA, answer) for number, (_, answer) in enumerate(cells)]


def test_a_judge_is_not_fit_while_the_lower_end_is_below_the_bar() -> None:
    episodes, verdicts = judge_of({(1.0, "right"): 12, (1.0, "wrong"): 5, (0.0, "right"): 2, (0.0, "wrong"): 21})

    found = report(ROUND, items_of(episodes, verdicts), PassRules([run_of()]), lambda name: (170, 400))

    (grader,) = found.graders
    assert grader.agreement is not None
    assert grader.agreement.kappa is not None
    assert grader.agreement.kappa.value == pytest.approx(0.6335, abs=1e-4)
    assert not grader.fit
    assert grader.bias is not None
    assert grader.bias.value == pytest.approx(0.075)
    assert (grader.rate, grader.primary) == (0.425, False)
    assert grader.corrected is not None
    assert grader.corrected.value == pytest.approx(0.35)
    lenient = msgspec.structs.replace(ROUND, bar=0.3)
    assert report(lenient, items_of(episodes, verdicts), PassRules([run_of()]), lambda name: None).graders[0].fit


def test_a_rate_is_corrected_only_where_the_items_are_a_random_draw() -> None:
    episodes, verdicts = judge_of({(1.0, "right"): 12, (0.0, "wrong"): 12})

    found = report(ROUND, items_of(episodes, verdicts), PassRules([run_of()]), lambda name: None)

    assert (found.graders[0].rate, found.graders[0].corrected) == (None, None)


def test_agreement_of_people_leaves_out_what_one_of_them_has_not_judged() -> None:
    episodes = [episode(number) for number in range(6)]
    verdicts = [says(number, ADA, "right" if number < 3 else "wrong") for number in range(6)]
    verdicts += [
        says(number, BEN, "unsure" if number == 0 else "right" if number < 3 else "wrong") for number in range(4)
    ]
    verdicts += [says(5, CID, "faulty")]

    found = report(ROUND, items_of(episodes, verdicts), PassRules([run_of()]), lambda name: None)

    pairs = {(pair.one, pair.other): pair.agreement for pair in found.pairs}
    assert set(pairs) == {(ADA, BEN), (ADA, CID), (BEN, CID)}
    both = pairs[ADA, BEN]
    assert both is not None
    assert (both.n, both.observed) == (3, 1.0)
    assert pairs[BEN, CID] is None
    assert found.people == {ADA: ADA, BEN: BEN, CID: CID}
    assert found.alpha is not None


def test_one_category_has_no_kappa_and_the_judge_is_not_fit() -> None:
    episodes, verdicts = judge_of({(1.0, "right"): 20})

    (grader,) = report(ROUND, items_of(episodes, verdicts), PassRules([run_of()]), lambda name: None).graders

    assert grader.agreement is not None
    assert (grader.agreement.observed, grader.agreement.kappa, grader.fit) == (1.0, None, False)


def test_what_nobody_can_tell_is_skipped_and_what_nobody_judged_has_no_score() -> None:
    verdicts = [says(1, ADA, "right"), says(2, ADA, "faulty"), says(3, ADA, "right"), says(3, BEN, "wrong")]

    found = [human_score(item) for item in items_of([episode(number) for number in range(1, 5)], verdicts)]

    assert found == [
        Score(HUMAN, 1.0, explanation="ada: right"),
        Score(HUMAN, missing=Cause.SKIPPED, explanation="ada: faulty"),
        Score(HUMAN, missing=Cause.SKIPPED, explanation="ada: right, ben: wrong"),
        None,
    ]


async def test_verdicts_become_a_metric_that_is_never_primary_and_stays(lab: "Lab") -> None:
    run = await lab.run(lab.spec(lab.model(), count=3))
    episodes = lab.episodes(run)
    listed = [RoundItem("round", number, run.id, one.id) for number, one in enumerate(episodes, 1)]
    verdicts = [
        msgspec.structs.replace(says(0, ADA, answer), episode_id=one.id, id=one.id)
        for one, answer in zip(episodes, ("right", "wrong"), strict=False)
    ]

    again = take_as_scores(run, judged(listed, episodes, verdicts, PassRules([run])), lab.store)

    human = next(metric for metric in again.metrics if metric.name == HUMAN)
    assert (human.value, human.n_scored, human.n_planned, human.primary) == (0.5, 2, 2, False)
    assert again.primary == run.primary
    assert (again.status, lab.store.verification.check_run(run.id).damages) == (run.status, ())
    assert [len(one.scores) - len(before.scores) for one, before in zip(lab.episodes(run), episodes, strict=True)] == [
        1,
        1,
        0,
    ]

    from mesocosm.engine.rescoring import remeasure, rescore

    declared = [one for one in again.terms.metrics if one.name != HUMAN]
    assert next(one for one in remeasure(again, declared, lab.store).metrics if one.name == HUMAN) == human
    graded = await rescore(lab.store.runs.get(run.id), Strict(lab.world("Walk")), lab.store)
    assert next(one for one in graded.metrics if one.name == HUMAN) == human

    none = take_as_scores(graded, judged(listed, lab.episodes(graded), [], PassRules([run])), lab.store)
    assert next(one for one in none.metrics if one.name == HUMAN).n_scored == 0


async def test_a_run_with_such_a_score_of_its_own_takes_no_verdicts(lab: "Lab") -> None:
    run = await lab.run(lab.spec(lab.model(), count=1))
    run.info = {**run.info, "metrics": [*run.info["metrics"], {"name": HUMAN, "score": "other"}]}
    lab.store.runs.save(run, terms=True)

    with pytest.raises(UsageError, match="has a score 'human' of its own"):
        take_as_scores(run, (), lab.store)


OPTIONS = (LabelOption("misread", key="q"), LabelOption("slip", key="w"))
CAUSE = AskedLabel("cause", "choice", options=OPTIONS, required="wrong")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"labels": (CAUSE, AskedLabel("cause"))}, "the name 'cause'"),
        ({"labels": (CAUSE, AskedLabel("other", key="q"))}, "the key 'q'"),
        ({"labels": (AskedLabel("other", key="1"),)}, "cannot have the key '1'"),
        ({"labels": (AskedLabel("other", "choice", options=OPTIONS[:1]),)}, "two or more"),
        ({"guide": {"perhaps": "…"}}, "explains 'perhaps'"),
    ],
)
def test_a_round_that_cannot_be_judged_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        msgspec.structs.replace(ROUND, **given).checked()


@pytest.mark.parametrize(
    ("answer", "labels", "words"),
    [
        ("", {}, "says of the answer one of right"),
        ("wrong", {}, "'cause' is required"),
        ("wrong", {"cause": "else"}, "one of misread, slip"),
        ("right", {"other": True}, "no label 'other'"),
        ("right", {"clear": 7.0}, "a number from 1 to 5"),
        ("right", {"clear": float("nan")}, "a number from"),
        ("right", {"clear": True}, "a number from"),
    ],
)
def test_a_verdict_that_says_too_little_or_else_is_refused(answer: Any, labels: Any, words: str) -> None:
    made = msgspec.structs.replace(ROUND, labels=(CAUSE, AskedLabel("clear", "number", low=1, high=5)))

    with pytest.raises(UsageError, match=words):
        made.judged(Verdict(episode_id="1", answer=answer, labels=labels))
    assert made.judged(Verdict(episode_id="1", answer="right", labels={"clear": 2})).labels == {"clear": 2.0}


def test_secrets_are_not_kept_in_what_people_write() -> None:
    key = "sk-" + "a" * 30
    said = Verdict(episode_id="1", note=f"see {key}", step=key, labels={key: True, "tag": key}).redacted()

    assert key not in repr(said)
    with pytest.raises(UsageError, match="shorten it to 10,000"):
        Verdict(episode_id="1", note="x" * 10_001).redacted()
