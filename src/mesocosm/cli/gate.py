"""`mesocosm gate --baseline X -- COMMAND…`: compare the runs of a command with a baseline."""

import click

from mesocosm.cli.command import MesocosmCommand, options
from mesocosm.cli.gate_options import DEFAULTS, GateFlags, gate_options
from mesocosm.cli.main import program
from mesocosm.cli.render import emit
from mesocosm.cli.results import command_store, find_run
from mesocosm.core.failure import UsageError


@gate_options()
@click.command(
    cls=MesocosmCommand, context_settings={"help_option_names": ["-h", "--help"], "ignore_unknown_options": False}
)
@click.argument("command", nargs=-1, required=True, metavar="[--] COMMAND... | RUN...")
def gate(command: tuple[str, ...]) -> int:
    """Run a command of mesocosm, compare its runs with a baseline, and pass or fail.

    Instead of a command, stored runs can be named. The baseline is a run or a run group; each run is compared with the
    one of its benchmark. Without --fail-if the conditions are "regression p<0.05" (with a baseline) and "missing>2%".

    The result of a condition is pass, fail, or cannot tell. Exit 0: all pass. 1: one fails, or there was nothing to
    judge. 3: one is undecided, unless --allow-undecided. A graver exit code of the command itself takes precedence.

    \b
    regression p<0.05           worse than the baseline, by more than chance
    regression                  the same at 0.05, where also the interval excludes 0
    regression>0.02             the score fell by more than this, chance or not
    worse-by<0.02               REQUIRED: the interval excludes a loss above the margin
    missing>2%                  more than this share of the planned has no value
    failed>0                    more than this number of episodes failed
    score<0.8, METRIC<0.8       the primary or another metric is lower
    score[difficulty=hard]<0.6  the same in a slice; also pass_rate, missing and failed
    pass@3<0.5, pass^3<0.5      the chance that one of 3 trials passes, or all
    cost>5, tokens>1e6, calls>9 what was used, in US dollars; cost.mean: by episode
    latency>2, latency.p95>10   seconds of an episode: mean, p50, p90, p95, p99, max

    \b
    mesocosm gate --baseline main -- eval run-local configs/eval/sums.toml --name pr
    mesocosm gate --baseline RUN --fail-if 'worse-by<0.02' -- bench run --benchmarks gsm8k
    mesocosm gate --baseline RUN last
    """
    from mesocosm.engine.comparison.gate import read_condition

    chosen = options()
    wanted = chosen.part(GateFlags)
    if not wanted.conditions:
        texts = DEFAULTS if wanted.baselines else DEFAULTS[1:]
        wanted.conditions = [read_condition(text) for text in texts]
    wanted.check()
    words = list(command[1:] if command[0] == "mesocosm" else command)
    if not words:
        raise UsageError("there is no command after mesocosm; name one, as in: mesocosm gate -- run local")
    if words[0] not in program.tree:
        return _stored(words)
    _check(words)
    code = program.main(args=words, prog_name="mesocosm", standalone_mode=False, obj=chosen)
    if not wanted.used:
        raise UsageError(f"mesocosm {' '.join(words[:2])} made no run that could be judged")
    return code if isinstance(code, int) else 0


def _check(words: list[str]) -> None:
    """Raise UsageError, before anything is run, for a command that creates no runs."""
    found: click.Command = program
    context = click.Context(program)
    for word in words:
        if not isinstance(found, click.Group):
            break
        if not word.startswith("-"):
            found = found.get_command(context, word) or found
    if not any("--fail-if" in parameter.opts for parameter in found.params):
        raise UsageError(
            f"mesocosm {' '.join(words[:2])} neither plays nor compares runs, so there is nothing to judge"
        )


def _stored(names: list[str]) -> int:
    """Judge stored runs."""
    from mesocosm.cli.gate_options import runs_markdown
    from mesocosm.engine.comparison.gate import check_run_metrics

    store, chosen = command_store(), options()
    runs = [find_run(store, name) for name in names]
    check_run_metrics(chosen.part(GateFlags).conditions, runs)
    bases = {run.id for run in chosen.part(GateFlags).prepare(store)}
    itself = next((run for run in runs if run.id in bases), None)
    if itself is not None:
        raise UsageError(
            f"run {itself.name or itself.id}: the baseline is the run itself, so there is nothing to compare; "
            "name another run"
        )
    judged = chosen.part(GateFlags).judge(store, runs)
    judged.write("mesocosm gate", lambda: runs_markdown("mesocosm gate", runs, judged.compared))
    if chosen.json:
        emit({"runs": [run.id for run in runs], **judged.fields(store)})
    elif str(chosen.part(GateFlags).markdown) != "-":
        judged.tell(store, chosen)
    return judged.code(0)
