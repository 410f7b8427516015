"""Access patterns for push notifications: subscriptions, eligible users, claims, notification records and retries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from keyplan import F, ItemKey, ItemWrite, KeyCondition, Rate, WriteCall, every_shard, item, pk, transaction
from keyplan_systems.ask_a_human.entities import (
    Delivery,
    Device,
    FingerprintOwner,
    Notice,
    Subscription,
    Timestamp,
    subscriptions,
)


@dataclass(frozen=True)
class SubscriptionClaim:
    """The keys and times that a worker needs to claim a subscription before it sends a notification.

    `known_next_eligible_at` is the value of `next_eligible_at` that the worker read. `last_notified_at` is the time of
    this notification, and `next_eligible_at` is the earliest time of the next one.
    """

    subscription_id: str
    known_next_eligible_at: str
    last_notified_at: str
    next_eligible_at: str


@subscriptions.get(Device, consistent=True, rate=Rate(average=160, peak=1_800), after=["add_device"])
def device_by_token(token_hash: str) -> ItemKey:
    """Get the device that has a token, given the token's hash."""
    return item(token_hash=token_hash)


@subscriptions.create(Device, rate=Rate(average=0.1, peak=5))
def add_device(device: Device) -> ItemWrite:
    """Add a device."""
    return item(device)


@subscriptions.create(FingerprintOwner)
def add_owner(owner: FingerprintOwner) -> ItemWrite:
    """Record a device as the first one with its fingerprint.

    Fails if the fingerprint already has a first device.
    """
    return item(owner)


@subscriptions.update(Device, rate=Rate.monthly(10_000))
def set_person(token_hash: str, person: str) -> ItemWrite:
    """Assign a user to a device, if the device does not have a user yet."""
    return item(token_hash=token_hash).set(person=person).condition(F.person.missing())


@transaction(rate=Rate(average=0.1, peak=5))
def claim_fingerprint(owner: FingerprintOwner, token_hash: str, person: str) -> list[WriteCall[Any]]:
    """Record a device as the first one with its fingerprint, and assign a user to the device.

    `person` is the ID of the user, which is the hash of the fingerprint.
    """
    return [add_owner(owner), set_person(token_hash, person)]


@subscriptions.get(Subscription, consistent=True, rate=Rate(average=1, peak=10))
def subscription_by_id(subscription_id: str) -> ItemKey:
    """Get a subscription by ID."""
    return item(subscription_id=subscription_id)


@subscriptions.create(Subscription, rate=Rate(average=0.1, peak=2))
def add_subscription(subscription: Subscription) -> ItemWrite:
    """Add a subscription, if no other subscription has its push token."""
    return item(subscription)


@subscriptions.replace(Subscription, rate=Rate(average=0.1, peak=2))
def change_subscription(subscription: Subscription) -> ItemWrite:
    """Replace a subscription, if it is unchanged since it was read."""
    return item(subscription)


@subscriptions.query(Subscription, index="ByLastNotified", rate=Rate(average=0.2, peak=1), expected_items=40_000)
def eligible_for_notification(now: Timestamp) -> KeyCondition:
    """List the active subscriptions whose notification interval has passed."""
    return pk(subscription_id=every_shard()).sk.lte(next_eligible_at=now)


@subscriptions.update(Subscription)
def claim_subscription(subscription_claim: SubscriptionClaim) -> ItemWrite:
    """Claim the right to notify a subscriber, before the push is sent.

    If several workers try, only one succeeds.
    """
    return (
        item(subscription_id=subscription_claim.subscription_id)
        .set(
            last_notified_at=subscription_claim.last_notified_at,
            next_eligible_at=subscription_claim.next_eligible_at,
            updated_at=subscription_claim.last_notified_at,
        )
        .condition((F.active == True) & (F.next_eligible_at == subscription_claim.known_next_eligible_at))  # noqa: E712 - a stored value
    )


@subscriptions.update(Subscription, rate=Rate(average=0.1, peak=2))
def deactivate(subscription_id: str, token_digest: str, updated_at: Timestamp) -> ItemWrite:
    """Deactivate a subscription, if its push token has not changed."""
    return (
        item(subscription_id=subscription_id)
        .set(active=False, updated_at=updated_at)
        .condition(F.token_digest == token_digest)
    )


@subscriptions.put(Notice)
def note_notice(notice: Notice) -> ItemWrite:
    """Store the time at which a user was notified about a question, replacing the record of an earlier notification."""
    return item(notice)


@subscriptions.delete(Notice, rate=Rate(average=0.1, peak=10))
def forget_notice(question: str, person: str, notified_at: Timestamp) -> ItemWrite:
    """Delete the record of a notification that did not reach the user."""
    return item(question=question, person=person).condition(F.notified_at == notified_at)


@subscriptions.get(Notice, consistent=True, rate=Rate(average=120, peak=1_600), after=["claim"])
def notice_of(question: str, person: str) -> ItemKey:
    """Get the record of when a user was notified about a question."""
    return item(question=question, person=person)


@transaction(rate=Rate(average=20, peak=200))
def claim(subscription_claim: SubscriptionClaim, notice: Notice) -> list[WriteCall[Any]]:
    """Claim the right to notify a subscriber about a question, and store the time of the notification."""
    return [claim_subscription(subscription_claim), note_notice(notice)]


@subscriptions.put(Delivery, rate=Rate(average=0.1, peak=50))
def try_later(delivery: Delivery) -> ItemWrite:
    """Schedule a retry of a push."""
    return item(delivery)


@subscriptions.query(Delivery, index="ByDue", rate=Rate(average=0.5, peak=1), expected_items=5)
def due_deliveries(now: Timestamp) -> KeyCondition:
    """List the pushes that are due for a retry."""
    return pk(subscription=every_shard()).sk.lte(due_at=now)


@subscriptions.delete(Delivery, rate=Rate(average=0.1, peak=50))
def claim_delivery(question: str, subscription: str, known_attempt: int) -> ItemWrite:
    """Claim the right to retry a push, by deleting the record of the retry.

    `known_attempt` is the number of attempts in the record that the worker read. If several workers try, only one
    succeeds.
    """
    return item(question=question, subscription=subscription).condition(F.attempt == known_attempt)
