"""The access patterns of the guide's recurring payments, on the guide's sample items."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from examples.guide.recurring_payments import DuePayment, DueReminder, PaymentDetails, Receipt, Subscription

from examples.guide import recurring_payments as guide
from keyplan.check.checking import check
from keyplan.client.connection import Connection
from keyplan.client.errors import AlreadyExistsError
from keyplan.clock import ManualClock
from keyplan.design.declaring.design import Design
from keyplan.engine.engine import Engine

DETAILS = PaymentDetails(card="tok_1234", address="12 Bridge Street, Birmingham, B12 7ST")
SUBSCRIPTION = Subscription(
    account_id="123",
    subscription_id="123",
    sku="999",
    email="s@s.com",
    payment_day=28,
    payment_amount=Decimal("12.99"),
    payment_details=DETAILS,
    last_payment_date=datetime(2023, 5, 18, 14, 15, 39, 247_000, UTC),
    next_payment_date=date(2023, 5, 28),
    last_reminder_date=datetime(2023, 5, 21, 14, 15, 39, 247_000, UTC),
    next_reminder_date=date(2023, 6, 21),
    created_at=datetime(2023, 5, 18, 9, 41, 25, 856_000, UTC),
)
RECEIPT = Receipt(
    account_id="123",
    processed_at=datetime(2023, 5, 28, 14, 15, 39, 247_000, UTC),
    sku="999",
    email="s@s.com",
    amount=Decimal("12.99"),
    expires_at=datetime(2023, 11, 18, 14, 36, 40, tzinfo=UTC),
)


@pytest.fixture(autouse=True)
def paid(db: Connection) -> None:
    db.run(guide.create_subscription(SUBSCRIPTION))
    db.run(guide.create_receipt(RECEIPT))
    db.run(
        guide.update_subscription(
            "123",
            "123",
            "999",
            paid_at=RECEIPT.processed_at,
            next_payment=date(2023, 6, 28),
            next_reminder=date(2023, 6, 21),
        )
    )


def test_1_a_subscription_is_stored_under_the_guides_keys_and_created_once(
    db: Connection, stored: Callable[..., list[dict[str, Any]]]
) -> None:
    (item,) = (item for item in stored(guide.payments) if item["SK"].startswith("SUB#"))
    assert (item["PK"], item["SK"]) == ("ACC#123", "SUB#123#SKU#999")
    assert (item["SKU"], item["PaymentDay"], item["PaymentAmount"]) == ("999", "28", "12.99")
    assert item["PaymentDetails"]["default-card"] == {"S": "tok_1234"}
    with pytest.raises(AlreadyExistsError):
        db.run(guide.create_subscription(SUBSCRIPTION))


def test_2_a_receipt_is_stored_with_its_expiry(stored: Callable[..., list[dict[str, Any]]]) -> None:
    (item,) = (item for item in stored(guide.payments) if item["SK"].startswith("REC#"))
    assert (item["PK"], item["SK"]) == ("ACC#123", "REC#2023-05-28T14:15:39.247Z#SKU#999")
    assert item["TTL"] == "1700318200"


def test_3_a_payment_moves_the_subscription_in_both_indexes(
    stored: Callable[..., list[dict[str, Any]]],
) -> None:
    (payment,) = stored(guide.payments, "GSI-2")
    assert (payment["NextPaymentDate"], payment["LastPaymentDate"]) == ("2023-06-28", "2023-05-28T14:15:39.247Z")
    (reminder,) = stored(guide.payments, "GSI-1")
    assert reminder["NextPaymentDate"] == "2023-06-28"


def test_4_due_reminders_of_a_day_are_read_from_the_projected_attributes(db: Connection) -> None:
    assert db.run(guide.due_reminders(date(2023, 6, 21))).items == (
        DueReminder(
            account_id="123",
            subscription_id="123",
            sku="999",
            email="s@s.com",
            next_payment_date=date(2023, 6, 28),
        ),
    )
    assert not db.run(guide.due_reminders(date(2023, 6, 22))).items


def test_5_due_payments_of_a_day_are_read_from_the_projected_attributes(db: Connection) -> None:
    assert db.run(guide.due_payments(date(2023, 6, 28))).items == (
        DuePayment(
            account_id="123",
            subscription_id="123",
            sku="999",
            email="s@s.com",
            payment_day=28,
            payment_amount=Decimal("12.99"),
            payment_details=DETAILS,
        ),
    )
    assert not db.run(guide.due_payments(date(2023, 5, 28))).items


def test_6_the_subscriptions_of_an_account_are_listed(db: Connection) -> None:
    (subscription,) = db.run(guide.subscriptions("123"))
    assert subscription == SUBSCRIPTION.model_copy(
        update={"last_payment_date": RECEIPT.processed_at, "next_payment_date": date(2023, 6, 28)}
    )


def test_7_the_receipts_of_an_account_are_listed_until_they_expire(db: Connection, engine: Engine) -> None:
    assert db.run(guide.receipts("123")).items == (RECEIPT,)
    assert isinstance(engine.clock, ManualClock)
    engine.clock.advance((RECEIPT.expires_at - datetime(2023, 6, 1, tzinfo=UTC)).total_seconds() + 1)
    assert not db.run(guide.receipts("123")).items


def test_a_subscription_without_a_last_reminder_is_reported_as_not_projected(tmp_path: Path) -> None:
    source = Path(guide.__file__).read_text()
    optional = re.sub(
        r"last_reminder_date: Annotated\[datetime, (.*)\]",
        r"last_reminder_date: Annotated[datetime | None, \1] = None",
        source,
    )
    assert optional != source
    path = tmp_path / "optional.py"
    path.write_text(optional)
    (finding,) = check(Design.load(str(path))).findings
    assert finding.code == "KP408"
    assert finding.problem.startswith("due_reminders never returns Subscription items without last_reminder_date")
