"""Transactions: patterns whose writes and checks succeed or fail together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ParamSpec

from pydantic import BaseModel

from keyplan.design.arguments import checked_call
from keyplan.design.declaring.argument_checks import (
    ArgumentCheck,
    allow_unset,
    build_checks,
    declared_type,
    has_validator,
    instance_check,
    with_validators,
)
from keyplan.design.declaring.patterns import Facts, Pattern, TransactionCall, Write, WriteCall, as_claims
from keyplan.design.errors import DesignError
from keyplan.design.fields.annotations import UNSET, without_none
from keyplan.design.fields.stored import validator
from keyplan.design.parameters import Each, Param, Source, annotation_of, may_be_unset, value_of
from keyplan.design.planning.plan import Plan, field_uses
from keyplan.design.workload import Claim, Rate

P = ParamSpec("P")


@dataclass(frozen=True, eq=False)
class TransactionStep:
    """A step of a transaction: a single write or, if `repeated` is an `each(...)`, one write for each of its values."""

    call: WriteCall[Any]
    repeated: Each | None

    def calls(self, arguments: Mapping[str, Any]) -> list[WriteCall[Any]]:
        """Return the writes that the step makes in a call to the transaction with these arguments."""
        pattern = self.call.pattern.declared
        assert isinstance(pattern, Write), "the steps of a transaction are writes"
        if self.repeated is None:
            return [pattern.call_with(_step_arguments(self.call.arguments, arguments, None))]
        values = value_of(self.repeated, arguments)
        return [pattern.call_with(_step_arguments(self.call.arguments, arguments, (value,))) for value in values]


def _step_arguments(
    sources: Mapping[str, Source], arguments: Mapping[str, Any], element: tuple[Any] | None
) -> dict[str, Any]:
    return {
        name: element[0] if element is not None and isinstance(source, Each) else value_of(source, arguments)
        for name, source in sources.items()
    }


class Transaction(Pattern[P, None]):
    """A pattern whose writes, to one or more tables, succeed or fail together."""

    call_type = TransactionCall

    def __init__(self, function: Callable[P, Iterable[WriteCall[Any]]], facts: Facts) -> None:
        super().__init__(function, "transaction", facts, _plan)
        self.steps: tuple[TransactionStep, ...] = tuple(_step(call, self) for call in _calls(self))
        if facts.expected_items is not None and not any(step.repeated for step in self.steps):
            raise DesignError(
                f"{self.name} has expected_items=, but repeats no step",
                place=self.place.at("expected_items="),
                fix="leave it out: expected_items= is for transactions with each(...)",
            )

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> TransactionCall[None]:
        return TransactionCall(self, self.arguments(args, kwargs))

    @cached_property
    def argument_checks(self) -> tuple[ArgumentCheck, ...]:
        """The type checks for the transaction's arguments, derived from its annotations or from the checks of its
        steps.
        """
        expected_types: dict[str, Any] = {}
        instances: dict[str, ArgumentCheck] = {}
        for step in self.steps:
            for check in step.call.pattern.argument_checks:
                source = step.call.arguments[check.parameter]
                values = source.values if isinstance(source, Each) else source
                if not isinstance(values, Param):
                    continue
                is_repeated, model = isinstance(source, Each), check.instance_of
                if values._path:
                    is_repeated, (model, _) = False, without_none(values._annotation)
                if isinstance(model, type) and (not values._path or issubclass(model, BaseModel)):
                    instances.setdefault(values._name, instance_check(values._name, model, is_collection=is_repeated))
                elif not values._path:
                    expected_types.setdefault(
                        values._name, declared_type(values, check.expected, is_repeated=is_repeated)
                    )
        typed_checks = build_checks({name: kind for name, kind in expected_types.items() if name not in instances})
        may_be_unset_names = {name for name, param in self.parameters.items() if may_be_unset(param)}
        checks = (
            *instances.values(),
            *(allow_unset(check) if check.parameter in may_be_unset_names else check for check in typed_checks),
        )
        return tuple(self._with_validators(check) for check in checks)

    def _with_validators(self, check: ArgumentCheck) -> ArgumentCheck:
        annotation = annotation_of(self.parameters[check.parameter])
        return with_validators(check, annotation) if has_validator(annotation) else check

    def calls(self, arguments: Mapping[str, Any]) -> list[WriteCall[Any]]:
        """Return the writes that the transaction makes for these arguments, in order."""
        return [call for step in self.steps for call in step.calls(arguments)]


def _calls(transaction: Transaction[Any]) -> list[object]:
    terms = transaction._terms
    calls = list(terms) if isinstance(terms, Iterable) else []
    if not calls:
        raise DesignError(
            f"{transaction.name} returns {'no write' if isinstance(terms, Iterable) else repr(terms)}",
            place=transaction.place,
            fix="return a list of calls of create, put, replace, update, delete or check patterns",
        )
    return calls


def _step(call: object, transaction: Transaction[Any]) -> TransactionStep:
    if not isinstance(call, WriteCall):
        raise DesignError(
            f"{transaction.name} contains {call!r}, which is not a write of one item",
            place=transaction.place,
            fix="return a list of calls of create, put, replace, update, delete or check patterns",
        )
    for name, argument in call.arguments.items():
        model, _ = without_none(annotation_of(call.pattern.parameters[name]))
        is_model = isinstance(model, type) and issubclass(model, BaseModel)
        if is_model and not isinstance(argument, (Param, Each, model)):
            raise DesignError(
                f"{transaction.name} passes {argument!r} to {call.pattern.name} as {name}, which is not a"
                f" {model.__name__}",
                place=transaction.place,
                fix=f"pass a {model.__name__}, such as a parameter of the transaction",
            )
    _check_constants(call, transaction)
    repeated = [source for source in call.arguments.values() if isinstance(source, Each)]
    if len(repeated) > 1:
        raise DesignError(
            f"{transaction.name} varies two arguments of {call.pattern.name}",
            place=transaction.place,
            fix="pass one argument as each(...); if two values belong together, pass a list of small objects",
        )
    return TransactionStep(call, repeated[0] if repeated else None)


def _check_constants(call: WriteCall[Any], transaction: Transaction[Any]) -> None:
    for name, source, use in field_uses(call.pattern.plan):
        value = call.arguments.get(source._name) if isinstance(source, Param) and not source._path else None
        if use != "set" or value is None or value is UNSET or isinstance(value, (Param, Each)):
            continue
        try:
            validator(call.pattern.plan.entity.fields[name])(value)
        except ValueError as error:
            raise DesignError(
                f"{transaction.name} passes {call.pattern.name} an invalid"
                f" {call.pattern.plan.entity.name}.{name}: {error}",
                place=transaction.place,
                other=call.pattern.place,
                fix="pass an allowed value, or make it a parameter",
            ) from None


def _plan(pattern: Pattern[Any, None], _terms: object) -> Plan:
    assert isinstance(pattern, Transaction), "made by Transaction itself"
    plans = tuple(step.call.pattern.plan for step in pattern.steps)
    entities = tuple(dict.fromkeys(entity for plan in plans for entity in plan.entities))
    return Plan(
        pattern=pattern.name,
        operation="TransactWriteItems",
        schema=plans[0].schema,
        entities=entities,
        steps=plans,
        repeats=tuple(step.repeated for step in pattern.steps),
        faults=tuple(dict.fromkeys(fault for plan in plans for fault in plan.faults)),
    )


@checked_call
def transaction(
    *,
    rate: Rate | None = None,
    claims: Claim | Sequence[Claim] = (),
    expected_items: float | None = None,
    retried: bool = False,
) -> Callable[[Callable[P, Iterable[WriteCall[Any]]]], Transaction[P]]:
    """Declare a transaction: a function that returns calls to write patterns, on one or more tables.

    `rate` is the rate of calls to the transaction, and `claims` are published claims about it. `expected_items` is the
    expected number of items that a call writes, for a transaction in which a step is repeated. `retried` states that
    callers repeat the transaction after a timeout.
    """
    facts = Facts(rate, as_claims(claims), expected_items, retried=retried)

    def declare(function: Callable[P, Iterable[WriteCall[Any]]]) -> Transaction[P]:
        return Transaction(function, facts)

    return declare
