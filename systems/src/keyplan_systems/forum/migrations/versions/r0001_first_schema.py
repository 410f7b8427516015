"""The first schema: groups, items, permissions, threads, and the outbox of the event log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLES = (
    "thread_outbox_lease",
    "thread_outbox",
    "threads",
    "validated_results",
    "help_grants",
    "item_permissions",
    "item_edges",
    "items",
    "group_managers",
    "memberships",
    "groups",
)
"""All tables of this migration, in an order in which they can be dropped."""


def upgrade() -> None:
    """Create the tables, and insert the only row of the outbox lease table."""
    _groups()
    _items()
    _permissions()
    _threads()
    _outbox()


def downgrade() -> None:
    """Drop all tables."""
    for table in TABLES:
        op.drop_table(table)


def _reference(column: str, table: str, *, primary_key: bool = True) -> sa.Column[str]:
    key = sa.ForeignKey(f"{table}.id")
    return sa.Column(column, sa.String(19), key, primary_key=primary_key, nullable=False)


def _allowed_values(column: str, *values: str) -> sa.CheckConstraint:
    value_list = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({value_list})", name=f"{column}_is_known")


def _level_range(column: str, maximum: int) -> sa.CheckConstraint:
    return sa.CheckConstraint(f"{column} BETWEEN 0 AND {maximum}", name=f"{column}_is_known")


def _groups() -> None:
    op.create_table(
        "groups",
        sa.Column("id", sa.String(19), primary_key=True),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("is_public", sa.Boolean(), nullable=False),
        _allowed_values("kind", "user", "team", "group", "all_users"),
    )
    op.create_table(
        "memberships",
        _reference("child_id", "groups"),
        _reference("parent_id", "groups"),
        sa.CheckConstraint("child_id <> parent_id", name="no_group_is_in_itself"),
    )
    op.create_index("memberships_by_parent", "memberships", ["parent_id"])
    op.create_table(
        "group_managers",
        _reference("manager_id", "groups"),
        _reference("group_id", "groups"),
        sa.Column("can_watch_members", sa.Boolean(), nullable=False),
    )


def _items() -> None:
    op.create_table(
        "items",
        sa.Column("id", sa.String(19), primary_key=True),
        sa.Column("title", sa.String(200), nullable=False),
    )
    op.create_table(
        "item_edges",
        _reference("child_id", "items"),
        _reference("parent_id", "items"),
        sa.Column("request_help_propagation", sa.Boolean(), nullable=False),
        sa.CheckConstraint("child_id <> parent_id", name="no_item_is_below_itself"),
    )


def _permissions() -> None:
    op.create_table(
        "item_permissions",
        _reference("group_id", "groups"),
        _reference("item_id", "items"),
        sa.Column("can_view", sa.SmallInteger(), nullable=False),
        sa.Column("can_grant_view", sa.SmallInteger(), nullable=False),
        sa.Column("can_watch", sa.SmallInteger(), nullable=False),
        sa.Column("is_owner", sa.Boolean(), nullable=False),
        _level_range("can_view", 4),
        _level_range("can_grant_view", 5),
        _level_range("can_watch", 3),
    )
    op.create_table(
        "help_grants",
        _reference("group_id", "groups"),
        _reference("item_id", "items"),
        _reference("helper_group_id", "groups"),
    )
    op.create_table(
        "validated_results",
        _reference("participant_id", "groups"),
        _reference("item_id", "items"),
        sa.Column("validated_at_ms", sa.BigInteger(), nullable=False),
    )


def _threads() -> None:
    op.create_table(
        "threads",
        _reference("item_id", "items"),
        _reference("participant_id", "groups"),
        sa.Column("status", sa.String(32), nullable=False),
        _reference("helper_group_id", "groups", primary_key=False),
        sa.Column("message_count", sa.Integer(), nullable=False),
        sa.Column("latest_update_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("closed_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        _allowed_values("status", "waiting_for_participant", "waiting_for_trainer", "closed"),
        sa.CheckConstraint("message_count >= 0", name="message_count_is_no_debt"),
        sa.CheckConstraint("(status = 'closed') = (closed_at_ms IS NOT NULL)", name="closed_threads_know_since_when"),
    )
    op.create_index("threads_by_participant", "threads", ["participant_id", "latest_update_at_ms"])
    op.create_index("threads_by_update", "threads", ["latest_update_at_ms"])


def _outbox() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "thread_outbox",
        sa.Column("id", number, primary_key=True),
        sa.Column("key", sa.String(100), nullable=False, unique=True),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("item_id", sa.String(19), nullable=False),
        sa.Column("participant_id", sa.String(19), nullable=False),
        sa.Column("user_id", sa.String(19), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("done_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        _allowed_values("kind", "thread_opened", "thread_closed"),
    )
    is_pending = sa.text("done_at_ms IS NULL")
    op.create_index(
        "thread_outbox_waiting", "thread_outbox", ["id"], postgresql_where=is_pending, sqlite_where=is_pending
    )
    lease = op.create_table(
        "thread_outbox_lease",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("until_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("id = 1", name="one_lease_only"),
    )
    op.bulk_insert(lease, [{"id": 1, "fence": 0, "until_ms": 0}])
