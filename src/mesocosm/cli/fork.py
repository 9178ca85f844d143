"""`mesocosm run fork`: play an episode again up to a step, and go on with another model, agent or action."""

from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import SETTINGS, FiniteFloat, MesocosmCommand, options, view_option
from mesocosm.cli.results import command_store, find_run

if TYPE_CHECKING:
    from mesocosm.core.episode import Episode
    from mesocosm.store import Store


@click.command(
    cls=MesocosmCommand,
    own=("--at", "--model", "--agent", "--action", "--budget", "--name", "--fresh", "--set", "--view"),
)
@click.argument("episode", metavar="EPISODE")
@click.option("--at", type=click.IntRange(min=1), required=True, metavar="N", help="The first step that is new.")
@click.option("-m", "--model", metavar="MODEL", help="The model that goes on  [the run's].")
@click.option("--agent", default="", metavar="NAME", help="The agent that goes on  [the run's].")
@click.option("--action", metavar="JSON|TEXT", help="What is done at step N, instead of asking.")
@click.option("--budget", type=FiniteFloat(min=0, min_open=True), metavar="USD", help="Stop there.")
@click.option("--name", default="", help="Name of the new run.")
@click.option("--fresh", is_flag=True, help="Play it anew, whatever finished before.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help=f"Anything else: {SETTINGS}.")
@click.option("--quiet", is_flag=True, help="Do not show progress.")
@view_option
def fork(episode: str, *, at: int, agent: str, action: str | None, view: bool | None, **given: Any) -> int:
    """Play EPISODE again up to step N, then go on with another model, agent or action, as a new run.

    EPISODE is an id, or RUN/INDEX. The environment starts with the same seed and gets the recorded actions. What it
    shows must be what it showed then; where it is not, the command says at which step, and does not go on.

    \b
    mesocosm run fork last/3 --at 5 -m openai/gpt-5-mini
    mesocosm run fork last/3 --at 5 --action crane
    """
    from mesocosm.api.experiments import Arguments
    from mesocosm.api.forking import ForkFrom, fork_work
    from mesocosm.cli.evaluating import arguments_of
    from mesocosm.cli.scan import limited

    chosen = options()
    chosen.quiet, chosen.view, chosen.opens = given["quiet"], view, bool(view)
    store = command_store()
    found = find_episode(store, episode)
    run = store.runs.get(found.run_id)
    shared = {"limit": None, "trials": None, "judge": None, "parallel": None, "tags": (), **given}
    arguments = Arguments(**limited(arguments_of(shared)[0]), model=given["model"])
    wanted = ForkFrom(at, agent, _action(action), edits=action is not None)
    work = fork_work(store, run, found, wanted, arguments)
    return _play(store, work, fresh=given["fresh"])


def find_episode(store: "Store", reference: str) -> "Episode":
    """Return an episode by id, unique prefix, or RUN/INDEX, where RUN is what names a run. Raises UnknownName."""
    run, slash, index = reference.rpartition("/")
    if slash and index.isdecimal():
        return store.episodes.get(f"{find_run(store, run).id}/{index}")
    return store.episodes.get(reference)


def _action(text: str | None) -> Any:
    """Return an action from JSON, or the text itself if it is none."""
    import json

    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text


def _play(store: "Store", work: Any, *, fresh: bool) -> int:
    """Play the fork, print it, and return the exit code."""
    from mesocosm.api.running import Wishes, run_work
    from mesocosm.api.waiting import Interrupted, waited
    from mesocosm.cli.evaluating import INTERRUPTED
    from mesocosm.cli.render import print_result
    from mesocosm.cli.session import exit_code

    chosen = options()
    wishes = Wishes(store=chosen.database() or str(chosen.results()), fresh=fresh, progress=False)
    try:
        ended = waited(lambda control: run_work(work, wishes, control)).id
        interrupted = False
    except Interrupted as stopped:
        if not stopped.runs:
            raise
        ended, interrupted = stopped.runs[0].id, True
    run = store.runs.get(ended)
    print_result(run, store, chosen)
    return INTERRUPTED if interrupted else exit_code(run)
