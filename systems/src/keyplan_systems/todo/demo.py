"""To-do part of the demo: a task created once by two equal requests, completed, and counted in the lake."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, timedelta
from typing import Any

from keyplan_systems.web.system import DemoStage, json_of


def play(stage: DemoStage) -> None:
    """Play the part. Raises httpx.HTTPError if the system refuses."""
    with stage.client("demo-ada", email="demo-ada@example.org", name="Ada") as ada:
        wish = {"title": "Hang the lamp", "priority": "high", "due_date": _tomorrow().isoformat()}
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        first, second = (json_of(ada.post("/api/v1/tasks", json=wish, headers=headers)) for _ in range(2))
        stage.say(f"ada asks twice for one task, and gets one: {first['task_id'] == second['task_id']}")
        key = {"Idempotency-Key": uuid.uuid4().hex}
        done = json_of(ada.put(f"/api/v1/tasks/{first['task_id']}", json={"status": "completed"}, headers=key))
        stage.say(f"she hangs it: {done['title']} is {done['status']}")
        counts = json_of(ada.get("/api/v1/tasks/counts"))
        stage.say(f"her tasks by status: {_counted(counts)}")
    with stage.client("demo-bob", email="demo-bob@example.org") as bob:
        response = bob.get(f"/api/v1/tasks/{first['task_id']}")
        stage.say(f"bob does not see it: {response.status_code}")
    if stage.folder is not None:
        stage.say(f"the lake has every change: keyplan lake todo report kpis --lake {stage.folder / 'todo' / 'lake'}")


def _tomorrow() -> date:
    return datetime.now(UTC).date() + timedelta(days=1)


def _counted(counts: dict[str, Any]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts["status"].items() if count)
