"""An empty revision that makes the views of runs be recreated, as after every migration.

They read `parameters` of a benchmark, which older runs call `knobs`. No table changes.
"""

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Change no table."""
