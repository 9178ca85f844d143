"""`mesocosm bench search`: what can be run, over our own benchmarks and those of all frameworks that are here."""

import click

from mesocosm.cli.command import MesocosmCommand, options, plural
from mesocosm.cli.render import emit, table


@click.command(cls=MesocosmCommand)
@click.argument("words", nargs=-1)
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="How many are shown.")
@click.option(
    "--of",
    "kinds",
    multiple=True,
    metavar="NAME",
    help="Only of this framework, by its name in `mesocosm guests list`.",
)
@click.option("--here", is_flag=True, help="Only what can run on this machine as it is.")
def search(words: tuple[str, ...], limit: int, kinds: tuple[str, ...], *, here: bool) -> int:
    """Find benchmarks with all WORDS in their name or description; without words list all.

    Nothing is downloaded: a framework that is installed tells what it offers, once after each change of its packages.
    Of one that is not here only names are known.

    \b
    mesocosm bench search airline
    mesocosm bench search --of inspect cyber
    """
    from mesocosm.guests.catalogue import all_entries, matching, own_entries

    entries, lacking = all_entries(_notice)
    entries = [*own_entries(), *entries]
    if kinds:
        entries = [entry for entry in entries if entry.run.partition(":")[0] in kinds or "mesocosm" in kinds]
    if here:
        entries = [entry for entry in entries if not entry.missing and not entry.needs]
    found = matching(entries, words)
    shown = found[:limit]
    if options().json:
        emit({"items": shown, "found": len(found), "of": len(entries), "not_here": [kind.name for kind in lacking]})
        return 0
    rows = []
    for entry in shown:
        tasks = "–" if entry.tasks is None else f"{entry.tasks:,}"
        needs = ", ".join(("installing",) if entry.missing else entry.needs) or "–"
        rows.append([entry.run, tasks, needs, entry.licence.partition(";")[0] or "–", entry.title or entry.description])
    if rows:
        columns = ["run", "tasks", "needs", "licence", "what it is"]
        table(columns, rows, options(), right=(1,), whole=(0, 1), spare=(3, 2))
    more = f"; --limit {len(found)} shows all" if len(found) > limit else ""
    click.echo(f"\n{plural(len(found), 'benchmark')} of {len(entries):,}{more}")
    if lacking:
        names = " ".join(kind.name for kind in lacking)
        click.echo(f"Not here: {names}. mesocosm guests install NAME brings one.")
    if shown:
        name = shown[0].run
        first = f"mesocosm guests install {name.partition(':')[0]}\n         " if shown[0].missing else ""
        click.echo(f"Run one: {first}mesocosm bench run {name} -m MODEL")
    return 0


def _notice(message: str) -> None:
    click.echo(message, err=True)
