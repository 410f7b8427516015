"""A stream that does not carry what its consumers need

A stream's view decides what its records hold: only keys, the item before the change, after it, or both. A consumer
that compares old and new needs both; one that is told of deletions needs the old item, since there is no new one.
The view cannot be changed: the stream is switched off and on again, and is then another stream.

Declare `stream="NEW_AND_OLD_IMAGES"` unless you know better. It costs nothing more.

It is an error where the declared view lacks an image or the table has no stream, and a warning where the design does
not say which view it is.

Source: developer guide, "Change data capture for DynamoDB Streams" (StreamViewType).
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.consumers import Changed, Consumer
from keyplan.design.schema import IMAGES
from keyplan.design.tables import Table

RULE = Rule("KP710", "stream-lacks-image", ("error", "warning"))


def check(subject: Subject) -> Iterator[Finding]:
    """Consumers whose images the stream does not hold."""
    for table in subject.tables:
        for consumer in table.consumers:
            yield from _compare(table, consumer, _needs(consumer))


def _needs(consumer: Consumer) -> frozenset[str]:
    return frozenset({"old", "new"}) if isinstance(consumer.when, Changed) else consumer.needs


def _compare(table: Table, consumer: Consumer, needs: frozenset[str]) -> Iterator[Finding]:
    view = table.schema.stream
    images = " and ".join(f"the {image} image" for image in ("old", "new") if image in needs)
    if view is None:
        problem = f"{consumer.name} takes changes of table {table.name}, which has no stream"
    elif view == "UNSTATED":
        problem = f"{consumer.name} needs {images}, and the design does not say what the stream of {table.name} holds"
    elif lacking := sorted(needs - IMAGES[view]):
        problem = f"{consumer.name} needs {images}, and the stream of table {table.name} is {view}: the"
        problem += f" {' and the '.join(lacking)} image is not in its records"
    else:
        return
    of_all = sorted(frozenset().union(*map(_needs, table.consumers)))
    both = len(of_all) > 1 or view in {None, "UNSTATED"}
    best = "NEW_AND_OLD_IMAGES" if both else f"{of_all[0].upper()}_IMAGE"
    yield Finding(
        RULE.code,
        "warning" if view == "UNSTATED" else "error",
        consumer.name,
        problem,
        f'declare stream="{best}" on the table',
        consumer.place,
        table.schema.place.at("stream=") if view is not None else table.schema.place,
    )
