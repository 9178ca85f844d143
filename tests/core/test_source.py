"""Code that is named by a file is what its digest says, whatever happens to the file."""

import ast
import gc
import importlib
import linecache
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from bench_common.runtime.multi_agent_loop import MultiAgentLoop
from mesocosm.core import source
from mesocosm.core.failure import UsageError
from mesocosm.core.ids import digest_bytes
from mesocosm.core.registry import import_reference
from mesocosm.core.source import content_digest


@pytest.fixture(autouse=True)
def modules() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(file: Path, text: str) -> None:
    """Write a file whose time of change is that of before, as two edits within a second have it."""
    file.write_text(text)
    os.utime(file, (1_700_000_000, 1_700_000_000))


def test_an_edited_file_is_loaded_anew_and_has_another_digest(tmp_path: Path) -> None:
    file = tmp_path / "env.py"
    write(file, "class Env:\n    value = 0.25\n")
    old = import_reference(f"{file}:Env")
    first = content_digest(old)
    write(file, "class Env:\n    value = 0.75\n")
    new = import_reference(f"{file}:Env")
    assert (old.value, new.value) == (0.25, 0.75)
    assert content_digest(new) == digest_bytes(file.read_bytes())
    # What was loaded before goes by what it was made of.
    assert content_digest(old) == first != content_digest(new)


def test_a_module_beside_it_counts(tmp_path: Path) -> None:
    file, beside = tmp_path / "env.py", tmp_path / "rules_beside.py"
    write(file, "from rules_beside import VALUE\nclass Env:\n    value = VALUE\n")
    write(beside, "VALUE = 0.25\n")
    old = import_reference(f"{file}:Env")
    write(beside, "VALUE = 0.75\n")
    new = import_reference(f"{file}:Env")
    assert (old.value, new.value) == (0.25, 0.75)
    assert content_digest(old) != content_digest(new)


def test_a_package_beside_it_counts_with_all_that_is_imported_of_it(tmp_path: Path) -> None:
    (tmp_path / "parts_beside").mkdir()
    write(tmp_path / "parts_beside/__init__.py", "from .inner import VALUE\n")
    write(tmp_path / "parts_beside/inner.py", "VALUE = 1\n")
    write(tmp_path / "env.py", "import parts_beside\nclass Env:\n    value = parts_beside.VALUE\n")
    old = import_reference(f"{tmp_path / 'env.py'}:Env")
    write(tmp_path / "parts_beside/inner.py", "VALUE = 2\n")
    new = import_reference(f"{tmp_path / 'env.py'}:Env")
    assert (old.value, new.value) == (1, 2)
    assert content_digest(old) != content_digest(new)


def test_modules_of_one_name_beside_two_files_are_told_apart(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "same_helper.py", f"PLACE = {name!r}\n")
        write(tmp_path / name / "env.py", "from same_helper import PLACE\n")
    assert [import_reference(f"{tmp_path / name / 'env.py'}:PLACE") for name in ("a", "b", "a")] == ["a", "b", "a"]


def test_a_module_beside_it_that_this_process_had_already_is_refused_once_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    write(tmp_path / "had_before.py", "def value():\n    return 0.25\n")
    importlib.import_module("had_before")
    write(tmp_path / "env.py", "from had_before import value\nclass Env:\n    pass\n")
    alone = content_digest(import_reference(f"{tmp_path / 'env.py'}:Env"))
    assert alone != digest_bytes((tmp_path / "env.py").read_bytes())
    write(tmp_path / "had_before.py", "def value():\n    return 0.75\n")
    with pytest.raises(UsageError, match=r"had_before\.py has changed since this process imported it"):
        import_reference(f"{tmp_path / 'env.py'}:Env")


@pytest.mark.parametrize(("old", "new"), [("return 0.25", "return 0.75"), ("factor = 1", "factor = 2")])
def test_an_imported_module_that_has_changed_since_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "in_a_package.py"
    text = "class Env:\n    factor = 1\n    def value(self):\n        return 0.25\n"
    file.write_text(text)
    env = importlib.import_module("in_a_package").Env
    assert content_digest(env) == digest_bytes(file.read_bytes())
    file.write_text(text.replace(old, new))
    with pytest.raises(UsageError, match=r"in_a_package\.py has changed since this process imported Env"):
        content_digest(env)


