"""Secrets never reach the record."""

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

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
    assert secret not in json.loads(Redactor({secret}).json(json.dumps({"x": secret}).encode()))["x"]


def test_a_secret_is_replaced_in_texts_that_quote_it() -> None:
    secret = 'line\n"quöted" \\ end'
    redactor = Redactor({secret})
    for text in (json.dumps({"x": secret}), json.dumps({"x": secret}, ensure_ascii=False), repr({"x": secret})):
        assert "ted" not in redactor.text(text).replace(MARK, "")
        assert MARK in json.loads(redactor.json(msgspec.json.encode({"body": text})))["body"]


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


@given(st.text(min_size=8), st.text(), st.text())
def test_no_known_secret_survives_and_json_stays_json(secret: str, before: str, after: str) -> None:
    encoded = msgspec.json.encode({"text": before + secret + after})
    clean = msgspec.json.decode(Redactor({secret}).json(encoded))["text"]
    assert secret not in clean.replace(MARK, "\0") or secret in MARK
