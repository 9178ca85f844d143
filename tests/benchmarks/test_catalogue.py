"""Which benchmarks there are, by which names, and what is wrong with the folders that are none."""

import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from types import ModuleType

import pytest

from mesocosm.benchmarks import catalogue
from mesocosm.benchmarks.builtin import bfcl
from mesocosm.benchmarks.catalogue import BUILTIN, BenchmarkCatalogue, UnusableFolder, read_catalogue
from mesocosm.benchmarks.requirements import missing
from mesocosm.core.failure import UnknownName

TEXT = """
id = "{id}"
aliases = {aliases}
title = "T"
description = "D"
source = "S"
licence = "L"
version = "1"
"""


def write(folder: Path, identifier: str, *aliases: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmark.toml").write_text(TEXT.format(id=identifier, aliases=list(aliases)))
    return folder


def outside(found: BenchmarkCatalogue) -> list[UnusableFolder]:
    """Return what is uncovered in the folders of a test."""
    return [one for one in found.uncovered if one.folder.parent != BUILTIN]


def installed(monkeypatch: pytest.MonkeyPatch, *points: EntryPoint) -> None:
    monkeypatch.setattr(catalogue, "entry_points", lambda group: EntryPoints(points).select(group=group))


def test_every_folder_of_the_built_in_ones_is_covered() -> None:
    found = read_catalogue()
    assert found.uncovered == ()
    folders = {path.name for path in BUILTIN.iterdir() if path.is_dir() and not path.name.startswith("_")}
    assert {known.directory for known in found.benchmarks} == folders


def test_benchmarks_come_sorted_by_id() -> None:
    ids = [descriptor.id for descriptor in read_catalogue().descriptors]
    assert ids == sorted(ids)


@pytest.mark.parametrize("name", ["context-bench", "context_bench", "Context-Bench", "ORCHESTRATOR-LIFECYCLE"])
def test_a_benchmark_is_found_by_id_or_alias_in_any_spelling(name: str) -> None:
    assert read_catalogue().find(name).descriptor.id in {"context-bench", "orchestrator_lifecycle"}


def test_a_name_that_nobody_has_suggests_a_near_one() -> None:
    with pytest.raises(UnknownName, match="did you mean 'gsm8k'"):
        read_catalogue().find("gsm8")


def test_a_folder_that_is_named_may_be_a_benchmark_or_hold_some(tmp_path: Path) -> None:
    write(tmp_path / "one", "alone")
    write(tmp_path / "many" / "a", "first")
    write(tmp_path / "many" / "b", "second")
    found = read_catalogue([tmp_path / "one", tmp_path / "many"])
    assert [found.find(name).folder.name for name in ("alone", "first", "second")] == ["one", "a", "b"]
    assert found.find("alone").origin == str(tmp_path / "one")


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="nowhere"):
        read_catalogue([tmp_path / "nowhere"])


def test_a_folder_without_a_usable_descriptor_is_uncovered_and_hides_no_other(tmp_path: Path) -> None:
    write(tmp_path / "good", "good")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "benchmark.toml").write_text("id = ")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "__pycache__").mkdir()
    found = read_catalogue([tmp_path])
    assert found.find("good")
    reasons = {one.folder.name: one.reason for one in outside(found)}
    assert reasons.keys() == {"empty", "broken"}
    assert "cannot be read" in reasons["empty"]
    assert "not TOML" in reasons["broken"]


def test_a_later_benchmark_does_not_take_a_name_that_is_taken(tmp_path: Path) -> None:
    write(tmp_path / "mine", "mine", "GSM8K")
    found = read_catalogue([tmp_path])
    assert found.find("gsm8k").origin == "built-in"
    (uncovered,) = outside(found)
    assert "'GSM8K'" in uncovered.reason
    assert str(BUILTIN / "gsm8k") in uncovered.reason


def test_the_same_folder_named_twice_is_there_once(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", "mine")
    found = read_catalogue([tmp_path, folder, BUILTIN])
    assert [known.descriptor.id for known in found.benchmarks].count("mine") == 1
    assert outside(found) == []


def test_an_installed_package_offers_benchmarks_by_a_module_or_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "theirs" / "x", "theirs")
    package = tmp_path / "theirs"
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    installed(monkeypatch, EntryPoint("t", "theirs", catalogue.GROUP))
    assert read_catalogue().find("theirs").folder == package / "x"


def test_an_entry_point_that_fails_is_uncovered_and_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("gone", "no.such.module", catalogue.GROUP),
        EntryPoint("odd", "math:pi", catalogue.GROUP),
    ]
    installed(monkeypatch, *points)
    found = read_catalogue()
    assert found.find("gsm8k")
    reasons = [one.reason for one in outside(found)]
    assert ["'gone'" in reasons[0], "'odd'" in reasons[1], len(reasons)] == [True, True, 2]


def test_a_module_stands_for_its_folder() -> None:
    assert isinstance(bfcl, ModuleType)
    assert catalogue._folder(bfcl) == BUILTIN / "bfcl"


@pytest.mark.parametrize("name", ["gsm8k", "mmlu", "humaneval", "bfcl"])
def test_data_of_the_hub_needs_its_package_unless_a_file_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = read_catalogue().find(name)
    monkeypatch.setattr(sys, "path", [])
    assert any("pip install 'mesocosm[hub]'" in one for one in missing(known, {}, {"PATH": ""}))
    assert not any("mesocosm[hub]" in one for one in missing(known, {"data_path": "rows.jsonl"}, {"PATH": ""}))
