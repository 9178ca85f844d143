"""The package: its names, and what it costs to import it."""

import subprocess
import sys

import pytest

from mesocosm import rollouts
from mesocosm.rollouts import sdk


def test_every_public_name_is_there() -> None:
    for package in (sdk, rollouts):
        assert set(package.__all__) == set(sdk.PLACES)
        for name in package.__all__:
            assert getattr(package, name) is not None
            assert name in dir(package)


@pytest.mark.parametrize("package", [sdk, rollouts])
def test_other_names_are_not(package: object) -> None:
    with pytest.raises(AttributeError, match="Nothing"):
        getattr(package, "Nothing")  # noqa: B009 - a name that mypy knows is not there


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_of_it() -> None:
    loaded = loaded_by("import mesocosm.rollouts")
    assert "pydantic" not in loaded
    assert "mesocosm.rollouts.sdk.backend" not in loaded


def test_the_execution_core_needs_nothing_else_of_mesocosm() -> None:
    loaded = loaded_by("from mesocosm.rollouts import LocalBackend")
    own = {name for name in loaded if name.startswith("mesocosm.") and not name.startswith("mesocosm.rollouts")}
    assert not own
    assert not {"msgspec", "fastapi", "openai", "sqlalchemy"} & loaded
