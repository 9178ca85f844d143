"""Checksums of finished episodes and the chain over them. Episodes and runs of before have none."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("episodes", sa.Column("checksum", sa.Text))
    op.add_column("episodes", sa.Column("link", sa.BigInteger))
    op.add_column("runs", sa.Column("chain", sa.Text))
