"""Nothing but a number: with it the views of runs are made anew, as after every migration.

They read `parameters` of a benchmark, which runs of earlier versions call `knobs`. No table changes.
"""

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Change no table."""
