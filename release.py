"""Makes a release of this checkout: `make release VERSION=1.2.3`.

The version is written into the package, the top section of the changelog gets its date, and both are committed and
tagged. Nothing is pushed.
"""

import re
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

VERSION_FILE = Path("src/mesocosm/__init__.py")
CHANGELOG = Path("CHANGELOG.md")
VERSION = re.compile(r"\d+\.\d+\.\d+(?:rc\d+)?")
SECTION = re.compile(r"^## (?P<version>\S+) \((?P<date>[^)]+)\)\n(?P<text>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ASSIGNED = re.compile(r'^__version__ = ".*"$', re.MULTILINE)


class Refused(Exception):
    """This checkout cannot be released so; nothing was changed."""


def release(root: Path, version: str, today: date) -> None:
    """Write, commit and tag a release. Raises Refused before anything is changed."""
    if not VERSION.fullmatch(version):
        raise Refused(f"{version!r} is no version; write VERSION=1.2.3 or VERSION=1.2.3rc1")
    if git(root, "status", "--porcelain"):
        raise Refused("files are not committed; `git status` names them")
    if git(root, "tag", "--list", f"v{version}"):
        raise Refused(f"the tag v{version} exists")
    changes = (root / CHANGELOG).read_text(encoding="utf-8")
    section = SECTION.search(changes)
    if section is None or (section["version"], section["date"]) != (version, "unreleased"):
        raise Refused(f"the first section of {CHANGELOG} is not called `## {version} (unreleased)`")
    text = section["text"].strip()
    if not text:
        raise Refused(f"the section of {version} in {CHANGELOG} is empty")
    heading = f"## {version} ({today.isoformat()})"
    rest = changes[section.start() :].partition("\n")[2]
    (root / CHANGELOG).write_text(f"{changes[: section.start()]}{heading}\n{rest}", encoding="utf-8")
    source = (root / VERSION_FILE).read_text(encoding="utf-8")
    (root / VERSION_FILE).write_text(ASSIGNED.sub(f'__version__ = "{version}"', source), encoding="utf-8")
    git(root, "commit", "--quiet", "--all", "--message", f"Release {version}")
    # Lines that begin with # are headings here, no comments.
    git(root, "tag", "--annotate", "--cleanup=verbatim", "--message", f"mesocosm {version}\n\n{text}\n", f"v{version}")


def git(root: Path, *words: str) -> str:
    """Run git and return what it prints. Raises Refused with its message when it fails."""
    done = subprocess.run(("git", *words), cwd=root, capture_output=True, text=True, check=False)  # noqa: S603, S607
    if done.returncode:
        raise Refused(done.stderr.strip())
    return done.stdout.strip()


def main() -> int:
    """Release the checkout of this file, and say what is left to do."""
    version = "".join(sys.argv[1:])
    try:
        release(Path(__file__).parent, version, datetime.now(UTC).date())
    except Refused as refusal:
        print(f"not released: {refusal}", file=sys.stderr)
        return 1
    print(f"released {version}; publish it with `git push --follow-tags`")
    return 0


if __name__ == "__main__":
    sys.exit(main())
