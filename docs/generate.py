"""Writes the generated parts of the pages beside this file, viewer/openapi.json and viewer/src/api/words.ts.

Run `python docs/generate.py`.

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`. With `--check` nothing is written, and the exit
code is 1 when a part is not what it would be now.
"""

import importlib.util
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, get_args

import click

from mesocosm.agents.parsing import MalformedReply, Parser
from mesocosm.benchmarks.catalogue import BUILTIN
from mesocosm.benchmarks.descriptor import FILE, Descriptor, read_descriptor
from mesocosm.benchmarks.parameter import Parameter
from mesocosm.core import words
from mesocosm.core.failure import RULES, Cause
from mesocosm.core.space import CompositeSpace, Space, SpaceSpec
from mesocosm.core.words import CAUSES
from mesocosm.models.endpoint import PROVIDERS, is_loopback
from mesocosm.models.prices import Price

PAGES = Path(__file__).parent
OPENAPI = PAGES.parent / "viewer" / "openapi.json"
"""The description of the API, which the web app's types are made from."""
WORDS = PAGES.parent / "viewer" / "src" / "api" / "words.ts"
"""What the web app calls causes, states and kinds, and which keys it may sort by."""
WIDTH = 100
"""Columns of a help text."""
_PART = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def commands() -> Iterator[click.Context]:
    """Yield the program and all its commands, depth first, each as the context that a help text needs."""
    from mesocosm.cli.command import MORE
    from mesocosm.cli.main import program

    settings = {**program.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    root = click.Context(program, info_name="mesocosm", **settings)
    root.meta[MORE] = True  # every command and option, as with `--help --all`
    yield from _below(root)


def _below(context: click.Context) -> Iterator[click.Context]:
    yield context
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield from _below(click.Context(command, info_name=name, parent=context))


def command_help() -> str:
    """Return every command with its help, as `--help --all` prints it."""
    parts = []
    for context in commands():
        text = "\n".join(line.rstrip() for line in click.unstyle(context.get_help()).splitlines())
        parts.append(f"## {context.command_path}\n\n```text\n{text}\n```")
    return "\n\n".join(parts)


def failures() -> str:
    """Return the table of what can go wrong with an episode, from mesocosm.core.failure.RULES."""
    rows = ["| cause | what happened | tried again | counts as | further |", "|---|---|---|---|---|"]
    for cause, rule in RULES.items():
        nothing = rule.pending or rule.fatal or cause is Cause.SKIPPED
        counts = "worst value" if rule.valid else "–" if nothing else "missing"
        further = "the run ends" if rule.fatal else "the episode stays pending" if rule.pending else ""
        retried = "yes" if rule.retried else ""
        rows.append(f"| `{cause}` | {CAUSES[cause].title} | {retried} | {counts} | {further} |")
    return "\n".join(rows)


_CHOICES = {"type": "discrete", "enum_values": ["left", "right", "go_up"]}
_LETTERS = {"type": "discrete", "enum_values": ["A", "B", "C"]}
_NUMBER = {"type": "continuous", "bounds": {"low": 0, "high": 100}}
_MOVE = {"fields": {"move": {"type": "discrete", "enum_values": ["offer", "accept"]}, "price": _NUMBER}}
_REPLIES: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("discrete: left, right, go_up", _CHOICES, "left"),
    ("", _CHOICES, "The door is on the left, but it is locked.\nAction: right"),
    ("", _CHOICES, "**Go up**"),
    ("", _CHOICES, "<think>left? No.</think>I choose right because left is blocked."),
    ("", _CHOICES, '{"reasoning": "The exit is near.", "action": "LEFT"}'),
    ("", _CHOICES, "Going left would be wrong, so go-up it is."),
    ("", _CHOICES, "Action: down"),
    ("", _CHOICES, "I do not know."),
    ("discrete: A, B, C", _LETTERS, "I choose B because A is bad."),
    ("", _LETTERS, "A is a good letter, yet the answer is \\boxed{C}"),
    ("number from 0 to 100", _NUMBER, "17 times 3 is 51. Action: 51"),
    ("", _NUMBER, "I offer $1,000."),
    ("json", {"type": "json"}, 'Here it is:\n```json\n{"x": 1, "y": [2, 3],}\n```'),
    ("", {"type": "json"}, "x is 1"),
    ("composite: move, price", _MOVE, '{"Move": "OFFER", "price": "42"}'),
    ("", _MOVE, '{"move": "offer"}'),
    ("text", {"type": "text"}, "open the door"),
    ("", {"type": "text"}, "The key fits.\nACTION: open the door"),
    ("", {"type": "text"}, ""),
)


