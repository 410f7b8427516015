"""Operations on push subscriptions: creating, changing and deactivating them. Each push token has at most one
subscription.
"""

from __future__ import annotations

from keyplan.client.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    NotFoundError,
    UniqueTakenError,
    VersionConflictError,
)
from keyplan_systems.ask_a_human import design_push, records
from keyplan_systems.ask_a_human.base import ATTEMPTS, Base, BusyError, is_uuid
from keyplan_systems.ask_a_human.devices import Identity
from keyplan_systems.ask_a_human.domain import notifications
from keyplan_systems.ask_a_human.domain.notifications import Subscription
from keyplan_systems.ask_a_human.domain.refusals import InvalidRequestError, SubscriptionNotFoundError
from keyplan_systems.ask_a_human.domain.requests import SubscribeRequest, SubscriptionChange
from keyplan_systems.ask_a_human.entities import Subscription as StoredSubscription

_STALE = (AlreadyExistsError, VersionConflictError, ConditionFailedError)


class Subscriptions:
    """Operations on push subscriptions. Instances are thread-safe."""

    def __init__(self, base: Base) -> None:
        self._base, self._connection = base, base.connection

    def subscribe(self, caller: Identity, request: SubscribeRequest) -> Subscription:
        """Create a subscription and return it. If a subscription with the same push token exists, it is reactivated
        with the new settings instead.
        """
        subscription_id = notifications.subscription_id(request.fcm_token)
        for attempt in range(ATTEMPTS):
            stored = self._connection.run(design_push.subscription_by_id(subscription_id))
            existing = None if stored is None else records.subscription(stored)
            subscription = notifications.subscribe(request, caller.person, existing, self._base.now_ms, caller.device)
            try:
                return self._write(subscription, stored)
            except UniqueTakenError as error:  # a subscription whose token was refreshed to this one
                subscription_id = str((error.owner or {}).get("subscription_id", subscription_id))
            except _STALE:
                self._base.back_off(attempt)
        raise BusyError("too many concurrent subscriptions of this token: try again")

    def change(self, caller: Identity, subscription_id: str, changes: SubscriptionChange) -> Subscription:
        """Change the push token or the interval of a subscription, and return the subscription.

        Raises SubscriptionNotFoundError if the subscription does not exist or belongs to another device, and
        InvalidRequestError if another subscription has the new token.
        """
        for attempt in range(ATTEMPTS):
            stored = self._own_subscription(caller, subscription_id)
            changed_subscription = notifications.change(records.subscription(stored), changes, self._base.now_ms)
            try:
                return self._write(changed_subscription, stored)
            except UniqueTakenError as error:
                details = {"field": "fcm_token", "constraint": "unique"}
                raise InvalidRequestError("another subscription already uses this token", details) from error
            except _STALE:
                self._base.back_off(attempt)
        raise BusyError("too many concurrent changes to this subscription: try again")

    def deactivate(self, caller: Identity, subscription_id: str) -> None:
        """Deactivate a subscription without deleting it.

        Raises SubscriptionNotFoundError if the subscription does not exist or belongs to another device.
        """
        for attempt in range(ATTEMPTS):
            stored = self._own_subscription(caller, subscription_id)
            if not stored.active:
                return
            now_ms = self._base.now_ms
            inactive_subscription = notifications.deactivate(records.subscription(stored), now_ms)
            try:
                self._write(inactive_subscription, stored)
            except _STALE:
                self._base.back_off(attempt)
            else:
                return
        raise BusyError("too many concurrent changes to this subscription: try again")

    def _own_subscription(self, caller: Identity, subscription_id: str) -> StoredSubscription:
        """Return the subscription with the given ID.

        Raises SubscriptionNotFoundError if it does not exist or belongs to a device other than the caller's.
        """
        subscription = (
            self._connection.run(design_push.subscription_by_id(subscription_id)) if is_uuid(subscription_id) else None
        )
        if subscription is None or subscription.device is None or subscription.device != caller.device:
            raise SubscriptionNotFoundError("no such subscription", {"subscription_id": subscription_id})
        return subscription

    def _write(self, subscription: Subscription, stored: StoredSubscription | None) -> Subscription:
        item = records.subscription_item(subscription, 0 if stored is None else stored.version)
        write = design_push.add_subscription if stored is None else design_push.change_subscription
        try:
            self._connection.run(write(item))
        except NotFoundError as error:
            raise SubscriptionNotFoundError("the subscription no longer exists") from error
        return subscription
