"""The failure table and the messages of errors."""

import msgspec
import pytest

from mesocosm.core.failure import (
    RULES,
    Boundary,
    Cause,
    EpisodeError,
    InfrastructureError,
    InvalidInput,
    MesocosmError,
    Problem,
    RunAborted,
    RunLeased,
    UnknownName,
    UsageError,
)


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_has_a_rule(cause: Cause) -> None:
    assert RULES[cause].boundary in Boundary


@pytest.mark.parametrize("cause", Cause)
def test_no_cause_has_two_consequences(cause: Cause) -> None:
    rule = RULES[cause]
    assert rule.valid + rule.fatal + rule.pending <= 1


@pytest.mark.parametrize("cause", Cause)
def test_only_what_the_agent_did_counts_against_it(cause: Cause) -> None:
    rule = RULES[cause]
    if rule.valid:
        assert rule.boundary is Boundary.AGENT


@pytest.mark.parametrize("cause", Cause)
def test_only_model_calls_are_repeated(cause: Cause) -> None:
    # Steps of an environment must not happen twice, and a grader that failed would fail again.
    if RULES[cause].retried:
        assert RULES[cause].boundary is Boundary.MODEL


def test_invalid_input_lists_every_problem_with_path_and_remedy() -> None:
    error = InvalidInput(
        "manifest m.json",
        [Problem("binding_vow.tier", "is missing", "write tier1"), Problem("", "is no object"), Problem("a[1]", "no")],
    )
    assert str(error) == (
        "manifest m.json: 3 problems\n  binding_vow.tier: is missing\n      → write tier1\n  is no object\n  a[1]: no"
    )
    assert error.problems[0].path == "binding_vow.tier"


def test_one_problem_is_not_plural() -> None:
    assert str(InvalidInput("m", [Problem("a", "b")])).splitlines()[0] == "m: 1 problem"


@pytest.mark.parametrize(
    ("error", "code"),
    [(UsageError, 2), (UnknownName, 2), (InvalidInput, 2), (InfrastructureError, 4), (RunLeased, 4), (RunAborted, 4)],
)
def test_exit_codes_tell_who_must_act(error: type[MesocosmError], code: int) -> None:
    assert error.exit_code == code


def test_a_failure_keeps_the_words_of_the_other_side() -> None:
    failure = EpisodeError(Cause.ENVIRONMENT_ERROR, "POST /step: status 500", detail="body", stderr="tail").failure()
    assert failure.boundary is Boundary.ENVIRONMENT
    assert (failure.cause, failure.message) == (Cause.ENVIRONMENT_ERROR, "POST /step: status 500")
    assert (failure.detail, failure.stderr) == ("body", "tail")


def test_being_rate_limited_is_an_overload_by_itself() -> None:
    assert EpisodeError(Cause.RATE_LIMITED, "429").overload
    assert not EpisodeError(Cause.MODEL_UNAVAILABLE, "500").overload
    assert EpisodeError(Cause.MODEL_UNAVAILABLE, "503", overload=True).overload


def test_a_failure_can_always_be_written_as_json() -> None:
    error = EpisodeError(Cause.AGENT_ERROR, "file \udcff", detail="in \udcff", stderr="\udcff")
    written = msgspec.json.encode(error.failure())
    assert b"file \\\\udcff" in written


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("\x1b[31mred\x1b[0m\r\nnext\tcell", "red\nnext\tcell"),
        ("\x1b]0;title\x07 over\r", "\\x1b]0;title\\x07 over\\x0d"),
        ("half \ud800", "half \\ud800"),
        ("ein Wort – 語", "ein Wort – 語"),
    ],
)
def test_no_terminal_obeys_what_foreign_code_said(said: str, shown: str) -> None:
    failure = EpisodeError(Cause.WORKFLOW_FAILED, said, detail=said, stderr=said).failure()
    assert (failure.message, failure.detail, failure.stderr) == (shown, shown, shown)
