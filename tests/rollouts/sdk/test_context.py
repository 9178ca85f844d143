"""Contexts: what surrounds a rollout, and what workflow and grader are given."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from mesocosm.rollouts.sdk.context import (
    AgentWorkflowContext,
    GraderContext,
    RolloutContext,
    SampleSource,
    get_rollout_context,
    joined,
)
from mesocosm.rollouts.sdk.sample import RolloutSample


class Unnamed(SampleSource):
    async def get_sample(self) -> RolloutSample:
        return RolloutSample(messages=[{"role": "assistant", "content": "new"}])


class Named(SampleSource):
    async def get_sample(self, name: str = "") -> RolloutSample:
        return RolloutSample(messages=[{"role": "assistant", "content": name}], metrics={"turns": 1})


def test_entering_publishes_and_leaving_leaves_none() -> None:
    outer, inner = RolloutContext(rollout_id="outer"), RolloutContext(rollout_id="inner")
    with outer:
        assert get_rollout_context() is outer
        with inner:
            assert get_rollout_context() is inner
        assert get_rollout_context() is None


def test_empty_values_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSMOSIS_CHAT_COMPLETIONS_URL", "http://model/v1")
    monkeypatch.setenv("OSMOSIS_API_KEY", "key")
    monkeypatch.setenv("OSMOSIS_ROLLOUT_ID", "r1")
    context = RolloutContext()
    assert (context.chat_completions_url, context.api_key, context.rollout_id) == ("http://model/v1", "key", "r1")
    assert RolloutContext(chat_completions_url="http://own").chat_completions_url == "http://own"


async def test_a_second_sample_source_is_refused() -> None:
    context = RolloutContext()
    assert await context.get_sample() is None
    context.set_sample_source(Unnamed())
    with pytest.raises(ValueError, match="already"):
        context.set_sample_source(Unnamed())
    sample = await context.get_sample()
    assert sample is not None
    assert sample.messages[0]["content"] == "new"


async def test_named_sources_hear_their_name_where_they_take_it() -> None:
    context = RolloutContext()
    context.register_sample_source("solver", Named())
    context.register_sample_source("critic", Unnamed())
    with pytest.raises(ValueError, match="solver"):
        context.register_sample_source("solver", Named())
    samples = await context.get_samples()
    assert [(name, sample.id) for name, sample in samples.items()] == [("solver", "solver"), ("critic", "critic")]
    assert samples["solver"].messages[0]["content"] == "solver"


def test_several_samples_become_one_with_the_mean_of_the_rewards_that_are_set() -> None:
    one = joined(
        [
            RolloutSample(id="a", messages=[{"n": 1}], reward=1.0, metrics={"turns": 2}),
            RolloutSample(id="b", messages=[{"n": 2}], reward=0.0),
            RolloutSample(id="c", messages=[{"n": 3}]),
            RolloutSample(id="d", reward=9.0, remove_sample=True),
        ]
    )
    assert one is not None
    assert one.reward == 0.5
    assert [message["n"] for message in one.messages] == [1, 2, 3]
    assert one.metrics["a.turns"] == 2
    assert not one.remove_sample


def test_samples_that_are_all_removed_are_removed_as_one() -> None:
    one = joined([RolloutSample(id=name, remove_sample=True) for name in "ab"])
    assert one is not None
    assert one.remove_sample
    assert one.reward is None


@pytest.mark.parametrize(("given", "reward"), [(1, 1.0), (True, 1.0), ("0.5", 0.5), (b"1", 1.0), (None, None)])
def test_a_reward_is_made_a_number(given: Any, reward: float | None) -> None:
    context = GraderContext(sample=RolloutSample())
    context.set_reward(given)
    assert context.sample is not None
    assert context.sample.reward == reward


@pytest.mark.parametrize("given", ["x", float("nan"), float("inf"), [1.0]])
def test_a_reward_that_is_none_is_refused(given: Any) -> None:
    with pytest.raises(ValidationError):
        GraderContext(sample=RolloutSample()).set_reward(given)


def test_without_a_sample_there_is_nothing_to_reward_or_score() -> None:
    with pytest.raises(ValueError, match="no sample"):
        GraderContext().set_reward(1)
    with pytest.raises(ValueError, match="clarity"):
        GraderContext().set_score("clarity", 1)


def test_named_scores_are_metrics_of_the_sample() -> None:
    context = GraderContext(sample=RolloutSample(metrics={"turns": 3}))
    context.set_score("clarity", "0.5")
    assert context.sample is not None
    assert context.sample.metrics == {"turns": 3, "clarity": 0.5}
    for bad in (float("nan"), "x"):
        with pytest.raises(ValidationError):
            context.set_score("clarity", bad)
    with pytest.raises(ValueError, match="name"):
        context.set_score("", 1)


def test_older_graders_reward_samples_by_name() -> None:
    sample = RolloutSample(id="solver")
    context = GraderContext(sample=sample)
    assert context.get_samples() == {"solver": sample}
    context.set_sample_reward("solver", 0.25)
    assert sample.reward == 0.25
    with pytest.raises(ValueError, match="solver"):
        context.set_sample_reward("other", 1)


def test_the_folder_for_files_is_made_when_it_is_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "artifacts"
    context: AgentWorkflowContext[Any] = AgentWorkflowContext([], artifacts_dir=folder)
    assert not folder.exists()
    assert context.artifacts_dir == folder
    assert folder.is_dir()
    assert GraderContext().artifacts_dir is None


@pytest.mark.parametrize("broken", ["a file is in its way", "it may not be written"])
def test_without_a_folder_that_can_be_written_no_files_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    if broken == "a file is in its way":
        (tmp_path / "deep").write_text("")
    else:
        monkeypatch.setattr("os.access", lambda *_: False)
    context: AgentWorkflowContext[Any] = AgentWorkflowContext([], artifacts_dir=tmp_path / "deep" / "artifacts")
    assert (context.artifacts_dir, context.artifacts_dir) == (None, None)
    assert caplog.text.count("no files are kept") == 1
