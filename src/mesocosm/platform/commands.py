"""Commands that show, continue or repeat a run."""

from mesocosm.core.run import Run
from mesocosm.platform.documents.run import Reproduction


def reproduction(run: Run) -> Reproduction:
    """Return the commands that apply to a run."""
    return Reproduction(repeat=None, resume=None, show=f"mesocosm run show {run.id}")
