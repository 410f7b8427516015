"""The SQL tables: groups and memberships, items and their hierarchy, permissions, threads, and the outbox.

IDs are strings of 1 to 19 digits, as in the keys of the event log. Times are in epoch milliseconds. Permission levels
are stored as integers, so that the SQL function `max` returns the highest level.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, Integer, SmallInteger, String, Text, text
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator

from keyplan_systems.forum.domain import GrantView, GroupKind, LogKind, Status, View, Watch

ID_DIGITS = 19
_GROUP = "groups.id"
_ITEM = "items.id"


class IntEnumType(TypeDecorator[IntEnum]):
    """Column type for a permission level, which is stored as an integer."""

    impl = SmallInteger
    cache_ok = True

    def __init__(self, kind: type[IntEnum]) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: IntEnum | None, dialect: Dialect) -> int | None:
        """Convert a level to an integer."""
        del dialect
        return None if value is None else int(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> IntEnum | None:
        """Convert an integer to a level."""
        del dialect
        return None if value is None else self.kind(value)


class StrEnumType(TypeDecorator[StrEnum]):
    """Column type for a string enumeration. The stored strings are the same as in the API."""

    impl = String(32)
    cache_ok = True

    def __init__(self, kind: type[StrEnum]) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: StrEnum | None, dialect: Dialect) -> str | None:
        """Convert an enumeration member to a string."""
        del dialect
        return None if value is None else str(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> StrEnum | None:
        """Convert a string to an enumeration member."""
        del dialect
        return None if value is None else self.kind(value)


def one_of(column: str, kind: type[StrEnum]) -> CheckConstraint:
    """Return a check constraint that restricts a column to the values of the enumeration `kind`."""
    values = ", ".join(f"'{value}'" for value in kind)
    return CheckConstraint(f"{column} IN ({values})", name=f"{column}_is_known")


def ranked(column: str, kind: type[IntEnum]) -> CheckConstraint:
    """Return a check constraint that restricts a column to the permission levels of the enumeration `kind`, which are
    stored as integers.
    """
    return CheckConstraint(f"{column} BETWEEN 0 AND {max(kind)}", name=f"{column}_is_known")


class Base(DeclarativeBase):
    """Base class of the SQL table classes."""


class GroupRow(Base):
    """A group: a user, a team, a class, or the group of all users."""

    __tablename__ = "groups"
    __table_args__ = (one_of("kind", GroupKind),)

    id: Mapped[str] = mapped_column(String(ID_DIGITS), primary_key=True)
    kind: Mapped[GroupKind] = mapped_column(StrEnumType(GroupKind))
    name: Mapped[str] = mapped_column(String(200))
    is_public: Mapped[bool] = mapped_column(default=False)


class MembershipRow(Base):
    """A direct membership of one group in another group."""

    __tablename__ = "memberships"
    __table_args__ = (
        CheckConstraint("child_id <> parent_id", name="no_group_is_in_itself"),
        Index("memberships_by_parent", "parent_id"),
    )

    child_id: Mapped[str] = mapped_column(ForeignKey(_GROUP), primary_key=True)
    parent_id: Mapped[str] = mapped_column(ForeignKey(_GROUP), primary_key=True)


class ManagerRow(Base):
    """The permission for one group's members to manage another group and all groups below it."""

    __tablename__ = "group_managers"

    manager_id: Mapped[str] = mapped_column(ForeignKey(_GROUP), primary_key=True)
    group_id: Mapped[str] = mapped_column(ForeignKey(_GROUP), primary_key=True)
    can_watch_members: Mapped[bool] = mapped_column(default=False)


class ItemRow(Base):
    """An item: a task or a chapter."""

    __tablename__ = "items"

    id: Mapped[str] = mapped_column(String(ID_DIGITS), primary_key=True)
    title: Mapped[str] = mapped_column(String(200))


class ItemEdgeRow(Base):
    """A direct edge of the item hierarchy."""

    __tablename__ = "item_edges"
    __table_args__ = (CheckConstraint("child_id <> parent_id", name="no_item_is_below_itself"),)

    child_id: Mapped[str] = mapped_column(ForeignKey(_ITEM), primary_key=True)
    parent_id: Mapped[str] = mapped_column(ForeignKey(_ITEM), primary_key=True)
    request_help_propagation: Mapped[bool] = mapped_column(default=False)


