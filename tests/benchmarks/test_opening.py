"""From a reference to a benchmark."""

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from mesocosm.benchmarks.catalogue import BUILTIN, read_catalogue
from mesocosm.benchmarks.descriptor import read_descriptor
from mesocosm.benchmarks.native import NativeBenchmark
from mesocosm.benchmarks.opening import open_benchmark, reference
from mesocosm.benchmarks.setup import BenchmarkSetup
from mesocosm.core.failure import Incompatible, InvalidInput, UnknownName, UsageError
from mesocosm.core.run import BenchmarkRef

TOML = """
id = "toy"
title = "T"
description = "D"
source = "S"
licence = "L"
version = "1"
{more}
[parameters.size]
type = "integer"
default = 3
aliases = ["length"]
help = "h"
[parameters.file]
type = "path"
help = "h"
"""
CODE = """
from mesocosm.benchmarks.native import LoadedTasks, NativeBenchmark

class Toy(NativeBenchmark):
    def load(self):
        return LoadedTasks((), "nothing")

    async def grade(self, task, episode):
        return []

def open_benchmark(setup):
    return Toy(setup)
"""


def toy(folder: Path, code: str = CODE, more: str = "", file: str = "benchmark.py") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmark.toml").write_text(TOML.format(more=more))
    (folder / file).write_text(dedent(code))
    return folder


def opened(folder: Path, parameters: dict[str, Any] | None = None, **options: Any) -> NativeBenchmark:
    found = open_benchmark(
        BenchmarkRef("benchmark", "toy", {"folder": str(folder), "knobs": parameters or {}, **options})
    )
    assert isinstance(found, NativeBenchmark)
    return found


@pytest.mark.parametrize("name", ["context_bench", "context-bench", "contextbench"])
def test_a_built_in_one_is_opened_by_folder_id_or_alias(name: str) -> None:
    assert open_benchmark(BenchmarkRef("benchmark", name, {})).info.id == "context-bench"


@pytest.mark.parametrize("name", ["nothing", "../builtin/gsm8k", "", "gsm8k/../mmlu"])
def test_what_is_no_name_of_one_is_refused(name: str) -> None:
    with pytest.raises(UnknownName):
        open_benchmark(BenchmarkRef("benchmark", name, {}))


def test_one_in_a_folder_is_opened_from_its_file(tmp_path: Path) -> None:
    benchmark = opened(toy(tmp_path / "a"), output=str(tmp_path / "out"))
    assert benchmark.setup.folder == tmp_path / "a"
    assert benchmark.setup.output == tmp_path / "out"


@pytest.mark.parametrize("name", ["rules.py", "questions.json", "words/list.txt"])
def test_files_beside_its_code_are_part_of_it(tmp_path: Path, name: str) -> None:
    folder = toy(tmp_path / "beside")
    before = opened(folder).info.digest
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).touch()
    assert opened(folder).info.digest != before


@pytest.mark.parametrize("module", ["other.py:build", "toy_somewhere:build"])
def test_a_descriptor_may_say_what_opens_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    code = CODE.replace("open_benchmark", "build")
    folder = toy(tmp_path / "b", code, f'module = "{module}"', "other.py")
    (tmp_path / "toy_somewhere.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    assert opened(folder).descriptor.id == "toy"


def test_parameters_that_are_left_out_have_their_defaults_and_aliases_are_read(tmp_path: Path) -> None:
    folder = toy(tmp_path / "c")
    assert opened(folder).parameters == {"size": 3, "file": None}
    assert opened(folder, {"length": 5}).parameters["size"] == 5


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"warp": 1}, "is not a parameter of toy"),
        ({"size": "1"}, "must be a whole number"),
        ({"temperature": 0.5}, "setting of the model"),
    ],
)
def test_parameters_are_checked(tmp_path: Path, parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        opened(toy(tmp_path / "d"), parameters)


@pytest.mark.parametrize("options", [{"knobs": 1}, {"colour": "red"}, {"folder": 3}])
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="options of benchmark kind"):
        open_benchmark(BenchmarkRef("benchmark", "gsm8k", options))


