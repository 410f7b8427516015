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
        answer = self._send(lambda: caller.post("/tasks", body, key))
        if self._is(answer, 201):
            self.auditor.made(caller.name, answer.json())

    def change(self, caller: Caller) -> None:
        """Change some fields of a task."""
        task_id, key = self._pick(caller), new_key()
        fields = self._fields()
        if task_id is None or not fields:
            return
        answer = self._send(lambda: caller.put(f"/tasks/{task_id}", fields, key))
        if self._is(answer, 200, 404):
            self.auditor.changed(fields, answer.json())

    def delete(self, caller: Caller) -> None:
        """Delete a task."""
        task_id, key = self._pick(caller), new_key()
        if task_id is not None and self._is(self._send(lambda: caller.delete(f"/tasks/{task_id}", key)), 204, 404):
            self.auditor.deleted(task_id)

    def bulk(self, caller: Caller) -> None:
        """Set a status for some tasks."""
        known, key = self.auditor.known(caller.name), new_key()
        if not known:
            return
        status = self.chance.choice(_STATUSES)
        body = {"task_ids": self.chance.sample(known, min(3, len(known))), "status": status}
        answer = self._send(lambda: caller.post("/tasks/bulk/status", body, key))
        if self._is(answer, 200):
            self.auditor.record_results(answer.json()["results"], status)

    def clear(self, caller: Caller) -> None:
        """Delete completed tasks."""
        key = new_key()
        answer = self._send(lambda: caller.post("/tasks/bulk/delete-completed", key=key))
        if self._is(answer, 200):
            self.auditor.record_results(answer.json()["results"], "")

    def look(self, caller: Caller) -> None:
        """Read; a known task that nobody deletes must exist."""
        query = self.chance.choice([{}, {"status": "pending"}, {"order": "urgency"}, {"due_to": "2025-12-15"}])
        self._is(self._send(lambda: caller.get("/tasks", limit=10, **query), once=True), 200)
        task_id = self._pick(caller)
        if task_id is not None:
            self._is(self._send(lambda: caller.get(f"/tasks/{task_id}"), once=True), 200, 404)

    def _pick(self, caller: Caller) -> str | None:
        known = self.auditor.known(caller.name)
        return self.chance.choice(known[-30:]) if known else None

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
        answer, again = self._patiently(send), other.result()
        if (answer.status_code, answer.content) != (again.status_code, again.content) and answer.is_success:
            self.auditor.complaints.append(f"two answers to one request: {answer.text} and {again.text}")
        if again.is_success and not answer.is_success:
            self.auditor.complaints.append(f"one request refused and done: {answer.text} and {again.text}")
        return answer

    def _patiently(self, send: Callable[[], httpx.Response]) -> httpx.Response:
        for _ in range(PATIENCE):
            answer = send()
            self.auditor.answers[f"{answer.request.method} {answer.status_code}"] += 1
            if answer.status_code not in _AGAIN:
                break
            time.sleep(0.02)
        return answer

    def _is(self, answer: httpx.Response, wanted: int, *also: int) -> bool:
        if answer.status_code not in {wanted, *also}:
            self.auditor.complaints.append(
                f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}"
            )
        return answer.status_code == wanted
