"""Question, right answer, answer and reason of an episode, as the engine records them."""

from typing import Any

import pytest

from mesocosm.core.behaviour import Behaviour
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import Boundary, Cause, Failure
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task
from mesocosm.engine.assessment import assess, kind_of

METRICS = (Metric("accuracy", "right", low=0.0, high=1.0, primary=True),)
TASK = Task("1", input="1 + 1?", target="2", reference="one and one is two")


def assessed(*scores: Score, behaviour: Behaviour | None = None, task: Task = TASK, **given: Any) -> Episode:
    status = given.pop("status", EpisodeStatus.COMPLETED)
    episode = Episode("e", "r", "t", "1", status=status, scores=scores, **given)
    assess(episode, task, METRICS, behaviour)
    return episode


def test_the_task_and_the_answer_stand_in_the_row() -> None:
    episode = assessed(Score("right", 1.0), terminal_info={"answer": "2"})
    assert (episode.input, episode.target, episode.reference, episode.answer) == (
        *("1 + 1?", "2", "one and one is two"),
        "2",
    )
    assert (episode.why, episode.mistake) == ("", "")


def test_what_the_grader_read_and_expects_goes_before_the_reply_and_the_target() -> None:
    score = Score("right", 0.0, explanation="it states 3", answer=3, expected=2, mistake="Another number")
    episode = assessed(score, terminal_info={"answer": "I say: 3"})
    assert (episode.answer, episode.target, episode.mistake) == (3, 2, "Another number")
    assert episode.why == "It states 3"
    assert episode.scores == (Score("right", 0.0, explanation="it states 3"),)


def test_without_a_word_of_the_grader_the_answers_are_compared() -> None:
    episode = assessed(Score("right", 0.0), terminal_info={"answer": "3"})
    assert (episode.why, episode.mistake) == ("It gives 3, expected 2", "Another answer")


def test_a_behaviour_says_more_than_the_comparison() -> None:
    episode = assessed(Score("right", 0.0), behaviour=Behaviour.REFUSED, terminal_info={"answer": "I must decline."})
    assert (episode.why, episode.mistake) == (
        "The model refused to answer: I must decline.",
        "The model refused to answer",
    )
    assert episode.behaviour == "refused"


def test_the_sentence_of_the_grader_is_grouped_by_the_behaviour() -> None:
    episode = assessed(Score("right", 0.0, explanation="no number"), behaviour=Behaviour.GAVE_UP)
    assert episode.why == "No number"
    assert episode.mistake == "The model gave up"


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        (Behaviour.REFUSED, "The model refused to answer: I can't."),
        (Behaviour.EMPTY, "The last reply is empty; SyntaxError: invalid character"),
        (Behaviour.CUT_OFF, "The last reply was cut off at its limit of tokens; SyntaxError: invalid character"),
    ],
)
def test_a_reply_that_is_no_whole_answer_goes_before_what_follows_from_it(behaviour: Behaviour, why: str) -> None:
    score = Score("right", 0.0, explanation="SyntaxError: invalid character", mistake="Raises SyntaxError")
    episode = assessed(score, behaviour=behaviour, terminal_info={"answer": "I can't."})
    assert episode.why == why
    assert why.startswith(episode.mistake)


def test_the_agents_failure_is_its_own_reason() -> None:
    failure = Failure(Cause.MALFORMED_ACTION, Boundary.AGENT, "no action in 3 replies")
    episode = assessed(Score("right", worst=True), status=EpisodeStatus.FAILED, failure=failure)
    assert (episode.why, episode.mistake) == ("no action in 3 replies", "malformed action")


def test_an_error_is_no_wrong_answer() -> None:
    failure = Failure(Cause.SANDBOX_FAILED, Boundary.SANDBOX, "no space")
    episode = assessed(Score("right", missing=Cause.SANDBOX_FAILED), status=EpisodeStatus.FAILED, failure=failure)
    assert (episode.why, episode.mistake) == ("", "")


@pytest.mark.parametrize(
    ("given", "why", "mistake"),
    [
        (
            {"status": EpisodeStatus.TRUNCATED, "steps": 9},
            "It was not done after 9 steps, the most allowed",
            "Used up its steps",
        ),
        (
            {"status": EpisodeStatus.TIMEOUT, "steps": 1},
            "It was not done when its time was up, after 1 step",
            "Used up its time",
        ),
        (
            {"steps": 2, "terminal_info": {"reason": "fell_off"}},
            "It ended after 2 steps with right 0: fell off",
            "fell off",
        ),
        ({"steps": 2}, "It ended after 2 steps with right 0", "Ended without success"),
    ],
)
def test_an_environment_without_words_says_how_it_ended(given: dict[str, Any], why: str, mistake: str) -> None:
    episode = assessed(Score("right", 0.0), task=Task("7", seed=7), **given)
    assert (episode.why, episode.mistake) == (why, mistake)


def test_a_part_of_the_full_score_has_a_reason_too() -> None:
    assert assessed(Score("right", 0.5, explanation="half")).why == "Half"


def test_a_pass_has_none_whatever_its_value() -> None:
    rate = (Metric("rate", "right", "pass_rate", threshold=0.4, primary=True),)
    episode = Episode("e", "r", "t", "1", status=EpisodeStatus.COMPLETED, scores=(Score("right", 0.5),))
    assess(episode, TASK, rate, None)
    assert episode.why == ""


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("it states 4, expected 18", "it states …, expected …"),
        ("parameter 'unit' is 'metres'", "parameter … is …"),
        ("don't use 3 eggs", "don't use … eggs"),
        ("'5' is not '7'", "Another answer"),
        ("row_2 is missing", "row_2 is missing"),
        ("[1, 2, 3] is too long", "[…] is too long"),
    ],
)
def test_like_sentences_are_of_one_kind(sentence: str, kind: str) -> None:
    assert kind_of(sentence) == kind


def test_what_an_environment_calls_answer_is_not_the_answer_given() -> None:
    info = {"answer": "the word to guess", "guesses": 7, "found": False, "total_tokens": 90}
    episode = assessed(Score("right", 0.0), task=Task("7", seed=7), steps=7, terminal_info=info)
    assert episode.answer is None
    assert episode.why == "It ended after 7 steps with right 0 (guesses 7, found false)"
    assert episode.mistake == "Ended with found false"
