"""Stream records of the to-do table, generated in the service's form without a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Record = dict[str, Any]
Item = dict[str, Any]

NOON_S = 1_763_640_000
"""2025-11-20 12:00 UTC."""

SERVICE = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}


class History:
    """Consecutive changes of a to-do table, with rising sequence numbers."""

    def __init__(self, now_s: float = NOON_S, stream: str = "", first: int = 10**20) -> None:
        self.now_s = now_s
        self.items: dict[tuple[str, str], Item] = {}
        self._number = first
        self._stream = stream

    def put_user(self, user_id: str, **attributes: Any) -> Record:
        """Return the record of a created or changed user."""
        return self.put(
            f"USER#{user_id}", "METADATA", {"email": f"{user_id}@example.org", "name": user_id, **attributes}
        )

    def put_task(self, user_id: str, task_id: str, **attributes: Any) -> Record:
        """Return the record of a created or changed task."""
        values = {"title": f"task {task_id}", "status": "pending", "created_at": int(self.now_s), **attributes}
        return self.put(f"TASK#{user_id}", f"TASK#{task_id}", values)

    def put(self, pk: str, sk: str, attributes: Mapping[str, Any]) -> Record:
        """Return the record of a created or changed item."""
        old = self.items.get((pk, sk))
        new = key(pk, sk) | {name: wire(value) for name, value in attributes.items()}
        self.items[pk, sk] = new
        return self._record("INSERT" if old is None else "MODIFY", pk, sk, new, old)

    def delete_user(self, user_id: str) -> Record:
        """Return the record of a deleted user."""
        return self.delete(f"USER#{user_id}", "METADATA")

    def delete_task(self, user_id: str, task_id: str) -> Record:
        """Return the record of a deleted task."""
        return self.delete(f"TASK#{user_id}", f"TASK#{task_id}")

    def expire_task(self, user_id: str, task_id: str) -> Record:
        """Return the record of a task deleted by time to live."""
        return self.delete_task(user_id, task_id) | {"userIdentity": SERVICE}

    def delete(self, pk: str, sk: str) -> Record:
        """Return the record of a deleted item."""
        return self._record("REMOVE", pk, sk, None, self.items.pop((pk, sk)))

    def _record(self, name: str, pk: str, sk: str, new: Item | None, old: Item | None) -> Record:
        self._number += 1
        body: dict[str, Any] = {
            "ApproximateCreationDateTime": self.now_s,
            "Keys": key(pk, sk),
            "SequenceNumber": str(self._number),
            "SizeBytes": 100,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        }
        images = {"NewImage": new, "OldImage": old}
        body |= {member: image for member, image in images.items() if image is not None}
        record = {"eventID": f"{self._number:032x}", "eventName": name, "dynamodb": body}
        return record | ({"eventSourceARN": f"table/x/stream/{self._stream}"} if self._stream else {})


def key(pk: str, sk: str) -> Item:
    """Return both key attributes."""
    return {"PK": {"S": pk}, "SK": {"S": sk}}


def wire(value: Any) -> dict[str, Any]:
    """Return an attribute value; an existing attribute value stays unchanged."""
    if isinstance(value, dict):
        return value
    return {"S": value} if isinstance(value, str) else {"N": str(value)}
