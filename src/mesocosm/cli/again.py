"""`mesocosm run again`: ask a recorded model call once more, and show the new answer beside the old one."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from mesocosm.cli.command import MesocosmCommand, options
from mesocosm.cli.fork import find_episode
from mesocosm.cli.render import emit, money, tokens
from mesocosm.cli.results import command_store
from mesocosm.core.failure import UsageError, legible

if TYPE_CHECKING:
    from mesocosm.interop.again import NewAnswer, RecordedCall


@click.command(cls=MesocosmCommand)
@click.argument("episode", metavar="EPISODE")
@click.option("--call", "number", type=click.IntRange(min=1), metavar="N", help="The Nth model call  [the last].")
@click.option("-m", "--model", metavar="MODEL", help="Ask this model  [the run's].")
@click.option("--system", metavar="TEXT|@FILE", help="Instead of the system message.")
@click.option("--prompt", metavar="TEXT|@FILE", help="Instead of the last message of the user.")
def again(episode: str, *, number: int | None, model: str | None, system: str | None, prompt: str | None) -> None:
    """Ask a model call of EPISODE again: as it was, of another model, or with another prompt.

    EPISODE is an id, or RUN/INDEX. The answer is printed beside the old one and stored nowhere. To go on from there,
    use mesocosm run fork.

    \b
    mesocosm run again last/3
    mesocosm run again last/3 --call 2 -m openai/gpt-5-mini --prompt @other.txt
    """
    from mesocosm.api.experiments import Arguments, settled_model
    from mesocosm.interop.again import ask_again, call_positions, edited, recorded_call

    store = command_store()
    found = find_episode(store, episode)
    places = call_positions(store.traces, found.id)
    number = number or len(places)
    if not 1 <= number <= len(places):
        raise UsageError(f"episode {found.id} has no model call {number}; it has {len(places)}")
    call = recorded_call(store.traces, store.blobs, found.id, places[number - 1])
    settings = store.runs.get(found.run_id).spec.model
    if model is not None:
        asked = Arguments(temperature=settings.temperature, max_tokens=settings.max_tokens)
        settings = asked.model_settings(settled_model(model))
    messages = edited(call.messages, _text(system), _text(prompt))
    answer = asyncio.run(ask_again(call, found, settings, messages))
    if options().json:
        emit(_document(call, answer, found.id, number))
        return
    before = call.payload.get("usage")
    click.secho(f"then: {call.payload.get('model')}, {_spent(before if isinstance(before, dict) else {})}", bold=True)
    _said(call.text, call.payload.get("tool_calls"))
    used = {} if answer.reply.estimated else msgspec.to_builtins(answer.reply.usage)
    click.secho(f"now: {answer.model}, {_spent(used)}", bold=True)
    _said(answer.reply.text, msgspec.to_builtins(answer.reply.tool_calls))
    for note in answer.notes:
        click.secho(note, fg="yellow")
    click.echo(_compared(answer, changed=messages != call.messages, recorded=call.body is not None))


def _said(text: str, calls: Any) -> None:
    click.echo(legible(text) or "(no text)")
    for call in calls or ():
        click.echo(legible(msgspec.json.encode(call).decode()))
    click.echo()


def _compared(answer: "NewAnswer", *, changed: bool, recorded: bool) -> str:
    if answer.same_body:
        return "the same body was sent; nothing is stored"
    if not recorded:
        return "the body as sent was not recorded, so tools and formats are not asked for; nothing is stored"
    what = "another prompt was sent" if changed else "the body that was sent differs, as this model takes it"
    return f"{what}; nothing is stored"


def _spent(usage: dict[str, Any]) -> str:
    if not usage:
        return "tokens unknown"
    cost = usage.get("cost_usd", 0.0)
    return f"{tokens(int(usage.get('prompt', 0)) + int(usage.get('completion', 0)))} tokens, {money(cost)}"


def _document(call: "RecordedCall", answer: "NewAnswer", episode_id: str, number: int) -> dict[str, Any]:
    reply = answer.reply
    return {
        "episode": episode_id,
        "call": number,
        "seq": call.seq,
        "then": {name: call.payload.get(name) for name in ("model", "text", "tool_calls", "finish_reason", "usage")},
        "now": {
            "model": answer.model,
            "text": reply.text,
            "tool_calls": msgspec.to_builtins(reply.tool_calls) or None,
            "finish_reason": reply.finish_reason,
            "usage": msgspec.to_builtins(reply.usage),
        },
        "same_body": answer.same_body,
        "notes": list(answer.notes),
    }


def _text(text: str | None) -> str | None:
    """Return a text, or the content of the file that `@FILE` names. Raises UsageError."""
    if text is None or not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{text[1:]} cannot be read: {error}; write the text itself, or @ and a file") from error
