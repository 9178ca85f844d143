"""Wrong input: the exit code, what the message names, and that nothing is half written."""

import json
from pathlib import Path

import pytest

from mesocosm.cli.main import call


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Run a command that must fail and return its code and what it said on stderr."""
    code = call([*words])
    output = capsys.readouterr()
    assert "Traceback" not in output.err
    assert code != 0
    return code, output.err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("run", "local", "--seeds", "one"), "one"),
        (("run", "local", "--episodes", "0"), "--episodes"),
        (("run", "local", "--model", "llama"), "provider/name"),
        (("run", "local", "--history", "some"), "some"),
        (("run", "locale"), "local"),
        (("runs",), "run"),
        (("run", "local", "--technique", "memory={"), "memory"),
    ],
)
def test_a_wrong_flag_is_a_usage_error_that_names_it(
    capsys: pytest.CaptureFixture[str], place: Path, words: tuple[str, ...], named: str
) -> None:
    (place / "benchanything.json").write_text("{}")
    code, message = refused(capsys, *words)
    assert code == 2
    assert named in message
    assert not (place / "benchmark_results").exists()


def test_the_beginning_of_a_command_suggests_it(capsys: pytest.CaptureFixture[str]) -> None:
    code, message = refused(capsys, "bench", "recover")
    assert code == 2
    assert "No such command 'recover'. Did you mean 'recover-stale-runs'?" in message


def test_a_command_of_run_is_found_where_it_was_looked_for_outside(capsys: pytest.CaptureFixture[str]) -> None:
    code, message = refused(capsys, "resume", "last")
    assert code == 2
    assert "No such command 'resume'. Did you mean 'run resume'?" in message


def test_a_missing_manifest_is_named_with_the_places_searched(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    code, message = refused(capsys, "run", "local", "--model", "builtin/random")
    assert code == 2
    assert "auxiliary" in message
    assert "mesocosm init" in message


def test_all_problems_of_a_manifest_are_told_at_once(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    assert call(["init"]) == 0
    manifest = json.loads((place / "benchanything.json").read_text())
    manifest["binding_vow"]["version"] = "1.0"
    manifest["binding_vow"]["reward"]["type"] = "boolean"
    manifest["scoring"]["primary_metric"] = "acuracy"
    (place / "benchanything.json").write_text(json.dumps(manifest))
    code, message = refused(capsys, "run", "local", "--model", "builtin/random")
    assert code == 2
    for path in ("binding_vow.version", "binding_vow.reward.type", "scoring.primary_metric"):
        assert path in message
    assert not (place / "benchmark_results").exists()


def test_a_model_elsewhere_is_refused_unless_it_is_allowed(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    assert call(["init"]) == 0
    code, message = refused(capsys, "run", "local", "--model", "openai/gpt-4o")
    assert code == 2
    assert "--allow-cloud" in message


@pytest.mark.parametrize("words", [("run", "list"), ("run", "show", "last"), ("run", "resume", "x")])
def test_without_results_the_first_thing_to_run_is_suggested(
    capsys: pytest.CaptureFixture[str], place: Path, words: tuple[str, ...]
) -> None:
    code, message = refused(capsys, *words)
    assert code == 2
    assert "--results-dir" in message
    assert not (place / "benchmark_results").exists()


def test_an_export_to_an_impossible_place_leaves_nothing(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    assert call(["init"]) == 0
    assert call(["run", "local", "--model", "builtin/oracle", "--seeds", "0", "--quiet"]) == 0
    (place / "file").write_text("")
    code, message = refused(capsys, "run", "export", "last", "-o", "file/below/replay.json")
    assert code == 2
    assert "file/below" in message


def test_something_else_than_a_bundle_is_not_imported(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "runs.zip").write_bytes(b"PK\x03\x04 cut off")
    code, message = refused(capsys, "import", "runs.zip")
    assert code == 2
    assert "runs.zip" in message
    (place / "replay.json").write_text('{"schema_version": "7"}')
    assert "schema 1" in refused(capsys, "import", "replay.json")[1]


def test_help_and_version_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["--version"]) == 0
    assert capsys.readouterr().out.startswith("mesocosm ")
    assert call(["run"]) == 0
    assert "resume" in capsys.readouterr().out


def test_the_platform_flag_is_taken_anywhere(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    assert call(["init", "--bench-url", "http://127.0.0.1:1"]) == 0
    assert call(["--base-url", "http://127.0.0.1:1", "validate", "benchanything.json"]) == 0
    assert call(["validate", "--base-url", "http://127.0.0.1:1", "benchanything.json"]) == 0
