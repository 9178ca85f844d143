"""The command group `mesocosm eval`."""

import click

from mesocosm.cli.command import MORE, MesocosmGroup, Tree

_HERE = "mesocosm.cli.eval"
TREE: Tree = {
    "ask": (f"{_HERE}.ask:ask", "Ask a model the rows of a file and grade its answers."),
    "run": (f"{_HERE}.run:run", "Run a configuration; with --domain-id episodes of a domain on the server."),
    "calibrate": (f"{_HERE}.calibrate:calibrate", "Compare a grader's scores with human labels."),
    "run-local": (
        f"{_HERE}.run_local:run_local",
        "Evaluate a rollout on this machine; finished rows are never repeated.",
        MORE,
    ),
    "init": (f"{_HERE}.init:init", "Write a rollout, its dataset and its configuration, ready to run.", MORE),
    "list": (f"{_HERE}.list:list_", "List evaluation runs, newest first.", MORE),
    "info": (f"{_HERE}.info:info", "Show an evaluation run: results, configuration, what failed and why.", MORE),
    "stop": (f"{_HERE}.stop:stop", "Ask what works on a run to stop it.", MORE),
    "logs": (f"{_HERE}.logs:logs", "Show what happened in a run, row by row, oldest first.", MORE),
    "download": (
        f"{_HERE}.download:download",
        "Write metrics, samples, trajectories, artifacts and logs as files.",
        MORE,
    ),
    "rubric": (f"{_HERE}.rubric:rubric", "Judge answers in a file by a rubric.", MORE),
    "submit": (f"{_HERE}.submit:submit", "Submit an evaluation of a rollout to a server.", MORE),
    "schedule": (
        f"{_HERE}.schedule:schedule",
        "Runs of a workspace at times, or after every sync of a branch.",
        MORE,
    ),
    "test": (f"{_HERE}.test:test", "Run one episode on the server to test your domain.", MORE),
}
INSTEAD = {
    "delete": "Runs are deleted by: mesocosm run delete RUN",
    "compare": "Runs are compared by: mesocosm compare RUN RUN",
}


@click.group(cls=MesocosmGroup, tree=TREE, instead=INSTEAD, helps=False)
@click.pass_context
def evaluate(context: click.Context) -> None:
    """Evaluate rollouts: an AgentWorkflow and a Grader on the rows of a dataset; or, with test and run, domains."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
        # Scripts written for the first release of this group expect this code for a line without a command.
        context.exit(2)
