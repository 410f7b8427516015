"""Patterns of push: subscriptions, who may be told, claims, notices, retries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from keyplan.design import (
    Change,
    Cond,
    F,
    Key,
    Rate,
    WriteCall,
    every_shard,
    key_of,
    pk,
    put,
    set_,
    sk,
    transaction,
    when,
)
from keyplan_systems.ask_a_human.entities import (
    Delivery,
    Device,
    FingerprintOwner,
    Moment,
    Notice,
    Subscription,
    subscriptions,
)


@dataclass(frozen=True)
class Claimed:
    """A subscription claimed: as it was seen, and when it was and may next be notified."""

    subscription_id: str
    seen: str
    last_notified_at: str
    next_eligible_at: str


@subscriptions.get(Device, consistent=True, rate=Rate(average=160, peak=1_800), after=["add_device"])
def device_by_token(token_hash: str) -> Key:
    """Get the device that a token was issued to."""
    return key_of(token_hash=token_hash)


@subscriptions.create(Device, rate=Rate(average=0.1, peak=5))
def add_device(device: Device) -> Change:
    """Add a device."""
    return put(device)


@subscriptions.create(FingerprintOwner)
def add_owner(owner: FingerprintOwner) -> Change:
    """Make a device the first one of its fingerprint, unless another one is."""
    return put(owner)


@subscriptions.update(Device, rate=Rate.monthly(10_000))
def set_person(token_hash: str, person: str) -> Change:
    """Set the person that a device acts for, once."""
    return key_of(token_hash=token_hash) & set_(person=person) & when(F.person.missing())


@transaction(rate=Rate(average=0.1, peak=5))
def claim_fingerprint(owner: FingerprintOwner, token_hash: str, person: str) -> list[WriteCall[Any]]:
    """Make a device the first one of its fingerprint, with the person whose record the fingerprint names."""
    return [add_owner(owner), set_person(token_hash, person)]


@subscriptions.get(Subscription, consistent=True, rate=Rate(average=1, peak=10))
def subscription_by_id(subscription_id: str) -> Key:
    """One subscription."""
    return key_of(subscription_id=subscription_id)


@subscriptions.create(Subscription, rate=Rate(average=0.1, peak=2))
def add_subscription(subscription: Subscription) -> Change:
    """A new subscription, if no other has its token."""
    return put(subscription)


@subscriptions.replace(Subscription, rate=Rate(average=0.1, peak=2))
def change_subscription(subscription: Subscription) -> Change:
    """A changed subscription, if it is as it was read."""
    return put(subscription)


@subscriptions.query(Subscription, index="ByLastNotified", rate=Rate(average=0.2, peak=1), returns=40_000)
def eligible_for_notification(now: Moment) -> Cond:
    """Get eligible for notification: everybody whose own interval is over."""
    return pk(subscription_id=every_shard()) & sk.lte(next_eligible_at=now)


@subscriptions.update(Subscription)
def claim_subscription(claimed: Claimed) -> Change:
    """Take the right to notify a subscriber: of several workers one, before anything is sent."""
    return (
        key_of(subscription_id=claimed.subscription_id)
        & set_(
            last_notified_at=claimed.last_notified_at,
            next_eligible_at=claimed.next_eligible_at,
            updated_at=claimed.last_notified_at,
        )
        & when((F.active == True) & (F.next_eligible_at == claimed.seen))  # noqa: E712 - a stored value
    )


@subscriptions.update(Subscription, rate=Rate(average=0.1, peak=2))
def deactivate(subscription_id: str, token_digest: str, updated_at: Moment) -> Change:
    """Switch a subscription off, unless it has another token by now."""
    return (
        key_of(subscription_id=subscription_id)
        & set_(active=False, updated_at=updated_at)
        & when(F.token_digest == token_digest)
    )


@subscriptions.put(Notice)
def note_notice(notice: Notice) -> Change:
    """That a person was told of a question; the newest push counts."""
    return put(notice)


@subscriptions.delete(Notice, rate=Rate(average=0.1, peak=10))
def forget_notice(question: str, person: str, notified_at: Moment) -> Change:
    """That a push did not reach its person."""
    return key_of(question=question, person=person) & when(F.notified_at == notified_at)


@subscriptions.get(Notice, consistent=True, rate=Rate(average=120, peak=1_600), after=["claim"])
def notice_of(question: str, person: str) -> Key:
    """Whether and when a person was told of a question."""
    return key_of(question=question, person=person)


@transaction(rate=Rate(average=20, peak=200))
def claim(claimed: Claimed, notice: Notice) -> list[WriteCall[Any]]:
    """A subscriber claimed for a question."""
    return [claim_subscription(claimed), note_notice(notice)]


@subscriptions.put(Delivery, rate=Rate(average=0.1, peak=50))
def try_later(delivery: Delivery) -> Change:
    """A push to be tried again."""
    return put(delivery)


@subscriptions.query(Delivery, index="ByDue", rate=Rate(average=0.5, peak=1), returns=5)
def due_deliveries(now: Moment) -> Cond:
    """Pushes to be tried again by now."""
    return pk(subscription=every_shard()) & sk.lte(due_at=now)


@subscriptions.delete(Delivery, rate=Rate(average=0.1, peak=50))
def claim_delivery(question: str, subscription: str, seen: int) -> Change:
    """Take a push that is to be tried again: of several workers one."""
    return key_of(question=question, subscription=subscription) & when(F.attempt == seen)
