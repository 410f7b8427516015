"""The design of the trainer with three tables: attempts with their stream, profile snapshots, and scenarios.

Names, keys and attributes are those of the published design that the system implements. It differs from the published
design in these points:

* `ActiveScenarios` cannot have a Boolean key. Its partition key is the string ACTIVE, which exists only while a
  scenario is active, and its sort key puts easy scenarios first.
* `UserAttempts` contains only submitted attempts, because an attempt has no `timestamp` before it is submitted.
  Attempts in progress are found through `UserDrafts`, and inactive attempts of all users through `OpenAttempts`.
* A snapshot's `timestamp` ends with the ID of its newest attempt, so that two attempts in the same millisecond have two
  snapshots, and the same attempts always produce the same snapshots.
* The stream contains each item before and after a change. Both are needed to detect that an attempt was completed.
* A ledger per user contains the newest scores. It is read consistently and written only if its version is unchanged.
  Therefore the profile includes all attempts that are submitted concurrently. A read from an index could miss one.
* Items of version 0.9 are upgraded when they are read (`item_versions.py`). Snapshots of that version have another key,
  so they are a separate entity until the migration has moved them.
* The index of the table with provisioned capacity has its own capacity, as DynamoDB requires.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints, model_validator
from pydantic.alias_generators import to_camel

from keyplan import (
    GSI,
    Bytes,
    Distinct,
    Entity,
    F,
    Inserted,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Modified,
    Provisioned,
    Rate,
    Table,
    Volume,
    WriteCall,
    attr,
    changed,
    each,
    every_shard,
    everything,
    item,
    key,
    pk,
    suppress,
    transaction,
)
from keyplan_systems.thinking_trainer.domain.attempts import Attempt, Status
from keyplan_systems.thinking_trainer.domain.ledger import MAX_WINDOW_ATTEMPTS, Ledger
from keyplan_systems.thinking_trainer.domain.profiles import Profile
from keyplan_systems.thinking_trainer.domain.records import Instant
from keyplan_systems.thinking_trainer.domain.scenarios import Difficulty, Scenario
from keyplan_systems.thinking_trainer.domain.versions import Kind, read
from keyplan_systems.thinking_trainer.examples import ATTEMPTS, SCENARIOS
from keyplan_systems.thinking_trainer.item_versions import upgrade_values

USERS, ATTEMPTS_A_MONTH = 1_000, 10_000
MIGRATION = Rate(average=0)
"""Load of the access patterns that only the migration uses. It is 0, because the migration runs once and does not count
toward the monthly load.
"""

attempts = Table(
    "Attempts",
    pk="attemptId",
    indexes=[
        GSI("UserAttempts", pk="userId", sk="timestamp"),
        GSI("UserDrafts", pk="draftOf", sk="touchedAt"),
        GSI("OpenAttempts", pk="openKey", sk="touchedAt"),
    ],
    stream="NEW_AND_OLD_IMAGES",
    point_in_time_recovery=True,
    deletion_protection=True,
)


@attempts.entity(
    key=key(attr("attempt_id")),
    indexes={
        "UserAttempts": key(attr("user_id"), attr("timestamp")),
        "UserDrafts": key(attr("user_id"), attr("touched_at"), only_if=F.status == Status.IN_PROGRESS),
        "OpenAttempts": key("OPEN#{attempt_id:shard(4)}", attr("touched_at"), only_if=F.status == Status.IN_PROGRESS),
    },
    version="version",
    volume=Volume(
        count=120_000,
        bytes=Bytes(8_000, p99=40_000),
        distinct={
            "user_id": Distinct(USERS, hottest=0.01),
            "status": {Status.COMPLETED: 0.95, Status.IN_PROGRESS: 0.01, Status.ABANDONED: 0.04},
        },
        present={"timestamp": 0.95},
    ),
    name="Attempt",
)
class StoredAttempt(Attempt, Entity):
    """An attempt as it is stored in the table."""

    model_config = ConfigDict(json_schema_extra={"examples": ATTEMPTS})

    noted_at: Instant | None = None
    """Time at which the attempt was included in the user's profile, or None if it has not been included yet."""
    version: int = 0

    @model_validator(mode="before")
    @classmethod
    def _upgrade_stored(cls, values: Any) -> Any:
        return upgrade_values(Kind.ATTEMPT, values)


