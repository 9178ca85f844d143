"""Tell what a file is, and read foreign results as runs."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mesocosm.core.failure import UsageError
from mesocosm.core.redact import Redactor
from mesocosm.interop.imports.assembly import ImportedRun
from mesocosm.interop.imports.atif_file import is_trajectory, read_trajectories
from mesocosm.interop.imports.foreign_json import read_foreign_json
from mesocosm.interop.imports.inspect_file import (
    InspectLog,
    LogSummary,
    eval_summary,
    is_log,
    json_header,
    open_eval,
    open_log,
)
from mesocosm.interop.imports.lm_eval_file import is_lm_eval, is_lm_eval_samples, read_lm_eval, results_beside
from mesocosm.interop.imports.orchestrator_database import is_orchestrator, read_orchestrator
from mesocosm.interop.imports.tau_file import is_reward_table, is_tau, read_reward_table, read_tau

Form = Literal["bundle", "replay", "inspect", "lm-eval", "tau-bench", "tau2-bench", "atif", "orchestrator"]

KNOWN = (
    "a bundle (.zip), a replay (.json), an Inspect log (.eval, .json), lm-eval results (results_*.json), tau-bench or "
    "tau² trajectories (.json), an ATIF trajectory (.json), or the orchestrator.sqlite of the elizaOS benchmarks"
)
"""What can be imported, in words."""

_ZIP, _SQLITE = b"PK", b"SQLite format 3\0"
_SUFFIXES = frozenset({".eval", ".json", ".jsonl", ".csv", ".zip", ".sqlite", ".db"})


class NotResults(UsageError):
    """A file holds no results that can be imported. `beside` is the file that takes it along, if there is one."""

    def __init__(self, message: str, beside: Path | None = None) -> None:
        super().__init__(message)
        self.beside = beside


@dataclass(frozen=True, slots=True)
class RecognisedFile:
    """A file with its form. `document` is what was read of a JSON file, None for other files."""

    path: Path
    form: Form
    document: Any = None


def recognise(path: Path, *, whole: bool = True) -> RecognisedFile:
    """Return what a file is. Raises NotResults for one that nothing can be imported from, UsageError for a broken one.

    Unless `whole`, only the head of a JSON file is read, as for a list of files.
    """
    try:
        with path.open("rb") as file:
            start = file.read(64)
        size = path.stat().st_size
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    if not size:
        raise UsageError(f"{path} is empty (0 bytes)")
    if path.suffix.lower() == ".eval":
        return RecognisedFile(path, "inspect")
    if start.startswith(_ZIP):
        return RecognisedFile(path, _zip_form(path))
    if start.startswith(_SQLITE):
        return _database(path)
    if is_reward_table(path):
        return RecognisedFile(path, "tau-bench", read_reward_table(path) if whole else [])
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text[:1] not in (b"{", b"["):
        raise NotResults(f"{path} holds no results that can be imported: it is not {KNOWN}")
    if is_lm_eval_samples(path):
        beside = results_beside(path)
        raise NotResults(
            f"{path} holds samples of lm-eval; import {beside or 'the results_*.json that belongs to it'}, which takes "
            "them along",
            beside,
        )
    return _document(path, whole=whole)


def read_foreign(found: RecognisedFile, redactor: Redactor) -> Iterator[ImportedRun]:
    """Yield the runs that a recognised file holds, one at a time. Raises UsageError."""
    path, document = found.path, found.document
    if found.form == "inspect":
        yield inspect_log(found).run(redactor)
    elif found.form == "lm-eval":
        yield from read_lm_eval(path, document, redactor)
    elif found.form in ("tau-bench", "tau2-bench"):
        yield from read_tau(path, document, redactor)
    elif found.form == "atif":
        yield from read_trajectories([path], redactor)
    elif found.form == "orchestrator":
        yield from read_orchestrator(path, redactor)
    else:
        raise UsageError(f"{path} is a {found.form} of mesocosm, not a file of another program")


def inspect_log(found: RecognisedFile) -> InspectLog:
    """Return a recognised log of Inspect."""
    if found.document is None:
        return open_eval(found.path)
    return open_log(found.path, found.document)


def log_summary(found: RecognisedFile) -> LogSummary:
    """Return what a list shows of a recognised log of Inspect, reading no samples."""
    return eval_summary(found.path) if found.document is None else InspectLog(found.path, found.document).summary()


def files_below(folder: Path) -> list[Path]:
    """Return the files below a directory that may hold results, in order; hidden ones and links are left out."""
    found: list[Path] = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths = (Path(place) / name for name in sorted(files) if not name.startswith("."))
        found += (
            path for path in paths if path.suffix.lower() in _SUFFIXES and path.is_file() and not path.is_symlink()
        )
    return found


def _zip_form(path: Path) -> Form:
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, OSError, NotImplementedError, UnicodeDecodeError):
        # Whoever reads it as a bundle says what is wrong with it.
        return "bundle"
    return "inspect" if "bundle.json" not in names and {"header.json", "_journal/start.json"} & names else "bundle"


def _database(path: Path) -> RecognisedFile:
    if is_orchestrator(path):
        return RecognisedFile(path, "orchestrator")
    raise NotResults(
        f"{path} is a SQLite database, and not the orchestrator.sqlite of the elizaOS benchmarks; results of mesocosm "
        "are opened with --results-dir, not imported"
    )


def _document(path: Path, *, whole: bool) -> RecognisedFile:
    if path.suffix.lower() == ".jsonl":
        raise NotResults(f"{path} holds lines of JSON that are no results; {KNOWN} can be imported")
    try:
        if not whole and isinstance(head := _head(path), Mapping) and is_log(head):
            return RecognisedFile(path, "inspect", head)
        document = read_foreign_json(path.read_bytes())
    except (ValueError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"{path} is not whole JSON: {error}; the file was cut off, or is of another kind") from error
    form = _form(document)
    if form is None:
        raise NotResults(f"{path} is JSON, but holds no results that can be imported: it is not {KNOWN}")
    return RecognisedFile(path, form, document)


def _head(path: Path) -> Any:
    try:
        return json_header(path)
    except (ValueError, json.JSONDecodeError):
        return None


def _form(document: Any) -> Form | None:
    if is_log(document):
        return "inspect"
    if is_trajectory(document):
        return "atif"
    if is_lm_eval(document):
        return "lm-eval"
    tau = is_tau(document)
    if tau:
        return tau
    if isinstance(document, Mapping) and "schema_version" in document:
        # Whoever reads it as a replay says what is missing.
        return "replay"
    return None
