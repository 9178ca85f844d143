"""`mesocosm completion`: complete commands and options in the shell."""

import click

from mesocosm.cli.command import MesocosmCommand
from mesocosm.cli.render import answer

SHELLS = ("bash", "zsh", "fish")


@click.command(cls=MesocosmCommand)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that completes commands and options in SHELL.

    \b
    mesocosm completion bash >> ~/.bashrc
    mesocosm completion zsh  >> ~/.zshrc
    mesocosm completion fish > ~/.config/fish/completions/mesocosm.fish
    """
    from click.shell_completion import get_completion_class

    from mesocosm.cli.main import COMPLETION, program

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(program, {}, "mesocosm", COMPLETION).source()
    answer(script, {"shell": shell, "script": script})