@attempts.entity(
    key=key("LEDGER#{user_id}"),
    version="version",
    volume=Volume(count=USERS, bytes=Bytes(5_500, p99=7_000), distinct={"user_id": USERS}),
    name="Ledger",
)
class StoredLedger(Ledger, Entity):
    """The newest scores of a user, and the total number of the user's completed attempts, in one small item."""

    version: int = 0


@attempts.create(StoredAttempt, rate=Rate.monthly(ATTEMPTS_A_MONTH))
def start_attempt(attempt: StoredAttempt) -> ItemWrite:
    """Store a new attempt."""
    return item(attempt)


@attempts.replace(StoredAttempt, rate=Rate.monthly(3 * ATTEMPTS_A_MONTH))
def write_attempt(attempt: StoredAttempt) -> ItemWrite:
    """Store a saved, resumed, submitted or abandoned attempt, if the stored attempt is unchanged since it was read."""
    return item(attempt)


@attempts.get(StoredAttempt, consistent=True, rate=Rate.monthly(4 * ATTEMPTS_A_MONTH))
def attempt_by_id(attempt_id: str) -> ItemKey:
    """Read an attempt by its ID."""
    return item(attempt_id=attempt_id)


@attempts.query(
    StoredAttempt, index="UserAttempts", descending=True, expected_items=20, limit=20, rate=Rate.monthly(20_000)
)
def submitted_attempts(user_id: str) -> KeyCondition:
    """Read a user's submitted attempts, newest first.

    In version 0.9, the index also contained unsubmitted attempts.
    """
    return pk(user_id=user_id).filter(F.status == Status.COMPLETED)


@attempts.query(
    StoredAttempt, index="UserDrafts", descending=True, expected_items=1, limit=20, rate=Rate.monthly(20_000)
)
def open_attempts(user_id: str) -> KeyCondition:
    """Read a user's attempts in progress, most recently changed first."""
    return pk(user_id=user_id)


@attempts.query(StoredAttempt, index="OpenAttempts", expected_items=10, rate=Rate(average=0.02))
def inactive_attempts(touched_before: Instant) -> KeyCondition:
    """Read the attempts in progress, across all users, that have not changed since `touched_before`."""
    return pk(attempt_id=every_shard()).sk.lte(touched_at=touched_before)


@attempts.scan(StoredAttempt, page_size=100, rate=MIGRATION)
def attempts_of_0_9() -> KeyCondition:
    """Read attempts in the form of version 0.9, for the migration."""
    return everything().filter(F.schema_version.missing())


@attempts.get(StoredLedger, consistent=True, rate=Rate.monthly(ATTEMPTS_A_MONTH))
def ledger_of(user_id: str) -> ItemKey:
    """Read a user's ledger."""
    return item(user_id=user_id)


@attempts.create(StoredLedger)
def begin_ledger(ledger: StoredLedger) -> ItemWrite:
    """Create a user's ledger with the user's first submitted attempt."""
    return item(ledger)


@attempts.replace(StoredLedger, rate=Rate.monthly(ATTEMPTS_A_MONTH))
def write_ledger(ledger: StoredLedger) -> ItemWrite:
    """Add a submitted attempt to the ledger if the ledger is unchanged since it was read."""
    return item(ledger)


@attempts.update(StoredAttempt)
def note_attempt(attempt_id: str, at: Instant) -> ItemWrite:
    """Mark an attempt as included in its user's profile, if it is not marked yet."""
    return item(attempt_id=attempt_id).set(noted_at=at).condition(F.noted_at.missing())


@attempts.on_change(
    StoredAttempt,
    filter=changed("status", Status.COMPLETED),
    retries=5,
    on_failure="unprofiled",
    idempotent=True,
)
def follow(change: Inserted[StoredAttempt] | Modified[StoredAttempt]) -> None:
    """Update the profile of a user after an attempt was completed. The application provides the handler."""
    raise NotImplementedError(f"no handler is registered for attempt {change.new.attempt_id}")


