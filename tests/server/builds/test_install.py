"""Requirements of environments: installed by a real pip into an environment of their own, without an index."""

import base64
import shutil
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.server.builds.conftest import adapter, manifest, wheel

from mesocosm.server.builds.directory import BuildDirectory
from mesocosm.server.builds.errors import BuildError
from mesocosm.server.builds.install import install, make_venv
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.builds.manifest import check_manifest
from mesocosm.server.builds.package_index import read_index_settings
from mesocosm.server.builds.repository_address import RepositorySource
from mesocosm.server.settings import read_settings


async def installed(
    directory: BuildDirectory, log: BuildLog, files: Mapping[str, str], folder: str = "", **given: object
) -> None:
    at = f"{folder}/" if folder else ""
    everything = {f"{at}benchanything.json": manifest(), f"{at}adapter.py": adapter(), **files}
    for name, content in everything.items():
        path = directory.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    settings, source = read_settings(**given), RepositorySource("/srv/words", folder=folder)  # type: ignore[arg-type]
    await install(settings, source, check_manifest(settings, source, directory.source, log), directory, log)


async def fault(directory: BuildDirectory, log: BuildLog, requirements: str, **given: object) -> str:
    with pytest.raises(BuildError) as caught:
        await installed(directory, log, {"requirements.txt": requirements}, **given)  # type: ignore[arg-type]
    assert str(directory.folder) not in str(caught.value)
    return str(caught.value)


def said(directory: BuildDirectory, program: str) -> str:
    done = subprocess.run(
        [directory.python, "-c", program], capture_output=True, text=True, check=True, cwd="/", env={"PATH": "/usr/bin"}
    )
    return done.stdout.strip()


def test_our_packages_are_there_behind_the_authors_own(directory: BuildDirectory) -> None:
    make_venv(directory)
    assert said(directory, "import bench_common.env_sdk, sys; print(sys.prefix)") == str(directory.packages)


async def test_without_requirements_nothing_is_installed(directory: BuildDirectory, log: BuildLog) -> None:
    await installed(directory, log, {"requirements.txt": "# nothing\n\n"})
    assert "nothing is installed" in log.text()
    assert directory.python.exists()


async def test_requirements_of_the_root_and_of_the_folder_are_installed(
    directory: BuildDirectory, log: BuildLog, index: Path
) -> None:
    wheel(index, "coral", "3.0")
    files = {"requirements.txt": "coral\n", "games/requirements.txt": "sunfish==1.0  # the older one\n"}
    await installed(directory, log, files, "games")
    assert said(directory, "import coral, sunfish; print(coral.VERSION, sunfish.VERSION)") == "3.0 1.0"
    assert "Successfully installed" in log.text()
    assert not directory.scratch.exists()


async def test_a_package_of_ours_can_be_replaced_for_the_environment_alone(
    directory: BuildDirectory, log: BuildLog, index: Path
) -> None:
    wheel(index, "click", "0.0.1")
    await installed(directory, log, {"requirements.txt": "click==0.0.1"})
    assert said(directory, "import click; print(click.VERSION)") == "0.0.1"
    import click

    assert not hasattr(click, "VERSION")


async def test_a_package_of_the_repository_is_built_beside_it(
    directory: BuildDirectory, log: BuildLog, index: Path
) -> None:
    backend = """
import zipfile
def build_wheel(directory, config_settings=None, metadata_directory=None):
    open("litter", "w").close()
    name = "own-1.0-py3-none-any.whl"
    with zipfile.ZipFile(directory + "/" + name, "w") as archive:
        archive.writestr("own.py", "VERSION = 'own'")
        archive.writestr("own-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: own\\nVersion: 1.0\\n")
        archive.writestr("own-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr("own-1.0.dist-info/RECORD", "own.py,,\\n")
    return name
"""
    files = {"requirements.txt": "./own", "own/b.py": backend, "own/pyproject.toml": BACKEND}
    await installed(directory, log, files)
    assert said(directory, "import own; print(own.VERSION)") == "own"
    assert not (directory.source / "own" / "litter").exists()