def parsing() -> str:
    """Return replies with the action that the step loop reads from each."""
    rows = ["| action space | reply | action |", "|---|---|---|"]
    for name, space, reply in _REPLIES:
        outcome = Parser(_space(space)).parse(reply)
        if isinstance(outcome, MalformedReply):
            read = f"none: {outcome.reason}"
        else:
            read = f"`{json.dumps(outcome.action, ensure_ascii=False)}`"
        rows.append(f"| {name} | {_code(reply)} | {read} |")
    return "\n".join(rows)


def _space(given: dict[str, Any]) -> Space:
    return CompositeSpace.model_validate(given) if "fields" in given else SpaceSpec.model_validate(given)


def _code(reply: str) -> str:
    """Return a reply as code that fits into a cell of a table."""
    shown = reply.replace("\n", " ⏎ ")
    fence = "``" if "`" in shown else "`"
    return f"{fence} {shown} {fence}" if "`" in shown else f"{fence}{shown}{fence}" if shown else "(nothing)"


def providers() -> str:
    """Return the providers with an OpenAI-compatible address of their own."""
    rows = ["| provider | address | key | on this machine |", "|---|---|---|---|"]
    for name, url in PROVIDERS.items():
        local = "yes" if is_loopback(url) else ""
        rows.append(f"| `{name}/…` | `{url}` | `{name.upper()}_API_KEY` | {local} |")
    return "\n".join(rows)


def prices() -> str:
    """Return the shipped prices: US dollars per million tokens."""
    rows = [
        "| model | prompt | from the provider's cache | written to it | completion | as of |",
        "|---|--:|--:|--:|--:|---|",
    ]
    package = importlib.util.find_spec("mesocosm.models")
    assert package is not None
    assert package.origin is not None
    table = json.loads(Path(package.origin).with_name("prices.json").read_bytes())
    for name, entry in sorted(table.items()):
        price = Price(**entry)
        cached = "" if price.cached is None else f"{price.cached:g}"
        written = "" if price.written is None else f"{price.written:g}"
        rows.append(f"| `{name}` | {price.input:g} | {cached} | {written} | {price.output:g} | {price.as_of} |")
    return "\n".join(rows)


def built_in() -> list[Descriptor]:
    """Return the descriptors of the built-in benchmarks, sorted by id."""
    found = (read_descriptor(folder) for folder in BUILTIN.iterdir() if (folder / FILE).is_file())
    return sorted(found, key=lambda one: one.id)


def benchmarks() -> str:
    """Return the built-in benchmarks with what they measure, their data and licence."""
    rows = ["| id | what | split | licence of its data | sampling parameter |", "|---|---|---|---|---|"]
    for one in built_in():
        link = f"[`{one.id}`](built-in-benchmarks.md#{one.id})"
        rows.append(f"| {link} | {one.title} | {one.split} | {one.licence} | {one.sampling or '–'} |")
    return "\n".join(rows)


def benchmark(one: Descriptor) -> str:
    """Return what a descriptor says: what is measured, where the data come from, and every parameter."""
    bounds = f", {one.score.low:g} to {one.score.high:g}" if None not in (one.score.low, one.score.high) else ""
    facts = [
        f"Score `{one.score.field}` ({one.score.unit}{bounds})",
        f"data: {one.source}",
        f"licence: {one.licence}",
        f"split: {one.split}",
        f"also called {', '.join(f'`{name}`' for name in one.aliases)}" if one.aliases else "",
    ]
    further = f"\n\nFurther metrics: {', '.join(f'`{metric.name}`' for metric in one.metric)}." if one.metric else ""
    rows = ["| parameter | type | default | meaning |", "|---|---|---|---|"]
    rows += [
        f"| `{name}` | {parameter.type} | {_default(parameter)} | {_meaning(parameter)} |"
        for name, parameter in one.parameters.items()
    ]
    return f"{one.description.strip()}\n\n{'; '.join(filter(None, facts))}.{further}\n\n" + "\n".join(rows)


def _default(parameter: Parameter) -> str:
    return "–" if parameter.default is None else f"`{json.dumps(parameter.default, ensure_ascii=False)}`"


def _meaning(parameter: Parameter) -> str:
    choices = f"; one of {', '.join(f'`{choice}`' for choice in parameter.choices)}" if parameter.choices else ""
    aliases = f"; also {', '.join(f'`{name}`' for name in parameter.aliases)}" if parameter.aliases else ""
    return f"{' '.join(parameter.help.split())}{choices}{aliases}".replace("|", "\\|")


