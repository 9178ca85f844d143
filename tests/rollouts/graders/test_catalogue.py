"""Ready-made graders by name, with their options, as graders of the SDK."""

from typing import Any

import pytest

from mesocosm.core.failure import InvalidInput, UnknownName, UsageError
from mesocosm.core.registry import GRADERS
from mesocosm.rollouts.graders import NAMES
from mesocosm.rollouts.graders.catalogue import grader_class, open_grader
from mesocosm.rollouts.graders.numeric import NumericGrader
from mesocosm.rollouts.sdk.config import GraderConfig
from mesocosm.rollouts.sdk.context import GraderContext
from mesocosm.rollouts.sdk.sample import RolloutSample
from mesocosm.rollouts.sdk.workflow import Grader

NEEDED: dict[str, dict[str, Any]] = {
    "regex": {"match": "a"},
    "json_schema": {"equals_label": True},
    "judge": {"rubric": "r"},
}


@pytest.mark.parametrize("use", NAMES)
def test_every_name_opens_a_grader(use: str) -> None:
    assert isinstance(open_grader(use, NEEDED.get(use, {})), Grader)


@pytest.mark.parametrize(
    ("use", "name"), [("json-schema", "json_schema"), ("Numeric", "numeric"), ("normalized", "normalised")]
)
def test_names_may_be_spelled_otherwise(use: str, name: str) -> None:
    assert grader_class(use) is grader_class(name)


@pytest.mark.parametrize(
    ("use", "said"), [("numerik", "did you mean 'numeric'"), ("os:system", "no grader is called 'os:system'")]
)
def test_an_unknown_name_gets_a_suggestion_and_a_reference_is_not_imported(use: str, said: str) -> None:
    with pytest.raises(UnknownName, match=said):
        open_grader(use, {})


def test_a_plug_in_adds_a_grader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GRADERS, "_own", {})
    GRADERS.register("nearly")(NumericGrader)
    GRADERS.register("no-grader")(GraderContext)
    assert grader_class("Nearly") is NumericGrader
    with pytest.raises(UnknownName, match="did you mean 'nearly'"):
        open_grader("neary", {})
    with pytest.raises(UsageError, match="no subclass of"):
        open_grader("no_grader", {})


def test_all_problems_of_options_are_told_together() -> None:
    with pytest.raises(InvalidInput) as caught:
        open_grader("numeric", {"tolerance": -1, "relative": "much", "afer": "A:", "max_chars": 0})
    found = {problem.path: problem.message for problem in caught.value.problems}
    assert sorted(found) == ["afer", "max_chars", "relative", "tolerance"]
    assert "did you mean 'after'" in found["afer"]
    assert found["relative"] == 'must be a valid number, not the string "much"'
    with pytest.raises(InvalidInput) as caught:
        open_grader("judge", {})
    assert [str(problem) for problem in caught.value.problems] == ["rubric: is required, but missing"]


@pytest.mark.parametrize(
    ("use", "options", "said"),
    [
        ("regex", {"match": "("}, "not a regular expression"),
        ("regex", {"match": ".*"}, "accepts any answer"),
        ("regex", {"match": "{label}|.*"}, "accepts any answer"),
        ("regex", {"match": "{label}?", "anywhere": True}, "accepts any answer"),
        ("regex", {"match": r"\w+", "anywhere": True}, "accepts any answer"),
        ("regex", {"match": ".{3,}"}, "accepts any answer"),
        ("regex", {"match": "a", "group": 1}, "none with number 1"),
        ("regex", {"match": "a", "group": "n"}, "no group called 'n'"),
        ("regex", {}, "required"),
        ("exact", {"pattern": "["}, "not a regular expression"),
        ("choice", {"letters": "AAB"}, "different letters"),
        ("json_schema", {}, "any JSON would do"),
        ("json_schema", {"schema": {}}, "accepts anything"),
        ("json_schema", {"schema": {"type": "array", "uniqueItems": True}}, "'uniqueItems' is not checked"),
        ("json_schema", {"schema": {"properties": {"a": {"not": {}}}}}, "schema.properties.a"),
        ("json_schema", {"schema": {"type": "string", "pattern": "(a+)+$"}}, "would not be checked"),
        ("json_schema", {"schema": {"$ref": "http://x"}}, "outside the schema"),
        ("json_schema", {"schema": {"type": "object"}, "schema_from": "s"}, "not both"),
        ("json_schema", {"schema": {"type": "object"}, "reward": "share"}, "equals_label"),
        ("code", {"entry_point": "no name"}, "pattern"),
        ("judge", {"rubric": "r", "score_min": 2, "score_max": 1}, "below score_max"),
    ],
)
def test_options_that_cannot_work_are_refused(use: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        open_grader(use, options)


async def reward(grader: Grader, reply: str, label: str | None = "#### 42") -> float | None:
    context = GraderContext(label=label, sample=RolloutSample(messages=[{"role": "assistant", "content": reply}]))
    await grader.grade(context)
    assert context.sample is not None
    return context.sample.reward


async def test_options_are_given_by_name_or_as_a_configuration() -> None:
    assert await reward(NumericGrader(label_after="####"), "42") == 1.0
    assert await reward(NumericGrader(NumericGrader.Config(label_after="####")), "42") == 1.0
    assert (
        await reward(NumericGrader(GraderConfig.model_validate({"name": "mine", "label_after": "####"})), "42") == 1.0
    )


async def test_a_subclass_of_mine_may_have_its_own_options() -> None:
    class Mine(NumericGrader):
        def __init__(self, config: GraderConfig | None = None) -> None:
            super().__init__(config, label_after="####", tolerance=0.5)

    assert await reward(Mine(), "42.3") == 1.0


async def test_a_grader_leaves_reward_scores_and_explanation() -> None:
    context = GraderContext(
        label="Paris France", sample=RolloutSample(messages=[{"role": "assistant", "content": "Paris"}])
    )
    await open_grader("normalised", {}).grade(context)
    assert context.sample is not None
    assert context.sample.reward == 0.0
    assert context.sample.metrics == {"f1": pytest.approx(2 / 3)}
    assert context.sample.extra_fields["explanation"] == "'paris' is not 'paris france'"


async def test_a_row_without_a_label_has_no_reward() -> None:
    with pytest.raises(ValueError, match="nothing to compare"):
        await reward(open_grader("exact", {}), "Paris", None)


async def test_without_a_sample_there_is_nothing_to_grade() -> None:
    with pytest.raises(ValueError, match="no sample"):
        await open_grader("exact", {}).grade(GraderContext(label="x"))
