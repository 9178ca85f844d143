"""Secrets never reach the record."""

import json
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import Boundary, Cause, Failure
from mesocosm.core.message import Message
from mesocosm.core.redact import MARK, Redactor, secret_values


def test_values_of_secret_variables_are_found_by_their_names() -> None:
    environment = {
        "OPENAI_API_KEY": "value-of-the-key",
        "DB_PASSWORD": "correct horse battery",
        "GITHUB_TOKEN": "token-token-token",
        "HOME": "/home/somebody",
        "KEYBOARD": "qwertyuiop",
        "API_KEY": "short",
    }
    assert secret_values(environment) == {"value-of-the-key", "correct horse battery", "token-token-token"}


def test_a_known_secret_is_replaced_wherever_it_stands() -> None:
    redactor = Redactor({"hunter2-hunter2"})
    assert redactor.text("the password is hunter2-hunter2, keep it") == f"the password is {MARK}, keep it"


def test_a_secret_that_json_escapes_is_replaced_too() -> None:
    secret = 'line\n"quoted" \\ end'
    assert secret not in Redactor({secret}).value({"x": secret})["x"]


def test_a_secret_is_replaced_in_texts_that_quote_it() -> None:
    secret = 'line\n"quöted" \\ end'
    redactor = Redactor({secret})
    for text in (json.dumps({"x": secret}), json.dumps({"x": secret}, ensure_ascii=False), repr({"x": secret})):
        assert "ted" not in redactor.text(text).replace(MARK, "")
        assert MARK in redactor.value({"body": text})["body"]


def test_credentials_are_known_by_their_shape() -> None:
    redactor = Redactor(())
    for secret in (
        "sk-" + "abcdEFGH1234" * 3,
        "ghp_" + "a1B2" * 9,
        "AKIA" + "ABCDEFGH12345678",
        "xoxb-" + "1234567890-abc",
    ):
        assert secret not in redactor.text(f"header: {secret}!")


def test_ordinary_words_that_end_like_a_prefix_stay() -> None:
    text = "risk-adjusted-returns-of-the-portfolio and task-scheduling-algorithms-2024"
    assert Redactor(()).text(text) == text


def test_a_value_without_secrets_is_returned_as_it_is() -> None:
    value = {"a": [1, "two"]}
    assert Redactor({"something-else"}).value(value) is value


def test_a_credential_inside_a_word_does_not_hide_a_known_secret_behind_it() -> None:
    secret = "correct-horse-battery"
    assert secret not in Redactor({secret}).text(f"risk-{'a' * 20}{secret}")


def test_keys_that_differ_in_a_secret_alone_stay_two_keys() -> None:
    clean = Redactor({"hunter", "correct"}).value({"by hunter": 1, "by correct": 2, f"by {MARK}": 3})
    assert sorted(clean.values()) == [1, 2, 3]


def test_a_struct_keeps_its_words_and_fields() -> None:
    failure = Failure(Cause.MODEL_INVALID, Boundary.MODEL, "the model said: cause model_invalid")
    clean = Redactor({"model", "cause", "model_invalid"}).value(failure)
    assert (clean.cause, clean.boundary) == (failure.cause, failure.boundary)
    assert clean.message == f"the {MARK} said: {MARK} {MARK}"


def test_a_secret_deep_inside_is_found() -> None:
    deep: Any = "hunter2"
    for _level in range(600):
        deep = {"in": deep}
    line = msgspec.json.encode(Event(0, 0, 1.0, Kind.OBSERVATION, {"data": deep}))
    assert b"hunter2" not in Redactor({"hunter2"}).events(line)


def test_the_digest_of_stored_content_stays_and_one_that_is_a_secret_does_not() -> None:
    reference = {"$blob": "0123456789abcdef" * 2, "bytes": 20_000}
    line = msgspec.json.encode(Event(0, 0, 1.0, Kind.OBSERVATION, {"data": reference}))
    assert Redactor({"b", "1"}).events(line) == line
    assert b"0123456789abcdef" not in Redactor({str(reference["$blob"])}).events(line)


