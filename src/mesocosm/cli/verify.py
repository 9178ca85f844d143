"""`mesocosm verify`: check whether stored results are unchanged since they were recorded."""

from typing import TYPE_CHECKING

import click

from mesocosm.cli.command import MesocosmCommand, options, plural
from mesocosm.cli.render import emit
from mesocosm.cli.results import find_run, open_results
from mesocosm.core.failure import InfrastructureError, MesocosmError
from mesocosm.core.run import RESCORING

if TYPE_CHECKING:
    from mesocosm.core.run import Run
    from mesocosm.store import Store
    from mesocosm.store.verification import Verified

DAMAGED = 1
NOT_COMPUTED = "its numbers came with the file that it was imported from, and cannot be compared with its episodes"


@click.command(cls=MesocosmCommand)
@click.argument("run_ids", nargs=-1, metavar="[RUN]...")
def verify(run_ids: tuple[str, ...]) -> int:
    """Check all stored data of runs against its checksums, and report each damage.

    Without RUN, all runs are read. Exits 1 when anything is damaged. Episodes recorded before checksums existed are
    reported as not covered.
    """
    store = open_results(options(), create=False, checked=False)
    click.get_current_context().call_on_close(store.close)
    try:
        file = store.verification.check_file()
    except InfrastructureError as error:
        file = str(error)
    found: dict[str, list[str]] = {}
    covered: dict[str, str] = {}
    try:
        ids = [find_run(store, run_id).id for run_id in run_ids] or store.runs.ids()
    except InfrastructureError as error:
        if not file:
            raise
        ids, file = [], f"{file}; {error}"
    for run_id in ids:
        found[run_id], covered[run_id] = _verified(store, run_id)
    _show(store.place, file, found, covered)
    return DAMAGED if file or any(found.values()) else 0


def _verified(store: "Store", run_id: str) -> tuple[list[str], str]:
    """Return what is damaged in a run, and how much of it is covered by checksums."""
    try:
        verified = store.verification.check_run(run_id)
        damages = [_said(verified, place) for place in range(len(verified.damages))]
        run = store.runs.get(run_id)
        covered = f"{_coverage(verified)}; {NOT_COMPUTED}" if run.unverified else _coverage(verified)
        return damages or _numbers(store, run), covered
    except (MesocosmError, ValueError) as error:
        # A row that cannot be read at all, or has invalid content.
        return [f"it cannot be read: {error}"], ""


def _said(verified: "Verified", place: int) -> str:
    damage = verified.damages[place]
    where = f"episode {damage.index} ({damage.episode_id}): " if damage.episode_id else ""
    return f"{where}{damage.what}"


def _coverage(verified: "Verified") -> str:
    if not verified.finished:
        return "no finished episode"
    if verified.covered == verified.finished:
        return plural(verified.finished, "episode")
    return f"{verified.covered:,} of {plural(verified.finished, 'episode')}; the others were recorded without checksums"


def _numbers(store: "Store", run: "Run") -> list[str]:
    """Return the metrics of a finished run that differ from those of its episodes."""
    from mesocosm.engine.metrics import disagreements, so_far

    if run.provenance.get(RESCORING):
        return [f"it {run.rescored}"]
    return disagreements(run, so_far(run, store))


def _show(place: str, file: str, found: dict[str, list[str]], covered: dict[str, str]) -> None:
    if options().json:
        runs = [{"run": key, "damages": damages, "covered": covered[key]} for key, damages in found.items()]
        emit({"place": place, "file": file, "runs": runs, "ok": not file and not any(found.values())})
        return
    if file:
        click.echo(f"{place} is damaged: {file}")
    for run_id, damages in found.items():
        click.echo(f"{run_id}: {covered[run_id] if not damages else plural(len(damages), 'damage')}")
        for line in damages:
            click.echo(f"  {line}")
    if not file and not any(found.values()):
        click.echo(f"nothing is damaged in {plural(len(found), 'run')} of {place}")
