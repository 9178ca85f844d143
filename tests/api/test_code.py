"""The identity of code: what counts as a change, and what does not."""

import functools
import sys
import threading
import types
from pathlib import Path
from typing import Any

import pytest

from mesocosm.api.code import code_identity
from mesocosm.core.failure import UsageError

PLAIN = """
LIMIT = 3
def helper(x):
    return x < LIMIT
def grade(answer, expected, most=2):
    return helper(len(answer))
class Agent:
    rate = 1
    def __call__(self, question):
        return helper(question)
"""


def loaded(text: str) -> types.ModuleType:
    """Return a module as a notebook has one: without a file."""
    module = types.ModuleType("__main__")
    exec(compile(text, "<cell>", "exec"), module.__dict__)
    return module


def identity(text: str, name: str = "grade") -> str:
    return code_identity(getattr(loaded(text), name)).digest


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))


@pytest.mark.parametrize(
    "same",
    [
        PLAIN.replace("    return x < LIMIT", "    # shorter is better\n    return  x<LIMIT"),
        PLAIN + "\ndef other():\n    return 1\n",
        "\n\n" + PLAIN,
    ],
)
def test_layout_and_what_is_not_used_do_not_count(same: str) -> None:
    assert identity(same) == identity(PLAIN)


@pytest.mark.parametrize(
    "changed",
    [
        PLAIN.replace("LIMIT = 3", "LIMIT = 4"),
        PLAIN.replace("x < LIMIT", "x <= LIMIT"),
        PLAIN.replace("most=2", "most=3"),
        PLAIN.replace("len(answer)", "len(expected)"),
    ],
)
def test_constants_helpers_and_defaults_count(changed: str) -> None:
    assert identity(changed) != identity(PLAIN)


@pytest.mark.parametrize("changed", [PLAIN.replace("rate = 1", "rate = 2"), PLAIN.replace("x < LIMIT", "x > LIMIT")])
def test_attributes_and_methods_of_classes_count(changed: str) -> None:
    assert identity(changed, "Agent") != identity(PLAIN, "Agent")
    assert code_identity(loaded(changed).Agent()).digest != code_identity(loaded(PLAIN).Agent()).digest


def made(number: int) -> Any:
    def inner(answer: str) -> int:
        return number

    return inner


def test_closures_partials_and_instances_count_by_what_they_hold() -> None:
    assert code_identity(made(1)).digest == code_identity(made(1)).digest
    assert code_identity(made(1)).digest != code_identity(made(2)).digest
    partial = functools.partial(max, 1), functools.partial(max, 2)
    assert code_identity(partial[0]).digest != code_identity(partial[1]).digest


def test_functions_that_call_each_other_have_an_identity() -> None:
    text = "def grade(x):\n    return other(x)\ndef other(x):\n    return grade(x - 1) if x else 0\n"
    assert identity(text) == identity(text)


def test_what_cannot_be_read_counts_by_its_type_and_is_named() -> None:
    client = threading.Lock()

    def agent(question: str) -> Any:
        return client

    assert code_identity(agent).unread == ("client (_thread.lock)",)


def test_a_large_table_is_refused_and_not_hashed_for_minutes() -> None:
    table = list(range(200_000))

    def agent(question: str) -> Any:
        return table

    with pytest.raises(UsageError, match="more than 100,000 values"):
        code_identity(agent)


