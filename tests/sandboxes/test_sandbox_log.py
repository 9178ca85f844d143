"""The tail of an output stream."""

from pathlib import Path

import pytest

from mesocosm.core.secret import without_secrets
from mesocosm.sandboxes.log import Log


def test_only_the_last_lines_are_returned() -> None:
    log = Log()
    log.write(b"one\ntwo\n")
    log.write(b"thr")
    log.write(b"ee\n")
    assert log.text(2) == "two\nthree"
    assert log.text(0) == ""


def test_an_empty_log_has_no_lines() -> None:
    assert Log().text() == ""


def test_memory_is_bounded_and_no_half_line_is_shown() -> None:
    log = Log(tail=100)
    for number in range(10_000):
        log.write(b"line %06d\n" % number)
    assert len(log._bytes) <= 300
    lines = log.text(1000).splitlines()
    assert lines[-1] == "line 009999"
    assert all(len(line) == 11 for line in lines)
    assert 5 < len(lines) <= 9


def test_one_write_larger_than_the_tail_keeps_its_end() -> None:
    log = Log(tail=10)
    log.write(b"x" * 1000 + b"\nend\n")
    assert log.text() == "end"


def test_a_single_endless_line_is_shown_by_its_end() -> None:
    log = Log(tail=10)
    log.write(b"x" * 1000 + b"end")
    assert log.text() == "xxxxxxxend"


def test_a_progress_bar_counts_as_its_last_state() -> None:
    log = Log()
    log.write(b"start\r\n 10%\r 50%\r100%\nend\n")
    assert log.text() == "start\n100%\nend"


def test_a_character_cut_in_two_writes_is_whole() -> None:
    log = Log()
    log.write("ü".encode()[:1])
    log.write("ü".encode()[1:])
    assert log.text() == "ü"


def test_a_disk_that_is_full_does_not_disturb(tmp_path: Path) -> None:
    path = tmp_path / "full"
    path.symlink_to("/dev/full")
    log = Log(path)
    log.write(b"words\n")
    assert log.text() == "words"


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("PATH", "/bin", True),
        ("TOKENIZERS_PARALLELISM", "true", True),
        ("KEYBOARD", "us", True),
        ("HTTPS_PROXY", "http://user:pass@proxy", True),
        ("HOMEPAGE", "https://example.test/a:b", True),
        ("OPENAI_API_KEY", "x", False),
        ("aws_secret_access_key", "x", False),
        ("HF_TOKEN", "x", False),
        ("PGPASSWORD", "x", False),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/k.json", False),
        ("SSH_AUTH_SOCK", "/s", False),
        ("DATABASE_URL", "postgresql://user:pass@host/db", False),
    ],
)
def test_credentials_are_recognised(name: str, value: str, kept: bool) -> None:
    assert (name in without_secrets({name: value})) is kept
