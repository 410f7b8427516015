"""Migration of stored items to the current version, page by page. It can be interrupted and repeated.

Each step is idempotent and ignores items in the current form. The position is stored after every page, only to avoid
reading earlier pages again. In each step, the old form is removed last: an attempt is upgraded only after it was
included in its user's profile, and a snapshot is deleted from its former key in the transaction that writes it to the
new key.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keyplan import Page
from keyplan.client.connection import Connection
from keyplan.client.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    NotFoundError,
    TransactionFailedError,
    VersionConflictError,
)
from keyplan.clock import Clock
from keyplan.design.declaring.patterns import Call
from keyplan_systems.thinking_trainer import design
from keyplan_systems.thinking_trainer.design import StoredAttempt, StoredProfile, StoredScenario, UnversionedProfile
from keyplan_systems.thinking_trainer.domain.attempts import Status
from keyplan_systems.thinking_trainer.domain.errors import ItemUnreadable, TrainerError
from keyplan_systems.thinking_trainer.domain.profiles import Profile
from keyplan_systems.thinking_trainer.domain.records import values_of
from keyplan_systems.thinking_trainer.profile_consumer import ProfileConsumer

MAX_ATTEMPTS = 20


class ProgressUnreadableError(TrainerError):
    """Raised if the file that stores the position of the migration is invalid."""


class BusyItemError(TrainerError):
    """Raised if an item is changed concurrently too often. To continue, start the migration again."""


@dataclass
class Progress:
    """The position of the migration and its results so far."""

    stage: str = "scenarios"
    cursor: str | None = None
    upgraded: dict[str, int] = field(default_factory=dict)
    """Number of upgraded items by stage of the migration."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Reasons why items could not be upgraded, by item key."""
    cursor_key: str = field(default_factory=lambda: secrets.token_hex(32))
    """Key that signs cursors. It is stored, so that a later process can continue with the same cursor."""

    @classmethod
    def read(cls, path: Path) -> Progress:
        """Return the progress that is stored in a file, or the initial progress if the file does not exist. Raises
        ProgressUnreadableError if the file is invalid.
        """
        if not path.exists():
            return cls()
        try:
            return cls(**json.loads(path.read_text("utf-8")))
        except (ValueError, TypeError) as error:
            raise ProgressUnreadableError(f"{path} does not contain the position of a migration: {error}") from error

    def write(self, path: Path) -> None:
        """Write the progress to a file atomically."""
        temporary_path = path.with_name(path.name + ".new")
        with temporary_path.open("w", encoding="utf-8") as file:
            json.dump(self.__dict__, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        temporary_path.replace(path)

    @property
    def is_done(self) -> bool:
        """Whether the migration is finished."""
        return self.stage == "done"


class Migration:
    """Migration of stored items to the current version."""

    def __init__(
        self, db: Connection, clock: Clock, progress: Progress, save_progress: Callable[[Progress], None]
    ) -> None:
        """Create a migration that continues from `progress`. After every page, `save_progress` is called with the
        new progress.
        """
        self.db, self.progress, self._save_progress = db, progress, save_progress
        self._profile_consumer = ProfileConsumer(db, clock)
        self._stages: Mapping[str, tuple[Call[Page[Any]], Callable[[Any], bool]]] = {
            "scenarios": (design.scenarios_of_0_9(), self._upgrade_scenario),
            "attempts": (design.attempts_of_0_9(), self._upgrade_attempt),
            "profiles": (design.profiles_of_0_9(), self._upgrade_profile),
        }

    def run_once(self) -> bool:
        """Upgrade the next page of items. Return False after the last page.

        Raises RunError if the database fails, and BusyItemError if an item is changed concurrently too often.
        """
        if self.progress.is_done:
            return False
        query, upgrade = self._stages[self.progress.stage]
        page = self.db.run(query, cursor=self.progress.cursor)
        upgraded_count = sum(upgrade(item) for item in page.items)
        self.progress.upgraded[self.progress.stage] = (
            self.progress.upgraded.get(self.progress.stage, 0) + upgraded_count
        )
        self.progress.cursor = page.cursor
        if page.cursor is None:
            stages = [*self._stages, "done"]
            self.progress.stage = stages[stages.index(self.progress.stage) + 1]
        self._save_progress(self.progress)
        return True

    def _upgrade_scenario(self, scenario: StoredScenario) -> bool:
        current = scenario
        for _ in range(MAX_ATTEMPTS):
            try:
                self.db.run(design.upgrade_scenario(current))
            except NotFoundError:
                return False  # deleted concurrently
            except ConditionFailedError as error:
                stored_item = error.item
                if not isinstance(stored_item, StoredScenario) or stored_item.active == current.active:
                    return False  # upgraded by another process
                current = stored_item  # activated or deactivated concurrently
            else:
                return True
        raise BusyItemError(f"scenario {scenario.scenario_id} has too many concurrent writes")

    def _upgrade_attempt(self, attempt: StoredAttempt) -> bool:
        if attempt.status is Status.COMPLETED:
            self._profile_consumer.add(attempt)
        for _ in range(MAX_ATTEMPTS):
            current = self.db.run(design.attempt_by_id(attempt.attempt_id))
            if current is None:
                return False  # deleted concurrently
            try:
                self.db.run(design.write_attempt(current))
            except (VersionConflictError, NotFoundError):
                continue
            return True
        raise BusyItemError(f"attempt {attempt.attempt_id} has too many concurrent writes")

    def _upgrade_profile(self, old: UnversionedProfile) -> bool:
        key = f"profile of {old.user_id} at {old.timestamp}"
        try:
            profile = old.to_current()
        except ItemUnreadable as error:
            self.progress.skipped[key] = str(error)
            return False
        stored = StoredProfile(**values_of(Profile, profile))
        try:
            self.db.run(design.upgrade_profile(old.user_id, old.timestamp, stored))
        except TransactionFailedError as error:
            if not any(isinstance(reason, AlreadyExistsError) for reason in error.reasons):
                raise
            self.progress.skipped[key] = "another snapshot has the same timestamp"
            return False
        return True