def test_what_is_no_code_is_refused() -> None:
    with pytest.raises(UsageError, match="no Python function or class"):
        code_identity(3)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import re\nX = re.compile('a')", "import re\nX = re.compile('b')"),
        ("import re\nX = re.compile('a').search", "import re\nX = re.compile('b').search"),
        ("from pathlib import Path\nX = Path('a')", "from pathlib import Path\nX = Path('b')"),
        ("from datetime import date\nX = date(2020, 1, 1)", "from datetime import date\nX = date(2020, 1, 2)"),
        ("import collections\nX = collections.Counter('a')", "import collections\nX = collections.Counter('b')"),
        ("class S(str): pass\nX = S('a')", "class S(str): pass\nX = S('b')"),
        ("import numpy\nX = numpy.array([1])", "import numpy\nX = numpy.array([2])"),
        ("X = 'a {}'.format", "X = 'b {}'.format"),
        ("X = (lambda: 1, lambda: 2)[0]", "X = (lambda: 1, lambda: 2)[1]"),
        (
            "import functools\n@functools.cache\ndef X(): return 1",
            "import functools\n@functools.cache\ndef X(): return 2",
        ),
        (
            "class S:\n  __slots__ = ('a',)\n  def __init__(self, a): self.a = a\nX = S(1)",
            "class S:\n  __slots__ = ('a',)\n  def __init__(self, a): self.a = a\nX = S(2)",
        ),
        (
            "import functools\nclass X:\n  @functools.cached_property\n  def a(self): return 1",
            "import functools\nclass X:\n  @functools.cached_property\n  def a(self): return 2",
        ),
        (
            "class X:\n  @property\n  def a(self): return 1\n  @a.setter\n  def a(self, b): self.b = b",
            "class X:\n  @property\n  def a(self): return 1\n  @a.setter\n  def a(self, b): self.b = b + 1",
        ),
    ],
)
def test_values_that_are_read_count_by_their_content(before: str, after: str) -> None:
    uses = "\ndef grade(answer, expected):\n    return X\n"
    assert identity(before + uses) != identity(after + uses)
    assert identity(before + uses) == identity(before + uses)


WRAPPED = """
import functools
def shout(function):
    @functools.wraps(function)
    def inner(answer, expected):
        return function(answer, expected) + "!"
    return inner
@shout
def grade(answer, expected):
    return answer
"""


def test_a_decorator_counts_with_what_it_decorates() -> None:
    assert (
        identity(WRAPPED.replace("!", "?")) != identity(WRAPPED) != identity(WRAPPED.replace("return answer", "pass"))
    )


@pytest.mark.parametrize(
    ("uses", "between"),
    [
        ("from zz_pack import near\ndef grade(answer): return near.get()", "from zz_pack.deep import get"),
        (
            "from zz_pack import near\ndef grade(answer): return near.get()",
            "from zz_pack import deep\ndef get(): return deep.get()",
        ),
        (
            "def grade(answer):\n    from zz_pack import near\n    return near.get()",
            "from zz_pack import deep\ndef get(): return deep.get()",
        ),
        ("import zz_pack.near\ndef grade(answer): return zz_pack.near.get()", "from zz_pack.deep import get"),
        ("from zz_pack import near\ndef grade(answer): return getattr(near, 'get')()", "from zz_pack.deep import get"),
    ],
)
def test_what_modules_of_the_user_read_counts_however_deep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uses: str, between: str
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "zz_pack").mkdir()
    (tmp_path / "zz_pack" / "__init__.py").touch()
    (tmp_path / "zz_pack" / "near.py").write_text(between)
    found = []
    for text in ("X = 1\ndef get(): return X", "X = 2\ndef get(): return X", "X = 1\ndef get(): return X"):
        (tmp_path / "zz_pack" / "deep.py").write_text(text)
        for name in [name for name in sys.modules if name.startswith("zz_pack")]:
            monkeypatch.delitem(sys.modules, name)
        found.append(identity(uses))
    assert (found[0] != found[1], found[0] == found[2]) == (True, True)


def test_a_module_counts_as_it_was_loaded_and_not_as_its_file_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "zz_one.py").write_text("X = 1")
    uses = "import zz_one\ndef grade(answer): return zz_one.X"
    before = identity(uses)
    (tmp_path / "zz_one.py").write_text("X = 2")
    assert identity(uses) == before
    monkeypatch.delitem(sys.modules, "zz_one")
