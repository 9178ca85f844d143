"""The index of what was said in episodes. All runs are pending: that of an older store is made in the background."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"

_WORD = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "search_pending",
        sa.Column("run_id", _WORD, nullable=False),
        sa.PrimaryKeyConstraint("run_id", name="pk_search_pending"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_search_pending_run_id", ondelete="CASCADE"),
    )
    op.create_table(
        "search_blocks",
        sa.Column("run_id", _WORD, nullable=False),
        sa.Column("stretch", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("part", sa.Integer, nullable=False, autoincrement=False),
        *(sa.Column(name, sa.Integer, nullable=False) for name in ("episodes", "page_count")),
        *(sa.Column(name, sa.LargeBinary, nullable=False) for name in ("verdicts", "ids")),
        sa.PrimaryKeyConstraint("run_id", "stretch", "part", name="pk_search_blocks"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_search_blocks_run_id", ondelete="CASCADE"),
    )
    op.create_table(
        "search_pages",
        sa.Column("run_id", _WORD, nullable=False),
        sa.Column("stretch", sa.BigInteger, nullable=False, autoincrement=False),
        *(sa.Column(name, sa.Integer, nullable=False, autoincrement=False) for name in ("part", "number")),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "stretch", "part", "number", name="pk_search_pages"),
        sa.ForeignKeyConstraint(
            ["run_id", "stretch", "part"],
            ["search_blocks.run_id", "search_blocks.stretch", "search_blocks.part"],
            name="fk_search_pages_block",
            ondelete="CASCADE",
        ),
    )
    op.execute("INSERT INTO search_pending (run_id) SELECT id FROM runs")
