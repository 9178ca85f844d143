"""Seats in runs for processes that help to play them, with the messages of both sides; the episode slots of workers."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

# Frozen: later changes of tenancy.py are later revisions.
_WORD = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the tables and add the columns."""
    for name in ("slots", "busy"):
        op.add_column("workers", sa.Column(name, sa.Integer, nullable=False, server_default=sa.text("0")))
    op.create_table(
        "seats",
        *(sa.Column(name, _WORD, nullable=False) for name in ("id", "run_id")),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("helper", _WORD),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("name", "reason")),
        sa.Column("offered_at", sa.Double, nullable=False),
        *(sa.Column(name, sa.Double) for name in ("lease_until", "left_at")),
        sa.PrimaryKeyConstraint("id", name="pk_seats"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_seats_run_id", ondelete="CASCADE"),
    )
    op.create_index("ix_seats_run_id", "seats", ["run_id"])
    op.create_table(
        "seat_messages",
        sa.Column("seat_id", _WORD, nullable=False),
        sa.Column("to_helper", sa.Boolean, nullable=False),
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("seat_id", "to_helper", "number", name="pk_seat_messages"),
        sa.ForeignKeyConstraint(["seat_id"], ["seats.id"], name="fk_seat_messages_seat_id", ondelete="CASCADE"),
    )