def cell(text: str, number: int, *, kept: bool = True) -> ModuleType:
    """Return the module that a cell of a notebook was executed in."""
    module = ModuleType("__main__")
    name = f"<ipython-input-{number}>"
    if kept:
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), vars(module))
    return module


def test_an_edited_cell_of_a_notebook_has_another_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    text = "class Env:\n    value = {}\n    def reset(self): ...\n"
    digests = [content_digest(cell(text.format(value), number).Env) for number, value in enumerate((1, 1, 2))]
    assert digests[0] == digests[1] != digests[2]


def test_a_class_whose_source_nobody_kept_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    env = cell("class Env:\n    def reset(self): ...\n", 99, kept=False).Env
    with pytest.raises(UsageError, match="the source of Env cannot be read"):
        content_digest(env)


def test_a_class_of_a_script_has_the_digest_of_the_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from mesocosm.core.source import content_digest\n"
        "class Env:\n    def reset(self): ...\nprint(content_digest(Env))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest_bytes(script.read_bytes())


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("from .late import A", "late.py"),
        ("from . import late", "late.py"),
        ("from ..up import A", "../up.py"),
        ("import kit_late.deep.late", "deep/late.py"),
        ("from kit_late.deep import late", "deep/__init__.py"),
    ],
)
@pytest.mark.parametrize("indented", [False, True])
def test_what_a_class_of_a_package_imports_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, file: str, indented: bool
) -> None:
    package = tmp_path / "kit_late" / "inner" if file.startswith("..") else tmp_path / "kit_late"
    for place in {package, package / "deep", tmp_path / "kit_late"}:
        place.mkdir(parents=True, exist_ok=True)
        (place / "__init__.py").touch()
    for name in ("late.py", "../up.py", "deep/late.py"):
        (package / name).write_text("A = 1\n")
    (package / "env.py").write_text(
        f"class Env:\n    def step(self):\n        {line}\n" if indented else f"{line}\nclass Env: ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    name = ".".join((package / "env").relative_to(tmp_path).parts)
    env = importlib.import_module(name).Env
    before = content_digest(env)
    for known in [known for known in sys.modules if known.startswith("kit_late") and known != name]:
        del sys.modules[known]
    (package / file).write_text("A = 2\n")
    assert content_digest(env) != before


def test_a_module_that_a_file_imports_late_counts(tmp_path: Path) -> None:
    (tmp_path / "late_beside.py").write_text("A = 1\n")
    file = tmp_path / "env.py"
    file.write_text("class Env:\n    def step(self):\n        import late_beside\n")
    before = content_digest(import_reference(f"{file}:Env"))
    (tmp_path / "late_beside.py").write_text("A = 2\n")
    assert content_digest(import_reference(f"{file}:Env")) != before


def test_an_imported_module_of_a_package_that_has_changed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kit_changed").mkdir()
    for name, text in (
        ("__init__", ""),
        ("late", "def a(): return 1\n"),
        ("env", "from .late import a\nclass Env: ..."),
    ):
        (tmp_path / f"kit_changed/{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    env = importlib.import_module("kit_changed.env").Env
    (tmp_path / "kit_changed/late.py").write_text("def a(): return 2\n")
    with pytest.raises(UsageError, match=r"late\.py has changed since this process imported it"):
        content_digest(env)


class Finalized:
    """Garbage that runs code when it is collected."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        list(range(200))


def test_what_comes_with_mesocosm_counts_without_what_it_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    def walked(path: Path, root: Path) -> list[Path]:
        raise AssertionError(f"{path} was read for what it imports")

    monkeypatch.setattr(source, "imported_files", walked)
    assert content_digest(MultiAgentLoop)


def test_threads_may_make_syntax_trees_at_the_same_time() -> None:
    code = Path(source.__file__).read_bytes()

    def parse(_: int) -> str:
        for _ in range(3):
            Finalized()
        return ast.dump(source.syntax_tree(code))

    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    # Threads take turns wherever they can, and garbage is collected between two nodes of a tree.
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50, 2, 2)
    try:
        with ThreadPoolExecutor(3) as pool:
            found = set(pool.map(parse, range(60)))
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)
    assert found == {ast.dump(ast.parse(code))}
