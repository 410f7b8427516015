"""Compares all user records, leaderboards and ranks with the auditor's expected results after a simulated day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

import httpx

from keyplan_systems.ask_a_human.domain import timestamps
from keyplan_systems.ask_a_human.domain.boards import Period
from keyplan_systems.ask_a_human.simulation.auditor import Auditor, ExpectedRow, Person

TOP = 100


class FinalAudit:
    """Compares the state of the system, as returned by the HTTP API, with the expected results."""

    def __init__(
        self,
        client: httpx.Client,
        auditor: Auditor,
        zones: Mapping[str, str],
        now_ms: int,
        devices: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    ) -> None:
        """Create the comparison. `zones` maps each user to a time zone, and `devices` maps each user to request
        headers.
        """
        self._client, self._auditor, self._zones, self._now_ms = client, auditor, zones, now_ms
        self._devices = devices
        self._reads = 0

    def findings(self) -> Iterator[str]:
        """Yield a description of each difference between the system's state and the expected results."""
        for name, expected_person in self._auditor.people.items():
            yield from self._person(name, expected_person)
        for period in Period:
            yield from self._leaderboard(period)

    def _person(self, name: str, expected_person: Person) -> Iterator[str]:
        body = self._get("/human/stats", name)
        actual_values = {
            "points": body["total_points"],
            "answers": body["total_answers"],
            "streak": body["streak_days"],
            "badges": {badge["id"]: _ms(badge["earned_at"]) for badge in body["badges"]},
            "categories": body["answers_by_category"],
        }
        expected_values = {
            "points": expected_person.points,
            "answers": len(expected_person.history),
            "streak": self._streak(expected_person),
            "badges": expected_person.badges,
            "categories": expected_person.categories,
        }
        if actual_values != expected_values:
            yield f"{name}: expected {expected_values}, got {actual_values}"

    def _streak(self, expected_person: Person) -> int:
        """Return the streak that the system is expected to show for the user. It is 0 after a whole local day without
        an answer.
        """
        last = expected_person.history[-1]
        today = timestamps.as_datetime(self._now_ms).astimezone(ZoneInfo(last.zone)).date()
        return expected_person.streak if (today - last.local.date()).days <= 1 else 0

    def _leaderboard(self, period: Period) -> Iterator[str]:
        expected_rows = self._expected_rows(period)
        entries = self._get("/human/leaderboard", None, period=period.value, limit=TOP)["entries"]
        actual_lines = [(entry["rank"], entry["points"], entry["answers"]) for entry in entries]
        expected_lines = [(rank, row.points, row.answers) for rank, row in enumerate(expected_rows[:TOP], start=1)]
        if actual_lines != expected_lines:
            yield f"{period.value} leaderboard: expected {expected_lines}, got {actual_lines}"
        for rank, row in enumerate(expected_rows, start=1):
            position = self._get("/human/leaderboard", row.person, period=period.value, limit=1)["you"]
            if position != {"rank": rank, "points": row.points}:
                yield f"{row.person} on the {period.value} leaderboard: expected rank {rank}, got {position}"

    def _expected_rows(self, period: Period) -> list[ExpectedRow]:
        today: date = timestamps.utc_day(self._now_ms)
        if period is Period.DAILY:
            return self._auditor.expected_rows(today, 1)
        if period is Period.WEEKLY:
            return self._auditor.expected_rows(timestamps.week_start(today), 7)
        return self._auditor.expected_rows(today, None)

    def _get(self, path: str, person: str | None, **query: Any) -> Any:
        self._reads += 1
        headers: dict[str, str] = {}
        if person is not None:
            headers |= {**self._devices.get(person, {}), "X-Timezone": self._zones.get(person, "UTC")}
        headers["X-Forwarded-For"] = f"reader-{self._reads // 200}"
        return self._client.get(path, params=query, headers=headers).raise_for_status().json()


def _ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
