"""Make the views of runs anew: they read `parameters` of a benchmark, which older runs call `knobs`."""

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Change no table."""
