"""Means over a run's episodes in its row, so that opening a large run reads no episodes.

Runs stored before have none; their means are computed on reading.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("runs", sa.Column("mean_reward", sa.Double))
    op.add_column("runs", sa.Column("mean_steps", sa.Double))
    op.add_column("runs", sa.Column("mean_of", sa.BigInteger))
