"""What an episode of verifiers means to us, from objects of the same shape as the framework's."""

from types import SimpleNamespace
from typing import Any

import pytest

from mesocosm.guests.inside import Failed
from mesocosm.guests.inside.verifiers_outcome import outcome


def reward(score: float, weight: float = 1.0) -> SimpleNamespace:
    return SimpleNamespace(score=score, weight=weight, value=score * weight)


def failure(kind: str, message: str = "no") -> SimpleNamespace:
    return SimpleNamespace(type=kind, message=message, traceback="")


def trace(**given: Any) -> SimpleNamespace:
    errors = given.pop("errors", [])
    scoring = given.pop("scoring", 0.0 if errors else 1.0)
    config = SimpleNamespace(harness=SimpleNamespace(id="null"), runtime=SimpleNamespace(type="subprocess"))
    agent = SimpleNamespace(name=given.pop("name", "agent"), trainable=given.pop("trainable", True), config=config)
    made: dict[str, Any] = {
        "rewards": {},
        "metrics": {},
        "stop_condition": "agent_completed",
        "is_timeout": False,
        "is_truncated": False,
        "num_turns": 1,
        "nodes": [],
        "last_reply": "hello",
        "info": {},
        "ok": not errors,
    }
    timing = SimpleNamespace(scoring=SimpleNamespace(start=scoring))
    last = errors[-1] if errors else None
    return SimpleNamespace(**{**made, **given}, agent=agent, errors=errors, last_error=last, timing=timing)


def ended(*traces: SimpleNamespace, **given: Any) -> dict[str, Any]:
    errors = given.pop("errors", [])
    episode = SimpleNamespace(
        traces=list(traces),
        errors=errors,
        last_error=errors[-1] if errors else None,
        is_timeout=given.pop("is_timeout", False),
        env=SimpleNamespace(id="x"),
        task=SimpleNamespace(type="T", key="k", hash="h"),
        ok=not errors and all(one.ok for one in traces),
    )
    return outcome(SimpleNamespace(complete=given.pop("complete", lambda one: one.ok)), episode)


def scores(found: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one["value"] if one["value"] is not None else one["missing"] for one in found["scores"]}


def test_the_reward_is_the_sum_of_scores_by_their_weights() -> None:
    found = ended(trace(rewards={"right": reward(0.5, 2.0), "short": reward(1.0, -0.25)}, metrics={"words": 3.0}))

    assert scores(found) == {"reward": 0.75, "right": 0.5, "short": 1.0, "words": 3.0}


def test_the_reward_comes_first_since_it_is_the_one_that_counts() -> None:
    assert ended(trace(rewards={"right": reward(1.0)}))["scores"][0]["name"] == "reward"


def test_a_reward_that_was_not_scored_makes_the_whole_missing() -> None:
    found = ended(trace(rewards={"right": reward(1.0), "late": None}))

    assert scores(found) == {"reward": "value_missing", "right": 1.0, "late": "value_missing"}


def test_a_reward_that_is_not_a_number_is_missing() -> None:
    assert scores(ended(trace(rewards={"right": reward(float("nan"))})))["reward"] == "value_unusable"


def test_an_episode_without_rewards_was_not_scored() -> None:
    assert scores(ended(trace())) == {"reward": "value_missing"}


def test_a_grader_that_raises_leaves_its_scores_missing() -> None:
    found = ended(trace(rewards={"right": None}, errors=[failure("TaskError", "scoring: x")], scoring=1.0, ok=False))

    assert found["status"] == "completed"
    assert scores(found) == {"reward": "grader_error", "right": "grader_error"}


def test_a_grader_that_is_too_slow_leaves_its_scores_missing() -> None:
    found = ended(trace(rewards={"right": None}, stop_condition="scoring_timeout", is_timeout=True))

    assert found["status"] == "timeout"
    assert scores(found)["reward"] == "grader_timeout"


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("ProviderError", "program_failed"),
        ("HarnessError", "program_failed"),
        ("SandboxError", "environment_unreachable"),
        ("ToolsetError", "environment_error"),
        ("TaskError", "environment_error"),
    ],
)
def test_a_failed_rollout_is_no_result(error: str, cause: str) -> None:
    with pytest.raises(Failed) as failed:
        ended(trace(rewards={"game": reward(0.0)}, errors=[failure(error)]))

    assert failed.value.cause == cause


def test_a_conversation_that_outgrew_the_model_is_the_fault_of_the_agent() -> None:
    with pytest.raises(Failed) as failed:
        ended(trace(errors=[failure("ProviderError", "upstream 400: context_length_exceeded")]))

    assert failed.value.cause == "context_overflow"


def test_the_failure_of_an_agent_explains_more_than_that_of_the_environment_after_it() -> None:
    with pytest.raises(Failed, match=r"^a: ProviderError"):
        ended(
            trace(name="a", errors=[failure("ProviderError")]),
            trace(name="b"),
            errors=[failure("EnvError", "no reply")],
        )


def test_an_agent_that_failed_beside_a_grader_is_no_result_either() -> None:
    graded = trace(name="a", rewards={"right": None}, errors=[failure("TaskError")], scoring=1.0, ok=False)

    with pytest.raises(Failed, match=r"^b: ProviderError"):
        ended(graded, trace(name="b", errors=[failure("ProviderError")]))


def test_an_environment_may_accept_a_failed_agent() -> None:
    lost = trace(name="rival", trainable=False, errors=[failure("HarnessError")])

    found = ended(trace(name="player", rewards={"won": reward(1.0)}), lost, complete=lambda _: True)

    assert scores(found)["reward"] == 1.0
    assert scores(found)["player.won"] == 1.0
    assert scores(found)["rival.reward"] == "value_missing"


def test_several_agents_have_scores_of_their_own_and_those_that_are_trained_count() -> None:
    found = ended(
        trace(name="a", rewards={"right": reward(1.0)}),
        trace(name="b", rewards={"right": reward(0.0)}, trainable=False),
    )

    assert scores(found) == {"reward": 1.0, "a.reward": 1.0, "a.right": 1.0, "b.reward": 0.0, "b.right": 0.0}


def test_several_rollouts_of_one_agent_are_averaged() -> None:
    assert scores(ended(trace(rewards={"right": reward(1.0)}), trace(rewards={"right": reward(0.0)})))["right"] == 0.5


def test_a_reward_called_reward_does_not_hide_the_sum() -> None:
    found = ended(trace(rewards={"reward": reward(1.0, 0.5)}, metrics={"reward": 4.0}))

    assert scores(found) == {"reward": 0.5, "rewards.reward": 1.0, "metrics.reward": 4.0}


def test_a_limit_of_the_framework_truncates_and_a_deadline_is_a_timeout() -> None:
    assert ended(trace(rewards={"r": reward(1.0)}, is_truncated=True))["status"] == "truncated"
    assert ended(trace(rewards={"r": reward(1.0)}, is_timeout=True))["status"] == "timeout"


def test_a_deadline_before_the_first_question_is_no_result() -> None:
    with pytest.raises(Failed, match="setup_timeout before the model was asked"):
        ended(trace(rewards={"r": reward(0.0)}, is_timeout=True, num_turns=0, stop_condition="setup_timeout"))


def test_the_deadline_of_an_episode_is_no_result() -> None:
    with pytest.raises(Failed) as failed:
        ended(trace(rewards={"r": reward(0.0)}), errors=[failure("TimeoutError", "exceeded")], is_timeout=True)

    assert failed.value.cause == "environment_timeout"
