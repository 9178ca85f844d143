"""Names of extensions: decorators, entry points, references, and what is said when there is nothing."""

import sys
import threading
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.registry import AGENTS, MODELS, SOURCES, TECHNIQUES, Registry, import_reference

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
TARGETS = sorted({target for group in PROJECT["entry-points"].values() for target in group.values()})


@pytest.mark.parametrize("target", TARGETS)
def test_what_the_project_itself_registers_is_there(target: str) -> None:
    assert import_reference(target)


@pytest.fixture
def registry() -> Registry:
    return Registry("models")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place from which distributions are found, as pip leaves them."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def distribution(place: Path, name: str, entry_points: str) -> None:
    folder = place / f"{name.replace('-', '_')}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(entry_points)


def test_what_a_decorator_registers_is_found(registry: Registry) -> None:
    @registry.register("my-model")
    class Mine:
        pass

    assert registry.get("my-model") is Mine
    entry = next(entry for entry in registry.entries() if entry.name == "my-model")
    assert (entry.origin, entry.target) == ("decorator", f"{__name__}:{Mine.__qualname__}")


def test_case_hyphen_and_underscore_make_no_difference(registry: Registry) -> None:
    registry.register("my-model")(dict)
    assert registry.get(" My_Model ") is dict


def test_a_distribution_adds_names_without_being_imported_before_they_are_used(
    installed: Path, registry: Registry
) -> None:
    (installed / "plug_in_package.py").write_text("thing = object()\n")
    distribution(installed, "plug-in", "[mesocosm.models]\nplugged = plug_in_package:thing\n")
    entry = next(entry for entry in registry.entries() if entry.name == "plugged")
    assert (entry.origin, entry.target) == ("plug-in", "plug_in_package:thing")
    assert "plug_in_package" not in sys.modules
    assert registry.get("plugged") is sys.modules["plug_in_package"].thing


def test_a_distribution_that_cannot_be_imported_is_named(installed: Path, registry: Registry) -> None:
    distribution(installed, "plug-in", "[mesocosm.models]\nplugged = missing_package_of_a_plug_in:thing\n")
    with pytest.raises(UsageError, match=r"'plugged' \(missing_package.*from plug-in\) cannot be imported: No module"):
        registry.get("plugged")


def test_a_distribution_without_the_named_attribute_is_named(installed: Path, registry: Registry) -> None:
    (installed / "plug_in_without.py").write_text("other = 1\n")
    distribution(installed, "plug-in", "[mesocosm.models]\nplugged = plug_in_without:thing\n")
    with pytest.raises(UsageError, match=r"'plugged' .*from plug-in.*thing"):
        registry.get("plugged")


def test_a_distribution_that_fails_on_import_is_named(installed: Path, registry: Registry) -> None:
    (installed / "plug_in_failing.py").write_text("1 / 0\n")
    distribution(installed, "plug-in", "[mesocosm.models]\nplugged = plug_in_failing:thing\n")
    with pytest.raises(UsageError, match=r"'plugged' .*from plug-in.*ZeroDivisionError"):
        registry.get("plugged")


def test_a_decorator_wins_over_a_distribution(installed: Path, registry: Registry) -> None:
    distribution(installed, "plug-in", "[mesocosm.models]\nplugged = nowhere:thing\n")
    registry.register("plugged")(dict)
    assert registry.get("plugged") is dict
    assert [entry.origin for entry in registry.entries() if entry.name == "plugged"] == ["decorator"]


def test_a_near_miss_is_answered_with_the_name_meant(registry: Registry) -> None:
    registry.register("anthill")(dict)
    with pytest.raises(UnknownName, match=r"no model is called 'antill'; did you mean 'anthill'\?"):
        registry.get("antill")


def test_a_far_miss_is_answered_with_all_names() -> None:
    registry = Registry("kind-without-any-entry-points")
    with pytest.raises(UnknownName, match="nothing is installed"):
        registry.get("x")
    registry.register("beta")(dict)
    registry.register("alpha")(dict)
    with pytest.raises(UnknownName, match="known: alpha, beta"):
        registry.get("zzzz")


@pytest.mark.parametrize("registry", [SOURCES, MODELS, AGENTS, TECHNIQUES], ids=lambda registry: registry.kind)
def test_every_built_in_name_loads(registry: Registry) -> None:
    own = [entry for entry in registry.entries() if entry.origin == "built-in"]
    assert own
    for entry in own:
        assert callable(registry.get(entry.name)), entry.name


def test_a_module_reference_is_imported(registry: Registry) -> None:
    from pathlib import PurePath

    assert registry.get("pathlib:PurePath") is PurePath
    assert import_reference("pathlib:PurePath.joinpath") is PurePath.joinpath


def test_a_file_reference_is_imported_once_and_may_import_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_a_file.py").write_text("NAME = 'neighbour'\n")
    (tmp_path / "own-things.py").write_text("from neighbour_of_a_file import NAME\nclass Thing: name = NAME\n")
    reference = f"{tmp_path / 'own-things.py'}:Thing"
    thing = import_reference(reference)
    assert thing.name == "neighbour"
    assert import_reference(reference) is thing
    assert str(tmp_path) not in sys.path


def test_files_of_one_name_in_two_places_are_two_modules(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "env.py").write_text(f"place = {name!r}\n")
    assert [import_reference(f"{tmp_path / name / 'env.py'}:place") for name in ("a", "b")] == ["a", "b"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot be imported: there is no file .*gone\.py"):
        import_reference(f"{tmp_path}/gone.py:Thing")


def test_a_missing_module_is_named() -> None:
    with pytest.raises(UsageError, match=r"'no_such_module_here:thing' cannot be imported"):
        import_reference("no_such_module_here:thing")


@pytest.mark.parametrize("reference", [":thing", "module:", "pathlib:"])
def test_half_a_reference_is_refused(reference: str) -> None:
    with pytest.raises(UsageError, match=r"module:attr"):
        import_reference(reference)


def test_a_missing_attribute_is_answered_with_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "things.py").write_text("first = 1\nsecond = 2\n_hidden = 3\n")
    with pytest.raises(UsageError, match=r"no attribute 'third'; it offers first, second"):
        import_reference(f"{tmp_path / 'things.py'}:third")


@pytest.mark.parametrize(
    ("source", "said"),
    [("import no_such_module_here\n", "no_such_module_here"), ("def broken(:\n", "SyntaxError"), ("1 / 0\n", "Zero")],
)
def test_a_file_that_does_not_import_says_why_and_can_be_mended(tmp_path: Path, source: str, said: str) -> None:
    file = tmp_path / "mended.py"
    file.write_text(source)
    with pytest.raises(UsageError, match=rf"(?s)mended\.py:thing' cannot be imported: .*{said}"):
        import_reference(f"{file}:thing")
    file.write_text("thing = 'a longer text than before'\n")
    assert import_reference(f"{file}:thing") == "a longer text than before"


def test_threads_that_ask_first_at_once_all_get_an_answer() -> None:
    registry = Registry("agents")
    start = threading.Barrier(8)

    def ask(_: int) -> Any:
        start.wait()
        return registry.get("program")

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1
