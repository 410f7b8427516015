"""Statements of design documents that the service's documents contradict."""

from __future__ import annotations

import re

from keyplan.check.statement import Statement, statement
from keyplan.check.subject import Subject
from keyplan.design.workload import OnDemand

_FAILED_WRITES = r"\b(failed|refused) (conditional )?(writes?|conditions?|updates?)"
_QUERYING = "developer guide, querying tables"
_SPARSE = "developer guide, taking advantage of sparse indexes"
_TRANSACTIONS = "developer guide, transactions"


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
    statement(
        r"transactions?\b.*\b(need|require|only)\b.*\b(single|one|same) table",
        r"transactions? across tables.*\bhard\b",
        r"transactions? across tables.*\b(not|cannot|can't)\b",
        r"\b(cannot|can't)\b.*transactions? across tables",
        problem="a transaction may write up to 100 items in any tables of one account and Region",
        fix="do not choose the number of tables by it",
        source=_TRANSACTIONS,
    ),
    statement(
        r"transactions?\b.*\b(10|25|50) (items?|writes?|actions?|operations?)",
        problem="a transaction holds up to 100 actions, of 4 MB together",
        fix="plan with 100",
        source=_TRANSACTIONS,
    ),
    statement(
        r"transactions?\b.*\bcosts? the same",
        r"transactions?\b.*\b(no|without) (additional|extra) costs?",
        problem="each item of a transaction is written, or read, twice: two units where one would do",
        fix="reckon with double the units, as keyplan explain does",
        source=_TRANSACTIONS,
    ),
    statement(
        r"batch\w*( writes?)?\b.*\b(is|are) (atomic|transactional|all[- ]or[- ]nothing)",
        problem="the items of a batch are written each by itself, and those that were not come back unprocessed",
        fix="use a transaction where all or none must be written",
        source="API reference, BatchWriteItem",
    ),
    statement(
        r"(quer\w+|joins?) (across|over) (several |multiple )?tables.*(raise|increase|cost|more)",
        r"cross-table.*(raise|increase|cost)",
        problem="no query reads two tables, and the same items cost the same read units in one table or in two",
        fix="count requests and items instead",
        source="developer guide, read and write capacity",
    ),
    statement(
        r"even(ly)? (load )?distribut",
        r"distribut\w+ (the )?load evenly",
        r"prevents? hot[- ]?(spots?|partitions?|keys?)",
        problem="a key for each user spreads users, not their load: one busy user is one key of the table and of every"
        " index, and each serves 1,000 write and 3,000 read units a second",
        fix="declare how the load is spread, Distinct(count, hottest=...), and let KP501 reckon it",
        source="developer guide, designing partition keys",
    ),
    statement(
        r"no capacity planning|never throttle",
        r"scales? automatically|unlimited (scale|throughput|capacity)",
        problem="on demand throttles as well: a new table serves 4,000 write and 12,000 read units a second, later"
        " about double its previous peak, a table 40,000, and one key never more than 1,000 and 3,000",
        fix="declare rates, and read what KP501 and KP505 make of them",
        source="developer guide, on-demand capacity mode",
        holds_of=_on_demand,
    ),
    statement(
        r"\bdesc(ending)?\b|\bnewest first\b.*\b(stored|sort key)",
        problem="a sort key has no direction: items are kept in ascending order, and each query says which way it"
        " reads",
        fix="declare descending=True at the patterns that want the newest first",
        source=f"{_QUERYING} (ScanIndexForward)",
        unless=r"\bquer(y|ies)\b|\breads?\b|ScanIndexForward",
    ),
    statement(
        r"single[- ]table (design )?(per entity|principles)",
        r"\bsingle[- ]table design\b(?!.*(recommend|best|aws))",
        problem="several tables, one for each kind of item, are what is called a multi-table design",
        fix="say which of the two is meant, since keys and indexes follow from it",
        source="developer guide, data modeling foundations",
        holds_of=_several_tables,
    ),
    statement(
        r"single[- ]table.*(recommend|best practice)|(recommend|best practice).*single[- ]table",
        problem="the service's documents name single-table and multi-table design as two foundations, each with its"
        " uses",
        fix="choose by what is read together, and by what must be backed up, scaled and secured apart",
        source="developer guide, data modeling foundations",
    ),
    statement(
        r"simpl\w+ backups?|one table to (back ?up|restore)|restore (a|one|single) (entity|kind)",
        problem="a restore always makes a new table of everything: with all entities in one table, getting one of them"
        " back means restoring all elsewhere and copying",
        fix="plan the restore of one entity, not the backup of all",
        source="developer guide, point-in-time recovery",
    ),
    statement(
        r"reserved? for (future|later)"
        r"|index(es)? (must|have to|need to) be (declared|created|reserved) (up ?front|at creation)",
        problem="global indexes can be added to a table that is in use, and removed; only local ones must be there from"
        " the beginning",
        fix="leave it out until a pattern needs it",
        source="developer guide, managing global secondary indexes",
        unless=r"\b(LSIs?|local)\b",
    ),
    statement(
        r"\b(LSIs?|local (secondary )?index(es)?)\b.*\b(added|created|removed|deleted) (later|afterwards)",
        problem="local indexes are made with their table, and stay as long as it does",
        fix="decide before the table is created, or use a global index",
        source="developer guide, local secondary indexes",
    ),
    statement(
        r"\b([\w.-]+) (?:index )?is (?:a )?sparse",
        problem="an index is sparse where items lack its key attribute, and here every item has a value for its"
        " partition key: all of them are in it",
        fix="make the key with when=, so that items outside have no such attribute",
        source=_SPARSE,
        holds_of=_not_sparse,
    ),
    statement(
        r"\b(GSIs?|index(es)?)\b.*\b(enforces?|guarantees?|ensures?|keeps?)\b.*\bunique",
        problem="values of an index key need not be unique: an index refuses nothing, and lags behind its table",
        fix='declare unique=["field"] at the entity: a create of its own key decides',
        source="developer guide, global secondary indexes",
    ),
    statement(
        r"\b(GSIs?|index(es)?)\b.*\b(synchronous(ly)?|immediately (up to date|updated|consistent)|updated at once)",
        problem="global indexes follow their table after the write, and show for a while what was there before",
        fix="read the table where the latest write must show",
        source="developer guide, global secondary indexes",
        unless=r"\b(LSIs?|local)\b",
    ),
    statement(
        r"version (field|attribute|number).*optimistic|optimistic lock",
        problem="no entity of the design has a version",
        fix='declare version="version" with an int field at the entities that are changed by several writers',
        source="the design itself",
        holds_of=_no_version,
    ),
    statement(
        r"\b(\w+) attribute (?:on|to|in|of) (?:all|every|each)",
        problem="there are entities without that field",
        fix="add the field to each of them, or say which have it",
        source="the design itself",
        holds_of=_lacks_field,
    ),
    statement(
        r"(expir\w+|TTL|time to live).*\b(immediately|at once|exactly|instantly|within (a few )?(seconds|minutes))",
        r"\b(immediately|exactly|instantly) (when|as) .*\b(expir\w+|TTL|time to live)\b",
        problem="expired items are deleted in the background, up to days later",
        fix="compare the expiry with the clock wherever it matters",
        source="developer guide, time to live",
        unless=r"\bcompare\w*",
    ),
    statement(
        r"(filter\w*|projection|project\w+)\b.*(reduce|save|lower|cheaper)\w*.*\b(costs?|read units|RCUs?|capacity)",
        problem="a filter and a projection of attributes change what is sent back, not what is read and paid for",
        fix="put what is filtered by into a key, and project less into the index",
        source=_QUERYING,
    ),
    statement(
        r"\blimit\b.*\bafter (the )?filter",
        problem="Limit counts the items that are read; a filter then takes some of them away, and a page may be empty",
        fix="declare limit=, which keeps reading until as many have passed the filter",
        source=_QUERYING,
    ),
    statement(
        rf"{_FAILED_WRITES}\b.*\bfree\b",
        rf"{_FAILED_WRITES}\b.*\b(costs? nothing|(not|never) (billed|charged))\b",
        problem="a write whose condition fails takes the write units of the item all the same",
        fix="count refused writes as writes",
        source="developer guide, read and write capacity",
    ),
    statement(
        r"\bexactly[- ]once\b",
        problem="consumers of a stream receive a change at least once",
        fix="make the consumer's writes come to the same end when repeated",
        source="Lambda developer guide, event source mappings",
        unless=r"\btransact\w*|\btokens?\b",
    ),
    statement(
        r"streams?\b.*\b(global order|order across|ordered (globally|across))",
        problem="a stream keeps the order of the changes of one item, not of several",
        fix="do not rely on what happened first to another item: read it, or compare versions",
        source="developer guide, DynamoDB Streams",
    ),
    statement(
        r"streams?\b.*\b([2-9]|\d\d+) days\b",
        problem="records of a stream are kept for 24 hours",
        fix="copy them within a day to where they are to stay, or use Kinesis Data Streams",
        source="developer guide, DynamoDB Streams",
        unless="kinesis",
    ),
    statement(
        r"(paginat\w+|paging|pages?)\b.*\b(no|without) (additional|extra) cost",
        problem="each page is rounded up by itself, to half a read unit at least, and a page that a filter empties is"
        " paid for",
        fix="choose pages of a few read units",
        source="developer guide, paginating results; read and write capacity",
    ),
    statement(
        r"strong\w*[- ]consisten\w+.*\b(GSIs?|global secondary|index)",
        r"(GSIs?|global secondary).*strong\w*[- ]consisten",
        problem="a global index has no consistent reads",
        fix="read the table, or a local index",
        source="developer guide, read consistency",
        unless=r"\b(LSIs?|local)\b",
    ),
    statement(
        r"aurora serverless.*(minimum|\$\s*\d|always[- ]on)",
        problem="Aurora Serverless v2 pauses at no capacity at all when nobody connects, and then costs storage only",
        fix="compare at the real load",
        source="Aurora user guide, scaling to zero capacity units",
    ),
    statement(
        r"documentdb.*not serverless",
        problem="Amazon DocumentDB has a serverless configuration",
        fix="compare at the real load",
        source="Amazon DocumentDB developer guide, serverless",
    ),
    statement(
        r"\btimestream\b(?!.*influxdb)",
        problem="Amazon Timestream for LiveAnalytics takes no new customers since 20 June 2025",
        fix="compare with Timestream for InfluxDB, or leave it out",
        source="Amazon Timestream developer guide, availability change",
    ),
)
"""Each with its own source; the first that is recognised is reported."""
