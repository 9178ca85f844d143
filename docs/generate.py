"""Writes the generated parts of the pages beside this file, and viewer/openapi*.json: `python docs/generate.py`.

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`. With `--check` nothing is written, and the exit
code is 1 when a part is not what it would be now.
"""

import importlib.util
import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click

from mesocosm.agents.parsing import Malformed, Parser
from mesocosm.benchmarks.catalogue import BUILTIN
from mesocosm.benchmarks.descriptor import FILE, Descriptor, read_descriptor
from mesocosm.benchmarks.knob import Knob
from mesocosm.core.failure import RULES, Cause
from mesocosm.core.space import CompositeSpace, Space, SpaceSpec
from mesocosm.models.endpoint import PROVIDERS, is_loopback
from mesocosm.models.prices import Price

PAGES = Path(__file__).parent
OPENAPI = PAGES.parent / "viewer" / "openapi.json"
"""The description of the API, which the web app's types are made from."""
PLATFORM_OPENAPI = PAGES.parent / "viewer" / "openapi-platform.json"
"""The same of a platform."""
WIDTH = 100
"""Columns of a help text."""
_PART = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def commands() -> Iterator[click.Context]:
    """Yield the program and all its commands, depth first, each as the context that a help text needs."""
    from mesocosm.cli.main import program

    settings = {**program.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    yield from _below(click.Context(program, info_name="mesocosm", **settings))


def _below(context: click.Context) -> Iterator[click.Context]:
    yield context
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield from _below(click.Context(command, info_name=name, parent=context))


def command_help() -> str:
    """Return every command with its help, as `--help` prints it."""
    parts = []
    for context in commands():
        text = "\n".join(line.rstrip() for line in context.get_help().splitlines())
        parts.append(f"## {context.command_path}\n\n```text\n{text}\n```")
    return "\n\n".join(parts)


_MEANING: dict[Cause, str] = {
    Cause.RATE_LIMITED: "the model's server answered 429",
    Cause.MODEL_UNAVAILABLE: "no connection to the model, or it answered 5xx",
    Cause.MODEL_TIMEOUT: "no answer of the model within `--timeout`",
    Cause.MODEL_INVALID: "the model's server answered something that is no completion",
    Cause.MODEL_REJECTED: "the server refuses the request, a recording has nothing for this step",
    Cause.MODEL_FORBIDDEN: "key missing, wrong or without credit",
    Cause.MODEL_MISSING: "no such model, or a wrong base URL",
    Cause.CONTEXT_OVERFLOW: "the conversation is longer than the model takes",
    Cause.REPLY_TRUNCATED: "the reply was cut at the token limit before its action was clear",
    Cause.MALFORMED_ACTION: "no valid action, not even after the last re-ask",
    Cause.REFUSED: "the provider's content filter withheld the reply",
    Cause.CAPABILITY_MISSING: "the agent lacks a capability that the task requires, so it was not played",
    Cause.BUDGET: "the episode used more than `--episode-tokens`",
    Cause.AGENT_ERROR: "the agent's own code raised an exception",
    Cause.AGENT_TIMEOUT: "the agent took too long",
    Cause.WORKFLOW_FAILED: "the workflow of a rollout raised an exception",
    Cause.WORKFLOW_INVALID: "the workflow returned something else than messages",
    Cause.WORKFLOW_TIMEOUT: "the workflow went on beyond `agent_workflow_timeout_s`",
    Cause.ENVIRONMENT_ERROR: "the environment answered an error, as when its code raised an exception",
    Cause.ENVIRONMENT_TIMEOUT: "no answer of the environment within `--step-timeout`",
    Cause.ENVIRONMENT_UNREACHABLE: "the adapter's process ended, or the connection broke",
    Cause.ENVIRONMENT_INVALID: "the environment answered something that cannot be read",
    Cause.SANDBOX_FAILED: "a process could not be started",
    Cause.GRADER_ERROR: "scoring raised an exception, or needs a judge that a run does not have",
    Cause.GRADER_TIMEOUT: "the grader of a rollout went on beyond `grader_timeout_s`",
    Cause.SKIPPED: "the grader left this sample out on purpose; it is counted nowhere",
    Cause.UNVERIFIED: "no working evaluator was there to say whether the result is right",
    Cause.PROGRAM_FAILED: "a benchmark's program ended with an error, or left no result",
    Cause.PROGRAM_TIMEOUT: "a benchmark's program took too long, or said nothing for too long",
    Cause.ROLLOUT_FAILED: "the process of a rollout ended, or answered what nobody understands",
    Cause.PROXY_FAILED: "the address for a program's model calls could not be opened",
    Cause.VALUE_MISSING: "the last `info` lacks the field that a metric reads",
    Cause.VALUE_UNUSABLE: "that field holds no finite number",
    Cause.STORE_ERROR: "the results could not be written",
    Cause.CANCELLED: "the run was stopped before the episode ended",
    Cause.INTERNAL: "a defect in mesocosm",
}


def failures() -> str:
    """Return the table of what can go wrong with an episode, from mesocosm.core.failure.RULES."""
    rows = ["| cause | what happened | tried again | counts as | further |", "|---|---|---|---|---|"]
    for cause, rule in RULES.items():
        nothing = rule.owed or rule.fatal or cause is Cause.SKIPPED
        counts = "worst value" if rule.valid else "–" if nothing else "missing"
        further = "the run ends" if rule.fatal else "the episode is owed" if rule.owed else ""
        retried = "yes" if rule.retried else ""
        rows.append(f"| `{cause}` | {_MEANING[cause]} | {retried} | {counts} | {further} |")
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
        if isinstance(outcome, Malformed):
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
    rows = ["| model | prompt | from the provider's cache | completion | as of |", "|---|--:|--:|--:|---|"]
    package = importlib.util.find_spec("mesocosm.models")
    assert package is not None
    assert package.origin is not None
    table = json.loads(Path(package.origin).with_name("prices.json").read_bytes())
    for name, entry in sorted(table.items()):
        price = Price(**entry)
        cached = "" if price.cached is None else f"{price.cached:g}"
        rows.append(f"| `{name}` | {price.input:g} | {cached} | {price.output:g} | {price.as_of} |")
    return "\n".join(rows)


def built_in() -> list[Descriptor]:
    """Return the descriptors of the built-in benchmarks, sorted by id."""
    found = (read_descriptor(folder) for folder in BUILTIN.iterdir() if (folder / FILE).is_file())
    return sorted(found, key=lambda one: one.id)


def benchmarks() -> str:
    """Return the built-in benchmarks with what they measure, their data and licence."""
    rows = ["| id | what | split | licence of its data | sampling knob |", "|---|---|---|---|---|"]
    for one in built_in():
        link = f"[`{one.id}`](built-in-benchmarks.md#{one.id})"
        rows.append(f"| {link} | {one.title} | {one.split} | {one.licence} | {one.sampling or '–'} |")
    return "\n".join(rows)


def benchmark(one: Descriptor) -> str:
    """Return what a descriptor says: what is measured, where the data come from, and every knob."""
    bounds = f", {one.score.low:g} to {one.score.high:g}" if None not in (one.score.low, one.score.high) else ""
    facts = [
        f"Score `{one.score.field}` ({one.score.unit}{bounds})",
        f"data: {one.source}",
        f"licence: {one.licence}",
        f"split: {one.split}",
        f"also called {', '.join(f'`{name}`' for name in one.aliases)}" if one.aliases else "",
    ]
    further = f"\n\nFurther metrics: {', '.join(f'`{metric.name}`' for metric in one.metric)}." if one.metric else ""
    rows = ["| knob | type | default | meaning |", "|---|---|---|---|"]
    rows += [f"| `{name}` | {knob.type} | {_default(knob)} | {_meaning(knob)} |" for name, knob in one.knobs.items()]
    return f"{one.description.strip()}\n\n{'; '.join(filter(None, facts))}.{further}\n\n" + "\n".join(rows)


def _default(knob: Knob) -> str:
    return "–" if knob.default is None else f"`{json.dumps(knob.default, ensure_ascii=False)}`"


def _meaning(knob: Knob) -> str:
    choices = f"; one of {', '.join(f'`{choice}`' for choice in knob.choices)}" if knob.choices else ""
    aliases = f"; also {', '.join(f'`{name}`' for name in knob.aliases)}" if knob.aliases else ""
    return f"{' '.join(knob.help.split())}{choices}{aliases}".replace("|", "\\|")


def settings() -> str:
    """Return the table of a platform's settings, from mesocosm.server.settings.Settings."""
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
    """Return the description of the API as JSON."""
    from mesocosm.server.app import create_app

    return json.dumps(create_app().openapi(), indent=1) + "\n"


def platform_openapi() -> str:
    """Return the description of a platform's API as JSON."""
    from mesocosm.server.platform_app import create_platform

    return json.dumps(create_platform().openapi(), indent=1) + "\n"


def outputs() -> Iterator[tuple[Path, str, str]]:
    """Yield every file with generated content: its path, its text, and what that would be now."""
    for page in sorted(PAGES.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        yield page, text, renewed(text)
    for place, made in ((OPENAPI, openapi), (PLATFORM_OPENAPI, platform_openapi)):
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
