"""The guide's designs hold what they declare: findings, claims and answers."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from keyplan.check.checking import check
from keyplan.cost.estimate import estimate
from keyplan.cost.prices import book
from keyplan.design.declaring.design import Design
from keyplan.design.planning.plan import Plan
from keyplan.export.explain import explain
from keyplan.verify import verify

FOLDER = Path(__file__).parents[3] / "examples" / "guide"
PATTERNS = {
    "complaint_management": """
        createComplaint PutItem
        updateComplaint UpdateItem
        updateSeveritybyComplaintID UpdateItem
        getComplaintByComplaintID GetItem
        addCommentByComplaintID TransactWriteItems
        getAllCommentsByComplaintID Query
        getLatestCommentByComplaintID Query
        getAComplaintbyCustomerIDAndComplaintID Query Customer_Complaint_GSI
        getAllComplaintsByCustomerID Query Customer_Complaint_GSI
        escalateComplaintByComplaintID UpdateItem
        getAllEscalatedComplaints Scan Escalations_GSI
        getEscalatedComplaintsByAgentID Query Escalations_GSI
        getCommentsByAgentID Query Agents_Comments_GSI
    """,
    "device_status": """
        createLogEntryForSpecificDevice PutItem
        getLogsForSpecificDevice Query
        getWarningLogsForSpecificDevice Query
        getLogsForOperatorBetweenTwoDates Query GSI1
        getEscalatedLogsForSupervisor Query GSI2
        getEscalatedLogsWithSpecificStatusForSupervisor Query GSI2
        getEscalatedLogsWithSpecificStatusForSupervisorForDate Query GSI2
    """,
    "gaming_profile": """
        getPlayerFriends GetItem
        getPlayerAllProfile Query
        getPlayerAllItems Query
        getPlayerSpecificItem Query
        updateCharacterAttributes UpdateItem
        updateItemCount UpdateItem
    """,
    "online_shop": """
        getCustomerByCustomerId GetItem
        getProductByProductId GetItem
        getWarehouseByWarehouseId GetItem
        getProductInventoryByProductId Query
        getOrderDetailsByOrderId Query
        getProductByOrderId Query
        getInvoiceByOrderId Query
        getShipmentByOrderId Query
        getOrderByProductIdForDateRange Query GSI1
        getInvoiceByInvoiceId Query GSI1
        getPaymentByInvoiceId Query GSI1
        getShipmentDetailsByShipmentId Query GSI1
        getShipmentByWarehouseId Query GSI2
        getProductInventoryByWarehouseId Query GSI2
        getInvoiceByCustomerIdForDateRange Query GSI2
        getProductsByCustomerIdForDateRange Query GSI2
    """,
    "recurring_payments": """
        createSubscription PutItem
        createReceipt PutItem
        updateSubscription UpdateItem
        getDueRemindersByDate Query GSI-1
        getDuePaymentsByDate Query GSI-2
        getSubscriptionsByAccount Query
        getReceiptsByAccount Query
    """,
    "social_network": """
        getUserInfoByUserID Query
        getFollowerListByUserID Query
        getFollowingListByUserID Query
        getPostListByUserID Query
        getUserLikesByPostID Query
        getLikeCountByPostID GetItem
        getTimelineByUserID Query
    """,
}
"""By design: the guide's table of access patterns, each with its operation and index."""


@cache
def design(name: str) -> Design:
    return Design.load(str(FOLDER / f"{name}.py"))


def test_every_design_of_the_folder_is_tested() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == sorted(PATTERNS)


@pytest.mark.parametrize("name", PATTERNS)
def test_every_access_pattern_of_the_guide_is_declared_with_its_operation_and_index(name: str) -> None:
    declared = {pattern.doc.partition(":")[0]: pattern for pattern in design(name).patterns}
    for line in PATTERNS[name].strip().splitlines():
        guide_name, operation, *index = line.split()
        plan = declared[guide_name].plan
        results = [plan.index.name] if isinstance(plan, Plan) and plan.index is not None else []
        assert (plan.operation, results) == (operation, index), guide_name
        assert declared[guide_name].facts.rate is not None


@pytest.mark.parametrize("name", PATTERNS)
def test_every_finding_of_the_checker_is_suppressed_with_a_reason(name: str) -> None:
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
