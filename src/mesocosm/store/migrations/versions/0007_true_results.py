"""Checksums of finished episodes, official boards, verdicts of `mesocosm check`, and what is left of deleted runs.

Episodes and runs of before have no checksums; of runs that were deleted before nothing is known.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_WORD = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the columns."""
    op.add_column("episodes", sa.Column("checksum", sa.Text))
    op.add_column("episodes", sa.Column("link", sa.BigInteger))
    op.add_column("runs", sa.Column("chain", sa.Text))
    op.add_column("orders", sa.Column("protocol", sa.Integer))
    op.add_column("environment_versions", sa.Column("verdict", sa.Text, nullable=False, server_default=sa.text("''")))
    op.create_table(
        "protocols",
        sa.Column("domain_id", _WORD, primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("terms", sa.Text, nullable=False),
        sa.Column("created_by", _WORD, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
    )
    op.create_table(
        "deleted_runs",
        sa.Column("run_id", _WORD, primary_key=True),
        sa.Column("actor", _WORD, nullable=False),
        sa.Column("team_id", _WORD),
        sa.Column("domain_id", _WORD, nullable=False),
        sa.Column("vow_version", _WORD, nullable=False),
        sa.Column("model", _WORD, nullable=False),
        sa.Column("protocol", sa.Integer),
        sa.Column("declared", sa.Boolean, nullable=False),
        sa.Column("deleted_at", sa.Double, nullable=False),
    )
    op.create_index("ix_deleted_runs_domain_id", "deleted_runs", ["domain_id"])