async def test_packages_come_from_the_operators_index(
    directory: BuildDirectory, log: BuildLog, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = index.parent / "served"
    shutil.copytree(index, pages / "index" / "sunfish")
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=pages)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_address[1]}/index/")
        try:
            await installed(directory, log, {"requirements.txt": "sunfish"})
        finally:
            server.shutdown()
            thread.join()
    assert said(directory, "import sunfish; print(sunfish.VERSION)") == "2.0"


async def test_an_index_that_is_not_the_operators_is_not_reached(
    directory: BuildDirectory, log: BuildLog, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_RETRIES", "0")
    words = await fault(directory, log, "--index-url http://127.0.0.1:9/index\nelsewhere\n")
    assert "127.0.0.1:9: this host is not allowed" in words


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_words: object) -> None:
        return


@pytest.mark.parametrize(
    ("requirements", "words"),
    [
        ("sunfish\nnumpyy==9\n", "requirements.txt, line 2 (numpyy==9): no package of that name and version was found"),
        ("sunfish\n\nnot a requirement\n", "requirements.txt, line 3 (not a requirement) is not a valid requirement"),
        ("needy\n", "nowhere-to-be-found, which something in requirements.txt requires"),
        ("sunfish==1.0\nsunfish==2.0\n", "contradict"),
        ("-r other.txt\n", "could not be installed"),
        ("-e .\n", "requirements.txt, line 1 (-e .): editable"),
    ],
)
async def test_the_failing_line_is_named(
    requirements: str, words: str, directory: BuildDirectory, log: BuildLog, index: Path
) -> None:
    assert words in await fault(directory, log, requirements)


BACKEND = '[build-system]\nrequires = []\nbuild-backend = "b"\nbackend-path = ["."]\n'
METADATA = """
from pathlib import Path
def prepare_metadata_for_build_wheel(folder, *words):
    info = Path(folder, "broken-1.0.dist-info")
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\\nName: broken\\nVersion: 1.0\\n")
    return info.name
"""


