"""Reviews: rounds with their items and claims, and the verdicts of people on episodes."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

# Frozen: later changes of schema.py are later revisions.
_WORD = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "review_rounds",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("created_by", _WORD, nullable=False),
        sa.Column("created_by_name", sa.Text, nullable=False),
        sa.Column("closed_at", sa.Double),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_review_rounds"),
    )
    op.create_index("ix_review_rounds_created_at_id", "review_rounds", ["created_at", "id"])
    op.create_table(
        "review_items",
        sa.Column("round_id", _WORD, nullable=False),
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False),
        *(sa.Column(name, _WORD, nullable=False) for name in ("run_id", "episode_id")),
        sa.PrimaryKeyConstraint("round_id", "number", name="pk_review_items"),
        _reference("review_items", "round_id", "review_rounds"),
        _reference("review_items", "run_id", "runs"),
        _reference("review_items", "episode_id", "episodes"),
        sa.UniqueConstraint("round_id", "episode_id", name="uq_review_items_round_id_episode_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_review_items_run_id_round_id", "review_items", ["run_id", "round_id"])
    op.create_index("ix_review_items_episode_id", "review_items", ["episode_id"])
    op.create_table(
        "review_claims",
        sa.Column("round_id", _WORD, nullable=False),
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("author", _WORD, nullable=False),
        sa.Column("until", sa.Double, nullable=False),
        sa.Column("skipped", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("round_id", "number", "author", name="pk_review_claims"),
        _reference("review_claims", "round_id", "review_rounds"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "verdicts",
        *(sa.Column(name, _WORD, nullable=False) for name in ("id", "episode_id", "run_id", "round_id", "author")),
        sa.Column("author_name", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        *(sa.Column(name, _WORD, nullable=False) for name in ("answer", "grader")),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("labels", "note", "step")),
        *(sa.Column(name, sa.Boolean, nullable=False) for name in ("settles", "withdrawn")),
        sa.Column("replaces", _WORD, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_verdicts"),
        _reference("verdicts", "episode_id", "episodes"),
        _reference("verdicts", "run_id", "runs"),
        sa.UniqueConstraint(
            *("episode_id", "round_id", "author", "settles", "replaces"),
            name="uq_verdicts_episode_id_round_id_author_settles_replaces",
        ),
    )
    op.create_index("ix_verdicts_run_id", "verdicts", ["run_id"])
    op.create_index("ix_verdicts_round_id", "verdicts", ["round_id"])


def _reference(table: str, column: str, target: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], ondelete="CASCADE", name=f"fk_{table}_{column}")
