"""Notices: the emails that a new request or a decision triggers.

A notice is written to the outbox in the same transaction as the change that triggers it. Delivery is retried after
failures, so each notice has a key that stays the same for all attempts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from keyplan_systems.venue_booking.domain.users import Status


class Audience(StrEnum):
    """The recipients of a notice: the customer who requested the booking, or all administrators."""

    CUSTOMER = "customer"
    ADMINISTRATORS = "administrators"


class NoticeKind(StrEnum):
    """The types of emails about bookings."""

    RECEIVED = "received"
    APPROVED = "approved"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    ADMIN_NEW_REQUEST = "admin_new_request"
    ADMIN_CANCELLED = "admin_cancelled"

    @property
    def audience(self) -> Audience:
        """The recipients of emails of this type."""
        return Audience.ADMINISTRATORS if self in _FOR_ADMINISTRATORS else Audience.CUSTOMER


_FOR_ADMINISTRATORS: Final = frozenset({NoticeKind.ADMIN_NEW_REQUEST, NoticeKind.ADMIN_CANCELLED})

_KIND_BY_STATUS: Final[Mapping[Status, NoticeKind]] = {
    Status.APPROVED: NoticeKind.APPROVED,
    Status.REJECTED: NoticeKind.REJECTED,
    Status.CANCELLED: NoticeKind.CANCELLED,
}


@dataclass(frozen=True)
class Notice:
    """An email to send about a booking.

    It describes the booking as of the version `booking_version`. `created_at` is in UTC.
    """

    kind: NoticeKind
    booking_id: str
    booking_version: int
    created_at: datetime

    @property
    def key(self) -> str:
        """A unique key that stays the same for all attempts to send the email."""
        return f"{self.booking_id}.{self.booking_version}.{self.kind.value}"


def notices_of_request(booking_id: str, version: int, now: datetime) -> tuple[Notice, ...]:
    """Return the notices about a new request: a confirmation of receipt for the customer, and a notification for the
    administrators.
    """
    kinds = (NoticeKind.RECEIVED, NoticeKind.ADMIN_NEW_REQUEST)
    return tuple(Notice(kind, booking_id, version, now) for kind in kinds)


def notices_of_decision(
    booking_id: str, status: Status, version: int, now: datetime, *, by_owner: bool
) -> tuple[Notice, ...]:
    """Return the notices about a decision: one for the customer and, if the owner cancelled the booking, one for the
    administrators.
    """
    kinds = [_KIND_BY_STATUS[status]]
    if status is Status.CANCELLED and by_owner:
        kinds.append(NoticeKind.ADMIN_CANCELLED)
    return tuple(Notice(kind, booking_id, version, now) for kind in kinds)
