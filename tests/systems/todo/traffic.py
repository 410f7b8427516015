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
_AGAIN = (409, 503)
_STATUSES = ("pending", "in_progress", "completed", "cancelled")


@dataclass
class Traffic:
    """Requests of one thread."""

    callers: list[Caller]
    auditor: Auditor
    chance: random.Random
    doubled: ThreadPoolExecutor | None
    """Sends every write a second time with the same key, concurrently."""

    def run(self, until: Callable[[], bool]) -> None:
        """Send requests until the end."""
        acts: list[tuple[Callable[[Caller], None], int]] = [
            (self.create, 30), (self.change, 40), (self.delete, 8), (self.bulk, 6), (self.clear, 1), (self.look, 15)
        ]  # fmt: skip
        while not until():
            (act,) = self.chance.choices([act for act, _ in acts], [weight for _, weight in acts])
            act(self.chance.choice(self.callers))

    def create(self, caller: Caller) -> None:
        """Create a task with a unique title."""
        key = new_key()
        body = {**self._fields(), "title": f"made by {key}"}
        response = self._send(lambda: caller.post("/tasks", body, key))
        if self._is(response, 201):
            self.auditor.created(caller.name, response.json())

    def change(self, caller: Caller) -> None:
        """Change some fields of a task."""
        task_id, key = self._pick(caller), new_key()
        fields = self._fields()
        if task_id is None or not fields:
            return
        response = self._send(lambda: caller.put(f"/tasks/{task_id}", fields, key))
        if self._is(response, 200, 404):
            self.auditor.changed(fields, response.json())

    def delete(self, caller: Caller) -> None:
        """Delete a task."""
        task_id, key = self._pick(caller), new_key()
        if task_id is not None and self._is(self._send(lambda: caller.delete(f"/tasks/{task_id}", key)), 204, 404):
            self.auditor.deleted(task_id)

    def bulk(self, caller: Caller) -> None:
        """Set a status for some tasks."""
        task_ids, key = self.auditor.task_ids_of(caller.name), new_key()
        if not task_ids:
            return
        status = self.chance.choice(_STATUSES)
        body = {"task_ids": self.chance.sample(task_ids, min(3, len(task_ids))), "status": status}
        response = self._send(lambda: caller.post("/tasks/bulk/status", body, key))
        if self._is(response, 200):
            self.auditor.record_results(response.json()["results"], status)

    def clear(self, caller: Caller) -> None:
        """Delete completed tasks."""
        key = new_key()
        response = self._send(lambda: caller.post("/tasks/bulk/delete-completed", key=key))
        if self._is(response, 200):
            self.auditor.record_results(response.json()["results"], "")

    def look(self, caller: Caller) -> None:
        """Read; a known task that nobody deletes must exist."""
        query = self.chance.choice([{}, {"status": "pending"}, {"order": "urgency"}, {"due_to": "2025-12-15"}])
        self._is(self._send(lambda: caller.get("/tasks", limit=10, **query), once=True), 200)
        task_id = self._pick(caller)
        if task_id is not None:
            self._is(self._send(lambda: caller.get(f"/tasks/{task_id}"), once=True), 200, 404)

    def _pick(self, caller: Caller) -> str | None:
        task_ids = self.auditor.task_ids_of(caller.name)
        return self.chance.choice(task_ids[-30:]) if task_ids else None

    def _fields(self) -> dict[str, Any]:
        choice = self.chance.choice
        every = {
            "title": f"t{self.chance.random()}",
            "status": choice(_STATUSES),
            "priority": choice([None, "low", "high", "urgent"]),
            "category": choice([None, "home", "work"]),
            "due_date": choice([None, "2025-12-01", "2025-12-24"]),
        }
        return {name: value for name, value in every.items() if self.chance.random() < 0.4}

    def _send(self, send: Callable[[], httpx.Response], *, once: bool = False) -> httpx.Response:
        if self.doubled is None or once:
            return self._patiently(send)
        other = self.doubled.submit(self._patiently, send)
        response, again = self._patiently(send), other.result()
        if (response.status_code, response.content) != (again.status_code, again.content) and response.is_success:
            self.auditor.complaints.append(f"two answers to one request: {response.text} and {again.text}")
        if again.is_success and not response.is_success:
            self.auditor.complaints.append(f"one request refused and done: {response.text} and {again.text}")
        return response

    def _patiently(self, send: Callable[[], httpx.Response]) -> httpx.Response:
        for _ in range(PATIENCE):
            response = send()
            self.auditor.answers[f"{response.request.method} {response.status_code}"] += 1
            if response.status_code not in _AGAIN:
                break
            time.sleep(0.02)
        return response

    def _is(self, response: httpx.Response, status: int, *also: int) -> bool:
        if response.status_code not in {status, *also}:
            self.auditor.complaints.append(
                f"{response.request.method} {response.request.url}: {response.status_code} {response.text}"
            )
        return response.status_code == status
