"""Load code from files, from exactly the bytes that its digest covers.

A file is reloaded if it, or a module beside it that it imports, has changed, so that code and digest always match.
Cached bytecode is not used: it may predate a change within the same second that keeps the size.
"""

import ast
import importlib.util
import inspect
import linecache
import os
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import msgspec

from mesocosm.core.failure import UsageError
from mesocosm.core.ids import digest, digest_bytes

PREFIX = "mesocosm_file_"
"""Prefix of the names of modules that were loaded from a file."""

_OURS = Path(__file__).parents[2]
"""The folder of this package and those that come with it."""


_PARSING = threading.Lock()


def syntax_tree(code: str | bytes) -> ast.Module:
    """Return the syntax tree of Python code. Raises SyntaxError, ValueError, RecursionError.

    One thread at a time: before Python 3.11.8, threads that do it at once fail with SystemError (gh-106905).
    """
    with _PARSING:
        return ast.parse(code)


def expression_tree(text: str) -> ast.expr:
    """Return the syntax tree of a Python expression, as `syntax_tree` does."""
    with _PARSING:
        return ast.parse(text, mode="eval").body


class Loaded(msgspec.Struct, frozen=True):
    """A loaded file: its module, the digests of all files that contributed, and the modules imported from beside it."""

    module: ModuleType
    files: Mapping[Path, str]
    beside: Mapping[str, ModuleType]

    @property
    def digest(self) -> str:
        """The digest of the code: that of the file if it imports nothing from beside it."""
        return _whole(self.files)

    def current(self) -> bool:
        """Return whether all files are unchanged since they were loaded."""
        return all(_digest_of(path) == content for path, content in self.files.items())


def _whole(files: Mapping[Path, str]) -> str:
    """Return the digest of files and their paths relative to the first; a single file's digest is its own."""
    first, *rest = files.values()
    if not rest:
        return first
    folder = next(iter(files)).parent
    return digest(sorted((Path(os.path.relpath(path, folder)).as_posix(), content) for path, content in files.items()))


def _started() -> float:
    """Return the start time of this process in UNIX seconds, 0 if the system does not report it."""
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError):
        return 0.0
    return time.time() - age


_STARTED = _started()
"""A file older than this process cannot have changed after it was imported."""

_lock = threading.RLock()
_loaded: dict[Path, Loaded] = {}
_by_module: dict[str, Loaded] = {}


_loading: ContextVar[tuple[Path, int] | None] = ContextVar("loading", default=None)
"""The file that is being loaded in this context, and the thread that does; threads that wait for its end would not."""


@contextmanager
def _while_loading(path: Path) -> Iterator[None]:
    token = _loading.set((path, threading.get_ident()))
    try:
        yield
    finally:
        _loading.reset(token)


def load_file(path: Path) -> Loaded:
    """Return the module of a file in its current state, with the modules beside it.

    Raise FileNotFoundError, UsageError if a module that it uses has changed since it was imported, and anything that
    executing the file raises.
    """
    path = path.resolve()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    loading = _loading.get()
    if loading is not None and loading[1] != threading.get_ident():
        raise UsageError(
            f"{loading[0]} starts work of its own when it is loaded, and that loads {path}; "
            'put it below `if __name__ == "__main__":`'
        )
    with _lock, _while_loading(path):
        known = _loaded.get(path)
        if known is None or not known.current():
            known = _loaded[path] = _load(path)
            _by_module[known.module.__name__] = known
        return known


def content_digest(target: Any) -> str:
    """Return the digest of the code of a class or function, or of the file that a module comes from.

    It covers the file of `target` and what this imports from beside it or from its package; for installed code only the
    file. Without a file, as in a notebook, it covers the cells that define `target`. Raise UsageError if the source
    cannot be read, or is not what this process has loaded.
    """
    module = sys.modules.get(getattr(target, "__module__", ""))
    found = _by_module.get(getattr(target, "__module__", ""))
    if found is not None:
        return found.digest
    place = getattr(module, "__file__", None)
    if place is None or not place.endswith(".py"):
        return _digest_of_cells(target)
    try:
        data = Path(place).read_bytes()
    except OSError as error:
        raise UsageError(
            f"the source of {_name(target)} cannot be read, so its results would be of unknown code: {error}"
        ) from error
    if not _is_of(target, place, data):
        raise UsageError(
            f"{place} has changed since this process imported {_name(target)}; start a new process, or name the code "
            f"by its path ({place}:{_name(target)}): then it is loaded anew"
        )
    files = {Path(place): digest_bytes(data)}
    for other in _imported_beside(module, Path(place)):
        _add(other, files, _name(target))
    return _whole(files)


