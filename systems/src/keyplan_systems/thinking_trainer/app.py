"""Builds the trainer: the API, the sweeper for inactive attempts, the profile consumer, and the seed scenarios."""

from __future__ import annotations

import os
from functools import partial

from keyplan.streams import Runner, TableCheckpoints
from keyplan_systems.thinking_trainer import design
from keyplan_systems.thinking_trainer.api import application
from keyplan_systems.thinking_trainer.demo import play, show
from keyplan_systems.thinking_trainer.evaluation.choice import EvaluatorSettings, evaluator_for
from keyplan_systems.thinking_trainer.profile_consumer import ProfileConsumer
from keyplan_systems.thinking_trainer.sample import PEOPLE, load_sample
from keyplan_systems.thinking_trainer.service import Service
from keyplan_systems.web.health import in_thread
from keyplan_systems.web.rate_limits import Limit, SharedLimit, limit_from
from keyplan_systems.web.system import BuiltSystem, Resources, System, Worker

MODEL = "KEYPLAN_TRAINER_MODEL"
"""Environment variable with the ID of a model on Amazon Bedrock that grades attempts. If it is unset, the fixed rubric
grades attempts.
"""
REGION = "KEYPLAN_TRAINER_REGION"
GRADING_VARIABLE = "KEYPLAN_TRAINER_GRADING_LIMIT"
"""Environment variable with the maximum number of graded attempts per user, in the format REQUESTS/SECONDS, or `off`
for an unlimited number. All processes that use the same tables share the limit.
"""
GRADING = Limit("graded attempts", 60, 3_600)
"""Default limit on graded attempts per user: 60 per hour. A user needs several minutes to complete an attempt."""


def build(resources: Resources) -> BuiltSystem:
    """Build the trainer.

    Raises ImportError if a model is configured but boto3 is not installed, and ValueError if a setting is invalid.
    """
    # Empty variables count as unset, because settings files can list variables without a value.
    settings = EvaluatorSettings(model_id=os.environ.get(MODEL) or None, region=os.environ.get(REGION) or "us-east-1")
    grading = SharedLimit(resources.connection, resources.clock, limit_from(GRADING_VARIABLE, GRADING))
    service = Service(resources.connection, resources.clock, evaluator_for(settings, resources.clock), grading)
    profile_consumer = ProfileConsumer(resources.connection, resources.clock)
    runner = Runner(
        resources.connection,
        design.attempts,
        checkpoints=TableCheckpoints(resources.connection, create=True, clock=resources.clock),
        destinations={"unprofiled": resources.dead_letters},
        handlers={design.follow: profile_consumer.follow},
        runner=resources.runner,
        clock=resources.clock,
    )

    def run_consumer() -> int:
        progress = runner.run_once()
        return progress.delivered + progress.failed

    return BuiltSystem(
        application(
            service,
            resources.verifier,
            resources.clock,
            {"table": in_thread(resources.connection.run, design.scenario_by_id("health"))},
        ),
        (
            Worker("trainer profiles", run_consumer, every_s=1.0),
            Worker("trainer silence", service.abandon_inactive, every_s=300.0),
        ),
        partial(load_sample, service),
        runner.close,
    )


SYSTEM = System(
    "thinking_trainer",
    "Critical-thinking trainer",
    "keyplan_systems.thinking_trainer.design",
    build,
    demo=play,
    tour=show,
    people=PEOPLE,
    start="app/",
)
