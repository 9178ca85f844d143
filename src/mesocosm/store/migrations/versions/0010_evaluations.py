"""Run requests of every kind, in workspaces, and what the programs of runs print."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

# Frozen: later changes of tenancy.py are later revisions.
_WORD = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_DIGEST = sa.String(32).with_variant(sa.String(32, collation="C"), "postgresql")


def upgrade() -> None:
    """Add the columns and create the table."""
    _extend_requests()
    _create_output()


def _extend_requests() -> None:
    op.add_column("orders", sa.Column("kind", _WORD, nullable=False, server_default=sa.text("'environment'")))
    for name in ("name", "commit_id", "branch", "configuration"):
        op.add_column("orders", sa.Column(name, _WORD, nullable=False, server_default=sa.text("''")))
    op.add_column("orders", sa.Column("workspace_id", _WORD))
    op.add_column("orders", sa.Column("dataset_id", _WORD))
    op.add_column("orders", sa.Column("dataset_version", sa.Integer))
    op.add_column("orders", sa.Column("snapshot", _DIGEST))
    named = sa.text("name <> ''")
    op.create_index(
        "ix_orders_workspace_id_name",
        "orders",
        ["workspace_id", "name"],
        unique=True,
        sqlite_where=named,
        postgresql_where=named,
    )
    op.create_index("ix_orders_workspace_id_created_at", "orders", ["workspace_id", "created_at"])
    op.create_index("ix_orders_dataset_id", "orders", ["dataset_id"])
    op.create_index("ix_orders_snapshot", "orders", ["snapshot"])


def _create_output() -> None:
    op.create_table(
        "run_output",
        sa.Column("run_id", _WORD, nullable=False),
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "number", name="pk_run_output"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_output_run_id", ondelete="CASCADE"),
    )
