"""`mesocosm search`: find what was said in episodes."""

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import options, plural
from mesocosm.cli.remote.connection import Remote, known_client, workspace_option
from mesocosm.cli.render import emit, interval, number, short, table
from mesocosm.cli.results import command_store, find_run
from mesocosm.cli.viewer_link import page
from mesocosm.core.failure import InfrastructureError, UsageError

if TYPE_CHECKING:
    from mesocosm.store import Store

PATIENCE_S = 2.0
"""Seconds in which a search brings the index up to date first."""
PLACES = ("question", "reply", "reasoning", "call", "result", "observation", "action")
VERDICTS = {"passed": "passed", "not_passed": "not passed", "error": "error", "missing": "missing"}
OTHER = "neither passed nor failed"


@click.command(cls=Remote)
@click.argument("words", nargs=-1, metavar="TEXT")
@click.option("--run", "run_id", metavar="RUN", help="Only this run.")
@click.option("--benchmark", multiple=True, help="Only runs of this benchmark.")
@click.option("--model", multiple=True, help="Only runs of this model.")
@click.option("--tag", multiple=True, help="Only runs with this tag.")
@click.option("--in", "places", multiple=True, type=click.Choice(PLACES), help="Only what was said there.")
@click.option("--verdict", type=click.Choice(sorted(VERDICTS)), help="List only episodes with this verdict.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Episodes to list.")
@click.option("--cursor", help="Where the previous page ended.")
@click.option("--index", is_flag=True, help="First index everything, however long it takes; TEXT may be left out.")
@workspace_option
@click.option("--remote", is_flag=True, help="Search the runs on the server that you may read.")
def search(
    words: tuple[str, ...],
    *,
    run_id: str | None,
    places: tuple[str, ...],
    index: bool,
    workspace: str | None,
    remote: bool,
    **given: Any,
) -> int:
    """Find the episodes in which TEXT was said, in prompts, replies, reasoning, tools, observations and actions.

    TEXT is words that must all occur: word, "exact words" (quote them for the shell), word*, -without, in:reply,
    tool:NAME. Case does not matter. The episodes found are a measured set: how many passed, and the accuracy with its
    interval.

    With --remote the runs of a server that you may read are searched, with --workspace those of one workspace there.

    Finished episodes are indexed in the background while `mesocosm view` or a server runs, and by this command.
    """
    if not words and not index:
        raise UsageError("give what to find, as in: mesocosm search 'cannot help' --in reply")
    from mesocosm.store.search_query import read_query

    query = read_query(" ".join(words), places) if words else None
    if remote or workspace:
        if index:
            raise UsageError("a server indexes by itself; leave --index out")
        text = " ".join([*words, *(f"in:{place}" for place in places)])
        return _there(text, run_id, workspace, given)
    store = command_store()
    run = None if run_id is None else find_run(store, run_id)
    _bring_up_to_date(store, everything=index)
    if query is None:
        done = {"not_indexed": store.search.index.pending()}
        emit(done) if options().json else click.echo("everything is indexed" if not done["not_indexed"] else str(done))
        return 0
    from mesocosm.interop.search import search_document
    from mesocosm.store.filters import RunFilter

    wanted = RunFilter(benchmarks=given["benchmark"], models=given["model"], tags=given["tag"])
    found = store.search.find(
        query,
        wanted,
        run_id="" if run is None else run.id,
        verdict=given["verdict"] or "",
        cursor=given["cursor"],
        limit=given["limit"],
        budget_s=float("inf"),
    )
    runs = {key: store.runs.get(key) for key in {hit.episode.run_id for hit in found.hits}}
    document = search_document(found, runs, first=given["cursor"] is None)
    if options().json:
        emit(document)
    else:
        _show(document, lambda path: page(path, store, options()))
    return 0


def _there(text: str, run_id: str | None, workspace: str | None, given: dict[str, Any]) -> int:
    """Search the runs of a server; a workspace narrows them, and names the run where one is given."""
    client = known_client()
    query = {"text": text, "verdict": given["verdict"], "cursor": given["cursor"], "limit": given["limit"]}
    if run_id is None:
        query |= {name: list(given[name]) for name in ("benchmark", "model", "tag")}
        query["workspace"] = None if workspace is None else client.workspaces.get(workspace).id
    elif workspace is not None:
        run_id = client.runs.of_workspace(workspace, run_id).id
    document = client.runs.search(query, run_id or "").model_dump(mode="json")
    if options().json:
        emit(document)
    else:
        _show(document, lambda path: f"{client.base_url.rstrip('/')}{path}")
    return 0


def _bring_up_to_date(store: "Store", *, everything: bool) -> None:
    """Index what is not indexed yet: everything, or what takes no longer than a moment."""
    end = float("inf") if everything else time.monotonic() + PATIENCE_S
    done = 0

    def indexed(new: int) -> None:
        nonlocal done
        done += new
        if everything and sys.stderr.isatty():
            click.echo(f"\rindexed {plural(done, 'episode')} ", nl=False, err=True)

    try:
        store.search.index.update(end=end, indexed=indexed)
    except InfrastructureError:
        # A store that this user may only read is searched as it is.
        if everything:
            raise
    if everything and done and sys.stderr.isatty():
        click.echo(err=True)


def _show(document: dict[str, Any], link: Callable[[str], str]) -> None:
    matching, searched, items = document["matching"], document["searched"], document["items"]
    if matching is not None:
        for line in _counted(document, matching, searched):
            click.echo(line)
    chosen = options()
    rows = []
    for item in items:
        episode = f"{short(item['run_id'], chosen)}/{item['index']}"
        what = f"{item['benchmark']} · {item['model']}"
        rows.append([episode, what, VERDICTS.get(item["verdict"], ""), item["place"], str(item["step"]), _marked(item)])
    if rows:
        table(["episode", "run", "verdict", "in", "step", "said"], rows, chosen, right=(4,), whole=(0, 2), spare=(1, 4))
        first = items[0]
        path = f"/episodes/{first['episode_id']}?step={first['step']}"
        click.echo(f"the first of them: {link(path)}")
    if document["cursor"]:
        click.echo(f"more: --cursor {document['cursor']}")


def _counted(document: dict[str, Any], matching: dict[str, Any], searched: dict[str, Any]) -> list[str]:
    if not matching["episodes"]:
        lines = [f"nobody said this in {plural(searched['episodes'], 'episode')}"]
    else:
        counts = [
            f"{matching[name]:,} {words}" for name, words in {**VERDICTS, "other": OTHER}.items() if matching[name]
        ]
        lines = [f"{matching['episodes']:,} of {plural(searched['episodes'], 'episode')}: {', '.join(counts)}"]
        if matching["accuracy"] is not None:
            bounds = interval(matching["accuracy_low"], matching["accuracy_high"], weak=matching["accuracy_weak"])
            lines.append(f"accuracy {number(matching['accuracy'])} {bounds}, of all {number(searched['accuracy'])}")
    left = document["finished"] - searched["episodes"]
    if left > 0:
        lines.append(
            f"{plural(left, 'finished episode')} not searched: not indexed yet; mesocosm search --index does it"
        )
    return lines


def _marked(item: dict[str, Any]) -> str:
    """Return the snippet on one line, with what was found in brackets."""
    text, parts, place = item["snippet"], [], 0
    for first, last in item["marks"]:
        parts += [text[place:first], "[", text[first:last], "]"]
        place = last
    return " ".join("".join([*parts, text[place:]]).split())
