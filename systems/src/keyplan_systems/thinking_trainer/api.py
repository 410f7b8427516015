"""The routes of the trainer's API. They parse requests, call the service and build responses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Query, Request, Response
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StrictBool,
    StringConstraints,
    model_serializer,
)
from pydantic.alias_generators import to_camel

from keyplan.client.errors import CursorError, ThrottledError, UnavailableError, WriteConflictError
from keyplan.clock import Clock
from keyplan_systems.thinking_trainer import charts
from keyplan_systems.thinking_trainer.design import StoredAttempt, StoredScenario
from keyplan_systems.thinking_trainer.domain.attempts import Attempt
from keyplan_systems.thinking_trainer.domain.errors import (
    AnswersRejected,
    AttemptClosed,
    EvaluationFailed,
    EvaluationRefused,
    ItemUnreadable,
)
from keyplan_systems.thinking_trainer.domain.profiles import Profile
from keyplan_systems.thinking_trainer.domain.records import values_of
from keyplan_systems.thinking_trainer.domain.scenarios import Difficulty, Scenario
from keyplan_systems.thinking_trainer.pages import PAGES, page_routes
from keyplan_systems.thinking_trainer.service import (
    ConcurrentChangeError,
    NotYoursError,
    Service,
    UnknownAttemptError,
    UnknownScenarioError,
)
from keyplan_systems.web.application import add_routes, api_router, web_application
from keyplan_systems.web.authentication import Caller, require_role
from keyplan_systems.web.browsing import install_pages
from keyplan_systems.web.health import Check
from keyplan_systems.web.problems import Problem, ProblemStyle
from keyplan_systems.web.request_context import with_unreadable
from keyplan_systems.web.tokens import Principal, TokenVerifier

MAX_USER_ID = 128
Limit = Annotated[int, Query(ge=1, le=100, description="Maximum number of entries.")]
NextToken = Annotated[str | None, Query(alias="nextToken", description="Token from the previous page.")]

router = api_router()


class Body(BaseModel):
    """Base class of request bodies. Field names are in camelCase in JSON, and unknown fields are rejected."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class AnswerBody(Body):
    """The answer to one question."""

    question_id: str
    answer: str


class Answers(Body):
    """The answers to the questions of a scenario."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"answers": [{"questionId": "q1", "answer": "It assumes that ..."}]}]}
    )
    answers: Annotated[list[AnswerBody], Field(max_length=10)] = []

    def texts(self) -> dict[str, str]:
        """Return a mapping from question ID to the text of the answer. Raises Problem if a question is
        answered twice.
        """
        texts = {answer.question_id: answer.answer for answer in self.answers}
        if len(texts) < len(self.answers):
            raise Problem(400, "A question has more than one answer.", code="invalid")
        return texts


class NewAttempt(Body):
    """A request to begin an attempt at a scenario."""

    scenario_id: Annotated[str, StringConstraints(min_length=1, max_length=64)]


class SubmittedAttempt(Answers, NewAttempt):
    """A request to submit an attempt at a scenario without saving it first."""


class ScenarioActivation(Body):
    """A request to activate or deactivate a scenario."""

    active: StrictBool


class ItemPage(Body):
    """A page of a list in a response. If unreadable items were omitted, `unreadable` is their number."""

    items: list[Any]
    next_token: str | None = None
    unreadable: int | None = None

    @model_serializer(mode="wrap")
    def _serialize(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        members: dict[str, Any] = handler(self)
        if self.unreadable is None:
            del members["unreadable"]
        return members


def _page_body(items: Iterable[Any], next_token: str | None = None) -> ItemPage:
    return ItemPage.model_validate(with_unreadable({"items": list(items), "next_token": next_token}))


def service_of(request: Request) -> Service:
    """Return the trainer service of the application that received the request."""
    service = request.app.state.service
    assert isinstance(service, Service), "the application sets it"
    return service


ServiceDependency = Annotated[Service, Depends(service_of)]


def _user(caller: Principal) -> str:
    if len(caller.subject) > MAX_USER_ID:
        raise Problem(403, f"A user ID can have at most {MAX_USER_ID} characters.")
    return caller.subject


def _attempt(attempt: StoredAttempt) -> dict[str, Any]:
    return Attempt(**values_of(Attempt, attempt)).model_dump(mode="json", by_alias=True, exclude_none=True)


def _profile(profile: Profile) -> dict[str, Any]:
    return Profile(**values_of(Profile, profile)).model_dump(mode="json", by_alias=True)


def _scenario(scenario: StoredScenario) -> dict[str, Any]:
    return Scenario(**values_of(Scenario, scenario)).model_dump(mode="json", by_alias=True)


# Attempts.


@router.post("/attempts", status_code=201, tags=["attempts"])
def submit_at_once(body: SubmittedAttempt, caller: Caller, service: ServiceDependency) -> dict[str, Any]:
    """Submit, grade and store an attempt in one request."""
    return _attempt(service.submit_at_once(_user(caller), body.scenario_id, body.texts()))


@router.post("/attempts/drafts", status_code=201, tags=["attempts"])
def begin(body: NewAttempt, caller: Caller, service: ServiceDependency) -> dict[str, Any]:
    """Begin an attempt that is saved and submitted later."""
    return _attempt(service.begin(_user(caller), body.scenario_id))


@router.get("/attempts", tags=["attempts"])
def submitted(caller: Caller, service: ServiceDependency, limit: Limit = 20, next_token: NextToken = None) -> ItemPage:
    """List the caller's submitted attempts, newest first."""
    page = service.submitted_attempts(_user(caller), limit, next_token)
    return _page_body((_attempt(attempt) for attempt in page), page.cursor)


