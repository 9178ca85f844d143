"""The virtual environment of a rollout. No index is there: wheels are made here, of a few bytes."""

import json
import sys
import zipfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mesocosm.core.failure import InvalidInput, MesocosmError, UsageError
from mesocosm.rollouts.place import Ended, Log, Work
from mesocosm.rollouts.served.installation import Installation
from mesocosm.rollouts.served.interpreter import fits
from mesocosm.rollouts.served.place import ServedPlace
from mesocosm.rollouts.served.requirement import declared, satisfied

Opened = Callable[..., Awaitable[ServedPlace]]
Working = Callable[..., Work]


def wheel(folder: Path, name: str, version: str) -> None:
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}.py", "")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: a test\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name, version in (("cheese", "1.2"), ("pydantic", "2.99"), ("fastapi", "0.999"), ("uvicorn", "0.999")):
        wheel(folder, name, version)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    return folder


def declare(rollout: Path, *requirements: str, python: str = ">=3.11") -> None:
    lines = ["[project]", 'name = "r"', f"requires-python = {json.dumps(python)}"]
    (rollout / "pyproject.toml").write_text("\n".join([*lines, f"dependencies = {json.dumps(requirements)}"]))


def modules(ended: Ended) -> list[str]:
    assert ended.sample is not None
    return list(json.loads(str(ended.sample.messages[-1]["content"])))


@pytest.mark.usefixtures("index")
async def test_what_a_rollout_declares_is_installed_once_and_nothing_of_ours_beside_it(
    opened: Opened, working: Working, log: Log, rollout: Path, notices: list[str]
) -> None:
    declare(rollout, "cheese==1.2")
    for _ in range(2):
        place = await opened()
        assert modules(await place.run(working("modules"), log)) == ["mesocosm", "cheese", "osmosis_ai"]
    assert ["making its virtual environment" in notice for notice in notices] == [True]


@pytest.mark.usefixtures("index")
async def test_the_stand_in_serves_where_the_package_cannot_be_installed(
    opened: Opened, working: Working, log: Log, rollout: Path, notices: list[str]
) -> None:
    declare(rollout, "osmosis-ai[server]>=0.3", "cheese")
    for _ in range(2):
        ended = await (await opened()).run(working("modules"), log)
        assert modules(ended) == ["mesocosm", "cheese", "osmosis_ai"]
        assert "stand-in" in notices[-1]
    assert len([notice for notice in notices if "making" in notice]) == 2


async def test_of_the_package_the_newest_release_is_installed_whose_protocol_is_known(
    index: Path, rollout: Path, tmp_path: Path
) -> None:
    for version in ("0.3.1", "0.3.7", "0.4.0"):
        wheel(index, "osmosis_ai", version)
    declare(rollout, "osmosis-ai>=0.3", "cheese")
    await Installation(rollout, tmp_path / "installs", {}).python(lambda line: None)
    found = [path.name for path in (tmp_path / "installs").rglob("osmosis_ai-*.dist-info")]
    assert found == ["osmosis_ai-0.3.7.dist-info"]


@pytest.mark.usefixtures("index")
async def test_a_failed_installation_says_what_the_installer_said_and_leaves_nothing(
    opened: Opened, rollout: Path, tmp_path: Path
) -> None:
    declare(rollout, "chalk==3")
    with pytest.raises(MesocosmError, match="chalk"):
        await opened()
    assert [path for path in (tmp_path / "installs").iterdir() if path.is_dir()] == []


async def test_a_rollout_that_our_interpreter_satisfies_runs_with_it(rollout: Path, tmp_path: Path) -> None:
    declare(rollout, "osmosis-ai>=0.3", "pydantic>=2", "uvicorn")
    notices: list[str] = []
    assert await Installation(rollout, tmp_path, {}).python(notices.append) == sys.executable
    assert notices == []


async def test_a_version_of_python_that_nobody_has_is_named(rollout: Path, tmp_path: Path) -> None:
    declare(rollout, python=">=3.99")
    with pytest.raises(UsageError, match=r"needs Python >=3\.99"):
        await Installation(rollout, tmp_path, {"PATH": "", "HOME": str(tmp_path)}).python(lambda line: None)


@pytest.mark.parametrize(
    ("wanted", "answer"),
    [
        ("", True),
        (">=3.12", True),
        (">=3.11,<3.12", False),
        ("~=3.12", True),
        ("~=3.11.2", False),
        ("==3.12.*", True),
        ("==3.12", False),
        ("!=3.12.4", False),
        (">3.12", True),
        ("<=3.12.4", True),
        ("whatever", True),
    ],
)
def test_versions_are_compared_as_requires_python_says(wanted: str, answer: bool) -> None:
    assert fits((3, 12, 4), wanted) is answer


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("msgspec", True),
        ("MsgSpec>=0.1", True),
        ("msgspec<0.1", False),
        ("no-such-thing", False),
        ("no-such-thing; python_version < '3'", True),
        ("pydantic[email]", False),
        ("osmosis-ai[server]>=0.3,<0.4", True),
        ("osmosis_ai[strands]", False),
        ("this is = nothing", False),
    ],
)
def test_a_requirement_is_satisfied_by_what_is_installed(line: str, answer: bool) -> None:
    assert satisfied(line) is answer


def test_nothing_is_declared_without_a_project_file(tmp_path: Path) -> None:
    assert declared(tmp_path).requirements == ()


def test_a_project_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project\n")
    with pytest.raises(UsageError, match=r"pyproject\.toml cannot be read"):
        declared(tmp_path)


def test_dependencies_that_are_no_list_are_named(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = "cheese"\nrequires-python = 3\n')
    with pytest.raises(InvalidInput) as caught:
        declared(tmp_path)
    assert [problem.path for problem in caught.value.problems] == ["project.dependencies", "project.requires-python"]