class Slot(str):
    """A string that came from outside, in a record that is otherwise ours."""

    __slots__ = ()


def _contents(said: Callable[[str], Any]) -> list[tuple[Kind, dict[str, Any]]]:
    """Return a payload of every kind; `said` makes what stands in the places of foreign content."""
    failure = {"cause": "model_invalid", "boundary": "model", "message": said("a"), "detail": said("b")}
    usage = {"prompt": 12, "completion": 3, "cost_usd": 0.5}
    call = {"id": said("c"), "name": said("d"), "arguments": {"n": 17, "s": said("e")}}
    parts = [{"type": "text", "text": said("f")}, {"type": "image", "media_type": said("x"), "data": said("g")}]
    info = {"total_tokens": 15, "reason": "step_limit", "answer": said("h"), "judge_failed": failure}
    return [
        (Kind.EPISODE_START, {"seed": 7, "task": said("i"), "trial": 0}),
        (Kind.OBSERVATION, {"data": said("j"), "content_type": "text/html"}),
        (Kind.MESSAGE, {"index": 0, "role": "user", "content": said("k")}),
        (Kind.MESSAGE, {"index": 1, "role": "assistant", "content": parts, "tool_calls": [call]}),
        (Kind.MODEL_CALL, {"model": said("l"), "messages": [[0, 1]], "usage": usage, "finish_reason": "stop"}),
        (Kind.ACTION, {"action": {"n": 1.5, "yes": True, "none": None}, "reasoning": said("m")}),
        (Kind.TOOL_CALL, call),
        (Kind.STEP_RESULT, {"reward": 1.0, "terminated": True, "truncated": False, "info": info}),
        (Kind.RETRY, {"cause": "rate_limited", "message": said("n"), "wait_s": 0.5, "try": 1}),
        (Kind.ERROR, failure),
        (Kind.LOG, {"stream": "stderr", "message": said("o")}),
        (Kind.WARNING, {"message": said("p")}),
        (Kind.EPISODE_END, {"total_reward": 1.0, "steps": 1, "status": "completed", "terminal_info": info}),
    ]


def _alike(before: Any, after: Any, said: Callable[[str], None]) -> bool:
    """Return whether two values are equal but for contents, which are handed to `said`."""
    if isinstance(before, Slot):
        said(after)
        return True
    if isinstance(before, dict):
        if len(before) != len(after):
            return False
        if before.keys() != after.keys():
            # A foreign object: its keys are content, in their order.
            for key in after:
                said(key)
            return all(_alike(a, b, said) for a, b in zip(before.values(), after.values(), strict=True))
        return all(_alike(before[key], after[key], said) for key in before)
    if isinstance(before, list):
        return len(before) == len(after) and all(_alike(a, b, said) for a, b in zip(before, after, strict=True))
    return bool(before == after)


_WORDS = st.sampled_from(
    [
        *(
            '"',
            "{",
            "}",
            "[",
            ":",
            ",",
            "\\",
            "\n",
            "null",
            "true",
            "false",
            "0",
            "1",
            "12",
            "-",
            ".",
            "e",
            "r",
            " ",
            "'",
        ),
        *("redacted", "[redacted]", "reward", "kind", "payload", "message", "role", "user", "type", "text", "cause"),
        *("model", "seq", "observation", "completed", "model_invalid", "$blob", "█", "é", "\u2028", "\\u00e9"),
    ]
)
_SECRETS = st.one_of(
    _WORDS,
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=100),
)


