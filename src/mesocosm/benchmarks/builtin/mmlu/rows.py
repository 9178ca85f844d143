"""Read published questions: from the hub (a list of choices, the index of the right one) or the authors' CSV files."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.benchmarks.builtin.mmlu.grading import LETTERS
from mesocosm.benchmarks.dataset import DatasetRows, HubDataset, read_rows
from mesocosm.core.foreign import read_json
from mesocosm.core.source import expression_tree
from mesocosm.core.task import Task

REPOSITORY = "cais/mmlu"
FILES = ("all/test-00000-of-00001.parquet",)
NAMES = ("test.jsonl", "test.csv", "test.parquet", *FILES)
_COLUMNS = ("question", *LETTERS, "answer")
_ENDING = "_test.csv"
AREAS: dict[str, tuple[str, ...]] = {
    "stem": (
        *("abstract_algebra", "anatomy", "astronomy", "college_biology", "college_chemistry"),
        *("college_computer_science", "college_mathematics", "college_physics", "computer_security"),
        *("conceptual_physics", "electrical_engineering", "elementary_mathematics", "high_school_biology"),
        *("high_school_chemistry", "high_school_computer_science", "high_school_mathematics", "high_school_physics"),
        *("high_school_statistics", "machine_learning"),
    ),
    "humanities": (
        *("formal_logic", "high_school_european_history", "high_school_us_history", "high_school_world_history"),
        *("international_law", "jurisprudence", "logical_fallacies", "moral_disputes", "moral_scenarios"),
        *("philosophy", "prehistory", "professional_law", "world_religions"),
    ),
    "social_sciences": (
        *("econometrics", "high_school_geography", "high_school_government_and_politics"),
        *("high_school_macroeconomics", "high_school_microeconomics", "high_school_psychology", "human_sexuality"),
        *("professional_psychology", "public_relations", "security_studies", "sociology", "us_foreign_policy"),
    ),
    "other": (
        *("business_ethics", "clinical_knowledge", "college_medicine", "global_facts", "human_aging", "management"),
        *("marketing", "medical_genetics", "miscellaneous", "nutrition", "professional_accounting"),
        *("professional_medicine", "virology"),
    ),
}
"""The 57 subjects by area, as grouped by the benchmark's authors (Hendrycks et al., ICLR 2021, and their code)."""
OTHER = "other"
_AREA = {subject: area for area, subjects in AREAS.items() for subject in subjects}


def read(subject: str, place: Path | None, revision: str) -> tuple[list[Task], str]:
    """Return the tasks and the digest of their data. Raises UsageError, InvalidInput, Incompatible."""
    files = _by_subject(place)
    if files and place is not None:
        found = read_rows(subject, files[0].parent if place.is_dir() else place, None, _file_names(files), _COLUMNS)
    else:
        found = read_rows(subject, place, HubDataset(REPOSITORY, revision, FILES), NAMES)
    return list(_tasks(found)), found.content


def _by_subject(place: Path | None) -> list[Path]:
    """Return the files in the authors' layout: `test/SUBJECT_test.csv`, without header."""
    if place is None:
        return []
    if place.is_file():
        return [place] if place.name.endswith(_ENDING) else []
    return sorted(place.glob(f"*{_ENDING}")) or sorted(place.glob(f"test/*{_ENDING}"))


def _file_names(files: list[Path]) -> list[str]:
    return [file.name for file in files]


def _tasks(found: DatasetRows) -> Iterator[Task]:
    numbers: dict[str, int] = {}
    for place, row in enumerate(found.rows):
        subject = _subject(found, place)
        numbers[subject] = number = numbers.get(subject, -1) + 1
        choices = _choices(found, place, row)
        yield Task(
            f"{subject}/{number}",
            input={"question": found.text(place, "question"), "choices": choices},
            target=_answer(found, place, row.get("answer")),
            metadata={"category": subject, "area": area(subject)},
        )


def _subject(found: DatasetRows, place: int) -> str:
    if found.rows[place].get("subject"):
        return found.text(place, "subject")
    name = found.file(place).name
    return name.removesuffix(_ENDING) if name.endswith(_ENDING) else "unknown"


def _choices(found: DatasetRows, place: int, row: dict[str, Any]) -> list[str]:
    given = row.get("choices", [row.get(letter) for letter in LETTERS])
    if isinstance(given, str):
        given = _listed(given)
    if not isinstance(given, list) or len(given) != len(LETTERS) or not all(isinstance(one, str) for one in given):
        raise found.wrong(place, f"choices are {given!r:.80}, no list of four texts")
    return given


def _listed(text: str) -> Any:
    """Parse a list in a table cell: JSON, or as printed by Python or NumPy. Return other text unchanged."""
    try:
        return read_json(text)
    except msgspec.DecodeError:
        pass
    try:
        elements = expression_tree(text.strip())
        if isinstance(elements, ast.List) and len(elements.elts) == len(LETTERS):
            return ast.literal_eval(elements)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    return text


def _answer(found: DatasetRows, place: int, value: Any) -> str:
    if isinstance(value, str) and value.strip().upper() in set(LETTERS):
        return value.strip().upper()
    if isinstance(value, str) and value.strip() in {"0", "1", "2", "3"}:
        return LETTERS[int(value)]
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(LETTERS):
        return LETTERS[value]
    raise found.wrong(place, f"answer is {value!r:.40}, neither a letter A to D nor a place 0 to 3")


def area(subject: str) -> str:
    """Return the area of a subject; an unknown subject is `other`."""
    return _AREA.get(subject, OTHER)
