"""Validate the manifest of a repository, and compute the digest of its content."""

import dataclasses
import json
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mesocosm.core.failure import InvalidInput, Problem, UsageError
from mesocosm.environments.check import CheckReport, read_verdict
from mesocosm.environments.document import read_json
from mesocosm.environments.manifest import (
    MANIFEST_NAME,
    PLACES,
    Manifest,
    content_digest,
    load_manifest,
    manifest_problems,
    other_manifests,
)
from mesocosm.server.builds.checkout import walk
from mesocosm.server.builds.errors import BuildError
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.builds.repository_address import RepositorySource
from mesocosm.server.settings import Settings

MOST_BYTES = 1_000_000
"""Maximum size of a manifest in bytes."""
_NAMED = 8
_MOST_CHARACTERS = {"name": 200, "description": 100_000}
_TAGS, _TAG = 50, 100
_BIDI_CONTROLS = frozenset("\u202a\u202b\u202d\u202e\u2066\u2067\u2068")
"""Characters that change the visual order of text."""


@dataclass(frozen=True, slots=True)
class CheckedManifest:
    """A valid manifest. `text` is the document as JSON, `path` its path in the repository.

    `digest` covers the whole repository. `report` is the result of the author's `mesocosm check`.
    """

    manifest: Manifest
    path: str
    text: str
    digest: str
    report: CheckReport


def check_manifest(settings: Settings, source: RepositorySource, root: Path, log: BuildLog) -> CheckedManifest:
    """Return the manifest of the repository at `root`. Raises BuildError with all problems and their paths."""
    path = _manifest(source, root)
    name = path.relative_to(root).as_posix()
    log.say(f"checking {name}")
    if path.stat().st_size > MOST_BYTES:
        raise BuildError(f"{name} is larger than {MOST_BYTES:,} bytes; keep data in files beside it")
    try:
        raw, notes = read_json(path, "manifest")
    except UsageError as error:
        raise BuildError(log.clean(str(error))) from error
    problems = [
        *other_manifests(path),
        *notes,
        *manifest_problems(raw, path.parent),
        *_text_problems(raw),
        *_step_problems(raw, settings),
    ]
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise BuildError(log.clean(str(InvalidInput(name, errors))))
    for problem in problems:
        log.note(f"{name}: {problem}{f' → {problem.fix}' if problem.fix else ''}")
    try:
        manifest = load_manifest(path)
        digest = content_digest(_covering_repository(manifest, root))
    except UsageError as error:
        raise BuildError(log.clean(str(error))) from error
    report = read_verdict(path, content_digest(manifest))
    log.say(f"mesocosm check: {report.summary}")
    for wrong in report.problems:
        log.note(f"mesocosm check: {wrong}")
    return CheckedManifest(manifest, name, json.dumps(raw, ensure_ascii=False), digest, report)


def _covering_repository(manifest: Manifest, root: Path) -> Manifest:
    """Return the manifest with the whole repository as its content, because adapters may import from all of it."""
    name = manifest.adapter.relative_to(root.resolve()).as_posix() if manifest.adapter else ""
    return dataclasses.replace(manifest, adapter=root.resolve() / name.replace("/", "\\"))


def _manifest(source: RepositorySource, root: Path) -> Path:
    folder = root / source.folder
    if not folder.is_dir():
        known = sorted(path.name for path in root.iterdir() if path.is_dir())[:_NAMED]
        there = f"; at its root it has {', '.join(known)}" if known else "; it has no folders"
        raise BuildError(f"the repository has no folder {source.folder!r}{there}")
    tried = [folder / place / MANIFEST_NAME for place in PLACES]
    found = next((path for path in tried if path.is_file()), None)
    if found is not None:
        return found
    searched = ", ".join(path.relative_to(root).as_posix() for path in tried)
    others = sorted(
        Path(entry.path).parent.relative_to(root).as_posix() for entry in walk(root) if entry.name == MANIFEST_NAME
    )
    if others:
        there = f"there is one in {', '.join(others[:_NAMED])}: submit with that `folder`"
    else:
        there = "run `mesocosm init` in the repository, commit and push what it writes, and submit again"
    raise BuildError(f"no manifest was found; searched {searched}; {there}")


def _text_problems(raw: object) -> Iterator[Problem]:
    """Yield problems of name, description and tags, with the limits of registered domains."""
    for name, most in _MOST_CHARACTERS.items():
        text = raw.get(name) if isinstance(raw, dict) else None
        if not isinstance(text, str):
            continue
        if len(text) > most:
            yield Problem(name, f"has {len(text):,} characters, more than {most:,}", "keep the rest in the repository")
        hidden = next((letter for letter in text if _is_control_character(letter, lines=name != "name")), "")
        if hidden:
            words = f"has the character U+{ord(hidden):04X}, which is invisible and can disguise other text"
            yield Problem(name, words, "leave it out")
    tags = raw.get("tags") if isinstance(raw, dict) else None
    if isinstance(tags, list) and (len(tags) > _TAGS or any(len(str(tag)) > _TAG for tag in tags)):
        yield Problem("tags", f"has more than {_TAGS} tags, or one of more than {_TAG} characters", "keep a few words")


def _is_control_character(letter: str, *, lines: bool) -> bool:
    """Return whether a character controls terminals or the direction of text; `lines` allows tabs and line breaks."""
    if lines and letter in "\n\r\t":
        return False
    return unicodedata.category(letter) == "Cc" or letter in _BIDI_CONTROLS


def _step_problems(raw: object, settings: Settings) -> Iterator[Problem]:
    vow = raw.get("binding_vow") if isinstance(raw, dict) else None
    episode = vow.get("episode") if isinstance(vow, dict) else None
    steps = episode.get("max_steps") if isinstance(episode, dict) else None
    path, most = "binding_vow.episode.max_steps", settings.max_steps
    if steps is None and isinstance(vow, dict):
        yield Problem(path, f"is not set; this server ends episodes after {most} steps", "set it", "warning")
    elif isinstance(steps, int) and steps > most:
        message = f"is {steps}, but this server ends episodes after {most} steps"
        yield Problem(path, message, "plan for it, or ask an administrator", "warning")
