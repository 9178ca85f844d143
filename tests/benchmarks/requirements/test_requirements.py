"""What a benchmark needs on this machine, and the sentences about what lacks."""

import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from mesocosm.benchmarks.catalogue import KnownBenchmark, read_catalogue
from mesocosm.benchmarks.descriptor import Descriptor, Requirement
from mesocosm.benchmarks.requirements import missing


def lacking(
    folder: Path, *wanted: dict[str, Any], environ: dict[str, str] | None = None, **parameters: Any
) -> list[str]:
    descriptor = Descriptor(
        id="toy",
        title="t",
        description="d",
        source="s",
        licence="l",
        version="1",
        requirement=tuple(Requirement(**one) for one in wanted),
    )
    return missing(
        KnownBenchmark(descriptor, folder, "test"), parameters, environ if environ is not None else dict(os.environ)
    )


def program(folder: Path, name: str, body: str) -> dict[str, str]:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def test_a_program_is_looked_for_on_the_path_of_the_environment(tmp_path: Path) -> None:
    wanted = {"kind": "program", "name": "toy-tool", "why": "it does the work"}
    (told,) = lacking(tmp_path, wanted)
    assert "'toy-tool'" in told
    assert "install it" in told
    assert "it does the work" in told
    assert lacking(tmp_path, wanted, environ=program(tmp_path, "toy-tool", "true")) == []


def test_a_package_is_found_without_being_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "toy_package_that_fails"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError")
    (package / "inner.py").write_text("raise RuntimeError")
    monkeypatch.syspath_prepend(str(tmp_path))
    names = ("toy_package_that_fails", "toy_package_that_fails.inner", "json.decoder")
    assert lacking(tmp_path, *({"kind": "package", "name": name} for name in names)) == []
    (told,) = lacking(tmp_path, {"kind": "package", "name": "toy_package_that_fails.other"})
    assert "not installed" in told
    assert "toy_package_that_fails" not in sys.modules


def test_a_variable_must_be_set_and_not_empty(tmp_path: Path) -> None:
    wanted = {"kind": "variable", "name": "TOY_PLACE"}
    assert "export it" in lacking(tmp_path, wanted, environ={"TOY_PLACE": ""})[0]
    assert lacking(tmp_path, wanted, environ={"TOY_PLACE": "x"}) == []


def test_a_file_is_named_by_itself_or_by_a_parameter(tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    assert lacking(tmp_path, {"kind": "file", "name": "here"}) == []
    assert "there is nothing at gone" in lacking(tmp_path, {"kind": "file", "name": "gone"})[0]
    by_parameter = {"kind": "file", "name": "{place}/here"}
    assert lacking(tmp_path, by_parameter, place=str(tmp_path)) == []
    assert "the parameter place is not set" in lacking(tmp_path, by_parameter, place=None)[0]


@pytest.mark.parametrize("place", ["~/toy-place", "~"])
def test_a_file_may_be_named_from_the_home_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "toy-place").touch()
    wanted = {"kind": "file", "name": "{place}"}
    assert lacking(tmp_path / "elsewhere", wanted, place=place) == []
    assert "there is nothing at ~nobody-here/x" in lacking(tmp_path, wanted, place="~nobody-here/x")[0]


def test_docker_must_answer(tmp_path: Path) -> None:
    wanted = {"kind": "docker"}
    assert lacking(tmp_path, wanted, environ=program(tmp_path, "docker", "echo 27.0")) == []
    silent = lacking(tmp_path, wanted, environ=program(tmp_path, "docker", "echo no engine >&2; exit 1"))
    assert "no engine answers" in silent[0]
    (tmp_path / "docker").unlink()
    assert "not installed" in lacking(tmp_path, wanted, environ={"PATH": str(tmp_path)})[0]


def test_a_docker_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesocosm.benchmarks.requirements.DOCKER_SECONDS", 0.2)
    (told,) = lacking(tmp_path, {"kind": "docker"}, environ=program(tmp_path, "docker", "exec sleep 600"))
    assert "did not answer" in told


def test_virtualisation_must_be_there_and_usable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesocosm.benchmarks.requirements._KVM", tmp_path / "kvm")
    assert "no hardware virtualisation" in lacking(tmp_path, {"kind": "kvm"})[0]
    (tmp_path / "kvm").touch()
    assert lacking(tmp_path, {"kind": "kvm"}) == []


def test_disk_space_is_counted_in_gigabytes(tmp_path: Path) -> None:
    assert lacking(tmp_path, {"kind": "disk", "name": "0.000001"}) == []
    assert "make room" in lacking(tmp_path, {"kind": "disk", "name": "1e9"})[0]


def test_a_parameter_can_make_a_requirement_unnecessary(tmp_path: Path) -> None:
    wanted = {"kind": "program", "name": "no-such-program", "unless": ("other", "log")}
    assert lacking(tmp_path, wanted, log="") != []
    assert lacking(tmp_path, wanted, log="x.json") == []


def test_all_that_lacks_is_told_and_nothing_twice(tmp_path: Path) -> None:
    one = {"kind": "program", "name": "no-such-program"}
    assert len(lacking(tmp_path, one, one, {"kind": "variable", "name": "NO_SUCH"}, environ={})) == 2


def test_no_built_in_benchmark_that_asks_no_model_demands_a_key() -> None:
    for known in read_catalogue().benchmarks:
        if known.descriptor.offline:
            assert [one for one in known.descriptor.requirement if one.kind == "variable"] == []
