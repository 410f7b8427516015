"""Notices: the e-mails that a step triggers, their recipients, and how often they may arrive (once).

A notice is written into the outbox in the transaction of its step. Delivery repeats after failures, so a
notice carries a key that is the same however often it is tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from keyplan_systems.venue_booking.domain.users import Status


class Audience(StrEnum):
    """Recipients of a notice."""

    CUSTOMER = "customer"
    ADMINISTRATORS = "administrators"


class NoticeKind(StrEnum):
    """Kinds of e-mails that the venue sends."""

    RECEIVED = "received"
    APPROVED = "approved"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    ADMIN_NEW_REQUEST = "admin_new_request"
    ADMIN_CANCELLED = "admin_cancelled"

    @property
    def audience(self) -> Audience:
        """Recipients of this kind."""
        return Audience.ADMINISTRATORS if self in _FOR_ADMINISTRATORS else Audience.CUSTOMER


_FOR_ADMINISTRATORS: Final = frozenset({NoticeKind.ADMIN_NEW_REQUEST, NoticeKind.ADMIN_CANCELLED})

_OF_STATUS: Final[Mapping[Status, NoticeKind]] = {
    Status.APPROVED: NoticeKind.APPROVED,
    Status.REJECTED: NoticeKind.REJECTED,
    Status.CANCELLED: NoticeKind.CANCELLED,
}


@dataclass(frozen=True)
class Notice:
    """E-mail to be sent about a booking in this version; `created_at` is UTC."""

    kind: NoticeKind
    booking_id: str
    booking_version: int
    created_at: datetime

    @property
    def key(self) -> str:
        """Key that is the same for every attempt at this notice, and different for every other notice."""
        return f"{self.booking_id}.{self.booking_version}.{self.kind.value}"


def notices_of_request(booking_id: str, version: int, now: datetime) -> tuple[Notice, ...]:
    """Return the notices of a new request: to the customer a receipt, to the administrators a reminder."""
    kinds = (NoticeKind.RECEIVED, NoticeKind.ADMIN_NEW_REQUEST)
    return tuple(Notice(kind, booking_id, version, now) for kind in kinds)


def notices_of_decision(
    booking_id: str, status: Status, version: int, now: datetime, *, by_owner: bool
) -> tuple[Notice, ...]:
    """Return the notices of a decision: to the customer, and to the administrators if the owner cancelled."""
    kinds = [_OF_STATUS[status]]
    if status is Status.CANCELLED and by_owner:
        kinds.append(NoticeKind.ADMIN_CANCELLED)
    return tuple(Notice(kind, booking_id, version, now) for kind in kinds)