@given(st.lists(_SECRETS, min_size=1, max_size=3), st.data())
def test_with_any_secret_a_record_stays_readable_and_the_secret_is_gone_from_its_contents(
    secrets: list[str], data: st.DataObject
) -> None:
    around = st.one_of(st.sampled_from(secrets), _WORDS, st.text(st.characters(exclude_categories=["Cs"]), max_size=5))

    def said(name: str) -> Slot:
        return Slot(name + "".join(data.draw(st.lists(around, max_size=4))))

    events = [Event(seq, 1, 1.25e9, kind, payload) for seq, (kind, payload) in enumerate(_contents(said))]
    redactor = Redactor(secrets)
    written = [msgspec.json.encode(event, enc_hook=str) for event in events]
    lines = redactor.events(b"\n".join(written)).split(b"\n")
    found: list[str] = []
    for before, line in zip(events, lines, strict=True):
        after = msgspec.json.decode(line, type=Event)
        assert (after.seq, after.step, after.at, after.kind) == (before.seq, before.step, before.at, before.kind)
        assert _alike(before.payload, after.payload, found.append)
        if after.kind is Kind.MESSAGE:
            msgspec.convert({key: item for key, item in after.payload.items() if key != "index"}, Message)
        if after.kind is Kind.ERROR:
            msgspec.convert(after.payload, Failure)
    for text in found:
        assert not any(secret in text for secret in secrets)


@given(st.lists(_SECRETS, min_size=1, max_size=3), st.dictionaries(st.text(max_size=8), st.text(max_size=8)))
def test_no_secret_stays_in_the_keys_of_foreign_objects(secrets: list[str], foreign: dict[str, str]) -> None:
    given_ = {**foreign, **{f"{secret}{place}": secret for place, secret in enumerate(secrets)}}
    clean = Redactor(secrets).value(given_)
    assert len(clean) == len(given_)
    assert not any(secret in text for secret in secrets for pair in clean.items() for text in pair)


SHAPES = re.compile(
    rb"(?<![A-Za-z0-9])(?:sk-[A-Za-z0-9_\-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}"
    rb"|gsk_[A-Za-z0-9]{20,}|hf_[A-Za-z0-9]{30,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_\-]{35}|xox[abprs]-[A-Za-z0-9\-]{10,}"
    rb"|eyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}"
    rb"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----)",
    re.DOTALL,
)
"""What looks like a credential, as one pattern: simple, and quadratic in hostile texts."""
PIECES = (
    *("sk-", "ghp_", "github_pat_", "gsk_", "hf_", "AKIA", "AIza", "xoxb-", "eyJ", ".eyJ", ".", "-", " ", "x", "\n"),
    *("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "-----BEGIN ", "-----END "),
    *("A" * 10, "a1" * 18, "Z" * 16, "secret-value-1"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_whatever_looks_like_a_credential_is_hidden_wherever_it_stands(text: str) -> None:
    redactor = Redactor({"secret-value-1"})
    clean = redactor.text(text)
    assert SHAPES.search(clean.encode()) is None
    assert "secret-value-1" not in clean
    if SHAPES.search(text.encode()) is None and "secret-value-1" not in text:
        assert clean == text
    event = {"seq": 0, "step": 0, "at": 0.0, "kind": "log", "payload": {"text": text}}
    (line,) = redactor.events(msgspec.json.encode(event)).splitlines()
    assert msgspec.json.decode(line)["payload"]["text"] == clean


@pytest.mark.parametrize("before", ["\n", "\t", '"', " ", "\\n", "\u000b"])
def test_a_credential_at_the_beginning_of_a_line_is_hidden_in_events(before: str) -> None:
    event = {"seq": 0, "step": 0, "at": 0.0, "kind": "log", "payload": {"text": f"a{before}sk-{'k' * 24}"}}
    line = Redactor(()).events(msgspec.json.encode(event))
    assert msgspec.json.decode(line)["payload"]["text"] == f"a{before}[redacted]"


@pytest.mark.parametrize(
    "unit", ["-----BEGIN PRIVATE KEY-----", "-eyJ", "eyJaaaaaaaaaaa.", ".eyJ", "sk-", "sk- ", "xoxb- ", "-----END "]
)
def test_hostile_texts_are_read_in_time_that_grows_with_their_length_alone(unit: str) -> None:
    # In quadratic time each would take an hour.
    text = unit * (2_000_000 // len(unit)) + " secret-value-1 -----END X-----"
    assert "secret-value-1" not in Redactor({"secret-value-1"}).text(text)