@pytest.mark.parametrize(("before", "last_words"), [("", "no compiler here"), (METADATA, "")])
async def test_a_package_that_cannot_be_built_is_named(
    before: str, last_words: str, directory: BuildDirectory, log: BuildLog, index: Path
) -> None:
    source = index.parent / "broken-1.0"
    source.mkdir()
    (source / "pyproject.toml").write_text(BACKEND)
    (source / "b.py").write_text(f"{before}\ndef build_wheel(*words, **named):\n    raise SystemExit({last_words!r})\n")
    (source / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    with tarfile.open(index / "broken-1.0.tar.gz", "w:gz") as archive:
        archive.add(source, "broken-1.0")
    words = await fault(directory, log, "sunfish\nbroken\n")
    assert "requirements.txt, line 2 (broken) could not be built; require a version that has a wheel" in words
    assert last_words in log.text()


async def test_a_folder_that_cannot_be_built_is_named(directory: BuildDirectory, log: BuildLog, index: Path) -> None:
    backend = "def build_wheel(*words, **named):\n    raise SystemExit('no compiler here')\n"
    files = {"requirements.txt": "sunfish\n./own\n", "own/b.py": backend, "own/pyproject.toml": BACKEND}
    with pytest.raises(BuildError, match=r"requirements.txt, line 2 \(./own\) could not be built"):
        await installed(directory, log, files)


async def test_what_takes_too_long_is_ended(directory: BuildDirectory, log: BuildLog, index: Path) -> None:
    hanging = index.parent / "hanging"
    hanging.mkdir()
    (hanging / "pyproject.toml").write_text(BACKEND)
    (hanging / "b.py").write_text("import time\ndef build_wheel(*words, **named):\n    time.sleep(60)\n")
    files = {f"own/{path.name}": path.read_text() for path in hanging.iterdir()}
    with pytest.raises(BuildError, match="were not installed within 2 s"):
        await installed(directory, log, {"requirements.txt": "./own", **files}, install_s=2.0)


async def test_what_takes_too_much_room_is_ended(directory: BuildDirectory, log: BuildLog, index: Path) -> None:
    with zipfile.ZipFile(index / "sunfish-2.0-py3-none-any.whl", "a") as archive:
        archive.writestr("sunfish_data.bin", b"\0" * 30_000_000)
    assert "are 1 MB for packages" in await fault(directory, log, "sunfish==2.0", packages_mb=1)


async def test_code_of_packages_does_not_see_the_platform(
    directory: BuildDirectory, log: BuildLog, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-platform-0123456789")
    (tmp_path / "secret.txt").write_text("the database of the platform")
    spy = f"""
import os
def build_wheel(*words, **named):
    print("key", os.environ.get("OPENAI_API_KEY"), "file", os.path.exists({str(tmp_path / "secret.txt")!r}))
    raise SystemExit("looked around")
"""
    with pytest.raises(BuildError):
        await installed(directory, log, {"requirements.txt": "./own", "own/b.py": spy, "own/pyproject.toml": BACKEND})
    assert "key None file False" in log.text()


async def test_the_password_of_an_index_is_not_known_to_what_is_installed(
    directory: BuildDirectory, log: BuildLog, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = index.parent / "served"
    shutil.copytree(index, pages / "index" / "sunfish")
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    backend = """
import os, shutil, zipfile
def build_wheel(folder, settings=None, metadata=None):
    name = "own-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as archive:
        archive.writestr("own.py", f"SEEN = {sorted(os.environ.items())!r}\\n")
        archive.writestr("own-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: own\\nVersion: 1.0\\n")
        archive.writestr("own-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nTag: py3-none-any\\n")
        archive.writestr("own-1.0.dist-info/RECORD", "own.py,,\\n")
    return name
"""
    files = {"requirements.txt": "./own\nsunfish", "own/b.py": backend, "own/pyproject.toml": BACKEND}
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Locked, directory=pages)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        address = f"127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv("PIP_INDEX_URL", f"http://ann:planted-canary@{address}/index/")
        monkeypatch.setenv("PIP_SOME_TOKEN", "planted-canary")
        try:
            await installed(directory, log, files)
        finally:
            server.shutdown()
            thread.join()
    assert said(directory, "import sunfish; print(sunfish.VERSION)") == "2.0"
    seen = said(directory, "import own; print(own.SEEN)")
    assert address in seen
    assert "canary" not in seen


def test_each_index_is_entered_with_its_own_password_below_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://ann:one@pypi.example/root/+simple/")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://ann:two@pypi.example/team/wheels")
    (doors,) = read_index_settings().entrances.values()

    def entered(path: str) -> list[str]:
        return [base64.b64decode(door.authorization.split()[1]).decode() for door in doors if door.covers(path)]

    assert entered("/root/+simple/sunfish/") == entered("/root/+f/1a/sunfish-2.0.whl") == ["ann:one"]
    assert entered("/team/wheels/sunfish-2.0.whl") == ["ann:two"]
    assert entered("/root/") == entered("/team/wheels2/") == entered("/") == []


async def test_a_folder_pip_of_the_repository_is_not_what_installs(
    directory: BuildDirectory, log: BuildLog, index: Path
) -> None:
    files = {"requirements.txt": "sunfish", "pip/__init__.py": "", "pip/__main__.py": "print('not pip')"}
    await installed(directory, log, files)
    assert said(directory, "import sunfish; print(sunfish.VERSION)") == "2.0"


class _Locked(SimpleHTTPRequestHandler):
    """Shows its pages to ann alone."""

    def do_GET(self) -> None:
        wanted = "Basic " + base64.b64encode(b"ann:planted-canary").decode()
        if self.headers["Authorization"] == wanted:
            super().do_GET()
        else:
            self.send_error(401)

    def log_message(self, *_words: object) -> None:
        return
