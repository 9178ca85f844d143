"""The identity of code that is passed in: what a function does, however it is laid out and wherever it stands."""

import ast
import functools
import hashlib
import inspect
import sys
import sysconfig
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from mesocosm.core.failure import UsageError
from mesocosm.core.ids import digest

_MOST_VALUES = 100_000
_BUILT_IN = (BuiltinFunctionType, type(len), type(str.join), type(object.__init__), type("".join))


@dataclass(frozen=True, slots=True)
class CodeIdentity:
    """`digest` covers the code and the plain values that it reads; `unread` names what counts only by its type."""

    digest: str
    unread: tuple[str, ...] = ()


def code_identity(target: Any) -> CodeIdentity:
    """Return the identity of a function, class or callable object.

    Covered: the syntax tree of its source (comments and layout do not count), the functions and classes of the user's
    own modules that it names, plain values that it closes over or reads from globals, and its defaults. If the source
    is not what was compiled (a closure, an edited file, an interactive session), its byte code takes the place of the
    tree. Clients, connections and other objects count by their type. Raises UsageError for what is no Python code.
    """
    found = _Walk()
    content = found.callable(target, _name(target))
    return CodeIdentity(digest(content), tuple(found.unread))


@dataclass(slots=True)
class _Walk:
    seen: dict[int, int] = field(default_factory=dict)
    unread: dict[str, None] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)
    values: int = 0

    def callable(self, target: Any, name: str) -> Any:
        """Return the content of code as JSON data."""
        target = inspect.unwrap(target) if callable(target) else target
        if id(target) in self.seen:
            return ["again", self.seen[id(target)]]
        self.seen[id(target)] = len(self.seen)
        self.kept.append(target)  # an object that is gone could lend its id to another
        if isinstance(target, functools.partial):
            inner = self.callable(target.func, name)
            return ["partial", inner, self.value(list(target.args), name), self.value(dict(target.keywords), name)]
        if isinstance(target, MethodType):
            return ["method", self.callable(target.__func__, name), self.instance(target.__self__, name)]
        if isinstance(target, FunctionType):
            return self.function(target)
        if isinstance(target, type):
            return self.type(target)
        if isinstance(target, _BUILT_IN):
            return ["built-in", f"{getattr(target, '__module__', '')}.{getattr(target, '__qualname__', name)}"]
        if isinstance(vars(type(target)).get("__call__"), FunctionType):
            return ["object", self.instance(target, name)]
        raise UsageError(f"{name} is {type(target).__name__}, no Python function or class; pass one of those")

    def function(self, function: FunctionType) -> Any:
        defaults = [list(function.__defaults__ or ()), dict(function.__kwdefaults__ or {})]
        closed: dict[str, Any] = {}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
            try:
                closed[name] = self.value(cell.cell_contents, name)
            except ValueError:  # a name that has no value yet
                closed[name] = "empty"
        names = sorted({*_names(function.__code__)})
        read = {name: self.value(function.__globals__[name], name) for name in names if name in function.__globals__}
        return ["function", _source(function), self.value(defaults, function.__name__), closed, read]

    def type(self, target: type) -> Any:
        if not _own(sys.modules.get(target.__module__)):
            return ["class", f"{target.__module__}.{target.__qualname__}"]
        parts: dict[str, Any] = {}
        for name, item in sorted(vars(target).items()):
            if name in {"__dict__", "__weakref__", "__module__", "__doc__", "__firstlineno__", "__static_attributes__"}:
                continue
            inner = getattr(item, "fget", None) or getattr(item, "__func__", None) or item
            parts[name] = self.value(inner, f"{target.__qualname__}.{name}")
        return ["class", target.__qualname__, [self.type(base) for base in target.__bases__], parts]

    def instance(self, target: Any, name: str) -> Any:
        if isinstance(target, type):
            return self.value(target, name)
        fields = getattr(target, "__dict__", {})
        return [
            self.value(type(target), name),
            {key: self.value(item, f"{name}.{key}") for key, item in fields.items()},
        ]

    def value(self, value: Any, name: str) -> Any:
        """Return a value that code reads, as JSON data: plain data as it is, code by its content, the rest by type."""
        self.values += 1
        if self.values > _MOST_VALUES:
            raise UsageError(
                f"{name} holds more than {_MOST_VALUES:,} values; pass the data as rows, or read it in the code"
            )
        if isinstance(value, bool | int | str) or value is None:
            return value
        if isinstance(value, float | complex):
            return [type(value).__name__, repr(value)]
        if isinstance(value, bytes):
            return ["bytes", hashlib.sha256(value).hexdigest()]
        if isinstance(value, list | tuple | set | frozenset) or type(value) is dict:
            return self.container(value, name)
        return self.object(value, name)

    def container(self, value: Any, name: str) -> Any:
        kind = type(value).__name__
        if isinstance(value, dict):
            return [kind, [[self.value(key, name), self.value(item, name)] for key, item in value.items()]]
        items = [self.value(item, name) for item in value]
        return [kind, items if isinstance(value, list | tuple) else sorted(map(digest, items))]

    def object(self, value: Any, name: str) -> Any:
        if isinstance(value, ModuleType):
            return self.module(value)
        if isinstance(value, FunctionType | MethodType | type | functools.partial):
            return self.code(value, name)
        if isinstance(value, _BUILT_IN):
            return ["built-in", str(getattr(value, "__qualname__", name))]
        if _own(sys.modules.get(type(value).__module__)) and hasattr(value, "__dict__"):
            if id(value) in self.seen:
                return ["again", self.seen[id(value)]]
            self.seen[id(value)] = len(self.seen)
            self.kept.append(value)
            return ["object", self.instance(value, name)]
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        self.unread[f"{name} ({kind})"] = None
        return ["type", kind]

    def code(self, value: Any, name: str) -> Any:
        module = sys.modules.get(getattr(inspect.unwrap(value) if callable(value) else value, "__module__", None) or "")
        if isinstance(value, functools.partial) or _own(module):
            return self.callable(value, name)
        return ["installed", f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', name)}"]

    def module(self, module: ModuleType) -> Any:
        place = getattr(module, "__file__", None)
        if not _own(module) or place is None:
            return ["module", module.__name__]
        try:
            return ["module", module.__name__, _tree(Path(place).read_text(encoding="utf-8"))]
        except (OSError, SyntaxError, ValueError):
            return ["module", module.__name__]


def _name(target: Any) -> str:
    return str(getattr(target, "__qualname__", type(target).__name__))


def _own(module: ModuleType | None) -> bool:
    """Return whether a module is the user's: not installed, not of the standard library, not of mesocosm."""
    if module is None or module.__name__.partition(".")[0] in sys.stdlib_module_names | {"mesocosm"} - {"__main__"}:
        return module is None
    place = getattr(module, "__file__", None)
    if place is None:
        return getattr(module, "__spec__", None) is None
    path = Path(place)
    return not {"site-packages", "dist-packages"} & {*path.parts} and not path.is_relative_to(
        sysconfig.get_path("stdlib")
    )


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _source(function: FunctionType) -> Any:
    """Return the syntax tree of a function as text, or its byte code if its source is not what was compiled."""
    try:
        text = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(text)
        code = compile(tree, "source", "exec", dont_inherit=True)
    except (OSError, TypeError, SyntaxError, ValueError):
        return _bytes(function.__code__)
    wanted = _bytes(function.__code__)
    if not any(_bytes(inner) == wanted for inner in _codes(code)):
        return wanted
    return ast.dump(tree)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _codes(inner)


def _bytes(code: CodeType) -> Any:
    constants = [_bytes(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return [code.co_code.hex(), list(code.co_names), list(code.co_varnames), list(code.co_freevars), constants]


def _tree(text: str) -> str:
    return ast.dump(ast.parse(text))


def parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function. Raises UsageError if Python does not know them."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        raise UsageError(f"the parameters of {_name(function)} cannot be read: {error}") from error


def is_async(function: Any) -> bool:
    """Return whether calling a function returns a coroutine, also for objects with an asynchronous `__call__`."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(vars(type(function)).get("__call__"))
