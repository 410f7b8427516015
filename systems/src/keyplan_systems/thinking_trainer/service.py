"""The operations that users perform: beginning, saving, submitting and reading attempts, and reading scenarios and
profiles.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from keyplan import Page
from keyplan.client.connection import Connection
from keyplan.client.errors import AlreadyExistsError, NotFoundError, RunError, ThrottledError, VersionConflictError
from keyplan.clock import Clock
from keyplan_systems.thinking_trainer import design
from keyplan_systems.thinking_trainer.design import StoredAttempt, StoredScenario, UnversionedProfile
from keyplan_systems.thinking_trainer.domain import attempts
from keyplan_systems.thinking_trainer.domain.attempts import INACTIVITY_LIMIT, Attempt
from keyplan_systems.thinking_trainer.domain.errors import ItemUnreadable, TrainerError
from keyplan_systems.thinking_trainer.domain.profiles import Profile
from keyplan_systems.thinking_trainer.domain.records import instant_of, values_of
from keyplan_systems.thinking_trainer.domain.scenarios import MAX_ID_CHARACTERS, Difficulty, Scenario
from keyplan_systems.thinking_trainer.evaluation.evaluator import Evaluator, Submission
from keyplan_systems.web.rate_limits import SharedLimit
from keyplan_systems.web.request_context import omit_unreadable
from keyplan_systems.web.system import UnfinishedError

MAX_CHART_PROFILES = 200
THROTTLE_PAUSE_S = 2.0
"""Pause in seconds before a scenario is written again, if the previous write and all its retries were throttled. With
one write capacity unit, writing a scenario takes about that long.
"""
MAX_THROTTLE_PAUSES = 30


class UnknownAttemptError(TrainerError):
    """Raised if an attempt does not exist."""


class UnknownScenarioError(TrainerError):
    """Raised if a scenario does not exist or is inactive."""


class NotYoursError(TrainerError):
    """Raised if an attempt belongs to another user."""


class ConcurrentChangeError(TrainerError):
    """Raised if an attempt was changed concurrently by another request."""


def to_stored(attempt: Attempt, version: int = 0) -> StoredAttempt:
    """Convert an attempt to its stored form. `version` is the version that was read, or 0 for a new attempt."""
    return StoredAttempt(**values_of(Attempt, attempt), version=version)


@dataclass(frozen=True)
class Service:
    """The operations of the trainer for authenticated users."""

    db: Connection
    clock: Clock
    evaluator: Evaluator
    grading: SharedLimit | None = None
    """Limit on the number of graded attempts per user and period, or None if the number is not limited."""

    def _now(self) -> datetime:
        return instant_of(self.clock.now())

    # Attempts.

    def begin(self, user_id: str, scenario_id: str) -> StoredAttempt:
        """Start a new attempt at a scenario, and return it. Raises UnknownScenarioError if the scenario is unknown or
        inactive.
        """
        scenario = self.scenario(scenario_id)
        if not scenario.active:
            raise UnknownScenarioError(f"Scenario {scenario_id} is not available")
        attempt_id = attempts.new_attempt_id(self.clock.random)
        attempt = attempts.start(attempt_id, user_id, scenario.scenario_id, self._now())
        return self.db.run(design.start_attempt(to_stored(attempt)))

    def submit_at_once(self, user_id: str, scenario_id: str, texts: Mapping[str, str]) -> StoredAttempt:
        """Grade and store a new attempt, and return it. `texts` contains the answers by question ID.

        Raises UnknownScenarioError for an unknown or inactive scenario, AnswersRejected for invalid answers,
        EvaluationFailed if grading fails, and TooManyRequestsError if the limit on graded attempts is reached.
        """
        scenario = self.scenario(scenario_id)
        if not scenario.active:
            raise UnknownScenarioError(f"Scenario {scenario_id} is not available")
        attempt = attempts.start(attempts.new_attempt_id(self.clock.random), user_id, scenario_id, self._now())
        return self.db.run(design.start_attempt(to_stored(self._grade(attempt, scenario, texts))))

    def save(self, user_id: str, attempt_id: str, texts: Mapping[str, str]) -> StoredAttempt:
        """Save the answers of an attempt without submitting it. `texts` contains the answers by question ID.

        Raises AttemptClosed unless the attempt is in progress, AnswersRejected for invalid answers, and
        ConcurrentChangeError if another request changed the attempt.
        """
        attempt = self.attempt(user_id, attempt_id)
        answers = attempts.draft_answers(self.scenario(attempt.scenario_id), texts)
        return self._write(attempts.save(attempt, answers, self._now()), attempt)

    def resume(self, user_id: str, attempt_id: str) -> StoredAttempt:
        """Resume an attempt in progress. The period of 24 hours without changes, after which an attempt is abandoned,
        starts again. Raises AttemptClosed unless the attempt is in progress.
        """
        attempt = self.attempt(user_id, attempt_id)
        return self._write(attempts.resume(attempt, self._now()), attempt)

    def submit(self, user_id: str, attempt_id: str, texts: Mapping[str, str]) -> StoredAttempt:
        """Submit an attempt in progress. `texts` contains the answers by question ID. Questions that are missing in
        `texts` keep their saved answers.

        If the attempt might become inactive before grading finishes, its last-changed time is updated first, so that
        the sweeper does not mark it as abandoned. Raises AttemptClosed if the attempt is not in progress,
        ConcurrentChangeError if another request changed the attempt, and any error that `attempt` or `submit_at_once`
        raises.
        """
        attempt = self.attempt(user_id, attempt_id)
        saved = {answer.question_id: answer.answer for answer in attempt.answers}
        scenario = self.scenario(attempt.scenario_id)
        merged = {**saved, **texts}
        if attempts.would_become_inactive(attempt, self._now()):
            attempts.final_answers(scenario, merged)  # rejected answers change nothing
            attempt = self._write(attempts.resume(attempt, self._now()), attempt)
        return self._write(self._grade(attempt, scenario, merged), attempt)

    def abandon(self, user_id: str, attempt_id: str) -> StoredAttempt:
        """Set the status of an attempt to `abandoned`. It can then no longer be changed or submitted. Raises
        AttemptClosed unless the attempt is in progress.
        """
        attempt = self.attempt(user_id, attempt_id)
        return self._write(attempts.abandon(attempt, self._now()), attempt)

    def attempt(self, user_id: str, attempt_id: str) -> StoredAttempt:
        """Return an attempt of the user. Raises UnknownAttemptError if it does not exist, and NotYoursError if it
        belongs to another user.
        """
        # Text in another format may be the key of another item in the table.
        stored_attempt = self.db.run(design.attempt_by_id(attempt_id)) if attempts.is_attempt_id(attempt_id) else None
        if stored_attempt is None:
            raise UnknownAttemptError(f"Unknown attempt {attempt_id}")
        if stored_attempt.user_id != user_id:
            raise NotYoursError(f"Attempt {attempt_id} belongs to another user")
        return stored_attempt

    def submitted_attempts(self, user_id: str, limit: int, cursor: str | None) -> Page[StoredAttempt]:
        """Return a user's submitted attempts, newest first. Raises CursorError for an invalid cursor."""
        return self.db.run(design.submitted_attempts(user_id), limit=limit, cursor=cursor, unreadable=omit_unreadable)

    def attempts_in_progress(self, user_id: str, limit: int, cursor: str | None) -> Page[StoredAttempt]:
        """Return a user's attempts in progress, most recently changed first. Raises CursorError for an
        invalid cursor.
        """
        return self.db.run(design.open_attempts(user_id), limit=limit, cursor=cursor, unreadable=omit_unreadable)

    def _grade(self, attempt: Attempt, scenario: Scenario, texts: Mapping[str, str]) -> Attempt:
        """Return the completed attempt with the answers in `texts` and their evaluation.

        The attempt counts toward the limit on graded attempts even if the evaluator fails, because grading by a model
        costs money.
        """
        attempts.require_open(attempt, "submitted")
        answers, submitted = attempts.final_answers(scenario, texts), self._now()
        if self.grading is not None:
            self.grading.take(attempt.user_id)
        assessment = self.evaluator.evaluate(Submission(scenario, answers))
        return attempts.submit(attempt, answers, assessment, submitted, evaluated_at=self._now())

    def _write(self, changed: Attempt, read: StoredAttempt) -> StoredAttempt:
        try:
            return self.db.run(design.write_attempt(to_stored(changed, read.version)))
        except (VersionConflictError, NotFoundError) as error:
            raise ConcurrentChangeError(f"Attempt {read.attempt_id} was changed by another request") from error

    def abandon_inactive(self) -> int:
        """Set the status of all attempts that have not changed for 24 hours to `abandoned`, and return the number of
        these attempts.

        If an attempt is unreadable or cannot be abandoned, the other attempts are still abandoned, and an
        UnfinishedError with all errors is raised at the end. The next call tries the failed attempts again.
        """
        abandoned, failures = 0, list[RunError]()
        inactive = self.db.iterate(design.inactive_attempts(self._now() - INACTIVITY_LIMIT), unreadable=failures.append)
        for attempt in list(inactive):
            try:
                abandoned += self._abandon_if_inactive(attempt.attempt_id)
            except RunError as error:
                failures.append(error)
        if failures:
            raise UnfinishedError.from_errors(failures, abandoned)
        return abandoned

    def _abandon_if_inactive(self, attempt_id: str) -> bool:
        current = self.db.run(design.attempt_by_id(attempt_id))
        if current is None or not attempts.is_inactive(current, self._now()):
            return False  # the index does not contain the user's last request yet
        try:
            self._write(attempts.abandon(current, self._now()), current)
        except ConcurrentChangeError:
            return False  # the user resumed the attempt concurrently
        return True

    # Scenarios.

    def scenario(self, scenario_id: str) -> StoredScenario:
        """Return a scenario. Raises UnknownScenarioError if it does not exist."""
        is_id = 0 < len(scenario_id) <= MAX_ID_CHARACTERS
        scenario = self.db.run(design.scenario_by_id(scenario_id)) if is_id else None
        if scenario is None:
            raise UnknownScenarioError(f"Unknown scenario {scenario_id}")
        return scenario

    def active_scenarios(self, difficulty: Difficulty | None) -> list[StoredScenario]:
        """Return the active scenarios, easiest first. If `difficulty` is given, return only scenarios of this
        difficulty.
        """
        query = design.active_scenarios() if difficulty is None else design.scenarios_of_difficulty(difficulty)
        return list(self.db.iterate(query, unreadable=omit_unreadable))

    def set_active(self, scenario_id: str, active: bool) -> StoredScenario:
        """Activate or deactivate a scenario. Raises UnknownScenarioError if it does not exist."""
        return self.db.run(design.set_active(scenario_id, active, self.scenario(scenario_id).difficulty))

    def add_scenarios(self, scenarios: Sequence[Scenario]) -> int:
        """Add the scenarios that do not exist yet, and return the number of added scenarios.

        The method waits when it is throttled. With one write capacity unit, adding twenty scenarios takes almost a
        minute. Raises ThrottledError if a write is still throttled after several pauses.
        """
        return sum(self._add_with_retries(scenario) for scenario in scenarios)

    def _add_with_retries(self, scenario: Scenario) -> bool:
        for _ in range(MAX_THROTTLE_PAUSES):
            try:
                return self._add(scenario)
            except ThrottledError:
                self.clock.wait(threading.Event(), THROTTLE_PAUSE_S)
        return self._add(scenario)

    def _add(self, scenario: Scenario) -> bool:
        # A rejected write costs as much as a successful one, while a read costs half a read unit.
        if self.db.run(design.scenario_by_id(scenario.scenario_id)) is not None:
            return False
        try:
            self.db.run(design.add_scenario(StoredScenario(**values_of(Scenario, scenario))))
        except AlreadyExistsError:
            return False  # a concurrent process was faster
        return True

    # Profiles.

    def profile(self, user_id: str) -> Profile | None:
        """Return a user's latest profile, or None if the profile consumer has not processed any of the user's attempts
        yet.
        """
        latest = next(iter(self.db.run(design.latest_profile(user_id))), None)
        return None if latest is None else _current_profile(latest)

    def history(self, user_id: str, limit: int, cursor: str | None) -> Page[Profile]:
        """Return a user's profiles, newest first. Raises CursorError for an invalid cursor."""
        page = self.db.run(design.profile_history(user_id), limit=limit, cursor=cursor, unreadable=omit_unreadable)
        profiles: list[Profile] = []
        for item in page.items:
            try:
                profiles.append(_current_profile(item))
            except ItemUnreadable as error:
                omit_unreadable(error)
        return Page(tuple(profiles), page.cursor)

    def progress(self, user_id: str) -> list[Profile]:
        """Return a user's newest profiles for the progress chart, oldest first."""
        page = self.history(user_id, MAX_CHART_PROFILES, None)
        # Snapshots of version 0.9 from the same second may be stored out of order.
        return sorted(page.items, key=lambda profile: profile.snapshot_key)


def _current_profile(profile: Profile | UnversionedProfile) -> Profile:
    return profile.to_current() if isinstance(profile, UnversionedProfile) else profile
