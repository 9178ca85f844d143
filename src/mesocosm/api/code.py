"""The identity of code that is passed in: what a function does, however it is laid out and wherever it stands."""

import ast
import dis
import functools
import hashlib
import importlib.util
import inspect
import re
import sys
import sysconfig
import textwrap
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from operator import attrgetter, itemgetter, methodcaller
from pathlib import Path, PurePath
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any
from uuid import UUID

from mesocosm.core.failure import UsageError
from mesocosm.core.ids import digest

_MOST_VALUES = 100_000
_OURS = Path(__file__).parents[1]
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
    open: set[int] = field(default_factory=set)
    values: int = 0

    def callable(self, target: Any, name: str) -> Any:
        """Return the content of code as JSON data."""
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
            return self.built_in(target, name)
        if callable(wrapped := getattr(target, "__wrapped__", None)):
            return ["wrapped", type(target).__qualname__, self.callable(wrapped, name)]
        if callable(target) and _own(sys.modules.get(type(target).__module__)):
            return ["object", self.instance(target, name)]
        raise UsageError(f"{name} is {type(target).__name__}, no Python function or class; pass one of those")

    def function(self, function: FunctionType) -> Any:
        defaults = [list(function.__defaults__ or ()), dict(function.__kwdefaults__ or {})]
        names = sorted({*_names(function.__code__)})
        closed: dict[str, Any] = {}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
            try:
                closed[name] = self.named(cell.cell_contents, name, names)
            except ValueError:  # a name that has no value yet
                closed[name] = "empty"
        held = [self.value(defaults, function.__name__), closed]
        if not _own_place(function.__code__.co_filename):
            # What an installed decorator made: only what it holds is the user's.
            return ["function", f"{function.__code__.co_filename.rpartition('/')[2]}:{function.__code__.co_name}", held]
        read = self.read(names, function.__globals__)
        for module in _imported(function):
            read[f"import {module.__name__}"] = self.module(module, names)
        return ["function", _source(function), *held, read]

    def read(self, names: Iterable[str], space: Mapping[str, Any]) -> dict[str, Any]:
        """Return what names mean in a module, those that it has."""
        return {name: self.named(space[name], name, names) for name in names if name in space}

    def named(self, value: Any, name: str, names: Iterable[str]) -> Any:
        return self.module(value, names) if isinstance(value, ModuleType) else self.value(value, name)

    def module(self, module: ModuleType, names: Iterable[str]) -> Any:
        """Return what code that uses these names reads of a module: as it was loaded, not as its file is now."""
        if not _own(module) or id(module) in self.open:
            return ["module", module.__name__]
        space = vars(module)
        if not _LOOKS_UP.isdisjoint(names):
            names = sorted(name for name in space if not name.startswith("__"))
        with self.inside(module):
            return ["module", module.__name__, self.read(names, space)]

    @contextmanager
    def inside(self, value: Any) -> Iterator[None]:
        self.open.add(id(value))
        try:
            yield
        finally:
            self.open.discard(id(value))

    def type(self, target: type) -> Any:
        if not _own(sys.modules.get(target.__module__)):
            return ["class", f"{target.__module__}.{target.__qualname__}"]
        parts: dict[str, Any] = {}
        for name, item in sorted(vars(target).items()):
            if name in _NO_CODE or isinstance(item, MemberDescriptorType | GetSetDescriptorType):
                continue
            label = f"{target.__qualname__}.{name}"
            if isinstance(item, property):
                parts[name] = [self.value(one, label) for one in (item.fget, item.fset, item.fdel)]
            elif isinstance(item, functools.cached_property):
                parts[name] = self.value(item.func, label)
            else:
                parts[name] = self.value(getattr(item, "__func__", None) or item, label)
        return ["class", target.__qualname__, [self.type(base) for base in target.__bases__], parts]

    def instance(self, target: Any, name: str) -> Any:
        if isinstance(target, type):
            return self.value(target, name)
        return [
            self.value(type(target), name),
            {key: self.value(item, f"{name}.{key}") for key, item in _fields(target).items()},
        ]

    def value(self, value: Any, name: str) -> Any:
        """Return a value that code reads, as JSON data: plain data as it is, code by its content, the rest by type."""
        self.values += 1
        if self.values > _MOST_VALUES:
            raise UsageError(
                f"{name} holds more than {_MOST_VALUES:,} values; pass the data as rows, or read it in the code"
            )
        if (content := _content(value)) is not ...:
            return content
        if isinstance(value, ModuleType):
            return self.module(value, _LOOKS_UP)
        if id(value) in self.open:
            return "itself"
        with self.inside(value):
            if isinstance(value, Enum):
                return ["member", self.value(type(value), name), value.name]
            if getattr(type(value), "__iter__", None) in _ITERATES:
                return self.container(value, name)
            return self.object(value, name)

    def container(self, value: Any, name: str) -> Any:
        kind: Any = type(value).__name__
        if type(value) not in _CONTAINERS:
            kind = ["kind", self.instance(value, name), self.value(getattr(value, "default_factory", None), name)]
        if isinstance(value, Mapping):
            return [kind, [[self.value(key, name), self.value(item, name)] for key, item in value.items()]]
        items = [self.value(item, name) for item in value]
        return [kind, sorted(map(digest, items)) if isinstance(value, set | frozenset) else items]

    def object(self, value: Any, name: str) -> Any:
        if isinstance(value, FunctionType | MethodType | type | functools.partial):
            return self.code(value, name)
        if isinstance(value, _BUILT_IN):
            return self.built_in(value, name)
        if isinstance(value, str | int | float):
            return ["value", self.instance(value, name), repr(type(value).__mro__[-2](value))]
        if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "tobytes"):
            held = value.tolist() if value.dtype.hasobject else value.tobytes()
            return ["array", str(value.dtype), list(value.shape), self.value(held, name)]
        if callable(wrapped := getattr(value, "__wrapped__", None)) and not isinstance(value, Mapping):
            return ["wrapped", type(value).__qualname__, self.value(wrapped, name)]
        if _own(sys.modules.get(type(value).__module__)):
            if id(value) in self.seen:
                return ["again", self.seen[id(value)]]
            self.seen[id(value)] = len(self.seen)
            self.kept.append(value)
            return ["object", self.instance(value, name)]
        return self.unreadable(value, name)

    def unreadable(self, value: Any, name: str) -> Any:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        self.unread[f"{name} ({kind})"] = None
        return ["type", kind]

    def built_in(self, value: Any, name: str) -> Any:
        owner = getattr(value, "__self__", None)
        held = None if owner is None or isinstance(owner, ModuleType) else self.value(owner, name)
        return ["built-in", f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', name)}", held]

    def code(self, value: Any, name: str) -> Any:
        if isinstance(value, functools.partial) or _own(sys.modules.get(getattr(value, "__module__", None) or "")):
            return self.callable(value, name)
        if isinstance(value, MethodType) and not isinstance(value.__self__, type):
            return ["method", value.__func__.__qualname__, self.value(value.__self__, name)]
        return ["installed", f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', name)}"]


_LOOKS_UP = frozenset(("getattr", "vars", "__dict__", "globals"))
"""Names of what finds others by their text: code that uses one may read anything of a module."""
_NO_CODE = frozenset(
    (
        *("__dict__", "__weakref__", "__module__", "__doc__", "__firstlineno__", "__static_attributes__", "_abc_impl"),
        *("__signature__", "__pydantic_decorators__", "__pydantic_fields__"),
        *("__pydantic_serializer__", "__pydantic_validator__"),
    )
)
"""Attributes of classes that say nothing, or repeat others: pydantic's are made from its `__pydantic_core_schema__`."""
_CONTAINERS = frozenset((list, tuple, set, frozenset, dict, deque, OrderedDict, Counter, MappingProxyType))
_ITERATES = frozenset(getattr(one, "__iter__") for one in (*_CONTAINERS, defaultdict))  # noqa: B009 -- mypy sees ABCs
"""How containers that can be read without side effects iterate."""
_VALUES = frozenset(
    (Decimal, Fraction, date, time, datetime, timedelta, UUID, range, slice, itemgetter, attrgetter, methodcaller)
)
"""Types of the standard library whose `repr` is all that there is."""


def _content(value: Any) -> Any:
    """Return a value that holds no others as JSON data, `...` for other values."""
    if value is None or type(value) in {bool, int, str}:
        return value
    if type(value) in {float, complex, *_VALUES} or isinstance(value, PurePath | tzinfo):
        return [type(value).__name__, repr(value)]
    if isinstance(value, bytes | bytearray):
        return ["bytes", hashlib.sha256(value).hexdigest()]
    if isinstance(value, re.Pattern):
        return ["pattern", repr(value.pattern), value.flags]
    return ...


def _fields(target: Any) -> dict[str, Any]:
    """Return the attributes of an object, those in slots too."""
    slots: list[str] = []
    for kind in type(target).__mro__:
        given = vars(kind).get("__slots__", ())
        slots += [given] if isinstance(given, str) else given
    found = {name: getattr(target, name) for name in slots if not name.startswith("__") and hasattr(target, name)}
    return {**found, **getattr(target, "__dict__", {})}


def _imported(function: FunctionType) -> Iterator[ModuleType]:
    """Yield the user's own modules that a function imports when it is called."""
    package = str(function.__globals__.get("__package__") or "")
    for name in sorted({*_imports(function.__code__, package)}):
        with suppress(Exception):  # a module that cannot be imported has no content; the call will say so
            top = importlib.util.find_spec(name.partition(".")[0])
            if top is not None and _own_place(top.origin or next(iter(top.submodule_search_locations or ()))):
                yield importlib.import_module(name)


def _imports(code: CodeType, package: str) -> Iterator[str]:
    """Yield the full names that code imports; what is taken from a module may be a module too."""
    before: list[Any] = [None, None]
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            level, taken = before
            parts = package.split(".")[: 1 - level or None] if level else []
            full = ".".join(filter(None, (*parts, str(step.argval))))
            yield full
            yield from (f"{full}.{one}" for one in taken or ())
        before = [before[1], step.argval]
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _imports(inner, package)


def _name(target: Any) -> str:
    return str(getattr(target, "__qualname__", type(target).__name__))


def _own(module: ModuleType | None) -> bool:
    """Return whether a module is the user's: not installed, not of the standard library, not of mesocosm."""
    if module is None:
        return True
    place = getattr(module, "__file__", None)
    if place is None:
        built_in = module.__name__.partition(".")[0] in sys.stdlib_module_names
        return not built_in and (getattr(module, "__spec__", None) is None or hasattr(module, "__path__"))
    return _own_place(place)


def _own_place(place: str) -> bool:
    path = Path(place)
    return (
        not {"site-packages", "dist-packages"} & {*path.parts}
        and not place.startswith("<frozen ")
        and not any(path.is_relative_to(folder) for folder in (sysconfig.get_path("stdlib"), _OURS))
    )


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _source(function: FunctionType) -> Any:
    """Return the syntax tree of a function as text, or its byte code if its source is not what was compiled."""
    wanted = _bytes(function.__code__)
    try:
        # Of the code: of a function, that of what it wraps would be found.
        tree = ast.parse(textwrap.dedent(inspect.getsource(function.__code__)))
        whole: list[ast.AST] = [*tree.body] if isinstance(tree.body[0], ast.FunctionDef | ast.AsyncFunctionDef) else []
        if whole:
            codes = _codes(compile(tree, "source", "exec", dont_inherit=True))
            return ast.dump(tree) if any(_bytes(inner) == wanted for inner in codes) else wanted
        for node in ast.walk(tree):
            if isinstance(node, ast.Lambda):
                codes = _codes(compile(ast.Expression(node), "source", "eval", dont_inherit=True))
                if _bytes(next(codes)) == wanted:
                    return ast.dump(node)
    except (OSError, TypeError, SyntaxError, ValueError, IndexError):
        return wanted
    return wanted


def _codes(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _codes(inner)


def _bytes(code: CodeType) -> Any:
    constants = [_bytes(one) if isinstance(one, CodeType) else _constant(one) for one in code.co_consts]
    return [code.co_code.hex(), list(code.co_names), list(code.co_varnames), list(code.co_freevars), constants]


def _constant(value: Any) -> str:
    # The order of a set depends on the process.
    return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value)


def parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function. Raises UsageError if Python does not know them."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        raise UsageError(f"the parameters of {_name(function)} cannot be read: {error}") from error


def is_async(function: Any) -> bool:
    """Return whether calling a function returns a coroutine, also for objects with an asynchronous `__call__`."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(vars(type(function)).get("__call__"))