@router.get("/attempts/drafts", tags=["attempts"])
def in_progress(
    caller: Caller, service: ServiceDependency, limit: Limit = 20, next_token: NextToken = None
) -> ItemPage:
    """List the caller's attempts in progress, most recently changed first."""
    page = service.attempts_in_progress(_user(caller), limit, next_token)
    return _page_body((_attempt(attempt) for attempt in page), page.cursor)


@router.get("/attempts/{attempt_id}", tags=["attempts"])
def attempt(attempt_id: str, caller: Caller, service: ServiceDependency) -> dict[str, Any]:
    """Return one of the caller's attempts."""
    return _attempt(service.attempt(_user(caller), attempt_id))


@router.put("/attempts/{attempt_id}/answers", tags=["attempts"])
def save(attempt_id: str, body: Answers, caller: Caller, service: ServiceDependency) -> dict[str, Any]:
    """Save the answers of an attempt without submitting it. Earlier answers are replaced."""
    return _attempt(service.save(_user(caller), attempt_id, body.texts()))


@router.post("/attempts/{attempt_id}/resume", tags=["attempts"])
def resume(attempt_id: str, caller: Caller, service: ServiceDependency) -> dict[str, Any]:
    """Resume an attempt in progress. The period of 24 hours without changes, after which an attempt is abandoned,
    starts again.
    """
    return _attempt(service.resume(_user(caller), attempt_id))


@router.post("/attempts/{attempt_id}/submit", tags=["attempts"])
def submit(attempt_id: str, body: Answers, caller: Caller, service: ServiceDependency) -> dict[str, Any]:
    """Submit an attempt in progress. Omitted questions keep their saved answers."""
    return _attempt(service.submit(_user(caller), attempt_id, body.texts()))


@router.post("/attempts/{attempt_id}/abandon", tags=["attempts"])
def abandon(attempt_id: str, caller: Caller, service: ServiceDependency) -> dict[str, Any]:
    """Abandon an attempt in progress. It can then no longer be changed or submitted."""
    return _attempt(service.abandon(_user(caller), attempt_id))


# Scenarios.


@router.get("/scenarios", tags=["scenarios"])
def on_offer(caller: Caller, service: ServiceDependency, difficulty: Difficulty | None = None) -> ItemPage:
    """List active scenarios, easiest first."""
    del caller
    return _page_body(_scenario(scenario) for scenario in service.active_scenarios(difficulty))


