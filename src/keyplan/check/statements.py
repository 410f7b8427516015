"""Statements of design documents that the service's documents contradict, and how they are recognised."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from keyplan.check.subject import Subject
from keyplan.design.workload import OnDemand


def _always(_subject: Subject, _found: re.Match[str]) -> bool:
    return True


@dataclass(frozen=True)
class Statement:
    """Something that documents say."""

    words: re.Pattern[str]
    problem: str
    """What is true instead."""
    fix: str
    source: str
    holds_of: Callable[[Subject, re.Match[str]], bool] = _always
    """Whether the design is one of which the statement is wrong."""


def _statement(
    words: str,
    problem: str,
    fix: str,
    source: str,
    holds_of: Callable[[Subject, re.Match[str]], bool] = _always,
) -> Statement:
    return Statement(re.compile(words, re.IGNORECASE), problem, fix, source, holds_of)


def _on_demand(subject: Subject, _found: re.Match[str]) -> bool:
    return any(isinstance(table.schema.billing, OnDemand) for table in subject.tables)


def _several_tables(subject: Subject, _found: re.Match[str]) -> bool:
    return len(subject.tables) > 1


def _no_version(subject: Subject, _found: re.Match[str]) -> bool:
    return all(entity.version is None for _, entity in subject.entities)


def _not_sparse(subject: Subject, found: re.Match[str]) -> bool:
    """Whether an index of that name holds every item of some entity, as far as its partition key decides."""
    for _, entity in subject.entities:
        bound = entity.key_in(found[1])
        if bound is not None and bound.when is None:
            names = [name for part in bound.partition for name in part.fields]
            if not any(entity.fields[name].optional for name in names):
                return True
    return False


def _lacks_field(subject: Subject, found: re.Match[str]) -> bool:
    return any(found[1] not in entity.fields for _, entity in subject.entities)


STATEMENTS: tuple[Statement, ...] = (
    _statement(
        r"transactions?\b.*\b(need|require|only)\b.*\b(single|one|same) table"
        r"|transactions? across tables.*\b(not|cannot|can't|hard)\b|\b(cannot|can't)\b.*transactions? across tables",
        "a transaction may write up to 100 items in any tables of one account and Region",
        "do not choose the number of tables by it",
        "developer guide, transactions",
    ),
    _statement(
        r"(quer\w+|joins?) (across|over) (several |multiple )?tables.*(raise|increase|cost|more)"
        r"|cross-table.*(raise|increase|cost)",
        "no query reads two tables, and the same items cost the same read units in one table or in two",
        "count requests and items instead",
        "developer guide, read and write capacity",
    ),
    _statement(
        r"even(ly)? (load )?distribut|distribut\w+ (the )?load evenly|prevents? hot[- ]?(spots?|partitions?|keys?)",
        "a key for each user spreads users, not their load: one busy user is one key of the table and of every index,"
        " and each serves 1,000 write and 3,000 read units a second",
        "declare how the load is spread, Distinct(count, hottest=...), and let KP501 reckon it",
        "developer guide, designing partition keys",
    ),
    _statement(
        r"no capacity planning|scales? automatically|never throttle|unlimited (scale|throughput|capacity)",
        "on demand throttles as well: a new table serves 4,000 write and 12,000 read units a second, later about"
        " double its previous peak, a table 40,000, and one key never more than 1,000 and 3,000",
        "declare rates, and read what KP501 and KP505 make of them",
        "developer guide, on-demand capacity mode",
        _on_demand,
    ),
    _statement(
        r"\bdescending\b|\bnewest first\b.*\b(stored|sort key)",
        "a sort key has no direction: items are kept in ascending order, and each query says which way it reads",
        "declare descending=True at the patterns that want the newest first",
        "developer guide, querying tables (ScanIndexForward)",
    ),
    _statement(
        r"single[- ]table (design )?(per entity|principles)"
        r"|\bsingle[- ]table design\b(?!.*(reject|recommend|best|aws))",
        "several tables, one for each kind of item, are what is called a multi-table design",
        "say which of the two is meant, since keys and indexes follow from it",
        "developer guide, data modeling foundations",
        _several_tables,
    ),
    _statement(
        r"single[- ]table.*(recommend|best practice)|(recommend|best practice).*single[- ]table",
        "the service's documents name single-table and multi-table design as two foundations, each with its uses",
        "choose by what is read together, and by what must be backed up, scaled and secured apart",
        "developer guide, data modeling foundations",
    ),
    _statement(
        r"simpl\w+ backups?|one table to (back ?up|restore)|restore (a|one|single) (entity|kind)",
        "a restore always makes a new table of everything: with all entities in one table, getting one of them back"
        " means restoring all elsewhere and copying",
        "plan the restore of one entity, not the backup of all",
        "developer guide, point-in-time recovery",
    ),
    _statement(
        r"reserved? for (future|later)"
        r"|index(es)? (must|have to|need to) be (declared|created|reserved) (up ?front|at creation)",
        "global indexes can be added to a table that is in use, and removed; only local ones must be there from the"
        " beginning",
        "leave it out until a pattern needs it",
        "developer guide, managing global secondary indexes",
    ),
    _statement(
        r"\b([\w.-]+) (?:index )?is (?:a )?sparse",
        "an index is sparse where items lack its key attribute, and here every item has a value for its partition key:"
        " all of them are in it",
        "make the key with when=, so that items outside have no such attribute",
        "developer guide, taking advantage of sparse indexes",
        _not_sparse,
    ),
    _statement(
        r"version (field|attribute|number).*optimistic|optimistic lock",
        "no entity of the design has a version",
        'declare version="version" with an int field at the entities that are changed by several writers',
        "the design itself",
        _no_version,
    ),
    _statement(
        r"\b(\w+) attribute (?:on|to|in|of) (?:all|every|each)",
        "there are entities without that field",
        "add the field to each of them, or say which have it",
        "the design itself",
        _lacks_field,
    ),
    _statement(
        r"(expir\w+|TTL|time to live).*\b(immediately|at once|exactly|instantly)",
        "expired items are deleted in the background, up to days later",
        "compare the expiry with the clock wherever it matters",
        "developer guide, time to live",
    ),
    _statement(
        r"(filter|projection|project\w+)\b.*(reduce|save|lower|cheaper)\w*.*\b(cost|read units|RCU|capacity)",
        "a filter and a projection of attributes change what is sent back, not what is read and paid for",
        "put what is filtered by into a key, and project less into the index",
        "developer guide, querying tables",
    ),
    _statement(
        r"\bexactly[- ]once\b",
        "consumers of a stream receive a change at least once",
        "make the consumer's writes come to the same end when repeated",
        "Lambda developer guide, event source mappings",
    ),
    _statement(
        r"(paginat\w+|paging|pages?)\b.*\b(no|without) (additional|extra) cost",
        "each page is rounded up by itself, to half a read unit at least, and a page that a filter empties is paid for",
        "choose pages of a few read units",
        "developer guide, paginating results; read and write capacity",
    ),
    _statement(
        r"strong\w*[- ]consisten\w+.*\b(GSI|global secondary|index)|(GSI|global secondary).*strong\w*[- ]consisten",
        "a global index has no consistent reads",
        "read the table, or a local index",
        "developer guide, read consistency",
    ),
    _statement(
        r"aurora serverless.*(minimum|\$\s*\d|always[- ]on)",
        "Aurora Serverless v2 pauses at no capacity at all when nobody connects, and then costs storage only",
        "compare at the real load",
        "Aurora user guide, scaling to zero capacity units",
    ),
    _statement(
        r"documentdb.*not serverless",
        "Amazon DocumentDB has a serverless configuration",
        "compare at the real load",
        "Amazon DocumentDB developer guide, serverless",
    ),
)
"""Each with its own source; the first that is recognised is reported."""
