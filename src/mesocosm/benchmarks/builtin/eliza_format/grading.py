"""Grade an answer: can it be parsed, does it have the fields, and is its content right."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mesocosm.benchmarks.builtin.eliza_format.bucket import BUCKETS, REFERENCE
from mesocosm.benchmarks.builtin.eliza_format.notation import Notation, NotationError, read


@dataclass(frozen=True, slots=True)
class FormatVerdict:
    """Whether form and content are right, and why not. The content of an unreadable answer is never right."""

    format_ok: bool = False
    content_ok: bool = False
    fault: str = ""

    @property
    def score(self) -> float:
        """Half a point for the form, half for the content."""
        return 0.5 * self.format_ok + 0.5 * self.content_ok


def judge(bucket: str, text: str, expected: Mapping[str, Any], reference: str, notation: Notation) -> FormatVerdict:
    """Return the verdict on an answer. With a `reference`, only an answer that repeats it has the right form."""
    try:
        answer = read(text, notation)
    except NotationError as error:
        return FormatVerdict(fault=str(error))
    fault = next(_form_faults(bucket, answer, reference), "")
    if fault:
        return FormatVerdict(fault=fault)
    fault = next(_content_faults(bucket, answer, expected), "")
    return FormatVerdict(format_ok=True, content_ok=not fault, fault=fault)


def _form_faults(bucket: str, answer: Mapping[str, Any], reference: str) -> Iterator[str]:
    fields = BUCKETS[bucket].fields
    wanted = {field.name for field in fields} | ({REFERENCE} if reference else set())
    yield from (f"the field {name} is missing" for name in sorted(wanted - answer.keys()))
    yield from (f"there is a field {name:.40} that was not asked for" for name in sorted(answer.keys() - wanted))
    yield from (fault for field in fields if (fault := field.fault(answer[field.name])))
    if reference and answer[REFERENCE] != reference:
        yield f"{REFERENCE} is {answer[REFERENCE]!r:.40}, not that of the question"


def _content_faults(bucket: str, answer: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[str]:
    if bucket == "reply":
        text = str(answer["text"])
        yield from (f"the reply does not say {word}" for word in expected["contains"] if not _says(text, word))
        yield from (f"the reply says {word}" for word in expected.get("excludes", ()) if _says(text, word))
        return
    for field in BUCKETS[bucket].judged:
        if _plain(answer[field.name]) != _plain(expected[field.name]):
            yield f"{field.name} is {answer[field.name]!r:.80}, which is not right"


def _says(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is not None


def _plain(value: Any) -> Any:
    """Return a value normalized for comparison: in texts, case and white space are ignored."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return " ".join(value.split()).casefold() if isinstance(value, str) else value
