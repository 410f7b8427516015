"""Actors, users, and the number of each user's bookings by status."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from keyplan_systems.venue_booking.domain.refusals import InvalidRequestError, NotAllowedError, StaleVersionError
from keyplan_systems.venue_booking.domain.requests import Language, ProfileChange, checked_phone
from keyplan_systems.venue_booking.domain.venue import Venue

ADMINISTRATORS: Final = "administrators"


class Role(StrEnum):
    """The role of a user: an ordinary user or an administrator."""

    USER = "user"
    ADMIN = "admin"


class Status(StrEnum):
    """The status of a booking. `domain.bookings` describes the transitions between the statuses."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Actor:
    """The user who performs an operation: the user ID (the token's subject) and the role that the token grants."""

    user_id: str
    role: Role = Role.USER

    @property
    def is_admin(self) -> bool:
        """Whether the actor is an administrator."""
        return self.role is Role.ADMIN


def actor_from(subject: str, groups: Collection[str]) -> Actor:
    """Return the actor for a verified token, given its subject and its groups. The role depends on these groups, not on
    the role that is stored in the profile.
    """
    return Actor(subject, Role.ADMIN if ADMINISTRATORS in groups else Role.USER)


def require_admin(actor: Actor) -> None:
    """Raise NotAllowedError unless the actor is an administrator."""
    if not actor.is_admin:
        raise NotAllowedError("Only administrators may do this.")


@dataclass(frozen=True)
class Stats:
    """The number of a user's bookings with each status."""

    pending: int = 0
    approved: int = 0
    rejected: int = 0
    cancelled: int = 0

    @property
    def total(self) -> int:
        """The total number of bookings, with any status."""
        return self.pending + self.approved + self.rejected + self.cancelled


def stats_changes(before: Status | None, after: Status) -> dict[Status, int]:
    """Return the changes to a user's counters when a booking changes from one status to another.

    `before` is None for a new booking.
    """
    if before is after:
        return {}
    changes = {after: 1}
    if before is not None:
        changes[before] = -1
    return changes


@dataclass(frozen=True)
class User:
    """A user's profile. `user_id` is the token's subject, `email` is normalized, and `phone` is in international
    format.

    `email` is None if the address was removed from this user so that the owner of the address can verify it.
    `email_verified_at` is None if the address was stored before the system verified addresses. If another user verifies
    such an address, it is removed from this user.
    """

    user_id: str
    email: str | None
    name: str
    created_at: datetime
    phone: str | None = None
    role: Role = Role.USER
    language: Language = Language.ITALIAN
    stats: Stats = field(default_factory=Stats)
    version: int = 1
    email_verified_at: datetime | None = None

    @property
    def has_verified_email(self) -> bool:
        """Whether the user's email address is verified."""
        return self.email is not None and self.email_verified_at is not None

    def with_address(self, email: str | None, now: datetime) -> User:
        """Return a copy of the user with the verified address `email` and the next version. If `email` is None, the
        copy has no address.
        """
        verified_at = None if email is None else now
        return replace(self, email=email, email_verified_at=verified_at, version=self.version + 1)


def changed_profile(user: User, change: ProfileChange, venue: Venue, known_version: int | None = None) -> User:
    """Return a copy of the user with the changes applied and the next version.

    Raises InvalidRequestError if the change is empty or the telephone number is invalid, and StaleVersionError if the
    user's version differs from `known_version`. If `email` changes, the write must also replace the item that reserves
    the old address with an item that reserves the new one.
    """
    check_version(known_version, user.version)
    values = change.model_dump(exclude_none=True)
    if not values:
        raise InvalidRequestError("The request has no changes: send at least one field.")
    if change.phone is not None:
        values["phone"] = checked_phone(change.phone, venue)
    return replace(user, **values, version=user.version + 1)


def check_version(known_version: int | None, current_version: int) -> None:
    """Raise StaleVersionError if `known_version` is given and differs from the current version."""
    if known_version is not None and known_version != current_version:
        raise StaleVersionError(known_version, current_version)
