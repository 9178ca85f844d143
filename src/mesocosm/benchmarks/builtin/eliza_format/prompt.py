"""The prompt, and the answer that earns the full score."""

from typing import Any

from mesocosm.benchmarks.builtin.eliza_format.bucket import BUCKETS, REFERENCE, AnswerField
from mesocosm.benchmarks.builtin.eliza_format.notation import Notation, write
from mesocosm.benchmarks.builtin.eliza_format.record import FormatRecord

_FORMS: dict[Notation, str] = {
    "json": "Your whole answer is one JSON object with exactly these fields, and nothing before or after it:",
    "toon": (
        "Your whole answer is one object in TOON notation and nothing before or after it: a line `key: value` for each "
        "text, a line `key[2]: first,second` for each list with its length in the brackets, texts in double quotes "
        "where they hold commas, colons or quotes. It has exactly these fields:"
    ),
}


def system_prompt(record: FormatRecord, notation: Notation) -> str:
    """Return the system prompt of a record: the instruction, and the form of the answer."""
    bucket = BUCKETS[record.bucket]
    fields = [f"- {field.name}: {_kind(field)}; {field.help}" for field in bucket.fields]
    if record.reference:
        fields.insert(0, f"- {REFERENCE}: text; the reference of the question, as it stands there")
    return "\n".join([bucket.instruction, "", _FORMS[notation], *fields])


def _kind(field: AnswerField) -> str:
    if field.listed:
        return "list of texts"
    return f"one of {', '.join(field.choices)}" if field.choices else "text"


def best_answer(record: FormatRecord, notation: Notation) -> str:
    """Return an answer with the right form and content."""
    answer: dict[str, Any] = {REFERENCE: record.reference} if record.reference else {}
    for field in BUCKETS[record.bucket].fields:
        answer[field.name] = record.expected[field.name] if field.judged else "As was asked."
    if record.bucket == "reply":
        answer["text"] = f"It is {' and '.join(record.expected['contains'])}."
    return write(answer, notation)