class ItemPermissionRow(Base):
    """A group's permissions on an item."""

    __tablename__ = "item_permissions"
    __table_args__ = (ranked("can_view", View), ranked("can_grant_view", GrantView), ranked("can_watch", Watch))

    group_id: Mapped[str] = mapped_column(ForeignKey(_GROUP), primary_key=True)
    item_id: Mapped[str] = mapped_column(ForeignKey(_ITEM), primary_key=True)
    can_view: Mapped[View] = mapped_column(IntEnumType(View), default=View.NONE)
    can_grant_view: Mapped[GrantView] = mapped_column(IntEnumType(GrantView), default=GrantView.NONE)
    can_watch: Mapped[Watch] = mapped_column(IntEnumType(Watch), default=Watch.NONE)
    is_owner: Mapped[bool] = mapped_column(default=False)


class HelpGrantRow(Base):
    """The permission for a group to ask another group for help on an item. Items that inherit the grant from this item
    do not have separate rows.
    """

    __tablename__ = "help_grants"

    group_id: Mapped[str] = mapped_column(ForeignKey(_GROUP), primary_key=True)
    item_id: Mapped[str] = mapped_column(ForeignKey(_ITEM), primary_key=True)
    helper_group_id: Mapped[str] = mapped_column(ForeignKey(_GROUP), primary_key=True)


class ValidatedRow(Base):
    """A participant's validated result on an item."""

    __tablename__ = "validated_results"

    participant_id: Mapped[str] = mapped_column(ForeignKey(_GROUP), primary_key=True)
    item_id: Mapped[str] = mapped_column(ForeignKey(_ITEM), primary_key=True)
    validated_at_ms: Mapped[int] = mapped_column(BigInteger)


class ThreadRow(Base):
    """A thread that has been started. This row is the source of truth for the thread's status."""

    __tablename__ = "threads"
    __table_args__ = (
        one_of("status", Status),
        CheckConstraint("message_count >= 0", name="message_count_is_no_debt"),
        CheckConstraint("(status = 'closed') = (closed_at_ms IS NOT NULL)", name="closed_threads_know_since_when"),
        Index("threads_by_participant", "participant_id", "latest_update_at_ms"),
        Index("threads_by_update", "latest_update_at_ms"),
    )

    item_id: Mapped[str] = mapped_column(ForeignKey(_ITEM), primary_key=True)
    participant_id: Mapped[str] = mapped_column(ForeignKey(_GROUP), primary_key=True)
    status: Mapped[Status] = mapped_column(StrEnumType(Status))
    helper_group_id: Mapped[str] = mapped_column(ForeignKey(_GROUP))
    message_count: Mapped[int] = mapped_column(Integer)
    latest_update_at_ms: Mapped[int] = mapped_column(BigInteger)
    closed_at_ms: Mapped[int | None] = mapped_column(BigInteger)
    revision: Mapped[int] = mapped_column(Integer)


class OutboxRow(Base):
    """An outbox entry, which is later transferred to the event log. It is stored in the same transaction as the status
    change that it describes.
    """

    __tablename__ = "thread_outbox"
    __table_args__ = (
        one_of("kind", LogKind),
        Index(
            "thread_outbox_waiting",
            "id",
            postgresql_where=text("done_at_ms IS NULL"),
            sqlite_where=text("done_at_ms IS NULL"),
        ),
    )

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    key: Mapped[str] = mapped_column(String(100), unique=True)
    kind: Mapped[LogKind] = mapped_column(StrEnumType(LogKind))
    item_id: Mapped[str] = mapped_column(String(ID_DIGITS))
    participant_id: Mapped[str] = mapped_column(String(ID_DIGITS))
    user_id: Mapped[str] = mapped_column(String(ID_DIGITS))
    at_ms: Mapped[int] = mapped_column(BigInteger)
    done_at_ms: Mapped[int | None] = mapped_column(BigInteger)
    attempts: Mapped[int] = mapped_column(Integer, default=0)
    last_error: Mapped[str | None] = mapped_column(Text)


class OutboxLeaseRow(Base):
    """The lease of the process that transfers the outbox. The table has exactly one row. `fence` is incremented each
    time the lease is acquired.
    """

    __tablename__ = "thread_outbox_lease"
    __table_args__ = (CheckConstraint("id = 1", name="one_lease_only"),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    fence: Mapped[int] = mapped_column(BigInteger)
    until_ms: Mapped[int] = mapped_column(BigInteger)
