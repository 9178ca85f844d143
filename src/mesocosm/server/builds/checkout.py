"""The files of a repository at one commit, fetched by git where it can do no harm.

git has no network but a way to the one host, no configuration but ours, no hooks, no prompts, no credentials, and no
more time and room than the settings say. Submodules and Git LFS are not fetched; the author is told.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote, urlsplit

from mesocosm.core.failure import MesocosmError
from mesocosm.sandboxes.allowance import MIB
from mesocosm.sandboxes.egress import Egress
from mesocosm.sandboxes.enclosure import Finished
from mesocosm.sandboxes.enclosure.disk import DEEPEST, remove
from mesocosm.server.builds.enclosing import workshop
from mesocosm.server.builds.fault import BuildFault, no_room
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.builds.place import Place
from mesocosm.server.builds.source import Source, local_path
from mesocosm.server.settings import Settings

MOST_FILES = 20_000
_FETCH = """
git init --quiet source && cd source
git fetch --quiet --depth=1 --no-tags --no-recurse-submodules "$1" "$2"
git rev-parse --verify --quiet 'FETCH_HEAD^{commit}' > ../commit
git checkout --quiet --detach FETCH_HEAD
"""
_CONFIG = """[safe]
directory = *
[core]
hooksPath = /dev/null
fsmonitor = false
autocrlf = false
[credential]
helper =
[submodule]
recurse = false
[gc]
auto = 0
"""
_PASSED = ("GIT_SSL_CAINFO", "SSL_CERT_FILE", "SSL_CERT_DIR")
_POINTER = b"version https://git-lfs"
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NAMED = 12

_HIDDEN = "could not read username|authentication failed|repository .*not found|error: 40[134]|terminal prompts"
_ABSENT = "does not appear to be a git repository|not a git repository"
_NO_REF = "couldn't find remote ref|not our ref|unadvertised object|no such remote ref|invalid refspec"
_UNREACHABLE = (
    "could not resolve|couldn't connect|failed to connect|connection (?:refused|reset|timed out)|proxy|unable to access"
)


async def fetch(settings: Settings, source: Source, place: Place, log: BuildLog, *, commit: str = "") -> str:
    """Put the files of a source at `place.source`, and return the commit; with a `commit` exactly that one.

    Raises BuildFault.
    """
    work = place.folder / "checkout"
    work.mkdir()
    (work / "gitconfig").write_text(_CONFIG)
    wanted = commit or source.ref or "HEAD"
    log.say(f"fetching {source.url} at {wanted if wanted != 'HEAD' else 'its default branch'}")
    egress = _way_out(settings, source)
    done = await _git(settings, source, work, ["sh", "-ec", _FETCH, "sh", _address(source), wanted], log, egress)
    if done.how != "ok":
        if egress is not None and egress.refused:
            raise BuildFault(f"{source.url} could not be reached: {egress.refused[0]}; try again later")
        raise await _fault(settings, source, work, wanted, done, log)
    found = (work / "commit").read_text(errors="replace").strip()
    if not _COMMIT.fullmatch(found):
        raise BuildFault(f"{wanted!r} of {source.url} is no commit; name a branch, a tag, or all digits of a commit")
    remove(work / "source" / ".git")
    (work / "source").rename(place.source)
    remove(work)
    _look_through(settings, source, place.source, log)
    log.say(f"commit {found}")
    return found


def _address(source: Source) -> str:
    return f"file://{quote(source.url)}" if source.local else source.url


async def _git(
    settings: Settings, source: Source, work: Path, command: list[str], log: BuildLog | None, egress: Egress | None
) -> Finished:
    if source.local and not local_path(source).is_dir():
        raise BuildFault(f"there is no repository at {source.url} on this platform's machine; correct the path")
    most = 2 * settings.source_mb * MIB
    shown = [local_path(source)] if source.local else []
    env, trusted = _environment(source, work)
    bench = workshop(settings, (*shown, *trusted), seconds=settings.clone_s, most_bytes=most)
    return await bench.run(
        command,
        cwd=work,
        writable=[work],
        env=env,
        seconds=settings.clone_s,
        egress=egress,
        heard=log.hear if log is not None else None,
        most_bytes=most,
    )


def _way_out(settings: Settings, source: Source) -> Egress | None:
    """Return the way to the host of a source. One that the operator names with a port may be at a private address."""
    if source.local:
        return None
    url = urlsplit(source.url)
    place = f"{url.hostname}:{url.port or 443}"
    loopback = [place] if place in settings.git_hosts else []
    return Egress([url.hostname or ""], loopback=loopback, most_bytes=2 * settings.source_mb * MIB)


def _environment(source: Source, work: Path) -> tuple[Mapping[str, str], list[Path]]:
    """Return the variables of git, and files of the operator that they name."""
    passed = {name: os.environ[name] for name in _PASSED if os.environ.get(name)}
    return {
        "GIT_CONFIG_GLOBAL": str(work / "gitconfig"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "file" if source.local else "https",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "LC_ALL": "C.UTF-8",
        **passed,
    }, [Path(value) for value in passed.values() if Path(value).exists()]


async def _fault(
    settings: Settings, source: Source, work: Path, wanted: str, done: Finished, log: BuildLog
) -> MesocosmError:
    said, where = done.output_tail, source.url
    if done.how == "timeout":
        return BuildFault(
            f"{where} was not fetched within {settings.clone_s:g} s; make the repository smaller, or try again later"
        )
    if done.reason.endswith("folders deep"):
        return BuildFault(f"{where} has folders more than {DEEPEST} levels deep; flatten them")
    if done.how == "limit" or "file too large" in said.lower() or "no space left" in said.lower():
        return no_room(work) or too_large(settings, where, done.reason)
    if re.search(_NO_REF, said, re.IGNORECASE):
        return await _no_ref(settings, source, work, wanted)
    if re.search(_HIDDEN, said, re.IGNORECASE):
        return BuildFault(
            f"there is no public repository at {where}: it does not exist, or is private. Correct the address, or make "
            "the repository public"
        )
    if re.search(_ABSENT, said, re.IGNORECASE):
        return BuildFault(f"{where} is no git repository; correct the address")
    if re.search(_UNREACHABLE, said, re.IGNORECASE):
        return BuildFault(f"{where} could not be reached: {_last(log.clean(said))}; try again later")
    return BuildFault(f"{where} could not be fetched: {_last(log.clean(said)) or f'git ended with code {done.code}'}")


def too_large(settings: Settings, where: str, reason: str = "") -> BuildFault:
    """Return the fault of a repository with too many bytes."""
    why = f" ({reason})" if reason else ""
    return BuildFault(
        f"{where} is too large: more than {settings.source_mb} MB are not taken{why}; keep data sets and recordings "
        "out of the repository"
    )


async def _no_ref(settings: Settings, source: Source, work: Path, wanted: str) -> BuildFault:
    if wanted == "HEAD":
        return BuildFault(f"{source.url} has no commit on its default branch; push one, or name a branch with `ref`")
    command = ["git", "ls-remote", "--heads", "--tags", _address(source)]
    listed = await _git(settings, source, work, command, None, _way_out(settings, source))
    names = re.findall(r"refs/(?:heads|tags)/(\S+?)(?:\^\{\})?$", listed.output_tail, re.MULTILINE)
    names = list(dict.fromkeys(names))
    more = ", …" if len(names) > _NAMED else ""
    there = f"; it has {', '.join(names[:_NAMED])}{more}" if names else ""
    if re.fullmatch(r"[0-9a-f]{6,63}", wanted):
        return BuildFault(
            f"{source.url} has no commit {wanted}; write all 40 digits of a commit that is on a branch{there}"
        )
    slash = " If its name has a slash in it, give `ref` and `folder` beside the plain address." if source.folder else ""
    return BuildFault(f"{source.url} has no branch or tag {wanted!r}{there}.{slash}")


def _last(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (telling or lines or [""])[-1].removeprefix("fatal: ").removeprefix("error: ")


def _look_through(settings: Settings, source: Source, root: Path, log: BuildLog) -> None:
    """Refuse what is too large and what leads out of the repository; note what was not fetched."""
    total = count = 0
    pointers = []
    for entry in walk(root):
        name = Path(entry.path).relative_to(root).as_posix()
        count += 1
        if entry.is_symlink():
            target = Path(os.path.realpath(entry.path))
            if not target.is_relative_to(root.resolve()):
                raise BuildFault(f"{name} is a link to a place outside the repository; put the file itself there")
        elif entry.is_file(follow_symlinks=False):
            size = entry.stat(follow_symlinks=False).st_size
            total += size
            if size < 1024 and Path(entry.path).read_bytes().startswith(_POINTER):
                pointers.append(name)
    if count > MOST_FILES:
        raise BuildFault(
            f"{source.url} has {count:,} files, more than the {MOST_FILES:,} that are taken; leave some out"
        )
    if total > settings.source_mb * MIB:
        raise too_large(settings, source.url)
    if pointers:
        log.note(f"{', '.join(pointers[:3])}: kept by Git LFS, which is not fetched; only its pointer is there")
    if (root / ".gitmodules").exists():
        log.note("submodules are not fetched; copy what is needed into the repository")


def walk(root: Path) -> Iterator["os.DirEntry[str]"]:
    """Yield everything below a folder that is no folder itself; links are not followed."""
    pending = [root]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(Path(entry.path))
                else:
                    yield entry
