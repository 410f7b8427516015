"""The guide's designs hold what they declare: findings, claims and answers."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from keyplan.check.checking import check
from keyplan.cost.estimate import estimate
from keyplan.cost.prices import book
from keyplan.design.declaring.design import Design
from keyplan.export.explain import explain
from keyplan.verify import verify

FOLDER = Path(__file__).parents[3] / "examples" / "guide"
PATTERNS = {
    "complaint_management": """
        createComplaint updateComplaint updateSeveritybyComplaintID getComplaintByComplaintID addCommentByComplaintID
        getAllCommentsByComplaintID getLatestCommentByComplaintID getAComplaintbyCustomerIDAndComplaintID
        getAllComplaintsByCustomerID escalateComplaintByComplaintID getAllEscalatedComplaints
        getEscalatedComplaintsByAgentID getCommentsByAgentID
    """,
    "device_status": """
        createLogEntryForSpecificDevice getLogsForSpecificDevice getWarningLogsForSpecificDevice
        getLogsForOperatorBetweenTwoDates getEscalatedLogsForSupervisor
        getEscalatedLogsWithSpecificStatusForSupervisor getEscalatedLogsWithSpecificStatusForSupervisorForDate
    """,
    "gaming_profile": """
        getPlayerFriends getPlayerAllProfile getPlayerAllItems getPlayerSpecificItem updateCharacterAttributes
        updateItemCount
    """,
    "online_shop": """
        getCustomerByCustomerId getProductByProductId getWarehouseByWarehouseId getProductInventoryByProductId
        getOrderDetailsByOrderId getProductByOrderId getInvoiceByOrderId getShipmentByOrderId
        getOrderByProductIdForDateRange getInvoiceByInvoiceId getPaymentByInvoiceId getShipmentDetailsByShipmentId
        getShipmentByWarehouseId getProductInventoryByWarehouseId getInvoiceByCustomerIdForDateRange
        getProductsByCustomerIdForDateRange
    """,
    "recurring_payments": """
        createSubscription createReceipt updateSubscription getDueRemindersByDate getDuePaymentsByDate
        getSubscriptionsByAccount getReceiptsByAccount
    """,
    "social_network": """
        getUserInfoByUserID getFollowerListByUserID getFollowingListByUserID getPostListByUserID getUserLikesByPostID
        getLikeCountByPostID getTimelineByUserID
    """,
}
"""By design: the access patterns of the guide's table, in its order."""


@cache
def design(name: str) -> Design:
    return Design.load(str(FOLDER / f"{name}.py"))


def test_every_design_of_the_folder_is_tested() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == sorted(PATTERNS)


@pytest.mark.parametrize("name", PATTERNS)
def test_every_access_pattern_of_the_guide_is_declared_with_a_rate(name: str) -> None:
    rates = {pattern.doc.partition(":")[0]: pattern.facts.rate for pattern in design(name).patterns}
    assert all(rates.get(pattern) is not None for pattern in PATTERNS[name].split())


@pytest.mark.parametrize("name", PATTERNS)
def test_the_checker_finds_nothing_that_is_not_suppressed_with_a_reason(name: str) -> None:
    assert not check(design(name)).findings


@pytest.mark.parametrize("name", PATTERNS)
def test_the_design_has_a_price(name: str) -> None:
    assert estimate(design(name), book()).total > 0


@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_is_explained(name: str) -> None:
    findings = check(design(name)).findings
    for pattern in design(name).patterns:
        assert explain(pattern, book(), findings).startswith(f"{pattern.name}: ")


@pytest.mark.parametrize("name", PATTERNS)
def test_generated_data_is_read_back_as_declared_at_the_predicted_cost(name: str) -> None:
    report = verify(design(name), items=800)
    assert {pattern.name: pattern.verdict for pattern in report.patterns if pattern.verdict != "OK"} == {}
