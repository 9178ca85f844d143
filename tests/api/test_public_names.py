"""The public names and their signatures: a change of `public_names.txt` needs a line in the changelog."""

import doctest
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mesocosm as mc

LISTED = Path(__file__).with_name("public_names.txt")


def signature_of(found: Any) -> str:
    """Return names, kinds and defaults of the parameters; Pythons spell annotations differently."""
    try:
        given = inspect.signature(found)
    except (TypeError, ValueError):
        return ""
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in given.parameters.values()]
    return str(inspect.Signature(bare))


def described(name: str) -> list[str]:
    found = getattr(mc, name)
    if isinstance(found, str):
        return [name]
    if inspect.ismodule(found):
        return [f"{name} (module)"]
    lines = [f"{name}{signature_of(found)}"]
    if inspect.isclass(found) and found.__module__.startswith("mesocosm.api"):
        for member, value in sorted(vars(found).items()):
            if member.startswith("_"):
                continue
            if isinstance(value, property):
                lines.append(f"  {name}.{member}")
            elif callable(value):
                lines.append(f"  {name}.{member}{signature_of(value)}")
    return lines


def test_names_and_signatures_are_those_that_are_listed() -> None:
    now = "".join(f"{line}\n" for name in sorted(mc.__all__) for line in described(name))
    assert now == LISTED.read_text(), f"if this is meant, write it to {LISTED.name} and into the changelog"


def test_importing_the_package_loads_nothing_and_evaluate_no_heavy_package() -> None:
    program = (
        "import sys, mesocosm; print([name for name in sys.modules if name.startswith('mesocosm.')]); "
        "mesocosm.evaluate; print({'aiohttp', 'pydantic', 'sqlalchemy'} & set(sys.modules))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\nset()\n"


def test_names_are_found_and_others_are_not() -> None:
    assert dir(mc) == sorted(mc.__all__)
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        _ = mc.evalute  # type: ignore[attr-defined]


def test_every_name_says_what_it_is() -> None:
    assert [name for name in mc.__all__ if name != "__version__" and not inspect.getdoc(getattr(mc, name))] == []


@pytest.mark.parametrize("name", sorted({*mc.__all__} - {"__version__"}))
def test_every_name_has_an_example_that_runs(name: str) -> None:
    rows = [{"question": "1 + 1?", "answer": "2"}, {"question": "2 + 2?", "answer": "4"}]
    run = mc.evaluate(rows, prompt="{question}", grader="exact", model="builtin/oracle")
    known = {"rows": rows, "run": run, **{one: getattr(mc, one) for one in mc.__all__}}
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(getattr(mc, name)) or "", known, name, None, 0)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0
