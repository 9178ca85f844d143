"""The engines by name."""

import shutil

from mesocosm.core.container import ContainerEngine
from mesocosm.core.failure import UsageError
from mesocosm.core.run import LeaseOwner

ENGINES = ("docker", "podman", "apptainer", "bubblewrap")


def open_engine(name: str, owner: LeaseOwner) -> ContainerEngine:
    """Return an engine; `auto` is the first that is installed. Raises UsageError for a name that there is not.

    `owner` is the process that the containers belong to.
    """
    if name == "auto":
        name = next((one for one in ("docker", "podman") if shutil.which(one)), "bubblewrap")
    if name in {"docker", "podman"}:
        from mesocosm.sandboxes.containers.docker import CommandLineContainers

        return CommandLineContainers(name, owner)
    if name == "apptainer":
        from mesocosm.sandboxes.containers.apptainer import ApptainerContainers

        return ApptainerContainers(owner)
    if name == "bubblewrap":
        from mesocosm.sandboxes.containers.bubblewrap import BubblewrapContainers

        return BubblewrapContainers(owner)
    raise UsageError(f"there is no engine {name!r}; choose auto, {', '.join(ENGINES)}")


def installed(owner: LeaseOwner) -> list[ContainerEngine]:
    """Return the engines whose commands are on this machine."""
    commands = {"bubblewrap": "bwrap"}
    return [open_engine(name, owner) for name in ENGINES if shutil.which(commands.get(name, name))]
