"""Manifests: where they lie, what they must say, what they digest to."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.environments.document import _syntax_fix
from mesocosm.environments.manifest import content_digest, find_manifest, load_manifest, manifest_problems

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=8), children, max_size=4),
    max_leaves=10,
)


def document(**changes: Any) -> dict[str, Any]:
    """Return a sound manifest; a change of None takes the key away."""
    whole: dict[str, Any] = {
        "adapter": "adapter.py",
        "name": "Night Watch",
        "description": "Keep a lighthouse through one night.",
        "tags": ["judgement", "tier2"],
        "binding_vow": {
            "version": "1.0.0",
            "tier": "tier2",
            "observation_space": {"type": "json"},
            "action_space": {"type": "discrete", "enum_values": ["steady", "flash", "off"]},
            "reward": {"type": "sparse"},
            "episode": {"max_steps": 48},
        },
        "scoring": {
            "primary_metric": "saved",
            "metrics": [{"name": "saved", "type": "terminal_field", "field": "ships", "aggregation": "mean"}],
        },
    }
    whole.update(changes)
    return {key: value for key, value in whole.items() if value is not None}


def repository(root: Path, place: str = ".", /, **changes: Any) -> Path:
    """Write an environment under `root`/lighthouse and return that directory."""
    directory = root / "lighthouse"
    (directory / place).mkdir(parents=True, exist_ok=True)
    (directory / place / "benchanything.json").write_text(json.dumps(document(**changes)), encoding="utf-8")
    (directory / place / "adapter.py").write_text("print('on')\n", encoding="utf-8")
    return directory


def problems_of(path: Path) -> dict[str, str]:
    with pytest.raises(InvalidInput) as caught:
        load_manifest(path)
    return {problem.path: problem.message for problem in caught.value.problems}


def message_of(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return problems_of(path)[""]


@pytest.mark.parametrize("place", [".", "auxiliary", "files"])
def test_a_manifest_is_found_in_each_of_the_three_places(tmp_path: Path, place: str) -> None:
    directory = repository(tmp_path, place)
    assert find_manifest(directory) == directory / place / "benchanything.json"


def test_the_root_wins_over_the_other_places(tmp_path: Path) -> None:
    repository(tmp_path, "files", name="third")
    repository(tmp_path, "auxiliary", name="second")
    directory = repository(tmp_path, name="first")
    assert load_manifest(directory).name == "first"


def test_a_missing_manifest_names_the_places_and_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        find_manifest(tmp_path)
    for place in ("", "auxiliary/", "files/"):
        assert f"{tmp_path}/{place}benchanything.json" in str(caught.value)
    assert "mesocosm init" in str(caught.value)


def test_a_directory_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere is not a directory"):
        find_manifest(tmp_path / "nowhere")


def test_everything_is_read(tmp_path: Path) -> None:
    found = load_manifest(repository(tmp_path, id="watch", system_prompt="Be calm.", author="x"))
    assert (found.id, found.name) == ("watch", "Night Watch")
    assert found.description == "Keep a lighthouse through one night."
    assert found.tags == ("judgement", "tier2")
    assert found.adapter == (tmp_path / "lighthouse" / "adapter.py").resolve()
    assert found.vow.episode.max_steps == 48
    assert found.scoring.primary_metric == "saved"
    assert found.system_prompt == "Be calm."
    assert found.raw["author"] == "x"
    assert found.warnings == ()


def test_detail_stands_in_for_a_description(tmp_path: Path) -> None:
    assert load_manifest(repository(tmp_path, description=None, detail="one night")).description == "one night"


@pytest.mark.parametrize("place", [".", "auxiliary", "files"])
def test_without_an_id_the_repository_gives_its_name(tmp_path: Path, place: str) -> None:
    found = load_manifest(repository(tmp_path, place))
    assert found.id == "lighthouse"
    assert (found.vow.id, found.vow.domain_id) == ("lighthouse-v1.0.0", "lighthouse")


def test_a_relative_path_gives_the_same_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository(tmp_path, "auxiliary"))
    assert load_manifest(Path("auxiliary/benchanything.json")).id == "lighthouse"
    assert load_manifest(Path()).id == "lighthouse"


def test_an_id_given_by_the_caller_wins(tmp_path: Path) -> None:
    directory = repository(tmp_path, id="watch")
    assert load_manifest(directory, domain_id="other").id == "other"


def test_ids_inside_the_vow_stay(tmp_path: Path) -> None:
    vow = document()["binding_vow"] | {"id": "v", "domain_id": "d"}
    found = load_manifest(repository(tmp_path, binding_vow=vow))
    assert (found.vow.id, found.vow.domain_id) == ("v", "d")


@pytest.mark.parametrize("key", ["adapter", "name", "binding_vow", "scoring"])
def test_each_required_key_is_missed_by_name(tmp_path: Path, key: str) -> None:
    assert list(problems_of(repository(tmp_path, ".", **{key: None}))) == [key]


def test_all_problems_of_all_parts_come_together(tmp_path: Path) -> None:
    vow = document()["binding_vow"] | {"version": "1.0", "tier": "tier3"}
    directory = repository(tmp_path, adapter="gone.py", name=7, tags="a", binding_vow=vow, scoring={"metrics": []})
    assert set(problems_of(directory)) == {
        "adapter",
        "name",
        "tags",
        "binding_vow.version",
        "binding_vow.tier",
        "scoring.primary_metric",
    }


@pytest.mark.parametrize(
    "adapter",
    [
        "/etc/passwd",
        "C:\\adapter.py",
        "../adapter.py",
        "a/../../adapter.py",
        "..",
        "a\0b",
        5,
        ".",
        "x" * 300,
        "x" * 2000,
    ],
)
def test_an_adapter_must_lie_beneath_its_manifest(tmp_path: Path, adapter: object) -> None:
    (tmp_path / "adapter.py").touch()
    directory = repository(tmp_path, adapter=adapter)
    assert list(problems_of(directory)) == ["adapter"]


def test_an_adapter_that_leads_outside_through_a_link_is_refused(tmp_path: Path) -> None:
    directory = repository(tmp_path, adapter="link.py")
    (tmp_path / "outside.py").touch()
    (directory / "link.py").symlink_to(tmp_path / "outside.py")
    assert "must not leave" in problems_of(directory)["adapter"]


def test_a_missing_adapter_suggests_the_scripts_that_exist(tmp_path: Path) -> None:
    directory = repository(tmp_path, adapter="adaptor.py")
    with pytest.raises(InvalidInput, match=r"choose one of adapter\.py"):
        load_manifest(directory)


def test_an_adapter_may_lie_deeper(tmp_path: Path) -> None:
    directory = repository(tmp_path, adapter="code/main.py")
    (directory / "code").mkdir()
    (directory / "code" / "main.py").touch()
    adapter = load_manifest(directory).adapter
    assert adapter is not None
    assert adapter.name == "main.py"


def test_a_syntax_error_names_line_and_column(tmp_path: Path) -> None:
    path = repository(tmp_path) / "benchanything.json"
    assert message_of(path, b'{\n  "name": "x",\n  "id": oops\n}').startswith("line 3, column 9: ")
    assert message_of(path, b"").startswith("line 1, column 1: ")


@pytest.mark.parametrize(
    ("content", "fix"),
    [
        (b'{"a": 1,}', "remove the comma"),
        (b"{'a': 1}", "double quotes"),
        (b'{"a": 1, // one\n "b": 2}', "no comments"),
        (b"  ", "mesocosm init"),
        (b'{"a": "b}', "look at this line"),
    ],
)
def test_usual_syntax_errors_come_with_their_cure(tmp_path: Path, content: bytes, fix: str) -> None:
    path = tmp_path / "benchanything.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as caught:
        load_manifest(path)
    assert fix in caught.value.problems[0].fix


@pytest.mark.parametrize(
    ("words", "position"),
    [("Expecting property name enclosed in double quotes", 8), ("Illegal trailing comma before end of object", 7)],
)
def test_a_comma_too_many_is_named_whatever_python_calls_it(words: str, position: int) -> None:
    text = '{"a": 1,}'
    assert _syntax_fix(text, json.JSONDecodeError(words, text, position)) == "remove the comma before the bracket"


def test_not_a_number_is_refused_with_its_place(tmp_path: Path) -> None:
    message = message_of(tmp_path / "benchanything.json", b'{"NaN": "NaN",\n "x": [1, -Infinity]}')
    assert message == "line 2, column 11: -Infinity is not JSON"


@pytest.mark.parametrize("content", [b"[" * 100_000, b"[" * 200 + b"]" * 200, b'{"a": ' + b"9" * 5000 + b"}"])
def test_documents_that_python_refuses_are_problems_too(tmp_path: Path, content: bytes) -> None:
    assert message_of(tmp_path / "benchanything.json", content)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b'{"a": "\\ud800"}', r"holds \ud800, half"), (b'{"\\udc00": 1}', "half"), (b"[1e400]", "floating point")],
)
def test_values_that_no_one_can_write_again_are_refused(tmp_path: Path, content: bytes, words: str) -> None:
    assert words in message_of(tmp_path / "benchanything.json", content)


@pytest.mark.parametrize("content", [b"[]", b"3", b'"x"', b"null"])
def test_a_document_that_is_no_object_is_named(tmp_path: Path, content: bytes) -> None:
    assert "must be an object" in message_of(tmp_path / "benchanything.json", content)


def test_bytes_that_are_no_text_are_named_with_their_line(tmp_path: Path) -> None:
    message = message_of(tmp_path / "benchanything.json", b'{\n"name": "\xff"}')
    assert message == "line 2 is not text in utf-8: byte 0xff"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32-le"])
def test_byte_order_marks_and_wide_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    directory = repository(tmp_path)
    path = directory / "benchanything.json"
    path.write_bytes(json.dumps(document(name="Phare à l'île"), ensure_ascii=False).encode(encoding))
    assert load_manifest(path).name == "Phare à l'île"


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.json cannot be read"):
        load_manifest(tmp_path / "nowhere.json")


def test_keys_given_twice_and_unknown_ones_are_warnings(tmp_path: Path) -> None:
    directory = repository(tmp_path)
    path = directory / "benchanything.json"
    text = json.dumps(document(descripton="x", version="2"))
    path.write_text(text.replace('"name"', '"name": "first", "name"'), encoding="utf-8")
    found = {problem.path: problem for problem in load_manifest(path).warnings}
    assert set(found) == {"name", "descripton"}
    assert found["descripton"].fix == "did you mean `description`?"


def test_a_system_prompt_that_is_no_text_is_left_out_with_a_warning(tmp_path: Path) -> None:
    found = load_manifest(repository(tmp_path, system_prompt=["a"]))
    assert found.system_prompt == ""
    assert [problem.path for problem in found.warnings] == ["system_prompt"]


@settings(deadline=None)
@given(JSON, st.sampled_from(["", "id", *document()]))
def test_any_json_gives_problems_and_no_exception(junk: object, key: str) -> None:
    raw = {**document(), key: junk} if key else junk
    for directory in (None, Path(__file__).parent):
        assert isinstance(list(manifest_problems(raw, directory)), list)


def digest(directory: Path) -> str:
    return content_digest(load_manifest(directory))


def test_the_digest_is_the_same_for_the_same_content_elsewhere(tmp_path: Path) -> None:
    one = repository(tmp_path)
    other = repository(tmp_path / "deep" / "er", description="other words", tags=["x"], name="Other", extra=1)
    other.rename(other.with_name("renamed"))
    assert len(digest(one)) == 32
    assert digest(one) == digest(other.with_name("renamed"))


@pytest.mark.parametrize(
    "name", ["env.py", "data/words.txt", "showcase.py", "data/level.json", "lib/showcase/x.py", "requirements.txt"]
)
def test_the_digest_changes_with_a_file_its_content_and_its_name(tmp_path: Path, name: str) -> None:
    directory = repository(tmp_path)
    seen = {digest(directory)}
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("1")
    seen.add(digest(directory))
    path.write_text("2")
    seen.add(digest(directory))
    path.rename(path.with_name("moved"))
    seen.add(digest(directory))
    assert len(seen) == 4


@pytest.mark.parametrize(
    "name",
    [
        ".git/HEAD",
        ".env",
        "__pycache__/env.cpython-311.pyc",
        "lib/__pycache__/x.txt",
        "README.md",
        "test_env.py",
        "tests/test_env.py",
        "showcase/index.html",
        "benchmark_results/orchestrator.sqlite",
        "data/traces/a.jsonl",
        "node_modules/a/index.js",
        "venv/bin/python",
        "py/pyvenv.cfg",
        "env.log",
    ],
)
def test_the_digest_ignores_what_changes_no_behaviour(tmp_path: Path, name: str) -> None:
    directory = repository(tmp_path)
    before = digest(directory)
    (directory / name).parent.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text("def test_env(): ...")
    assert digest(directory) == before


@pytest.mark.parametrize(
    "change",
    [
        {"system_prompt": "Be bold."},
        {"scoring": document()["scoring"] | {"higher_is_better": False}},
        {"binding_vow": document()["binding_vow"] | {"description": "Go."}},
        {"binding_vow": document()["binding_vow"] | {"episode": {"max_steps": 49}}},
    ],
)
def test_the_digest_changes_with_the_contract(tmp_path: Path, change: dict[str, Any]) -> None:
    assert digest(repository(tmp_path / "a")) != digest(repository(tmp_path / "b", **change))


def test_metadata_as_deep_as_a_document_may_be_is_digested(tmp_path: Path) -> None:
    deep: Any = []
    for _ in range(140):
        deep = [deep]
    vow = document()["binding_vow"] | {"metadata": {"deep": deep}}
    found = load_manifest(repository(tmp_path, binding_vow=vow))
    assert content_digest(found) != digest(repository(tmp_path / "other"))
    assert found.vow.model_dump(mode="json")["metadata"] == {"deep": deep}


def test_what_lies_beside_the_folder_of_an_adapter_is_part_of_the_environment(tmp_path: Path) -> None:
    directory = repository(tmp_path, adapter="server/adapter.py")
    (directory / "server").mkdir()
    (directory / "server/adapter.py").touch()
    before = digest(directory)
    (directory / "rules.py").write_text("A = 1")
    assert digest(directory) != before


def test_files_beside_a_manifest_in_auxiliary_are_not_part_of_it(tmp_path: Path) -> None:
    directory = repository(tmp_path, "auxiliary")
    before = digest(directory)
    (directory / "notes.txt").write_text("x")
    assert digest(directory) == before
    (directory / "auxiliary" / "notes.txt").write_text("x")
    assert digest(directory) != before


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    directory = repository(tmp_path)
    (directory / "secret.txt").symlink_to("secret.txt")
    with pytest.raises(UsageError, match=r"secret\.txt cannot be read"):
        digest(directory)


def cast(tmp_path: Path, *names: str) -> str:
    technique = {"technique_id": "multi_agent", "config_schema": {"roles": dict.fromkeys(names, "You act.")}}
    return digest(
        repository(tmp_path / "-".join(names), binding_vow=document()["binding_vow"] | {"techniques": [technique]})
    )


def test_the_digest_changes_with_the_order_of_roles(tmp_path: Path) -> None:
    assert cast(tmp_path, "a", "b") != cast(tmp_path, "b", "a")


def test_a_second_manifest_in_a_repository_is_told(tmp_path: Path) -> None:
    directory = repository(tmp_path)
    repository(tmp_path, "auxiliary")
    for path in (directory, directory / "auxiliary"):
        (warning,) = load_manifest(path).warnings
        assert "benchanything.json, auxiliary/benchanything.json" in warning.message
        assert "where none is named, benchanything.json counts" in warning.message


def test_folders_of_other_repositories_are_no_second_manifest(tmp_path: Path) -> None:
    repository(tmp_path, "one")
    assert load_manifest(repository(tmp_path, "two") / "two").warnings == ()


def test_a_view_is_for_people_and_changes_no_digest(tmp_path: Path) -> None:
    plain = load_manifest(repository(tmp_path / "plain"))
    board = load_manifest(repository(tmp_path / "board", view="board"))

    assert (plain.view, board.view) == (None, "board")
    assert content_digest(plain) == content_digest(board)


@pytest.mark.parametrize("view", ["bord", 3, ["board"], {}])
def test_an_unknown_view_is_left_out_with_a_warning(tmp_path: Path, view: object) -> None:
    manifest = load_manifest(repository(tmp_path, view=view))

    assert manifest.view is None
    [warning] = [problem for problem in manifest.warnings if problem.path == "view"]
    assert (warning.severity, warning.fix) == ("warning", "write one of board, table, html, image")
