"""Generates arguments for calls to patterns. The arguments are derived from a stored item, so that the call finds the
item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass, replace
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel

from keyplan.client.failures import condition_text
from keyplan.design.conditions.evaluation import fill
from keyplan.design.declaring.patterns import Pattern, WriteCall
from keyplan.design.declaring.transactions import Transaction, TransactionStep
from keyplan.design.entities import Entity, EntitySpec
from keyplan.design.fields.annotations import UNSET, without_none
from keyplan.design.parameters import Each, Param, Source, annotation_of, may_be_unset, substitute
from keyplan.verify.answers import ReadMeaning, meaning_of
from keyplan.verify.generate import EntityGenerator
from keyplan.verify.model import StoredEntities
from keyplan.verify.parameters import MANY, Binding, ParameterValues, element_of, uses_of
from keyplan.verify.sizes import length_limits
from keyplan.verify.targets import WriteTargets
from keyplan.verify.values import NothingFitsError, ValueGenerator

_TRIES = 60
_REPEATS = 3
_UNSET_SHARE = 0.5
"""The probability that a call to a pattern with `.patch(...)` omits a field."""


class ArgumentGenerator:
    """Generator of arguments for calls to patterns."""

    def __init__(
        self,
        stored_entities: StoredEntities,
        entity_generators: Mapping[EntitySpec, EntityGenerator],
        value_generator: ValueGenerator,
        add: Callable[[EntitySpec, Entity], None],
    ) -> None:
        """Create a generator.

        `add` stores an entity object. The generator calls `add` if no stored item is suitable, or to store a changed
        item.
        """
        self._stored_entities, self._value_generator = stored_entities, value_generator
        self._targets = WriteTargets(stored_entities, entity_generators, value_generator, add)
        self._parameter_values = ParameterValues(stored_entities, entity_generators, value_generator)
        self._chance = value_generator.random
        self._parameters: Mapping[str, Param] = {}

    def draw(self, pattern: Pattern[..., Any]) -> dict[str, Any]:
        """Return arguments for a call to a pattern.

        Raises NothingFitsError if no arguments match the generated items, and SampleError if a value cannot be
        generated.
        """
        self._parameters = pattern.parameters
        failed_step: TransactionStep | None = None
        for _ in range(_TRIES):
            binding = Binding()
            self._targets.start_call()
            if isinstance(pattern, Transaction):
                steps = _sorted_by_choice(pattern.steps)
                failed_step = next(
                    (step for step in steps if not self._bind_step(step.call, step.repeated, binding)), None
                )
                fits = failed_step is None
            elif pattern.plan.reading:
                fits = self._bind_read(pattern, binding)
            else:
                fits = self._bind_write(pattern, {}, binding)
            if fits:
                return self._with_unset(pattern, self._arguments(pattern, binding))
        if pattern.plan.reading:
            return self._read_with_filter(pattern)
        raise _no_match_error(pattern, failed_step)

    def _with_unset(self, pattern: Pattern[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
        """Replace some of the arguments that callers can omit with UNSET, if the pattern uses `.patch(...)`."""
        for name, param in pattern.parameters.items():
            if may_be_unset(param) and self._chance.random() < _UNSET_SHARE:
                arguments[name] = UNSET
        for action in pattern.plan.actions:
            source = action.source
            if action.optional and isinstance(source, Param) and source._path and self._chance.random() < _UNSET_SHARE:
                model = arguments[source._name]
                if isinstance(model, BaseModel) and len(source._path) == 1:
                    arguments[source._name] = model.model_copy(update={source._path[0]: UNSET})
        return arguments

    # Reads.

    def _bind_read(self, pattern: Pattern[..., Any], binding: Binding) -> bool:
        item = self._chosen_item(pattern, binding)
        if item is None:
            return not uses_of(pattern)  # a read without parameters needs no item
        spec, target = item
        arguments = self._arguments(pattern, binding)
        return meaning_of(pattern).includes(spec, target, arguments, int(self._value_generator.now_s)) is not False

    def _chosen_item(self, pattern: Pattern[..., Any], binding: Binding) -> tuple[EntitySpec, Entity] | None:
        """Choose a stored item that a read can return, and derive the values of the read's parameters from the item.

        Return the item's entity declaration and the item, or None if no stored item is suitable.
        """
        chosen = self._pick(meaning_of(pattern))
        if chosen is not None:
            self._parameter_values.bind(*chosen, uses_of(pattern, chosen[0]), binding, pattern)
        return chosen

    def _read_with_filter(self, pattern: Pattern[..., Any]) -> dict[str, Any]:
        """Return arguments for a read with a filter.

        If no stored item would be returned, the item that the arguments were derived from is changed to pass the
        filter. If the item cannot be changed in this way, the arguments are still valid, but the read returns nothing.
        """
        binding, now_s = Binding(), int(self._value_generator.now_s)
        item = self._chosen_item(pattern, binding)
        arguments = self._arguments(pattern, binding)
        if (
            item is None
            or pattern.plan.filter is None
            or meaning_of(pattern).expected_items(self._stored_entities, arguments, now_s)
        ):
            return arguments
        self._targets.make_satisfy(*item, fill(pattern.plan.filter, arguments))
        return arguments

    def _pick(self, meaning: ReadMeaning) -> tuple[EntitySpec, Entity] | None:
        """Return the entity declaration and the object of a random stored item that a read can return.

        Return None if no stored item is suitable.
        """
        specs = [
            spec
            for spec in meaning.plan.entities
            if self._stored_entities.all(spec)
            and all(key_test.field in spec.fields for key_test in meaning.key_tests_of(spec))
        ]
        if not specs:
            return None
        spec = self._chance.choice(specs)
        likely = meaning.constants(spec, self._stored_entities.all(spec)) or self._stored_entities.all(spec)
        for _ in range(_TRIES):
            entity = self._chance.choice(likely)
            if meaning.may_hold(spec, entity, int(self._value_generator.now_s)):
                return spec, entity
        return None

    # Writes.

    def _bind_step(self, call: WriteCall[Any], repeated: Each | None, binding: Binding) -> bool:
        """Choose arguments for one step of a transaction, and bind the parameters of the transaction to them. Return
        False if no suitable arguments were found.

        If the step is repeated for a list parameter (`repeated`), arguments are chosen for several elements of the
        list.
        """
        pattern = call.pattern
        if repeated is None or not isinstance(repeated.values, Param):
            return self._bind_write(pattern, call.arguments, binding)
        stored_values, _ = binding.find(repeated.values)
        if stored_values:
            return True
        values = []
        (name,) = [name for name, source in call.arguments.items() if isinstance(source, Each)]
        max_length = length_limits(annotation_of(repeated.values), ())[1]
        for _ in range(min(_REPEATS, max_length)):
            trial = binding.copy()
            element = Param(f"*{name}*", element_of(annotation_of(repeated.values)))
            if not self._bind_write(pattern, {**call.arguments, name: element}, trial):
                return False
            values.append(self._value(element, trial))
            binding.adopt(trial, excluded=element._name)  # the values that all repetitions have in common
        binding.set(repeated.values, values)
        return len({repr(value) for value in values}) == len(values)

    def _bind_write(self, pattern: Pattern[..., Any], sources: Mapping[str, Source], binding: Binding) -> bool:
        """Choose arguments for a pattern that writes, and add them to `binding`. Return False if no suitable arguments
        were found.

        `sources` are the parameters and constants that a transaction passes to the pattern.
        """
        plan = pattern.plan
        spec = plan.entity
        if plan.item is not None:
            return self._bind_put(pattern, sources, binding)
        uses = [replace(use, source=substitute(use.source, sources)) for use in uses_of(pattern)]
        known_values = [
            (use.field, binding.find(use.source)[1])
            for use in uses
            if use.role in {"equal", "stored"} and not use.nested and binding.find(use.source)[0]
        ]
        target = self._targets.choose(plan, known_values)
        if target is None:
            return False
        self._parameter_values.bind(spec, target, uses, binding, pattern)
        for name, source in sources.items():
            if isinstance(source, Param) and not source._path and not binding.knows_part_of(source):
                annotation = annotation_of(source) or annotation_of(pattern.parameters[name])
                binding.set(source, self._parameter_values.generate(annotation, name))
        return self._targets.satisfy_condition(plan, target, self._arguments_so_far(pattern, sources, binding))

    def _bind_put(self, pattern: Pattern[..., Any], sources: Mapping[str, Source], binding: Binding) -> bool:
        """Choose the item, or the list of items, that a pattern puts, and bind the pattern's parameter to it. Return
        False if no suitable item was found.
        """
        plan = pattern.plan
        source = substitute(plan.item, sources)
        if binding.find(source)[0]:
            return True
        if plan.operation == "BatchWriteItem":
            size = max(1, round(pattern.facts.expected_items or MANY))
            items = [self._targets.item_to_put(plan, changes=number % 2 == 0) for number in range(size)]
            binding.set(source, [item for item in items if self._targets.mark_used(plan.entity, item)])
            return True
        item = self._targets.item_to_put(plan, changes=plan.exists == "must")
        if isinstance(source, Param) and not source._path:
            known_values = {
                path[0]: value for path, value in binding.attributes.get(source._name, {}).items() if len(path) == 1
            }
            item = item.model_copy(update=known_values)  # other steps of the transaction already use these values
        binding.set(source, item)
        return self._targets.mark_used(plan.entity, item) and self._can_be_put(
            pattern, item, self._arguments_so_far(pattern, sources, binding)
        )

    def _can_be_put(self, pattern: Pattern[..., Any], item: Entity, arguments: Mapping[str, Any]) -> bool:
        """Return True if an attempt to put an item can succeed.

        A `create` pattern without `replace_if` requires that no item with the same key is stored. For other patterns,
        if the stored item does not satisfy the pattern's condition, this method tries to change it. It returns False if
        this is not possible.
        """
        if pattern.plan.exists == "must_not" and pattern.plan.replaceable is None:
            return not self._stored_entities.exists(pattern.plan.entity, item)
        stored = self._stored_entities.at(pattern.plan.entity, item)
        return stored is None or self._targets.satisfy_condition(pattern.plan, stored, arguments)

    def _arguments_so_far(
        self, pattern: Pattern[..., Any], sources: Mapping[str, Source], binding: Binding
    ) -> dict[str, Any]:
        """Return arguments for a pattern from the values in `binding`. Missing values are generated, but not added to
        `binding`.
        """
        trial = binding.copy()
        return {name: self._source(substitute(param, sources), trial) for name, param in pattern.parameters.items()}

    def _source(self, source: Source, binding: Binding) -> Any:
        if not isinstance(source, Param):
            return source
        declared = self._parameters.get(source._name)
        value = self._value(Param(source._name, source._annotation) if declared is None else declared, binding)
        for part in source._path:
            value = getattr(value, part)
        return value

    # Arguments.

    def _arguments(self, pattern: Pattern[..., Any], binding: Binding) -> dict[str, Any]:
        return {name: self._value(param, binding) for name, param in pattern.parameters.items()}

    def _value(self, param: Param, binding: Binding) -> Any:
        name, annotation = param._name, annotation_of(param)
        if name in binding.arguments:
            return binding.arguments[name]
        parts = {path[0]: value for path, value in binding.attributes.get(name, {}).items() if len(path) == 1}
        plain_type = without_none(annotation)[0] if annotation is not None else None
        if isinstance(plain_type, type) and issubclass(plain_type, BaseModel):
            generated: Any = self._value_generator.model(plain_type, parts)
        elif name in binding.attributes and not is_dataclass(plain_type):
            generated = _with_parts(binding.attributes[name])  # only these attributes are accessed
        else:
            generated = self._parameter_values.generate(annotation, name)
            if parts and is_dataclass(generated) and not isinstance(generated, type):
                generated = replace(generated, **parts)
        binding.arguments[name] = generated
        return generated


def _sorted_by_choice(steps: Sequence[TransactionStep]) -> list[TransactionStep]:
    """Return a transaction's steps in the order in which their arguments are chosen.

    Steps that are repeated for each element of a list inside a parameter, such as the lines of an order, come first.
    Their arguments become the elements of that list.
    """
    return sorted(
        steps, key=lambda step: not (step.repeated is not None and _is_parameter_member(step.repeated.values))
    )


def _is_parameter_member(source: Source) -> bool:
    return isinstance(source, Param) and bool(source._path)


def _no_match_error(pattern: Pattern[..., Any], step: TransactionStep | None) -> NothingFitsError:
    """Return the error to raise if no arguments fit a pattern or one of its transaction steps."""
    plan = pattern.plan if step is None else step.call.pattern.plan
    reason = "" if plan.condition is None else f" ({condition_text(plan.condition)} is false for all of them)"
    subject = pattern.name
    if step is not None and isinstance(pattern, Transaction):
        number = pattern.steps.index(step) + 1
        subject += f", step {number} {step.call.pattern.name} on {plan.entity.name},"
    return NothingFitsError(
        f"no arguments of {subject} match the generated items{reason}; add a matching item"
        ' as an example of its model: model_config = ConfigDict(json_schema_extra={"examples": [{...}]})'
    )


def _with_parts(parts: Mapping[tuple[str, ...], Any]) -> SimpleNamespace:
    """Return an object with the given attribute values. Each key of `parts` is an attribute path, such as ("address",
    "city").
    """
    root = SimpleNamespace()
    for path, value in parts.items():
        owner = root
        for name in path[:-1]:
            owner.__dict__.setdefault(name, SimpleNamespace())
            owner = getattr(owner, name)
        setattr(owner, path[-1], value)
    return root
