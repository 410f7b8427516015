"""The to-do part of the demo. Two identical requests create one task, which is then completed and counted
in the lake.
"""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, timedelta
from typing import Any

from keyplan_systems.web.system import DemoStage, json_of
from keyplan_systems.web.tour import Tour


def play(stage: DemoStage) -> None:
    """Run the to-do part of the demo. Raises httpx.HTTPError if the system rejects a request."""
    with stage.client("ada", email="ada@example.org", name="Ada") as ada:
        fields = {"title": "Hang the lamp", "priority": "high", "due_date": _tomorrow().isoformat()}
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        first, second = (json_of(ada.post("/api/v1/tasks", json=fields, headers=headers)) for _ in range(2))
        stage.say(f"ada sends the same request twice, and one task is created: {first['task_id'] == second['task_id']}")
        key = {"Idempotency-Key": uuid.uuid4().hex}
        completed = json_of(ada.put(f"/api/v1/tasks/{first['task_id']}", json={"status": "completed"}, headers=key))
        stage.say(f"she completes it: {completed['title']} is {completed['status']}")
        counts = json_of(ada.get("/api/v1/tasks/counts"))
        stage.say(f"her tasks by status: {_format_counts(counts)}")
    with stage.client("grace", email="grace@example.org") as grace:
        response = grace.get(f"/api/v1/tasks/{first['task_id']}")
        stage.say(f"grace cannot read it: {response.status_code}")
    stage.link(f"tasks/{first['task_id']}", "Ada")
    stage.link("dashboard", "Ada")
    if stage.folder is not None:
        stage.say(f"the lake has every change: keyplan lake todo report kpis --lake {stage.folder / 'todo' / 'lake'}")


def show(tour: Tour) -> None:
    """Run the to-do part of the demo in a browser: Ada adds a task, completes and reopens it, and views her
    statistics.
    """
    ada, title = tour.open("ada"), f"Hang the lamp {uuid.uuid4().hex[:4]}"
    tour.say(ada, "Ada adds a task in one line: date, priority and category are read from it")
    ada.write(ada.page.get_by_label("New task"), f"{title} tomorrow !high #home")
    ada.click(ada.page.get_by_role("button", name="Add"))
    task = ada.page.locator(".task", has_text=title)
    ada.see(task)
    tour.say(ada, "She completes it, then undoes that")
    ada.click(ada.page.get_by_role("button", name=f"Complete “{title}”"))
    ada.click(ada.page.get_by_role("button", name="Undo"))
    ada.see(task)
    tour.say(ada, "The dashboard reads the data lake, which follows each change")
    ada.click(ada.page.get_by_role("link", name="Dashboard"))


def _tomorrow() -> date:
    return datetime.now(UTC).date() + timedelta(days=1)


def _format_counts(counts: dict[str, Any]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts["status"].items() if count)
