"""Monthly cost of the trainer, from the declared load."""

from __future__ import annotations

from pathlib import Path

from keyplan.cost.estimate import Estimate, TableCost, estimate
from keyplan.cost.prices import book
from keyplan.design.declaring.design import Design
from keyplan.export.markdown import rows

AS_WRITTEN = Path(__file__).parents[3] / "examples" / "as_written" / "thinking_trainer.py"


def design() -> Design:
    """Return the trainer's design."""
    return Design.load("keyplan_systems.thinking_trainer.design")


def monthly_estimate(cost_design: Design | None = None) -> Estimate:
    """Return the estimate that `keyplan price` prints."""
    return estimate(cost_design or design(), book("us-east-1"))


def table_of(monthly: Estimate, name: str) -> TableCost:
    """Return the monthly cost of a table."""
    return next(table for table in monthly.tables if table.name == name)


def lines_of(monthly: Estimate) -> dict[str, float]:
    """Return dollars per month by part; their sum is the monthly cost."""
    attempts, profiles, scenarios = (table_of(monthly, name) for name in ("Attempts", "Profiles", "Scenarios"))
    table_part, *indexes = attempts.parts
    return {
        "Attempts: reads and writes of the table, including ledgers and marks": table_part.on_demand,
        "Attempts: the three indexes": sum(part.on_demand for part in indexes),
        "Profiles: reads and writes of snapshots": profiles.requests,
        "Scenarios: provisioned capacity of the table (5 RCU, 1 WCU)": scenarios.parts[0].provisioned,
        "Scenarios: provisioned capacity of the index (10 RCU, 5 WCU)": scenarios.parts[1].provisioned,
        "Storage of the attempts and snapshots of a year, minus the free 25 GB of the account": sum(
            table.storage for table in monthly.tables
        )
        - monthly.free_storage,
        "Point-in-time recovery of Attempts and Profiles": sum(table.point_in_time for table in monthly.tables),
    }


def table() -> str:
    """Return the monthly cost as Markdown."""
    result = monthly_estimate()
    lines = [[name, f"{abs(round(dollars, 2)):.2f}"] for name, dollars in lines_of(result).items()]
    return rows(["Part", "$ per month"], [*lines, ["Total", f"{result.total:.2f}"]]) + "\n"