def imported_files(path: Path, root: Path) -> list[Path]:
    """Return the files below `root` that a Python file imports, directly or indirectly, also inside functions.

    `root` is the folder on the import path. Names computed at run time are not found.
    """
    found: dict[Path, None] = {}
    pending = [path]
    while pending:
        file = pending.pop()
        try:
            tree = syntax_tree(file.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
        for parts in _imports(tree, file.parent.relative_to(root).parts):
            # Importing a module of a package also imports its parent packages.
            places = [root.joinpath(*parts[:depth]) for depth in range(1, len(parts) + 1)]
            files = [file for place in places for file in (place.parent / f"{place.name}.py", place / "__init__.py")]
            for place in files:
                if place != path and place not in found and place.is_file():
                    found[place] = None
                    pending.append(place)
    return list(found)


def _imports(tree: ast.Module, package: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the names that a module of `package` imports, split into parts; imported attributes may be modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level <= len(package) + 1:
            base = package[: len(package) + 1 - node.level] if node.level else ()
            base += tuple(node.module.split(".")) if node.module else ()
            yield from ((*base, alias.name) for alias in node.names)


def reference_digest(reference: str, target: Any) -> str:
    """Return the digest of the code that `package.module:attr` or `path/file.py:attr` names.

    A file that only imports its target from elsewhere is covered too, because it may modify what it imports. Raise as
    `content_digest` and `load_file`.
    """
    own = content_digest(target)
    place = reference.rpartition(":")[0]
    named = load_file(Path(place)).digest if place.endswith(".py") else own
    return own if named == own else digest([named, own])


@contextmanager
def fresh_modules(folder: Path, files: dict[Path, str]) -> Iterator[None]:
    """Within the block, import modules below `folder` from source; add the digests of what was read to `files`."""
    finder = _Finder(folder.resolve(), files)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class FreshLoader(SourceFileLoader):
    """Compiles the current source of a file, without cached bytecode, and records its digest."""

    def __init__(self, name: str, path: str, files: dict[Path, str]) -> None:
        super().__init__(name, path)
        self._files = files

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the current source."""
        path = self.get_filename(fullname)
        data = self.get_data(path)
        self._files[Path(path)] = digest_bytes(data)
        return self.source_to_code(data, path)


class _Finder(MetaPathFinder):
    def __init__(self, folder: Path, files: dict[Path, str]) -> None:
        self._folder = folder
        self._files = files

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader) or spec.origin is None:
            return None
        if not Path(spec.origin).is_relative_to(self._folder) or "site-packages" in spec.origin:
            return None
        spec.loader = FreshLoader(spec.loader.name, spec.origin, self._files)
        return spec


def _load(path: Path) -> Loaded:
    files: dict[Path, str] = {}
    data = path.read_bytes()
    # A changed file gets another module name, so that objects of the old code keep their module.
    name = f"{PREFIX}{path.stem}_{digest([str(path), digest_bytes(data)])[:16]}"
    while name in sys.modules:
        name += "_"
    spec = importlib.util.spec_from_file_location(name, path, loader=FreshLoader(name, str(path), files))
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    _forget_others(path)
    before = dict(sys.modules)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        with fresh_modules(path.parent, files):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        for other in _beside(files, before):
            del sys.modules[other]
        raise
    finally:
        sys.path.remove(str(path.parent))
    _add_imported(module, path, before, files)
    for late in imported_files(path, path.parent):
        if late not in files:
            _add(late, files, str(path))
    # The file itself is first in `files`: modules beside it are only read while it executes.
    return Loaded(module, files, {other: sys.modules[other] for other in _beside(files, before)})


def _beside(files: Mapping[Path, str], before: Mapping[str, ModuleType]) -> list[str]:
    """Return the names of modules newly loaded from `files`, except those with `PREFIX`."""
    return [
        name
        for name, module in sys.modules.copy().items()
        if not name.startswith(PREFIX)
        and before.get(name) is not module
        and Path(getattr(module, "__file__", None) or "") in files
    ]


def _forget_others(path: Path) -> None:
    """Remove modules imported by other files, or by an earlier version of this one, so that none is reused."""
    for loaded in _loaded.values():
        for name, module in loaded.beside.items():
            mine = next(iter(loaded.files)).parent == path.parent and loaded.current()
            if sys.modules.get(name) is module and not mine:
                del sys.modules[name]


def _add_imported(module: ModuleType, path: Path, before: Mapping[str, ModuleType], files: dict[Path, str]) -> None:
    """Add modules that were imported before and that a file uses. Raise UsageError if one has changed."""
    wanted = _names(compile(path.read_bytes(), str(path), "exec", dont_inherit=True))
    for name, other in before.items():
        place = Path(getattr(other, "__file__", None) or "")
        if name not in wanted or place in files or place.suffix != ".py" or not place.is_relative_to(path.parent):
            continue
        data = place.read_bytes()
        of_file = next(
            (loaded.files.get(place) for loaded in _loaded.values() if loaded.beside.get(name) is other), None
        )
        known = of_file == digest_bytes(data) if of_file else _is_of(other, str(place), data)
        if not known:
            raise UsageError(
                f"{place} has changed since this process imported it, and {path} uses it; start a new process"
            )
        files[place] = digest_bytes(data)


def _imported_beside(module: ModuleType | None, path: Path) -> list[Path]:
    """Return the files that a module imports from its package or folder; none for installed code and mesocosm."""
    name = getattr(module, "__name__", "")
    installed = {"site-packages", "dist-packages"} & {*path.parts} or path.is_relative_to(sysconfig.get_path("stdlib"))
    depth = 0 if name == "__main__" else name.count(".") + (path.name == "__init__.py")
    # A package of this distribution lies beside mesocosm, also where it is installed from a checkout.
    if installed or depth >= len(path.parents) or path.parents[depth] == _OURS:
        return []
    return imported_files(path, path.parents[depth])


def _add(place: Path, files: dict[Path, str], name: str) -> None:
    """Add a file that code imports. Raise UsageError if it cannot be read or has changed since it was imported."""
    try:
        data, known = place.read_bytes(), place.stat()
    except OSError as error:
        raise UsageError(f"{place} cannot be read, and {name} imports it: {error}") from error
    modules = [other for other in sys.modules.copy().values() if getattr(other, "__file__", None) == str(place)]
    edited = max(known.st_mtime, known.st_ctime) >= _STARTED
    if edited and not all(_is_of(other, str(place), data) for other in modules):
        raise UsageError(f"{place} has changed since this process imported it, and {name} uses it; start a new process")
    files[place] = digest_bytes(data)


def _names(code: CodeType) -> set[str]:
    found = set(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found |= _names(inner)
    return found


def _is_of(target: Any, place: str, data: bytes) -> bool:
    """Return whether the functions and constants of a loaded module, class or function match its source."""
    module = target if isinstance(target, ModuleType) else sys.modules[target.__module__]
    if type(getattr(module, "__loader__", None)) is not SourceFileLoader:
        # A loader that rewrites code, such as pytest's, compiles other functions from the same source.
        return True
    try:
        known = set(_codes(compile(data, place, "exec", dont_inherit=True)))
        tree = syntax_tree(data)
    except (SyntaxError, ValueError):
        return False
    if not all(code in known for code in _functions(target, place)):
        return False
    return Path(place).stat().st_mtime < _STARTED or all(_constants(tree, module))


def _constants(tree: ast.Module, module: ModuleType) -> Iterator[bool]:
    """Yield for each constant in the source of a module and its classes whether the loaded module has that value.

    Constants can change while functions stay the same. Names that functions assign (`global`) are left out.
    """
    assigned = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    holders: list[tuple[Any, Sequence[ast.stmt]]] = [(module, tree.body)]
    holders += [(getattr(module, node.name, None), node.body) for node in tree.body if isinstance(node, ast.ClassDef)]
    for holder, body in holders:
        last: dict[str, Any] = {}
        for node in body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                last |= {target.id: node.value.value for target in targets if isinstance(target, ast.Name)}
        own = vars(holder) if isinstance(holder, ModuleType | type) else {}
        yield from (own.get(name) == value for name, value in last.items() if name not in assigned and name in own)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _functions(target: Any, place: str) -> Iterator[CodeType]:
    """Yield the code of the functions in `target` that are defined in the file `place`."""
    holders = [target]
    if isinstance(target, ModuleType):
        holders += [
            item for item in vars(target).values() if isinstance(item, type) and item.__module__ == target.__name__
        ]
    for holder in holders:
        items = vars(holder).values() if isinstance(holder, ModuleType | type) else [holder]
        for item in items:
            function = inspect.unwrap(getattr(item, "fget", None) or getattr(item, "__func__", None) or item)
            if isinstance(function, FunctionType) and function.__code__.co_filename == place:
                yield function.__code__


def _digest_of_cells(target: Any) -> str:
    """Return the digest of the notebook cells that define a class with its bases, or a function.

    Raise UsageError if the cells cannot be read.
    """
    parts = [part for part in getattr(target, "__mro__", (target,)) if not _in_file(part)]
    cells: list[list[str]] = []
    for part in parts:
        items = list(vars(part).values()) if isinstance(part, type) else [part]
        functions = [inspect.unwrap(getattr(item, "__func__", None) or item) for item in items]
        names = dict.fromkeys(item.__code__.co_filename for item in functions if isinstance(item, FunctionType))
        lines = [line for name in names for line in linecache.getlines(name)]
        if not lines:
            raise UsageError(
                f"the source of {_name(part)} cannot be read, so a change of it could not be seen; put it into a file, "
                "or define it in a notebook"
            )
        cells.append(lines)
    return digest([_name(target), cells])


def _in_file(part: type) -> bool:
    module = sys.modules.get(part.__module__)
    # Built-in modules have no file either, but they have a spec.
    return bool(getattr(module, "__file__", None) or getattr(module, "__spec__", None))


def _name(target: Any) -> str:
    return str(getattr(target, "__qualname__", getattr(target, "__name__", target)))


def _digest_of(path: Path) -> str:
    try:
        return digest_bytes(path.read_bytes())
    except OSError:
        return ""