# Profiles.

profiles = Table("Profiles", pk="userId", sk="timestamp", point_in_time_recovery=True, deletion_protection=True)


@profiles.entity(
    key=key(attr("user_id"), "{timestamp:utc_ms}#{source_attempt_id}"),
    volume=Volume(count=120_000, bytes=Bytes(1_800, p99=2_500), distinct={"user_id": Distinct(USERS, hottest=0.01)}),
    name="Profile",
    store_key_fields=False,
)
class StoredProfile(Profile, Entity):
    """A stored profile snapshot. Its key consists of the user and the newest attempt in the snapshot."""


@profiles.entity(
    key=key(attr("user_id"), attr("timestamp")),
    volume=Volume(count=1, bytes=Bytes(2_500)),
    name="UnversionedProfile",
)
class UnversionedProfile(Entity):
    """A profile snapshot of version 0.9. Its sort key is a time with or without milliseconds, and its statistics are
    unreliable.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    user_id: str
    timestamp: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{3})?Z$")]
    attempt_count: int
    dimensions: list[dict[str, Any]]
    overall_average: Decimal

    def to_current(self) -> Profile:
        """Return the snapshot in the current form, with recomputed statistics. Raises ItemUnreadable if it cannot be
        upgraded.
        """
        return read(Profile, Kind.PROFILE, self.model_dump(by_alias=True))


@profiles.query(
    StoredProfile,
    UnversionedProfile,
    descending=True,
    limit=1,
    consistent=True,
    rate=Rate.monthly(30_000),
    expected_items=1,
)
def latest_profile(user_id: str) -> KeyCondition:
    """Read a user's latest profile."""
    return pk(user_id=user_id)


@profiles.query(
    StoredProfile, UnversionedProfile, descending=True, limit=20, rate=Rate.monthly(10_000), expected_items=20
)
def profile_history(user_id: str) -> KeyCondition:
    """Read a user's profiles, newest first."""
    return pk(user_id=user_id)


@profiles.put(StoredProfile, rate=Rate.monthly(ATTEMPTS_A_MONTH))
def write_profile(profile: StoredProfile) -> ItemWrite:
    """Store a profile snapshot, replacing any existing snapshot with the same key."""
    return item(profile)


@profiles.scan(UnversionedProfile, page_size=100, rate=MIGRATION)
def profiles_of_0_9() -> KeyCondition:
    """Read profile snapshots of version 0.9, for the migration."""
    return everything()


@profiles.create(StoredProfile, rate=MIGRATION)
def rekey_profile(profile: StoredProfile) -> ItemWrite:
    """Store a profile snapshot of version 0.9 under its current key."""
    return item(profile)


@profiles.delete(UnversionedProfile, rate=MIGRATION)
def drop_unversioned(user_id: str, timestamp: str) -> ItemWrite:
    """Delete a profile snapshot of version 0.9 from its former key."""
    return item(user_id=user_id, timestamp=timestamp)


@transaction(rate=MIGRATION)
def upgrade_profile(
    user_id: str, timestamp: str, profile: StoredProfile
) -> list[WriteCall[UnversionedProfile | None] | WriteCall[StoredProfile]]:
    """Move a profile snapshot of version 0.9 to its current key and form."""
    return [drop_unversioned(user_id, timestamp), rekey_profile(profile)]


Snapshots = Annotated[list[StoredProfile], Field(max_length=MAX_WINDOW_ATTEMPTS)]


@transaction(rate=Rate.monthly(USERS), expected_items=1)
def begin_profile(
    attempt_id: str, at: Instant, ledger: StoredLedger, snapshots: Snapshots
) -> list[WriteCall[StoredAttempt] | WriteCall[StoredLedger] | WriteCall[StoredProfile]]:
    """Create a user's profile from the first submitted attempt.

    The transaction marks the attempt as included, and stores the ledger and the snapshot.
    """
    return [note_attempt(attempt_id, at), begin_ledger(ledger), write_profile(each(snapshots))]


