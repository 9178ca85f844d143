"""The layout of a workspace."""

from dataclasses import dataclass
from pathlib import Path

from mesocosm.core.failure import UsageError


@dataclass(frozen=True, slots=True)
class WorkspaceDirectory:
    """A directory with `rollouts/` and `configs/`; datasets are looked up by name in `data/`."""

    root: Path

    @property
    def rollouts(self) -> Path:
        """The folder with one subfolder per rollout."""
        return self.root / "rollouts"

    @property
    def data(self) -> Path:
        """The folder for data files and folders of data files."""
        return self.root / "data"

    @property
    def configs(self) -> Path:
        """The folder of the configurations of evaluations."""
        return self.root / "configs" / "eval"

    def names(self) -> list[str]:
        """Return the names of the rollouts in this workspace, sorted."""
        if not self.rollouts.is_dir():
            return []
        folders = [item.name for item in self.rollouts.iterdir() if item.is_dir()]
        return sorted(name for name in folders if not name.startswith((".", "__")))


def find_workspace(path: Path) -> WorkspaceDirectory:
    """Return the workspace of `path`: the nearest directory, from `path` upwards, with `rollouts/` and `configs/`.

    Raises UsageError if there is none.
    """
    place = path.resolve()
    for directory in (place, *place.parents):
        if (directory / "rollouts").is_dir() and (directory / "configs").is_dir():
            return WorkspaceDirectory(directory)
    raise UsageError(
        f"{path} lies in no workspace: neither it nor a directory above has both rollouts/ and configs/; "
        "`mesocosm eval init NAME` makes them"
    )