@router.get("/scenarios/{scenario_id}", tags=["scenarios"])
def scenario(scenario_id: str, caller: Caller, service: ServiceDependency) -> dict[str, Any]:
    """Return a scenario with its questions."""
    del caller
    return _scenario(service.scenario(scenario_id))


@router.put(
    "/scenarios/{scenario_id}/offer", tags=["scenarios"], dependencies=[Depends(require_role("administrators"))]
)
def offer(scenario_id: str, body: ScenarioActivation, service: ServiceDependency) -> dict[str, Any]:
    """Activate or deactivate a scenario. Only administrators may send this request."""
    return _scenario(service.set_active(scenario_id, body.active))


# Profiles; the path parameter accepts any text, because a user ID may contain a slash.


def _require_self(user_id: str, caller: Principal) -> str:
    if user_id != _user(caller):
        raise Problem(403, "You can read only your own profile.")
    return user_id


@router.get("/users/{user_id:path}/profile", tags=["profiles"])
def profile(user_id: str, caller: Caller, service: ServiceDependency) -> dict[str, Any]:
    """Return the caller's latest profile."""
    profile = service.profile(_require_self(user_id, caller))
    if profile is None:
        raise Problem(404, "The profile does not exist yet: submit an attempt first.")
    return _profile(profile)


@router.get("/users/{user_id:path}/profiles", tags=["profiles"])
def history(
    user_id: str, caller: Caller, service: ServiceDependency, limit: Limit = 20, next_token: NextToken = None
) -> ItemPage:
    """List the caller's profiles, newest first."""
    page = service.history(_require_self(user_id, caller), limit, next_token)
    return _page_body((_profile(snapshot) for snapshot in page), page.cursor)


@router.get("/users/{user_id:path}/progress", tags=["profiles"], response_class=Response)
def progress(
    user_id: str,
    caller: Caller,
    service: ServiceDependency,
    format: Annotated[str, Query(pattern="^(text|png)$")] = "text",
) -> Response:
    """Return the caller's progress per dimension as a text chart or a PNG."""
    progress = service.progress(_require_self(user_id, caller))
    if not progress:
        raise Problem(404, "Progress is not available yet: submit an attempt first.")
    if format == "png":
        try:
            return Response(charts.progress_png(progress), media_type="image/png")
        except ImportError as error:
            raise Problem(501, str(error), code="not_installed") from error
    return Response(charts.progress_text(progress), media_type="text/plain; charset=utf-8")


def _rejected(status: int) -> Callable[[Exception], Problem]:
    return lambda error: Problem(status, str(error))


def _busy(_error: Exception) -> Problem:
    return Problem(503, "The database is busy.", headers={"Retry-After": "1"})


TRANSLATIONS: Mapping[type[Exception], Callable[[Any], Problem]] = {
    AnswersRejected: lambda error: Problem(
        400, "The answers are not valid.", code="invalid", details=list(error.problems)
    ),
    AttemptClosed: _rejected(409),
    ConcurrentChangeError: _rejected(409),
    UnknownAttemptError: _rejected(404),
    UnknownScenarioError: _rejected(404),
    NotYoursError: _rejected(403),
    EvaluationRefused: _rejected(502),
    ItemUnreadable: lambda error: Problem(500, str(error), code="unreadable_item"),
    EvaluationFailed: lambda error: Problem(503, str(error), headers={"Retry-After": "30"}),
    CursorError: lambda _error: Problem(400, "The next token does not belong to this list.", code="invalid"),
    ThrottledError: _busy,
    WriteConflictError: _busy,
    UnavailableError: lambda _error: Problem(503, "The database is not responding.", headers={"Retry-After": "5"}),
}


def application(service: Service, verifier: TokenVerifier, clock: Clock, checks: Mapping[str, Check]) -> FastAPI:
    """Return the application with the API and the pages of a service. `checks` contains the health checks by name."""
    app = web_application(
        "Critical-thinking trainer",
        style=ProblemStyle(invalid_status=400),
        translations=TRANSLATIONS,
        verifier=verifier,
        checks=checks,
        clock=clock,
    )
    app.state.service = service
    add_routes(app, router)
    install_pages(app, PAGES, page_routes(service))
    return app
