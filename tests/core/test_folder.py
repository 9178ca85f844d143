"""Which files of a folder count, and how."""

import os
from pathlib import Path

import pytest

from mesocosm.core import folder
from mesocosm.core.failure import UsageError
from mesocosm.core.folder import files_below
from mesocosm.store import open_store


def test_large_files_count_by_size_and_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "LARGE", 4)
    monkeypatch.setattr(folder, "_SAMPLE", 1)
    path, seen = tmp_path / "weights.bin", set()
    for content in (b"0" * 1000, b"0" * 1001, b"0" * 999 + b"1", b"1" + b"0" * 999, b"0123456789" * 100, b"12345"):
        path.write_bytes(content)
        seen.add(files_below(tmp_path)["weights.bin"])
    assert len(seen) == 6


def test_links_to_folders_are_followed(tmp_path: Path) -> None:
    (tmp_path / "suite").mkdir()
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/rules.py").write_text("A = 1")
    (tmp_path / "suite/rules").symlink_to("../shared")
    before = files_below(tmp_path / "suite")
    (tmp_path / "shared/rules.py").write_text("A = 2")
    assert list(before) == ["rules/rules.py"]
    assert files_below(tmp_path / "suite") != before


def test_a_link_that_leads_to_another_folder_is_a_change(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    link = tmp_path / "current"
    link.symlink_to("a")
    before = files_below(tmp_path)
    link.unlink()
    link.symlink_to("b")
    assert files_below(tmp_path) != before


def test_links_in_a_circle_and_pipes_hold_nothing_up(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert files_below(tmp_path) == {"inner/loop": "link to ."}


def test_a_folder_with_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "MOST_FILES", 2)
    for name in "abc":
        (tmp_path / name).touch()
    with pytest.raises(UsageError, match="more than 2 files"):
        files_below(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("fixtures/expected.xml", '<testsuites tests="1"/>'),
        ("expected.xml", '<?xml version="1.0"?>\n<testsuite name="pytest"/>'),
        ("data/example.json", '{"schema_version":"1","exported_at":"2026-01-01","visibility":"public"}'),
        ("data/samples.csv", "episode,row_index,task,trial,status,reward,passed,\n"),
        ("runs.json", '{"runs": [{"id": "01a2066e-9186-7dd9-b8f0-b9302b8baad2", "name": "a"}]}'),
        ("prompts/system.md", "Answer with one word."),
        ("prompt.md", "Answer with one word."),
        ("fixtures/server.log", "GET /"),
        ("test_cases.py", "CASES = [1, 2]"),
        ("tasks/1/README.md", "Mend this."),
    ],
)
def test_data_count_whatever_format_they_are_in(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(content)
    assert name in files_below(tmp_path)


def test_exports_beside_results_do_not_count(tmp_path: Path) -> None:
    place = tmp_path / "out"
    place.mkdir()
    open_store(place / "results.sqlite").close()
    (place / "replay.json").write_text('{"schema_version":"1","exported_at":"2026-01-01","visibility":"private"}')
    (place / "run.log").write_text("")
    assert list(files_below(tmp_path)) == ["out/run.log"]
