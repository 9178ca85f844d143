"""The web app gets into the package: built when its sources changed, with a Node that is new enough."""

import importlib.util
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "src" / "mesocosm" / "viewer"


def hook_of(source: Path) -> ModuleType:
    found = importlib.util.spec_from_file_location("hatch_build", source / "hatch_build.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    return hook_of(ROOT)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    top = tmp_path / "viewer"
    (top / "src").mkdir(parents=True)
    for name in ("index.html", "package.json", "tsconfig.json", "vite.config.ts", "src/main.tsx"):
        (top / name).write_text(name)
    packages = {"node_modules/a": {"version": "1.0.0"}, "node_modules/b": {"version": "2.0.0", "dev": True}}
    (top / "package-lock.json").write_text(json.dumps({"packages": packages}))
    return top


def test_what_was_built_from_these_sources_is_not_built_again(hook: ModuleType, sources: Path, tmp_path: Path) -> None:
    built = tmp_path / "built"
    assert hook.is_stale(sources, built)
    built.mkdir()
    (built / "index.html").touch()
    (built / "sources.digest").write_text(hook.digest(sources))
    assert not hook.is_stale(sources, built)
    (sources / "src" / "main.tsx").write_text("changed")
    assert hook.is_stale(sources, built)


def test_a_changed_test_builds_nothing(hook: ModuleType, sources: Path) -> None:
    before = hook.digest(sources)
    (sources / "src" / "main.test.tsx").write_text("a test")
    assert hook.digest(sources) == before


def test_packages_are_fetched_unless_all_that_a_build_needs_are_there(hook: ModuleType, sources: Path) -> None:
    assert not hook.is_installed(sources)
    (sources / "node_modules").mkdir()
    present = sources / "node_modules" / ".package-lock.json"
    present.write_text(json.dumps({"packages": {"node_modules/a": {"version": "0.9.0"}}}))
    assert not hook.is_installed(sources)
    present.write_text(json.dumps({"packages": {"node_modules/a": {"version": "1.0.0"}}}))
    assert hook.is_installed(sources)


@pytest.mark.parametrize(
    ("version", "enough"),
    [("v18.20.4", False), ("v20.19.0", True), ("v22.11.0", False), ("v24.1.0", True), ("", False)],
)
def test_an_old_node_is_left_alone(
    hook: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, enough: bool
) -> None:
    for name in ("node", "npm"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {version}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (hook.node_of_machine() is not None) is enough


def test_a_registry_out_of_reach_is_said_with_the_way_around(
    hook: ModuleType, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "node").write_text("#!/bin/sh\necho v24.1.0\n")
    (tmp_path / "npm").write_text("#!/bin/sh\necho 'npm error network' >&2; exit 1\n")
    for name in ("node", "npm"):
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(hook.BuildFailed, match=r"(?s)registry.*MESOCOSM_SKIP_VIEWER=1.*npm error network"):
        hook.build(sources, tmp_path / "built")


@pytest.mark.parametrize(("home", "kept"), [("missing", "/"), (".", "its own")])
def test_a_user_without_a_home_can_build(
    hook: ModuleType, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str, kept: str
) -> None:
    (tmp_path / "node").write_text("#!/bin/sh\necho v24.1.0\n")
    (tmp_path / "npm").write_text('#!/bin/sh\necho "keeps at ${npm_config_cache:-its own}" >&2; exit 1\n')
    for name in ("node", "npm"):
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path / home))
    monkeypatch.delenv("npm_config_cache", raising=False)
    monkeypatch.delenv("NPM_CONFIG_CACHE", raising=False)
    with pytest.raises(hook.BuildFailed, match=f"keeps at {kept}"):
        hook.build(sources, tmp_path / "built")


@pytest.mark.skipif(not BUILT.is_dir(), reason="the web app is not built: `make viewer`")
def test_wheel_and_sdist_hold_the_web_app(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,), (sdist,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"mesocosm/viewer/index.html", "mesocosm/viewer/licences.txt"} < set(names)
    assert [name for name in names if name.startswith("mesocosm/viewer/assets/")]
    assert not [name for name in names if "node_modules" in name or name.endswith(".tsx")]
    with tarfile.open(sdist) as packed:
        packed.extractall(tmp_path, filter="data")
    (source,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert not hook_of(source).is_stale(source / "viewer", source / "src" / "mesocosm" / "viewer")


def test_a_wheel_has_the_manual_pages_that_were_written(
    hook: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(hook.SKIP, "1")
    built = hook.ViewerBuildHook(str(tmp_path), {}, None, None, "", "wheel")
    without: dict[str, object] = {"artifacts": [], "shared_data": {}}
    built.initialize("standard", without)
    (tmp_path / "build" / "man").mkdir(parents=True)
    given: dict[str, object] = {"artifacts": [], "shared_data": {}}
    built.initialize("standard", given)
    assert without["shared_data"] == {}
    assert given["shared_data"] == {str(tmp_path / "build" / "man"): "share/man/man1"}
