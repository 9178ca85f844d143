"""Labels of tasks in the rows of their episodes. Episodes of older runs have none."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column."""
    op.add_column("episodes", sa.Column("labels", sa.Text))
