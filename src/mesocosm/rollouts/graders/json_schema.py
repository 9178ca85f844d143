"""Grade a JSON document: it must follow a schema, equal the label, or both.

`mesocosm.core.json_schema` checks a part of JSON Schema 2020-12 and ignores the rest. A grader must not ignore
anything: it rejects keywords and patterns that would not be checked, and answers that are too large to check fully.
"""

import json
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn

from pydantic import Field, field_validator, model_validator

from mesocosm.core.json_reply import members_once
from mesocosm.rollouts.graders.answer import AnswerConfig, MissingLabel, extract, fenced, labels
from mesocosm.rollouts.graders.ready import NOTHING, GraderVerdict, RuleGrader

if TYPE_CHECKING:
    from types import ModuleType

CHECKED = frozenset(
    (
        *("type", "enum", "const", "allOf", "anyOf", "oneOf", "properties", "required", "additionalProperties"),
        *("items", "prefixItems", "minItems", "maxItems", "minLength", "maxLength", "pattern", "minimum", "maximum"),
        *("exclusiveMinimum", "exclusiveMaximum", "$ref", "$defs", "definitions"),
    )
)
SAID = frozenset(
    (
        *("title", "description", "default", "examples", "$schema", "$id", "$comment", "format", "deprecated"),
        *("readOnly", "writeOnly", "contentMediaType", "contentEncoding"),
    )
)
"""Keywords that only describe."""
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS = ("properties", "$defs", "definitions")
_PROBES = ("", "\x00", "Zq7 \n!", "0")
_EMPTY: tuple[Any, ...] = (None, {}, [], "", 0, False)
_LONGEST_MATCHED = 4096


class JsonSchemaConfig(AnswerConfig):
    """Options of the grader `json_schema`.

    `schema`: what the document must follow; or `schema_from`: the metadata with the schema of a row. With
    `equals_label` the document must also equal the label. With `reward = "share"` the reward of a document that follows
    the schema is the number of equal members divided by the number of members in either.
    """

    name: str = "json_schema"
    rules: dict[str, Any] | None = Field(default=None, alias="schema")
    schema_from: str = ""
    equals_label: bool = False
    reward: Literal["all", "share"] = "all"

    @field_validator("rules")
    @classmethod
    def _checked(cls, schema: dict[str, Any] | None) -> dict[str, Any] | None:
        if schema is not None and (problems := schema_problems(schema)):
            raise ValueError("; ".join(problems))
        return schema

    @model_validator(mode="after")
    def _something(self) -> "JsonSchemaConfig":
        if self.rules is not None and self.schema_from:
            raise ValueError("give schema or schema_from, not both")
        if self.rules is None and not self.schema_from and not self.equals_label:
            raise ValueError("give schema, schema_from or equals_label: without one any JSON would do")
        if self.reward == "share" and not self.equals_label:
            raise ValueError('reward = "share" compares with the label; set equals_label too')
        if self.rules is not None and not self.equals_label and _allows_everything(self.rules):
            raise ValueError("the schema accepts anything, even null, {} and []; say what a right answer must hold")
        return self


class JsonSchemaRule:
    """Grade 1 if the document follows the schema (and equals the label), else 0."""

    def __init__(self, config: JsonSchemaConfig) -> None:
        self.config = config

    def grade(self, reply: str, label: str | None, metadata: Mapping[str, Any] | None = None) -> GraderVerdict:
        """Return the verdict on a reply, with the scores `valid_json`, `fits_schema` and, with a label, `equal_share`.

        Raises MissingLabel if the row lacks the schema or the label to compare with.
        """
        schema = self._schema(metadata)
        right = [_label(text) for text in labels(label, metadata, self.config)] if self.config.equals_label else []
        scores = {"valid_json": 0.0, "fits_schema": 0.0} | ({"equal_share": 0.0} if right else {})
        try:
            value = read_document(reply, self.config)
        except ValueError as error:
            return GraderVerdict(0.0, scores, str(error))
        scores["valid_json"] = 1.0
        if problems := [] if schema is None else deviations(schema, value):
            return GraderVerdict(0.0, scores, "; ".join(problems))
        scores["fits_schema"] = 1.0
        if not right:
            return GraderVerdict(1.0, scores)
        scores["equal_share"] = max(_equal_share(value, wanted) for wanted in right)
        reward = scores["equal_share"] if self.config.reward == "share" else float(scores["equal_share"] == 1)
        return GraderVerdict(reward, scores, "" if reward == 1 else "the document differs from the label")

    def _schema(self, metadata: Mapping[str, Any] | None) -> dict[str, Any] | None:
        name = self.config.schema_from
        if not name:
            return self.config.rules
        held = (metadata or {}).get(name)
        held = json.loads(held) if isinstance(held, str) and held.lstrip().startswith("{") else held
        if not isinstance(held, dict):
            raise MissingLabel(f"metadata {name!r} should hold a JSON schema, and is {held!r:.80}")
        if problems := schema_problems(held):
            raise MissingLabel(f"the schema in metadata {name!r} cannot be checked: {'; '.join(problems)}")
        if not self.config.equals_label and _allows_everything(held):
            raise MissingLabel(f"the schema in metadata {name!r} accepts anything, even null, {{}} and []")
        return held