@pytest.mark.parametrize("code", ["def open_benchmark(setup): raise ZeroDivisionError('boom')", "open_benchmark = 3"])
def test_foreign_code_that_fails_is_an_error_of_its_benchmark(tmp_path: Path, code: str) -> None:
    with pytest.raises(UsageError, match=r"toy cannot be opened: (ZeroDivisionError: boom|TypeError)"):
        opened(toy(tmp_path / "e", code))


def test_a_benchmark_that_says_what_this_machine_lacks_is_heard(tmp_path: Path) -> None:
    code = """
    from mesocosm.core.failure import Incompatible
    def open_benchmark(setup):
        raise Incompatible("toy", ["a moon"])
    """
    with pytest.raises(Incompatible, match="a moon"):
        opened(toy(tmp_path / "f", code))


def test_a_folder_without_its_code_or_with_a_broken_descriptor_is_named(tmp_path: Path) -> None:
    (toy(tmp_path / "g") / "benchmark.py").unlink()
    with pytest.raises(UsageError, match=r"benchmark\.py"):
        opened(tmp_path / "g")
    (tmp_path / "g" / "benchmark.toml").write_text("id = 3")
    with pytest.raises(InvalidInput, match=r"benchmark\.toml"):
        opened(tmp_path / "g")


def test_a_reference_leads_back_to_its_benchmark(tmp_path: Path) -> None:
    toy(tmp_path / "h")
    catalogue = read_catalogue([tmp_path])
    for name in ("toy", "gsm8k", "context-bench"):
        known = catalogue.find(name)
        ref = reference(known, {})
        assert ("folder" in ref.options) is (known.origin != "built-in")
        found = open_benchmark(ref)
        assert isinstance(found, NativeBenchmark)
        assert found.descriptor.id == name


def test_a_benchmark_behind_an_adapter_is_an_environment(tmp_path: Path) -> None:
    toy(tmp_path / "i", more='manifest = "environment.yaml"')
    ref = reference(read_catalogue([tmp_path]).find("toy"), {"size": 4})
    assert (ref.kind, ref.source) == ("environment", str((tmp_path / "i" / "environment.yaml").resolve()))


def test_a_path_is_looked_for_here_and_then_in_the_folder_of_the_benchmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = toy(tmp_path / "j")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    setup = BenchmarkSetup(read_descriptor(folder), folder, {"file": "data.txt"})
    with pytest.raises(UsageError, match=r"toy: file names data\.txt"):
        setup.path("file")
    (folder / "data.txt").write_text("")
    assert setup.path("file") == (folder / "data.txt").resolve()
    Path("data.txt").write_text("")
    assert setup.path("file") == (tmp_path / "here" / "data.txt").resolve()


@pytest.mark.parametrize("text", ["x" * 5_000, "a\x00b"])
def test_a_path_that_cannot_be_is_nothing_that_is_there(text: str) -> None:
    setup = BenchmarkSetup(read_descriptor(BUILTIN / "eliza_replay"), BUILTIN / "eliza_replay", {"capture_path": text})
    with pytest.raises(UsageError, match="there is nothing"):
        setup.path("capture_path")


def test_a_parameter_that_is_not_set_names_no_path() -> None:
    assert (
        BenchmarkSetup(read_descriptor(BUILTIN / "eliza_replay"), BUILTIN / "eliza_replay").path("capture_path") is None
    )


def test_the_code_of_a_benchmark_of_ones_own_is_part_of_its_digest(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    before = opened(toy(tmp_path / "a")).info.digest
    assert opened(toy(tmp_path / "b")).info.digest == before
    assert opened(toy(tmp_path / "a", CODE.replace("return []", "return ()"))).info.digest != before
