"""`validate`, `init`, `demo`, `plugins`, `export` and `import` on the command line."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import pytest

from mesocosm.cli import demo
from mesocosm.environments.scaffold import FILES

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Played


def test_a_sound_manifest_passes(mesocosm: "Invoke", scaffolded: Path) -> None:
    checked = mesocosm("validate", scaffolded / "benchanything.json")

    assert checked.code == 0
    assert {name: checked.document[name] for name in ("ok", "issues", "suggested_fixes", "schema")} == {
        "ok": True,
        "issues": [],
        "suggested_fixes": [],
        "schema": "benchanything_manifest",
    }
    assert checked.document["rules_version"] == "0.1.0"


def test_a_document_may_come_from_standard_input(mesocosm: "Invoke", scaffolded: Path) -> None:
    text = (scaffolded / "benchanything.json").read_text()

    assert mesocosm("validate", "-", stdin=text).code == 0


@pytest.mark.parametrize(
    ("text", "issue"),
    [
        ("[]", "must be an object, not a list"),
        ("{}", "binding_vow: is required, but missing"),
        ('{"adapter": "a.py", "binding_vow": {}}', "binding_vow.version: is required, but missing"),
    ],
)
def test_problems_fail_the_check(mesocosm: "Invoke", text: str, issue: str) -> None:
    checked = mesocosm("validate", "-", stdin=text)

    assert checked.code == 1
    assert issue in checked.document["issues"]
    assert not checked.document["ok"]


@pytest.mark.parametrize(
    ("document", "words"), [("nothing.json", "document nothing.json cannot be read"), (".", "no manifest in .")]
)
def test_a_document_that_cannot_be_read_fails_the_check(
    mesocosm: "Invoke", here: Path, document: str, words: str
) -> None:
    checked = mesocosm("validate", document)

    assert (checked.code, checked.out) == (1, "")
    assert words in checked.err


def test_broken_json_is_told_with_its_place(mesocosm: "Invoke") -> None:
    checked = mesocosm("validate", "-", stdin='{\n  "a": ,\n}')

    assert (checked.code, checked.document["ok"]) == (1, False)
    assert "line 2, column 8" in checked.document["issues"][0]


def test_validate_without_a_document_checks_this_folder(
    mesocosm: "Invoke", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = mesocosm("validate")
    assert (outcome.code, "no manifest in ." in outcome.err) == (1, True)


@pytest.mark.parametrize("flag", ["--base-url", "--bench-url"])
def test_validate_takes_the_platforms_address_without_need(mesocosm: "Invoke", scaffolded: Path, flag: str) -> None:
    assert mesocosm("validate", flag, "http://127.0.0.1:1", scaffolded / "benchanything.json").code == 0


def test_init_writes_every_file_and_says_what_to_do_next(mesocosm: "Invoke", here: Path) -> None:
    made = mesocosm("init", "--dir", "two words")

    assert made.code == 0
    assert [line for line in made.out.splitlines() if line.startswith("wrote ")] == [
        f"wrote two words/{name}" for name in FILES
    ]
    assert all((here / "two words" / name).is_file() for name in FILES)
    assert "  cd 'two words' && mesocosm run local --model builtin/random --episodes 20 --parallel 4\n" in made.out


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("--dir", "nim"), ("nim", "Nim", "NimEnv")),
        (("--dir", "x", "--name", "Grid World"), ("grid-world", "Grid World", "GridWorldEnv")),
        (("--dir", "x", "--name", 'a \\d "b"\n MyEnv'), ("a-d-b-my-env", 'a \\d "b"\n MyEnv', "ADBMyEnv")),
        (("--dir", "2048"), ("my-env", "My environment", "MyEnv")),
    ],
)
def test_init_names_the_environment(
    mesocosm: "Invoke", here: Path, words: tuple[str, ...], names: tuple[str, str, str]
) -> None:
    assert mesocosm("init", *words).code == 0

    folder = here / (words[1] if words else ".")
    manifest = json.loads((folder / "benchanything.json").read_text())
    assert (manifest["id"], manifest["name"]) == names[:2]
    assert f"class {names[2]}(BaseEnv)" in (folder / "env.py").read_text()
    assert mesocosm("validate", folder / "benchanything.json").code == 0
    assert mesocosm("init", "--name", "42").code == 2


def test_init_names_the_environment_after_the_folder_it_is_in(
    mesocosm: "Invoke", here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "tic tac").mkdir()
    monkeypatch.chdir(here / "tic tac")
    assert mesocosm("init").code == 0
    assert json.loads(Path("benchanything.json").read_text())["id"] == "tic-tac"


def test_init_leaves_what_exists_unless_forced(mesocosm: "Invoke", here: Path) -> None:
    (here / "env.py").write_text("mine")

    careful = mesocosm("init")
    assert "skip (exists): env.py\n" in careful.out
    assert "wrote adapter.py\n" in careful.out
    assert (here / "env.py").read_text() == "mine"

    forced = mesocosm("init", "--force", "--json")
    assert forced.document == {"files": [{"path": name, "written": True} for name in FILES]}
    assert "Env(BaseEnv)" in (here / "env.py").read_text()


@pytest.mark.parametrize("place", ["file", "/proc/nowhere"])
def test_init_says_where_it_cannot_write(mesocosm: "Invoke", here: Path, place: str) -> None:
    (here / "file").write_text("")

    refused = mesocosm("init", "--dir", place)

    assert refused.code == 2
    assert f"{place}/benchanything.json cannot be written" in refused.err
    assert "choose another --dir" in refused.err


def test_the_scaffold_passes_its_own_tests(scaffolded: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", "."]

    tested = subprocess.run(command, cwd=scaffolded, capture_output=True, text=True, check=False)

    assert tested.returncode == 0, tested.stdout
    assert "4 passed" in tested.stdout


def test_the_scaffolds_example_of_a_replay_is_one(mesocosm: "Invoke", scaffolded: Path, tmp_path: Path) -> None:
    taken = mesocosm("import", scaffolded / "showcase/replay.example.json", "--results-dir", tmp_path, "--json")

    assert [run["new_episodes"] for run in taken.document["runs"]] == [1]


def test_random_is_the_floor_of_the_scaffold(mesocosm: "Invoke", played: "Played", tmp_path: Path) -> None:
    words = ("--model", "builtin/random", "--episodes", "20", "--parallel", "4", "--results-dir", tmp_path, "--json")
    run = mesocosm("run", "local", "--manifest", played.manifest, *words).document["run"]

    assert run["status"] == "finished"
    assert run["scores"]["accuracy"] < played.run.metrics[0].value


@pytest.mark.parametrize("example", demo.EXAMPLES)
def test_the_demo_shows_floor_and_ceiling(mesocosm: "Invoke", tmp_path: Path, example: str) -> None:
    words = ("demo", "--example", example, "--episodes", "6", "--parallel", "0", "--results-dir", tmp_path)
    shown = mesocosm(*words, "--quiet")

    assert (shown.code, shown.err) == (0, "")
    assert "6 seeds, floor and ceiling" in shown.out
    assert f"Everything is recorded in {tmp_path}" in shown.out
    floor, ceiling = mesocosm("run", "list", "--results-dir", tmp_path, "--json").document["items"][::-1]
    assert (floor["model"], ceiling["model"]) == ("builtin/random", "builtin/oracle")
    assert floor["score"]["metric"] == ceiling["score"]["metric"]
    assert floor["score"]["value"] < ceiling["score"]["value"]


def test_plugins_are_listed_with_their_origin(mesocosm: "Invoke") -> None:
    listed = mesocosm("plugins", "--json").document

    assert {
        "kind": "agents",
        "name": "loop",
        "origin": "built-in",
        "target": "mesocosm.agents.loop:open_loop",
    } in listed
    kinds = {"sources", "models", "agents", "techniques", "graders", "executors"}
    assert {entry["kind"] for entry in listed} == kinds
    line = next(line for line in mesocosm("plugins").out.splitlines() if " loop " in line)
    assert line.split() == ["agents", "loop", "built-in", "mesocosm.agents.loop:open_loop"]


def test_a_bundle_goes_from_one_place_to_another(mesocosm: "Invoke", played: "Played", tmp_path: Path) -> None:
    bundle, elsewhere = tmp_path / "run.zip", ("--results-dir", tmp_path / "elsewhere")
    written = mesocosm("export", "last", played.run_id, "-o", bundle, *played.there)
    taken = mesocosm("import", bundle, *elsewhere)
    again = mesocosm("import", bundle, *elsewhere)

    assert written.out == f"Wrote {bundle} (1 run, {bundle.stat().st_size:,} bytes)\n"
    assert taken.out == f"imported run {played.run_id}: 6 new episodes\n  mesocosm run show {played.run_id}\n"
    assert again.out.startswith(f"imported run {played.run_id}: 0 new episodes\n")
    for words in (("run", "show", "last", "--json"), ("run", "episodes", "last", "--traces")):
        assert mesocosm(*words, *elsewhere) == mesocosm(*words, *played.there)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda run: run["metrics"][0].update(value=0.97), "is stored as 0.97, its episodes give"),
        (lambda run: run["metrics"][0].update(n_scored=600, n_planned=600), "is stored as that of 600 of 600 episodes"),
        (lambda run: run.update(model="openai/gpt-5"), "its model is 'openai/gpt-5'"),
    ],
)
def test_a_bundle_whose_run_says_more_than_its_episodes_is_refused(
    change: Callable[[Any], None], told: str, mesocosm: "Invoke", played: "Played", tmp_path: Path
) -> None:
    mesocosm("export", played.run_id, "-o", tmp_path / "run.zip", *played.there)
    with ZipFile(tmp_path / "run.zip") as honest, ZipFile(tmp_path / "edited.zip", "w") as edited:
        for name in honest.namelist():
            data = honest.read(name)
            if name.endswith("run.json"):
                run = json.loads(data)
                change(run)
                data = json.dumps(run).encode()
            edited.writestr(name, data)

    taken = mesocosm("import", tmp_path / "edited.zip", "--results-dir", tmp_path / "elsewhere")

    assert taken.code == 2
    assert told in taken.err
    assert "was edited" in taken.err


def test_a_replay_of_a_run_that_is_here_adds_nothing(mesocosm: "Invoke", mine: "Played", tmp_path: Path) -> None:
    mesocosm("run", "export", "last", "-o", tmp_path / "replay.json", *mine.there)

    taken = mesocosm("import", tmp_path / "replay.json", *mine.there)

    assert taken.code == 0
    assert "is here with its full record; the replay adds nothing to it" in taken.err
    assert "0 new episodes" in taken.out


def test_nothing_is_made_for_a_file_that_cannot_be_imported(mesocosm: "Invoke", here: Path) -> None:
    (here / "damaged.zip").write_bytes(b"PK\x03\x04")
    (here / "damaged.json").write_text(json.dumps({"schema_version": "1"}))

    for name in ("damaged.zip", "damaged.json", "missing.zip"):
        refused = mesocosm("import", name, "--results-dir", "results")
        assert refused.code == 2
        assert name in refused.err
    assert not (here / "results").exists()


@pytest.mark.parametrize(
    "line", ["auth login", "team list", "env submit", "register", "init", "run local", "run create"]
)
def test_bench_before_a_command_that_once_stood_below_it_is_understood(mesocosm: "Invoke", line: str) -> None:
    done = mesocosm("bench", *line.split(), "--help")
    assert done.code == 0
    assert f"Usage: mesocosm bench {line} " in done.out
    assert " team" not in mesocosm("bench", "--help").out


def test_eval_alone_shows_its_help_as_a_usage_error(mesocosm: "Invoke") -> None:
    done = mesocosm("eval")
    assert (done.code, "calibrate" in done.out) == (2, True)


def test_validate_plays_a_benchmark_by_its_name(mesocosm: "Invoke") -> None:
    done = mesocosm("validate", "solana")
    assert done.code == 0
    assert "256 memos" in done.out
    assert "solana: not known whether solvable · not known whether free · not forgeable" in done.out
    assert mesocosm("validate", "solana", "--json").document["forgeable"] is False


def test_validate_names_what_it_does_not_know(mesocosm: "Invoke") -> None:
    done = mesocosm("validate", "solano")
    assert done.code == 2
    assert "no benchmark is called 'solano'" in done.err