def settings() -> str:
    """Return the table of the server's settings, from mesocosm.server.settings.Settings."""
    from mesocosm.server.settings import Settings

    rows = ["| setting | default | what it is |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        given = field.default
        shown = "" if given in (None, "", ()) or "secret" in name else _setting(given)
        aliases = getattr(field.validation_alias, "choices", [])[1:]
        older = f" (also `{'`, `'.join(str(alias).upper() for alias in aliases)}`)" if aliases else ""
        rows.append(f"| `{name}` | {shown} | {field.description}{older} |")
    return "\n".join(rows)


def _setting(given: object) -> str:
    if isinstance(given, bool):
        return "yes" if given else "no"
    if isinstance(given, tuple):
        return ", ".join(f"`{one}`" for one in given)
    return f"`{given:g}`" if isinstance(given, float) else f"`{given}`"


PARTS: dict[str, Callable[[], str]] = {
    **{f"benchmark-{one.id}": partial(benchmark, one) for one in built_in()},
    "benchmarks": benchmarks,
    "commands": command_help,
    "failures": failures,
    "parsing": parsing,
    "providers": providers,
    "settings": settings,
    "prices": prices,
}


def renewed(text: str) -> str:
    """Return the text of a page with all its generated parts as they are now. Raises KeyError for an unknown part."""
    return _PART.sub(lambda match: f"{match[1]}\n{PARTS[match['name']]()}\n\n{match[3]}", text)


def openapi() -> str:
    """Return the description of the API as JSON, each path and each schema in a line of its own."""
    from mesocosm.server.app import create_app

    document = create_app().openapi()
    schemas = document["components"].pop("schemas")
    parts = {**document, "paths": "PATHS", "components": {**document["components"], "schemas": "SCHEMAS"}}
    text = json.dumps(parts, indent=1)
    return text.replace('"PATHS"', _lines(document["paths"])).replace('"SCHEMAS"', _lines(schemas)) + "\n"


def _lines(entries: Mapping[str, object]) -> str:
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items()) + "\n}"


def web_words() -> str:
    """Return the words and values that the web app shares with Python, as TypeScript."""
    from mesocosm.server.auth.passwords import SHORTEST
    from mesocosm.server.schemas import query
    from mesocosm.server.schemas.run import State

    tables: dict[str, object] = {
        "CAUSES": {name: entry._asdict() for name, entry in words.CAUSES.items()},
        "BOUNDARIES": words.BOUNDARIES,
        "RUN_STATES": words.RUN_STATES,
        "EPISODE_STATES": words.EPISODE_STATES,
        "EVENTS": words.EVENTS,
        "AGGREGATIONS": words.AGGREGATIONS,
        "METHODS": words.METHODS,
        "SPACES": words.SPACES,
        "REWARDS": words.REWARDS,
        "BUILD_STATES": _named(words.BUILD_STATES),
        "CHECKS": _named(words.CHECKS),
        "RUN_FILTER_STATES": get_args(State),
        "RUN_SORT_KEYS": _keys(query.RunSort),
        "EPISODE_SORT_KEYS": _keys(query.EpisodeSort),
        "EPISODE_OUTCOMES": [name for name in get_args(query.Outcome) if name],
        "WHOSE": [name for name in get_args(query.Whose) if name],
        "PASSWORD_LENGTH": SHORTEST,
    }
    head = "// Made by docs/generate.py from mesocosm.core.words and the enumerations. Do not edit.\n"
    return head + "".join(f"\nexport const {name} = {_typescript(value)} as const\n" for name, value in tables.items())


def _typescript(value: object) -> str:
    """Return a value as TypeScript, each entry of a table in a line of its own."""
    if not isinstance(value, Mapping):
        return json.dumps(value)
    rows = (f"  {json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)},\n" for name, entry in value.items())
    return f"{{\n{''.join(rows)}}}"


def _named(table: Mapping[str, tuple[str, str]]) -> dict[str, dict[str, str]]:
    return {key: {"name": name, "meaning": meaning} for key, (name, meaning) in table.items()}


def _keys(sorts: object) -> list[str]:
    """Return the keys of a sort parameter, which has each of them ascending and descending."""
    return [name for name in get_args(sorts) if not name.startswith("-")]


def outputs() -> Iterator[tuple[Path, str, str]]:
    """Yield every file with generated content: its path, its text, and what that would be now."""
    for page in sorted(PAGES.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        yield page, text, renewed(text)
    for place, made in ((OPENAPI, openapi), (WORDS, web_words)):
        yield place, place.read_text(encoding="utf-8") if place.exists() else "", made()


def main(arguments: list[str]) -> int:
    """Write what has changed, or with `--check` only name it; return the exit code."""
    stale = 0
    for page, text, new in outputs():
        if new != text:
            stale += 1
            print(f"{'stale' if '--check' in arguments else 'wrote'}: {page.relative_to(PAGES.parent)}")
            if "--check" not in arguments:
                page.write_text(new, encoding="utf-8")
    return int(stale > 0 and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
