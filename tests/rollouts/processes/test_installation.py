"""The virtual environment of a rollout. No index is there: wheels are made here, of a few bytes."""

import asyncio
import json
import shutil
import sys
import zipfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mesocosm.core.failure import InvalidInput, MesocosmError, UsageError
from mesocosm.rollouts.executor import LineLog, RowJob, RowOutcome
from mesocosm.rollouts.processes.executor import ProcessExecutor
from mesocosm.rollouts.processes.installation import MARK, Installation
from mesocosm.rollouts.processes.requirement import declared, fits, satisfied

Opened = Callable[..., Awaitable[ProcessExecutor]]
Working = Callable[..., RowJob]


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


def modules(ended: RowOutcome) -> list[str]:
    assert ended.sample is not None
    return list(json.loads(str(ended.sample.messages[-1]["content"])))


@pytest.mark.usefixtures("index")
async def test_what_a_rollout_declares_is_installed_once_and_nothing_of_ours_beside_it(
    opened: Opened, working: Working, log: LineLog, rollout: Path, notices: list[str]
) -> None:
    declare(rollout, "cheese==1.2")
    for _ in range(2):
        place = await opened()
        assert modules(await place.run(working("modules"), log)) == ["mesocosm", "cheese", "osmosis_ai"]
    assert len([notice for notice in notices if "making its virtual environment" in notice]) == 1


@pytest.mark.usefixtures("index")
async def test_the_stand_in_serves_where_the_package_cannot_be_installed(
    opened: Opened, working: Working, log: LineLog, rollout: Path, notices: list[str]
) -> None:
    declare(rollout, "osmosis-ai[server]>=0.3", "cheese")
    for _ in range(2):
        ended = await (await opened()).run(working("modules"), log)
        assert modules(ended) == ["mesocosm", "cheese", "osmosis_ai"]
        assert "stand-in" in notices[-1]
    assert len([notice for notice in notices if "making" in notice]) == 2


@pytest.mark.usefixtures("index")
async def test_rollouts_with_equal_requirements_share_an_environment(rollout: Path, tmp_path: Path) -> None:
    other = shutil.copytree(rollout, tmp_path / "another")
    declare(rollout, "cheese==1.2", "pydantic>=2")
    declare(other, "pydantic>=2", "cheese==1.2")
    notices: list[str] = []
    found = [await Installation(one, tmp_path / "installs", {}).python(notices.append) for one in (rollout, other)]
    assert found[0] == found[1]
    assert len([notice for notice in notices if "making" in notice]) == 1


@pytest.mark.usefixtures("index")
async def test_rollouts_that_begin_at_once_make_one_environment(rollout: Path, tmp_path: Path) -> None:
    declare(rollout, "cheese==1.2")
    notices: list[str] = []
    makers = (Installation(rollout, tmp_path / "installs", {}).python(notices.append) for _ in range(3))
    assert len({found.path for found in await asyncio.gather(*makers)}) == 1
    assert [notice.partition(": ")[2].split()[0] for notice in notices] == ["making", "another", "another", "its"]


@pytest.mark.usefixtures("index")
async def test_an_environment_that_was_left_half_made_is_made_anew(rollout: Path, tmp_path: Path) -> None:
    declare(rollout, "cheese==1.2")
    installation = Installation(rollout, tmp_path / "installs", {})
    first = (await installation.python(lambda line: None)).folder
    assert first is not None
    (first.parent / MARK).unlink()
    second = (await installation.python(lambda line: None)).folder
    assert second is not None
    assert list(second.rglob("cheese.py"))
    assert [path for path in first.parent.iterdir() if path.is_dir()] == [second]


@pytest.mark.parametrize("other", ["path", "variable", "settings"])
async def test_what_may_mean_another_thing_elsewhere_is_not_shared(
    index: Path, other: str, rollout: Path, tmp_path: Path
) -> None:
    line = f"cheese @ {(index / 'cheese-1.2-py3-none-any.whl').as_uri()}" if other == "path" else "cheese==1.2"
    places = [rollout, shutil.copytree(rollout, tmp_path / "another")]
    found = []
    for number, place in enumerate(places):
        declare(place, line)
        if other == "settings":
            (place / "uv.toml").write_text("offline = true\n")
        variables = {"PIP_TIMEOUT": str(number + 1)} if other == "variable" else {}
        found.append(await Installation(place, tmp_path / "installs", variables).python(lambda line: None))
    assert found[0] != found[1]


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
    assert [path.name for path in (tmp_path / "installs").rglob("*") if path.is_file()].count(MARK) == 0
    assert not list((tmp_path / "installs").rglob("python"))


async def test_a_rollout_that_our_interpreter_satisfies_runs_with_it(rollout: Path, tmp_path: Path) -> None:
    declare(rollout, "osmosis-ai>=0.3", "pydantic>=2", "uvicorn")
    notices: list[str] = []
    assert (await Installation(rollout, tmp_path, {}).python(notices.append)).path == sys.executable
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


@pytest.mark.parametrize("content", [b"[project\n", b"\xff", b"a = " + b"[" * 5000])
def test_a_project_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "pyproject.toml").write_bytes(content)
    with pytest.raises(UsageError, match=r"pyproject\.toml cannot be read"):
        declared(tmp_path)


@pytest.mark.parametrize(
    ("content", "paths"),
    [
        (
            '[project]\ndependencies = "cheese"\nrequires-python = 3\n',
            ["project.dependencies", "project.requires-python"],
        ),
        ("[project]\ndependencies = [1]\n", ["project.dependencies"]),
        ("project = 1\n", ["project"]),
    ],
)
def test_what_a_project_file_declares_wrongly_is_named(tmp_path: Path, content: str, paths: list[str]) -> None:
    (tmp_path / "pyproject.toml").write_text(content)
    with pytest.raises(InvalidInput) as caught:
        declared(tmp_path)
    assert [problem.path for problem in caught.value.problems] == paths
