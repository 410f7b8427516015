"""The GraphQL schema: queries, mutations, limits and error format.

Every error has a code in its extensions. Errors of the domain rules have specific codes and details, and errors for
invalid queries have the code `bad_query`. Unexpected errors are logged, and their details are not returned.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import strawberry
from graphql import DocumentNode, ExecutionResult, GraphQLError, OperationDefinitionNode, ValidationRule
from strawberry.extensions import MaxTokensLimiter, SchemaExtension
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext
from strawberry.types import ExecutionResult as StrawberryResult

from keyplan.client.errors import OutcomeUnknownError, ThrottledError, UnavailableError, UnreadableItemError
from keyplan_systems.venue_booking.api.limits import Limits
from keyplan_systems.venue_booking.api.mutations import Mutation
from keyplan_systems.venue_booking.api.queries import Query
from keyplan_systems.venue_booking.domain.refusals import RefusalError
from keyplan_systems.web.request_context import current_request_id

logger = logging.getLogger(__name__)

MAX_TOKENS: Final = 1_000
"""Maximum number of tokens in a query, which is four times the size of the introspection query that tools send.

Before execution, the library compares all pairs of fields with the same name. This takes up to a quarter of a second
for a query of the maximum size, and up to a second for a query of 2,000 tokens.
"""


class _Schema(strawberry.Schema):
    """A GraphQL schema that logs unexpected errors. Errors that callers cause are not logged."""

    def process_errors(
        self,
        errors: list[GraphQLError],
        execution_context: ExecutionContext | None = None,  # noqa: ARG002 - the library's signature
    ) -> None:
        """Log unexpected errors with their causes."""
        for error in errors:
            if _is_unforeseen(error):
                logger.error("resolving field %s failed", error.path, exc_info=error.original_error)


class _ErrorReporting(SchemaExtension):
    """Extension that converts errors to the error format of the API."""

    def on_operation(self) -> Iterator[None]:
        """Convert the errors in the result to the error format of the API, after the query was executed."""
        yield
        result: Any = self.execution_context.result
        if isinstance(result, ExecutionResult | StrawberryResult) and result.errors:
            result.errors = [_public_error(error) for error in result.errors]


class _OneOperation(SchemaExtension):
    """Extension that rejects a document with several operations if the request does not name the operation to execute.

    Without this extension, the library would execute the first operation.
    """

    def on_operation(self) -> Iterator[None]:
        """Add the validation rule that rejects documents with several operations, unless the request names an
        operation.
        """
        context = self.execution_context
        if context.operation_name is None:  # the query has not been parsed yet
            context.validation_rules = (*context.validation_rules, _OneOperationRule)
        yield


class _OneOperationRule(ValidationRule):
    def enter_document(self, node: DocumentNode, *_: Any) -> None:
        if sum(isinstance(definition, OperationDefinitionNode) for definition in node.definitions) > 1:
            self.report_error(
                GraphQLError("The query contains several operations: set operationName to the one to execute.")
            )


def _is_unforeseen(error: GraphQLError) -> bool:
    # An error without a path was not raised by a resolver, so the query or its variables are invalid.
    return error.path is not None and error.original_error is not None and not _is_caller_error(error.original_error)


def _is_caller_error(error: BaseException) -> bool:
    """Return True if the caller caused the error, for example by violating a domain rule or passing null for a
    variable.
    """
    return isinstance(error, RefusalError) or (isinstance(error, GraphQLError) and bool(error.nodes))


def _public_error(error: GraphQLError) -> GraphQLError:
    cause = error.original_error
    if isinstance(cause, RefusalError):
        return _replace_content(error, cause.message, {"code": cause.code, "details": dict(cause.details)})
    if isinstance(cause, OutcomeUnknownError):
        message = "It is unknown whether the change was stored. Check, and repeat the request if it was not."
        return _replace_content(error, message, {"code": "outcome_unknown"})
    if isinstance(cause, ThrottledError | UnavailableError):
        return _replace_content(error, "The table cannot be reached.", {"code": "unavailable"})
    if isinstance(cause, UnreadableItemError):
        message = f"A stored {cause.entity} item cannot be read: another program wrote or changed it."
        return _replace_content(
            error, message, {"code": "unreadable_item", "details": {"entity": cause.entity, "key": cause.key}}
        )
    if _is_unforeseen(error):
        extensions = {"code": "server_error", "request_id": current_request_id()}
        return _replace_content(error, "The server could not process this request.", extensions)
    return _replace_content(error, error.message, {"code": "bad_query", **(error.extensions or {})})


def _replace_content(error: GraphQLError, message: str, extensions: dict[str, Any]) -> GraphQLError:
    return GraphQLError(message, nodes=error.nodes, path=error.path, extensions=extensions)


@cache
def make_schema() -> strawberry.Schema:
    """Return the GraphQL schema. It is stateless, so all applications in a process share one instance."""
    return _Schema(
        query=Query,
        mutation=Mutation,
        extensions=[_ErrorReporting, Limits, _OneOperation, lambda: MaxTokensLimiter(MAX_TOKENS)],
        config=StrawberryConfig(disable_field_suggestions=True),
    )
