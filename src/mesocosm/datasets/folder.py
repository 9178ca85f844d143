"""Read a folder as a dataset: its data files in sequence, otherwise its text files, one row each."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.core.ids import digest_bytes
from mesocosm.datasets.content import read_bytes, read_text
from mesocosm.datasets.faults import DatasetProblems
from mesocosm.datasets.file_rows import FileRows
from mesocosm.datasets.front_matter import BadFrontMatter, front_matter
from mesocosm.datasets.reading import FORMATS, ReadFile, format_of, read_file
from mesocosm.datasets.table import TableFile

__all__ = ["FILE", "TEXTS", "read_folder", "read_texts"]

FILE = "_file"
"""The column with the file name of a row, if a folder has several data files."""

TEXTS = (".md", ".markdown", ".txt")


def read_folder(folder: Path, kind: str = "") -> tuple[str, list[ReadFile]]:
    """Return the format and the files of a folder, sorted by name.

    Data files are those directly in the folder; they must have one format, unless `kind` selects one. A folder without
    data files is read as text files, including subfolders. Hidden files are skipped. Raise UsageError for a folder
    without either, InvalidInput with all problems.
    """
    try:
        inside = sorted(folder.iterdir())
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error}") from error
    data = [file for file in inside if _is_shown(file, folder) and format_of(file) and file.is_file()]
    formats = Counter(format_of(file) for file in data)
    if kind and kind != "text":
        data = [file for file in data if format_of(file) == kind]
    elif len(formats) > 1 and not kind:
        listed = " and ".join(f"{count:,} of {name}" for name, count in sorted(formats.items()))
        raise UsageError(f"{folder} holds files of several formats ({listed}); name a file, or one format")
    if data and kind != "text":
        return kind or format_of(data[0]), _data(data)
    texts = sorted(file for file in folder.rglob("*") if _is_shown(file, folder) and file.suffix.lower() in TEXTS)
    texts = [file for file in texts if file.is_file()]
    if kind not in ("", "text") or not texts:
        wanted = f"no {kind} file" if kind not in ("", "text") else f"no file of {', '.join((*FORMATS[:-1], *TEXTS))}"
        raise UsageError(f"{folder} holds no data: {wanted}")
    return "text", read_texts(folder, texts)


def _is_shown(file: Path, folder: Path) -> bool:
    return not any(name.startswith(".") for name in file.relative_to(folder).parts)


def _data(files: Sequence[Path]) -> list[ReadFile]:
    read = [read_file(file) for file in files]
    if len(read) == 1:
        return read
    for file in read:
        if FILE in file.found.columns or any(FILE in row for row in file.found.rows):
            raise UsageError(f"{file.path} has a column {FILE}, which the files of a folder get; rename it")
        for row in file.found.rows:
            row[FILE] = file.part.name
    return read


def read_texts(folder: Path, files: Iterable[Path]) -> list[ReadFile]:
    """Return text files of a folder, each as one row: `text`, `path` and the fields of its front matter.

    Raise UsageError for files that cannot be read, InvalidInput with all problems.
    """
    faults = DatasetProblems()
    read = []
    for file in files:
        name = file.relative_to(folder).as_posix()
        data = read_bytes(file)
        try:
            row = _text_row(name, read_text(name, data))
        except BadFrontMatter as error:
            faults.add(name, str(error))
            continue
        except InvalidInput as error:
            for problem in error.problems:
                faults.add(f"{name}, {problem.path}" if problem.path else name, problem.message, problem.fix)
            continue
        digest = digest_bytes(name.encode() + b"\0" + data)
        read.append(ReadFile(file, TableFile(name, 1, len(data), digest, whole=True), FileRows([row])))
    faults.check(str(folder))
    return read


def _text_row(name: str, text: str) -> dict[str, Any]:
    facts, body = front_matter(text)
    for taken in ("text", "path"):
        if taken in facts:
            raise BadFrontMatter(f"its head has a fact {taken!r}, which is the name of a column; rename it")
    return {"text": body, "path": name, **facts}
