"""Random requests of one thread of an audit; the auditor records acknowledged results."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx
from tests.systems.todo.auditor import Auditor
from tests.systems.todo.stage import Caller, new_key

PATIENCE = 40
"""Number of retries while the tables are busy, or the same items change concurrently."""
_RETRIED_STATUSES = (409, 503)
_STATUSES = ("pending", "in_progress", "completed", "cancelled")


@dataclass
class Traffic:
    """Requests of one thread."""

    callers: list[Caller]
    auditor: Auditor
    generator: random.Random
    duplicates: ThreadPoolExecutor | None
    """Sends every write a second time with the same key, concurrently."""

    def run(self, until: Callable[[], bool]) -> None:
        """Send requests until the end."""
        weighted_operations: list[tuple[Callable[[Caller], None], int]] = [
            (self.create, 30), (self.change, 40), (self.delete, 8), (self.bulk, 6),
            (self.delete_completed, 1), (self.read, 15)
        ]  # fmt: skip
        while not until():
            (operation,) = self.generator.choices(
                [operation for operation, _ in weighted_operations], [weight for _, weight in weighted_operations]
            )
            operation(self.generator.choice(self.callers))

    def create(self, caller: Caller) -> None:
        """Create a task with a unique title."""
        key = new_key()
        body = {**self._fields(), "title": f"made by {key}"}
        response = self._send(lambda: caller.post("/tasks", body, key))
        if self._check_status(response, 201):
            self.auditor.record_created(caller.name, response.json())

    def change(self, caller: Caller) -> None:
        """Change some fields of a task."""
        task_id, key = self._pick(caller), new_key()
        fields = self._fields()
        if task_id is None or not fields:
            return
        response = self._send(lambda: caller.put(f"/tasks/{task_id}", fields, key))
        if self._check_status(response, 200, 404):
            self.auditor.record_changed(fields, response.json())

    def delete(self, caller: Caller) -> None:
        """Delete a task."""
        task_id, key = self._pick(caller), new_key()
        if task_id is not None and self._check_status(
            self._send(lambda: caller.delete(f"/tasks/{task_id}", key)), 204, 404
        ):
            self.auditor.record_deleted(task_id)

    def bulk(self, caller: Caller) -> None:
        """Set a status for some tasks."""
        task_ids, key = self.auditor.task_ids_of(caller.name), new_key()
        if not task_ids:
            return
        status = self.generator.choice(_STATUSES)
        body = {"task_ids": self.generator.sample(task_ids, min(3, len(task_ids))), "status": status}
        response = self._send(lambda: caller.post("/tasks/bulk/status", body, key))
        if self._check_status(response, 200):
            self.auditor.record_results(response.json()["results"], status)

    def delete_completed(self, caller: Caller) -> None:
        """Delete completed tasks."""
        key = new_key()
        response = self._send(lambda: caller.post("/tasks/bulk/delete-completed", key=key))
        if self._check_status(response, 200):
            self.auditor.record_results(response.json()["results"], "")

    def read(self, caller: Caller) -> None:
        """Read; a known task that nobody deletes must exist."""
        query = self.generator.choice([{}, {"status": "pending"}, {"order": "urgency"}, {"due_to": "2025-12-15"}])
        self._check_status(self._send(lambda: caller.get("/tasks", limit=10, **query), is_single=True), 200)
        task_id = self._pick(caller)
        if task_id is not None:
            self._check_status(self._send(lambda: caller.get(f"/tasks/{task_id}"), is_single=True), 200, 404)

    def _pick(self, caller: Caller) -> str | None:
        task_ids = self.auditor.task_ids_of(caller.name)
        return self.generator.choice(task_ids[-30:]) if task_ids else None

    def _fields(self) -> dict[str, Any]:
        choice = self.generator.choice
        values = {
            "title": f"t{self.generator.random()}",
            "status": choice(_STATUSES),
            "priority": choice([None, "low", "high", "urgent"]),
            "category": choice([None, "home", "work"]),
            "due_date": choice([None, "2025-12-01", "2025-12-24"]),
        }
        return {name: value for name, value in values.items() if self.generator.random() < 0.4}

    def _send(self, send: Callable[[], httpx.Response], *, is_single: bool = False) -> httpx.Response:
        if self.duplicates is None or is_single:
            return self._send_with_retries(send)
        duplicate = self.duplicates.submit(self._send_with_retries, send)
        response, second_response = self._send_with_retries(send), duplicate.result()
        if (response.status_code, response.content) != (
            second_response.status_code,
            second_response.content,
        ) and response.is_success:
            self.auditor.complaints.append(f"two answers to one request: {response.text} and {second_response.text}")
        if second_response.is_success and not response.is_success:
            self.auditor.complaints.append(f"one request refused and done: {response.text} and {second_response.text}")
        return response

    def _send_with_retries(self, send: Callable[[], httpx.Response]) -> httpx.Response:
        for _ in range(PATIENCE):
            response = send()
            self.auditor.answers[f"{response.request.method} {response.status_code}"] += 1
            if response.status_code not in _RETRIED_STATUSES:
                break
            time.sleep(0.02)
        return response

    def _check_status(self, response: httpx.Response, status: int, *accepted: int) -> bool:
        if response.status_code not in {status, *accepted}:
            self.auditor.complaints.append(
                f"{response.request.method} {response.request.url}: {response.status_code} {response.text}"
            )
        return response.status_code == status
