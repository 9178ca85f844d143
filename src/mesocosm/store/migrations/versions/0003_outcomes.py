"""The outcome of each benchmark of a command; the table of run groups gives up its name to a view."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

# Frozen: later changes of schema.py are later revisions.
_WORD = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Rename and widen the table of groups, and create the table of outcomes. Views are created after all revisions."""
    op.rename_table("run_groups", "invocations")
    op.add_column("invocations", sa.Column("finished_at", sa.Double))
    for name, type_, default in (
        ("created_by", sa.Text(), sa.text("''")),
        ("request", sa.Text(), "{}"),
        ("benchmarks", sa.Text(), "[]"),
        ("repository", sa.Text(), "{}"),
        ("comparison_id", _WORD, sa.text("''")),
    ):
        op.add_column("invocations", sa.Column(name, type_, nullable=False, server_default=default))
    op.add_column("invocations", sa.Column("holder", sa.Text))
    _create_outcomes()


def _create_outcomes() -> None:
    op.create_table(
        "outcomes",
        sa.Column("group_id", _WORD, nullable=False),
        sa.Column("position", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("status", _WORD, nullable=False),
        sa.Column("benchmark", _WORD, nullable=False),
        sa.Column("directory", sa.Text, nullable=False),
        *(sa.Column(name, _WORD, nullable=False) for name in ("provider", "model", "agent", "signature")),
        sa.Column("run_id", _WORD),
        sa.Column("ran", sa.Boolean, nullable=False),
        sa.Column("comparison_id", _WORD, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("extra", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("group_id", "position", name="pk_outcomes"),
        sa.ForeignKeyConstraint(["group_id"], ["invocations.id"], name="fk_outcomes_group_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_outcomes_run_id", ondelete="SET NULL"),
    )
    for name in ("run_id", "signature", "comparison_id"):
        op.create_index(f"ix_outcomes_{name}", "outcomes", [name])
    op.create_index("ix_outcomes_benchmark", "outcomes", ["benchmark", "at"])
