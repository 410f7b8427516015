"""The HTTP API of Ask-a-Human, with separate routes for agents and for users."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Annotated, Any, cast

from fastapi import APIRouter, Body, Depends, FastAPI, Header, Query, Request, Response

from keyplan_systems.ask_a_human import serializers
from keyplan_systems.ask_a_human.api_dependencies import (
    STYLE,
    TRANSLATIONS,
    AddressRateLimit,
    AgentAuthentication,
    Cursor,
    DeviceIdentity,
    Fingerprint,
    OptionalIdentity,
    PersonIdentity,
    PollingAgent,
    SharedAddressRateLimit,
    Zone,
    client_address,
    set_rate_limit_headers,
)
from keyplan_systems.ask_a_human.devices import Identity
from keyplan_systems.ask_a_human.domain import limits, requests
from keyplan_systems.ask_a_human.domain.boards import Period
from keyplan_systems.ask_a_human.domain.requests import (
    AgentRegistration,
    AnswerRequest,
    Audience,
    QuestionRequest,
    SubscribeRequest,
    SubscriptionChange,
)
from keyplan_systems.ask_a_human.service import Service
from keyplan_systems.ask_a_human.shapes import (
    ANSWER_EXAMPLE,
    ASK_EXAMPLE,
    REGISTER_EXAMPLE,
    SUBSCRIBE_EXAMPLE,
    AcceptedAnswer,
    DeviceCredentials,
    Feed,
    LeaderboardView,
    ListedQuestions,
    StatsView,
    SubscriptionView,
    ViewedQuestion,
)
from keyplan_systems.ask_a_human.wire import AgentCredentials, AgentQuestion, CreatedQuestion
from keyplan_systems.web.application import add_routes, api_router, web_application
from keyplan_systems.web.health import Check

IdempotencyHeader = Annotated[
    str | None,
    Header(
        alias="X-Idempotency-Key",
        description="Idempotency key, in place of the one in the body.",
    ),
]
REPLAYED_HEADER = "Idempotency-Replayed"
_ANSWER_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": AnswerRequest.model_json_schema(), "example": ANSWER_EXAMPLE}},
    }
}


def application(service: Service, checks: Mapping[str, Check], trusted_proxies: int = 0) -> FastAPI:
    """Return the FastAPI application that serves the HTTP API.

    `checks` maps the name of each health check to its function. `trusted_proxies` is the number of trusted proxies in
    front of the API; see `api_dependencies.client_address`.
    """
    app = web_application(
        "Ask a Human", style=STYLE, translations=TRANSLATIONS, checks=checks, clock=service.base.clock
    )
    add_routes(app, agent_routes(service, trusted_proxies), human_routes(service, trusted_proxies))
    return app


def agent_routes(service: Service, trusted_proxies: int) -> APIRouter:
    """Return the routes for agents: registration, secret rotation, and submitting, reading and listing questions."""
    router = api_router(prefix="/agent", tags=["agents"])
    authentication = AgentAuthentication(service.agents)
    polling_agent: Any = Depends(PollingAgent(service.base, authentication))
    _add_registration(router, service, trusted_proxies, polling_agent)
    _add_asking(router, service, Depends(authentication))
    _add_polling(router, service, polling_agent)
    return router


def _add_registration(router: APIRouter, service: Service, trusted_proxies: int, polling_agent: Any) -> None:
    @router.post(
        "/register",
        status_code=201,
        response_model=AgentCredentials,
        summary="Register an agent; its secret is shown once",
        dependencies=[Depends(SharedAddressRateLimit(service.limits.agents, trusted_proxies))],
    )
    def register(registration: Annotated[AgentRegistration, Body(examples=[REGISTER_EXAMPLE])]) -> AgentCredentials:
        agent_id = registration.agent_id or str(uuid.uuid4())
        return AgentCredentials(agent_id=agent_id, secret=service.agents.register(agent_id))

    @router.post(
        "/secret",
        response_model=AgentCredentials,
        summary="Rotate the agent's secret; the current one stays valid until the new one is used",
    )
    def rotate(agent: str = polling_agent) -> AgentCredentials:
        return AgentCredentials(agent_id=agent, secret=service.agents.rotate(agent))


def _add_asking(router: APIRouter, service: Service, agent_dependency: Any) -> None:
    @router.post("/questions", status_code=201, response_model=CreatedQuestion, summary="Ask people a question")
    def ask(
        request: Request,
        response: Response,
        question: Annotated[QuestionRequest, Body(examples=[ASK_EXAMPLE])],
        agent: str = agent_dependency,
        header_key: IdempotencyHeader = None,
    ) -> CreatedQuestion:
        key = requests.idempotency_key(question.idempotency_key, header_key)
        result = service.questions.ask(agent, question, key)
        set_rate_limit_headers(response, result.allowance)
        if result.is_repeat:
            response.headers[REPLAYED_HEADER] = "true"
        poll_url = f"{request.scope.get('root_path', '')}/agent/questions/{result.question.question_id}"
        return serializers.created_question(result.question, poll_url, service.base.now_ms)


def _add_polling(router: APIRouter, service: Service, polling_agent: Any) -> None:
    @router.get(
        "/questions/{question_id}",
        response_model=AgentQuestion,
        response_model_exclude_none=True,
        summary="Get a question of the agent with its answers so far",
    )
    def poll(question_id: str, agent: str = polling_agent) -> AgentQuestion:
        question, responses = service.questions.read(agent, question_id)
        return serializers.agent_question(question, responses, service.base.now_ms)

    @router.get("/questions", response_model=ListedQuestions, summary="List the agent's questions, newest first")
    def list_questions(
        agent: str = polling_agent,
        limit: Annotated[int, Query(ge=1, le=50)] = 20,
        cursor: Cursor = None,
    ) -> ListedQuestions:
        page = service.questions.list_for_agent(agent, limit, cursor)
        now_ms = service.base.now_ms
        return ListedQuestions(
            questions=[serializers.listed_question(question, now_ms) for question in page], cursor=page.cursor
        )


def human_routes(service: Service, trusted_proxies: int) -> APIRouter:
    """Return the routes for users: device registration, questions, answers, push subscriptions, statistics and
    leaderboards.
    """
    router = api_router(prefix="/human", tags=["people"])
    read_limit = Depends(AddressRateLimit(service.base, limits.HUMAN_READS, trusted_proxies))
    device_identity = DeviceIdentity(service.devices)
    person_identity = PersonIdentity(device_identity)
    _add_devices(router, service, trusted_proxies)
    _add_questions(router, service, read_limit, Depends(person_identity))
    _add_answering(router, service, trusted_proxies, Depends(person_identity))
    _add_statistics(router, service, read_limit, person_identity)
    subscribe_limit = Depends(AddressRateLimit(service.base, limits.SUBSCRIPTIONS, trusted_proxies))
    _add_subscribing(router, service, subscribe_limit, Depends(person_identity))
    _add_subscriptions(router, service, Depends(device_identity))
    return router


def _add_devices(router: APIRouter, service: Service, trusted_proxies: int) -> None:
    @router.post(
        "/devices",
        status_code=201,
        response_model=DeviceCredentials,
        summary="Register a device; its token is shown once",
        dependencies=[Depends(SharedAddressRateLimit(service.limits.devices, trusted_proxies))],
    )
    def register(fingerprint: Fingerprint) -> DeviceCredentials:
        return DeviceCredentials(token=service.devices.register(fingerprint))


def _add_questions(router: APIRouter, service: Service, read_limit: Any, person: Any) -> None:
    @router.get("/questions", response_model=Feed, summary="List open questions", dependencies=[read_limit])
    def feed(
        audience: Annotated[Audience | None, Query(description="Return only questions for this audience.")] = None,
        limit: Annotated[int, Query(ge=1, le=50)] = 20,
        cursor: Cursor = None,
    ) -> Feed:
        page = service.answers.feed(audience, limit, cursor)
        return Feed(questions=[serializers.human_question(open_question) for open_question in page], cursor=page.cursor)

    @router.get(
        "/questions/{question_id}", response_model=ViewedQuestion, summary="Get a question", dependencies=[read_limit]
    )
    def view(question_id: str, caller: Identity = person) -> ViewedQuestion:
        question, can_answer = service.answers.view(question_id, caller)
        return serializers.viewed_question(question, service.base.now_ms, can_answer=can_answer)


def _add_answering(router: APIRouter, service: Service, trusted_proxies: int, person: Any) -> None:
    # The body is validated after the question, user and limits, as documented, and therefore not by the framework.
    @router.post(
        "/responses",
        status_code=201,
        response_model=AcceptedAnswer,
        summary="Answer a question; a repeated answer returns the same reply",
        openapi_extra=_ANSWER_BODY,
    )
    def answer(
        request: Request,
        response: Response,
        zone: Zone,
        body: Annotated[dict[str, Any], Body(include_in_schema=False)],
        caller: Identity = person,
    ) -> AcceptedAnswer:
        address = client_address(request, trusted_proxies)
        result = service.answers.answer(caller, zone, cast("Mapping[str, object]", body), address)
        set_rate_limit_headers(response, result.allowance)
        if result.is_repeat:
            response.headers[REPLAYED_HEADER] = "true"
        return serializers.accepted_answer(result)


def _add_statistics(router: APIRouter, service: Service, read_limit: Any, person_identity: PersonIdentity) -> None:
    person: Any = Depends(person_identity)
    optional_person: Any = Depends(OptionalIdentity(person_identity))

    @router.get("/stats", response_model=StatsView, summary="Get the caller's statistics", dependencies=[read_limit])
    def stats(zone: Zone, caller: Identity = person) -> StatsView:
        return serializers.stats_view(service.leaderboards.record(caller.person, zone), service.base.now_ms)

    @router.get("/leaderboard", response_model=LeaderboardView, summary="Get a leaderboard", dependencies=[read_limit])
    def leaderboard(
        period: Period = Period.ALL_TIME,
        limit: Annotated[int, Query(ge=1, le=100)] = 10,
        caller: Identity | None = optional_person,
    ) -> LeaderboardView:
        entries, position = service.leaderboards.board(period, limit, None if caller is None else caller.person)
        return serializers.leaderboard_view(period, entries, position)


def _add_subscribing(router: APIRouter, service: Service, subscribe_limit: Any, person: Any) -> None:
    @router.post(
        "/push/subscribe",
        status_code=201,
        response_model=SubscriptionView,
        summary="Subscribe to push notifications",
        dependencies=[subscribe_limit],
    )
    def subscribe(
        subscription: Annotated[SubscribeRequest, Body(examples=[SUBSCRIBE_EXAMPLE])], caller: Identity = person
    ) -> SubscriptionView:
        return serializers.subscription_view(service.subscriptions.subscribe(caller, subscription))


def _add_subscriptions(router: APIRouter, service: Service, device: Any) -> None:
    @router.put(
        "/push/subscribe/{subscription_id}",
        response_model=SubscriptionView,
        summary="Change the push token or the interval of a subscription",
    )
    def change(subscription_id: str, changes: SubscriptionChange, caller: Identity = device) -> SubscriptionView:
        return serializers.subscription_view(service.subscriptions.change(caller, subscription_id, changes))

    @router.delete(
        "/push/subscribe/{subscription_id}", status_code=204, response_class=Response, summary="End a subscription"
    )
    def end(subscription_id: str, caller: Identity = device) -> None:
        service.subscriptions.deactivate(caller, subscription_id)
