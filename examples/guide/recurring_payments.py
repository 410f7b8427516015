"""Recurring payments, from the data modeling examples of the DynamoDB developer guide.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/data-modeling-schema-recurring-payments.html

Accounts have subscriptions. Two daily jobs send reminders and process payments. Each job uses an index that contains
only the attributes that the job needs. Receipts expire. The patterns are in the order of the guide's table, and each
docstring starts with the guide's name.

Differences from the guide:

* `LastReminderDate` and `LastPaymentDate` are sort keys of the indexes. Without these attributes, a new subscription
  would be in neither index and get no reminder. `Subscription` therefore requires both; set them to the day on which
  the subscription starts.
* Amounts and `PaymentDay` are numbers, and the card is a token instead of its number.
* Items also have the attributes `account_id` and `subscription_id`, because keyplan stores either all fields of a key
  or none, and the guide stores `SKU`.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, Field

from keyplan import (
    GSI,
    TTL,
    Attribute,
    Bytes,
    Distinct,
    Entity,
    ItemWrite,
    KeyCondition,
    Rate,
    Table,
    View,
    Volume,
    item,
    key,
    pk,
)

Id = Annotated[str, Field(min_length=1, max_length=64, pattern="^[^#]+$")]

payments = Table(
    "RecurringPayments",
    pk="PK",
    sk="SK",
    indexes=[
        GSI("GSI-1", pk="NextReminderDate", sk="LastReminderDate", project=["SKU", "Email", "NextPaymentDate"]),
        GSI(
            "GSI-2",
            pk="NextPaymentDate",
            sk="LastPaymentDate",
            project=["Email", "PaymentDay", "PaymentAmount", "SKU", "PaymentDetails"],
        ),
    ],
    ttl=TTL("TTL", means="receipts of the last six months are shown"),
    point_in_time_recovery=True,
    deletion_protection=True,
)


class PaymentDetails(BaseModel):
    card: Annotated[str, Field(alias="default-card")]
    address: Annotated[str, Field(alias="default-address")]

    model_config = {"populate_by_name": True}


@payments.entity(
    key=key("ACC#{account_id}", "SUB#{subscription_id}#SKU#{sku}"),
    volume=Volume(
        count=1_000_000,
        bytes=Bytes(1_000),
        distinct={"account_id": Distinct(500_000), "next_reminder_date": 31, "next_payment_date": 31},
    ),
)
class Subscription(Entity):
    account_id: Id
    subscription_id: Id
    sku: Annotated[Id, Attribute("SKU")]
    email: Annotated[str, Attribute("Email")]
    payment_day: Annotated[int, Attribute("PaymentDay"), Field(ge=1, le=28)]
    payment_amount: Annotated[Decimal, Attribute("PaymentAmount")]
    payment_details: Annotated[PaymentDetails, Attribute("PaymentDetails")]
    last_payment_date: Annotated[datetime, Attribute("LastPaymentDate", stored="iso_ms")]
    next_payment_date: Annotated[date, Attribute("NextPaymentDate")]
    last_reminder_date: Annotated[datetime, Attribute("LastReminderDate", stored="iso_ms")]
    next_reminder_date: Annotated[date, Attribute("NextReminderDate")]
    created_at: Annotated[datetime, Attribute("CreatedDate", stored="iso_ms")]


@payments.entity(
    key=key("ACC#{account_id}", "REC#{processed_at:utc_ms}#SKU#{sku}"),
    volume=Volume(count=6_000_000, bytes=Bytes(300), distinct={"account_id": 500_000}),
)
class Receipt(Entity):
    account_id: Id
    processed_at: Annotated[datetime, Attribute("ProcessedDate", stored="iso_ms")]
    sku: Annotated[Id, Attribute("SKU")]
    email: Annotated[str, Attribute("Email")]
    amount: Annotated[Decimal, Attribute("ProcessedAmount")]
    expires_at: Annotated[datetime, Attribute("TTL")]


class DueReminder(View[Subscription]):
    """The attributes of a subscription in GSI-1."""

    account_id: Id
    subscription_id: Id
    sku: Annotated[Id, Attribute("SKU")]
    email: Annotated[str, Attribute("Email")]
    next_payment_date: Annotated[date, Attribute("NextPaymentDate")]


class DuePayment(View[Subscription]):
    """The attributes of a subscription in GSI-2."""

    account_id: Id
    subscription_id: Id
    sku: Annotated[Id, Attribute("SKU")]
    email: Annotated[str, Attribute("Email")]
    payment_day: Annotated[int, Attribute("PaymentDay"), Field(ge=1, le=28)]
    payment_amount: Annotated[Decimal, Attribute("PaymentAmount")]
    payment_details: Annotated[PaymentDetails, Attribute("PaymentDetails")]


@payments.create(Subscription, rate=Rate(average=0.5, peak=5))
def create_subscription(subscription: Subscription) -> ItemWrite:
    """createSubscription: store a new subscription of an account."""
    return item(subscription)


@payments.create(Receipt, rate=Rate(average=0.4, peak=100))
def create_receipt(receipt: Receipt) -> ItemWrite:
    """createReceipt: store the receipt for a processed payment."""
    return item(receipt)


@payments.update(Subscription, rate=Rate(average=0.4, peak=100))
def update_subscription(
    account_id: Id, subscription_id: Id, sku: Id, *, paid_at: datetime, next_payment: date, next_reminder: date
) -> ItemWrite:
    """updateSubscription: set the dates of the next payment and reminder after a payment."""
    return item(account_id=account_id, subscription_id=subscription_id, sku=sku).set(
        last_payment_date=paid_at, next_payment_date=next_payment, next_reminder_date=next_reminder
    )


@payments.query(DueReminder, index="GSI-1", page_size=100, rate=Rate(average=0.01, peak=1))
def due_reminders(day: date) -> KeyCondition:
    """getDueRemindersByDate: list the subscriptions whose customers get a reminder on a date."""
    return pk(next_reminder_date=day)


@payments.query(DuePayment, index="GSI-2", page_size=100, rate=Rate(average=0.01, peak=1))
def due_payments(day: date) -> KeyCondition:
    """getDuePaymentsByDate: list the subscriptions that are due for payment on a date."""
    return pk(next_payment_date=day)


@payments.query(Subscription, rate=Rate(average=5, peak=20))
def subscriptions(account_id: Id) -> KeyCondition:
    """getSubscriptionsByAccount: list the subscriptions of an account."""
    return pk(account_id=account_id)


@payments.query(Receipt, rate=Rate(average=1, peak=5))
def receipts(account_id: Id) -> KeyCondition:
    """getReceiptsByAccount: list the receipts of an account, oldest first."""
    return pk(account_id=account_id)
