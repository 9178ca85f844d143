"""End a command from inside its container, for engines whose own command is not the process of the container."""

from mesocosm.core.container import CommandEnd, ContainerCommand

REPLY_S = 15.0
"""Seconds that the engine has beyond the time of a command, whose end comes from inside."""
_TIMED = 'if command -v timeout >/dev/null 2>&1; then exec timeout -k 5 "$0" "$@"; fi; exec "$@"'
_LATE = frozenset({124, 137, 143})


def timed(command: ContainerCommand) -> list[str]:
    """Return the words that run a command, and end it after its time if the container has the program `timeout`."""
    if command.seconds is None:
        return list(command.argv)
    return ["sh", "-c", _TIMED, f"{command.seconds:.3f}", *command.argv]


def outer_seconds(command: ContainerCommand) -> float | None:
    """Return the seconds for the engine's own command, which ends one that the program inside cannot end."""
    return None if command.seconds is None else command.seconds + REPLY_S


def with_lateness(ended: CommandEnd, command: ContainerCommand) -> CommandEnd:
    """Return how a command ended, late if `timeout` ended it."""
    if command.seconds is not None and ended.code in _LATE and ended.seconds >= command.seconds:
        return ended._replace(late=True)
    return ended
