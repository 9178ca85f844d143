"""Question, expected and given answer of episodes, and why they were graded so. Episodes of older runs have no rows."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

# Frozen: later changes of schema.py are later revisions.
_WORD = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "answers",
        *(sa.Column(name, _WORD, nullable=False) for name in ("episode_id", "run_id")),
        *(sa.Column(name, _WORD) for name in ("mistake", "behaviour")),
        *(sa.Column(name, sa.Text) for name in ("why", "input", "target", "reference", "answer")),
        sa.PrimaryKeyConstraint("episode_id", name="pk_answers"),
        sa.ForeignKeyConstraint(["episode_id"], ["episodes.id"], name="fk_answers_episode_id", ondelete="CASCADE"),
    )
    for name in ("mistake", "behaviour"):
        known = sa.text(f"{name} IS NOT NULL")
        op.create_index(f"ix_answers_{name}", "answers", ["run_id", name], sqlite_where=known, postgresql_where=known)