@transaction(rate=Rate.monthly(ATTEMPTS_A_MONTH), expected_items=1)
def extend_profile(
    attempt_id: str, at: Instant, ledger: StoredLedger, snapshots: Snapshots
) -> list[WriteCall[StoredAttempt] | WriteCall[StoredLedger] | WriteCall[StoredProfile]]:
    """Add another submitted attempt to a user's profile.

    The transaction marks the attempt as included, updates the ledger, and stores every changed snapshot.
    """
    return [note_attempt(attempt_id, at), write_ledger(ledger), write_profile(each(snapshots))]


# Scenarios.

scenarios = Table(
    "Scenarios",
    pk="scenarioId",
    billing=Provisioned(read=5, write=1),
    indexes=[GSI("ActiveScenarios", pk="activeKey", sk="difficultyKey", billing=Provisioned(read=10, write=5))],
)


@scenarios.entity(
    key=key(attr("scenario_id")),
    indexes={
        "ActiveScenarios": key(
            "ACTIVE",
            "{difficulty:rank(beginner,intermediate,advanced)}#{difficulty}",
            only_if=F.active == True,  # noqa: E712
        )
    },
    volume=Volume(
        count=20,
        bytes=Bytes(4_000, p99=6_000),
        distinct={
            "scenario_id": 20,
            "active": {True: 0.9, False: 0.1},
            "difficulty": {Difficulty.BEGINNER: 0.35, Difficulty.INTERMEDIATE: 0.35, Difficulty.ADVANCED: 0.3},
        },
    ),
    name="Scenario",
)
class StoredScenario(Scenario, Entity):
    """A scenario as it is stored in the table."""

    model_config = ConfigDict(json_schema_extra={"examples": SCENARIOS})

    @model_validator(mode="before")
    @classmethod
    def _upgrade_stored(cls, values: Any) -> Any:
        return upgrade_values(Kind.SCENARIO, values)


@scenarios.create(StoredScenario, rate=Rate.monthly(20))
def add_scenario(scenario: StoredScenario) -> ItemWrite:
    """Store a new scenario."""
    return item(scenario)


@scenarios.get(StoredScenario, rate=Rate.monthly(2 * ATTEMPTS_A_MONTH))
def scenario_by_id(scenario_id: str) -> ItemKey:
    """Read a scenario by its ID."""
    return item(scenario_id=scenario_id)


@scenarios.query(StoredScenario, index="ActiveScenarios", rate=Rate.monthly(20_000), expected_items=18)
def active_scenarios() -> KeyCondition:
    """Read active scenarios, easiest first."""
    return pk()


@scenarios.query(StoredScenario, index="ActiveScenarios", rate=Rate.monthly(5_000), expected_items=6)
def scenarios_of_difficulty(difficulty: Difficulty) -> KeyCondition:
    """Read active scenarios of one difficulty."""
    return pk().sk(difficulty=difficulty)


@scenarios.scan(StoredScenario, page_size=5, rate=MIGRATION)
def scenarios_of_0_9() -> KeyCondition:
    """Read scenarios in the form of version 0.9, for the migration."""
    return everything().filter(F.schema_version.missing())


@scenarios.replace(StoredScenario, rate=MIGRATION)
def upgrade_scenario(scenario: StoredScenario) -> ItemWrite:
    """Replace a scenario of version 0.9 with its current form, unless it was upgraded or deactivated concurrently."""
    return item(scenario).condition(F.schema_version.missing() & (F.active == scenario.active))


@scenarios.update(StoredScenario, rate=Rate.monthly(10))
def set_active(scenario_id: str, active: bool, difficulty: Difficulty) -> ItemWrite:
    """Activate or deactivate a scenario."""
    return item(scenario_id=scenario_id).set(active=active).assuming(difficulty=difficulty)


suppressed = [
    suppress(
        "KP207",
        on="UnversionedProfile",
        reason="the migration rewrites these items; until then, the order can be wrong within one second",
    ),
    suppress(
        "KP210", on="Profile", reason="a snapshot's key contains a #, while a key of version 0.9 is only a timestamp"
    ),
    suppress(
        "KP210",
        on="UnversionedProfile",
        reason="a snapshot's key contains a #, while a key of version 0.9 is only a timestamp",
    ),
]
