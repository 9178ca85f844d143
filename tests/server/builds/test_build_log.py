"""Logs of builds: bounded, and without what is not the author's to know."""

from pathlib import Path

import pytest

from mesocosm.server.builds.log import MOST, BuildLog, notes_of


@pytest.fixture
def log() -> BuildLog:
    return BuildLog(Path("/srv/data/environments/e/1"))


def test_paths_of_the_machine_are_left_out(log: BuildLog) -> None:
    log.say("File /srv/data/environments/e/1/source/adapter.py in /srv/data/environments/e/1")
    assert log.text() == "File source/adapter.py in .\n"


def test_colours_progress_bars_and_control_characters_are_left_out(log: BuildLog) -> None:
    log.hear("\x1b[31mred\x1b[0m\r\n 10%\r 20%\r100%\nbell\x07\0\n")
    assert log.text() == "red\n100%\nbell\n"


def test_passwords_of_addresses_are_left_out(log: BuildLog) -> None:
    log.say("Looking in indexes: https://me:hunter2hunter2@packages.example/index")
    assert "hunter2" not in log.text()
    assert "packages.example" in log.text()


def test_secrets_of_the_worker_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-platform-0123456789")
    log = BuildLog(Path("/srv"))
    log.say("found a-key-of-the-platform-0123456789 somewhere")
    assert "a-key-of" not in log.text()


def test_of_a_long_log_the_end_is_kept(log: BuildLog) -> None:
    for number in range(30_000):
        log.hear(f"line {number} of many words\n")
    text = log.text()
    assert len(text) < MOST + 100
    assert text.startswith("[the beginning of this log is not kept]\nline ")
    assert text.endswith("line 29999 of many words\n")


def test_one_line_without_end_is_cut_too(log: BuildLog) -> None:
    log.hear("x" * (3 * MOST))
    assert len(log.text()) < MOST + 100


def test_notes_are_found_again(log: BuildLog) -> None:
    log.say("note: something of pip")
    log.note("say `terminated`")
    assert notes_of(log.text()) == ["say `terminated`"]