def read_document(reply: str, config: AnswerConfig) -> Any:
    """Return the one document in a reply: the whole reply, its only fenced block, or what the options select.

    Raises ValueError if there is none, if several differ, or if it is not strict JSON (NaN, duplicate names).
    """
    text = extract(reply, config)
    if not text:
        raise ValueError(NOTHING)
    if len(reply) > config.max_chars and not (config.after or config.pattern or config.last):
        raise ValueError(f"the answer has more than {config.max_chars:,} characters")
    blocks = {block.strip() for block in fenced(text)} or {text}
    if len(blocks) != 1:
        raise ValueError(f"the answer holds {len(blocks)} different blocks")
    try:
        return json.loads(blocks.pop(), object_pairs_hook=members_once, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("the answer nests too deep") from None
    except ValueError as error:
        raise ValueError(f"the answer is not a JSON document: {error}") from None


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text[:40])


def deviations(schema: Mapping[str, Any], value: Any) -> list[str]:
    """Return how a value violates a schema, empty if it does not; a value too large to check violates it."""
    check = _checker()
    definitions: dict[str, Any] = {}
    inner = check.hoisted(schema, definitions, "answer")
    # The second item always violates its rule: if that is not reported, the check stopped early.
    both = {"$defs": definitions, "prefixItems": [inner, {"const": 1}]}
    found: list[str] = check.violations(both, [value, 0])
    mine = [line.removeprefix("[0]").removeprefix(".").removeprefix(": ") for line in found if line.startswith("[0]")]
    if not mine and not any(line.startswith("[1]") for line in found):
        return ["the document is too large to be checked"]
    if not mine and "pattern" in json.dumps(schema) and any(len(text) > _LONGEST_MATCHED for text in _texts(value)):
        return [f"a text is longer than {_LONGEST_MATCHED:,} characters, and is not matched with a pattern"]
    return mine


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def schema_problems(schema: Mapping[str, Any], path: str = "schema") -> list[str]:
    """Return what would not be checked of a schema, one sentence per keyword."""
    found: list[str] = []
    for key, rule in schema.items():
        if key not in CHECKED | SAID:
            found.append(f"{path}: the keyword {key!r} is not checked here; leave it out, or compare with the label")
        elif key == "pattern" and not _is_checked(rule):
            found.append(f"{path}: the pattern {rule!r:.80} would not be checked: malformed, too long or too slow")
        elif key == "$ref" and not (isinstance(rule, str) and rule.startswith("#")):
            found.append(f"{path}: the reference {rule!r:.80} leads outside the schema")
        elif key.startswith(("min", "max", "exclusive")) and (
            isinstance(rule, bool) or not isinstance(rule, int | float)
        ):
            found.append(f"{path}: {key} must be a number")
    for where, part in _parts(schema, path):
        found += schema_problems(part, where)
    return found


def _parts(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key in (*_LISTS, *_MAPS, "items", "additionalProperties"):
        rule = schema.get(key)
        if key in _MAPS and isinstance(rule, dict):
            inside = [(f"{path}.{key}.{name}", part) for name, part in rule.items()]
        elif key in _LISTS and isinstance(rule, list):
            inside = [(f"{path}.{key}[{place}]", part) for place, part in enumerate(rule)]
        else:
            inside = [(f"{path}.{key}", rule)]
        yield from ((where, part) for where, part in inside if isinstance(part, dict))


def _is_checked(pattern: object) -> bool:
    """Return whether a pattern rejects anything; an ignored pattern rejects nothing."""
    return isinstance(pattern, str) and any(_checker().violations({"pattern": pattern}, probe) for probe in _PROBES)


def _allows_everything(schema: Mapping[str, Any]) -> bool:
    return not any(deviations(schema, value) for value in _EMPTY)


def _label(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MissingLabel(f"the label should be a JSON document, and {text!r:.80} is none: {error}") from None


def _equal_share(value: Any, wanted: Any) -> float:
    same = _checker().same
    if not isinstance(value, dict) or not isinstance(wanted, dict) or not wanted:
        return float(same(value, wanted))
    shared = sum(name in value and same(value[name], item) for name, item in wanted.items())
    return float(shared / len(value.keys() | wanted.keys()))


def _checker() -> "ModuleType":
    try:
        from mesocosm.core import json_schema
    except ImportError as error:
        raise RuntimeError(
            "the grader json_schema needs the package mesocosm in the rollout's environment; install it there, or name "
            "the grader in the table [grader] of the configuration, which runs it outside"
        ) from error
    return json_schema


class JsonSchemaGrader(RuleGrader[JsonSchemaConfig]):
    """The rule as an SDK grader."""

    Config: ClassVar[type[JsonSchemaConfig]] = JsonSchemaConfig
    Rule = JsonSchemaRule
