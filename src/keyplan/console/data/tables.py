"""Pages of tables: the list, what a table is made of, creation, settings and deletion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keyplan.client.errors import NoAnswerError
from keyplan.console.data.code import code_of
from keyplan.console.data.documents import DocumentError, read_json
from keyplan.console.data.facts import TableFacts, attempt, describe, describe_fully, in_parallel, instant, size_text
from keyplan.console.frame import Frame, PostedForm, form
from keyplan.console.source import Source
from keyplan.errors import ServiceError
from keyplan.pages import redirect

_TABLES: Final = 50
_INDEXES: Final = 3
_EMPTIED: Final = 20_000
_BATCH: Final = 25
_ATTEMPTS: Final = 5
_KEY_TYPES: Final = (("S", "String"), ("N", "Number"), ("B", "Binary"))
_PROJECTIONS: Final = (("ALL", "All attributes"), ("KEYS_ONLY", "Keys only"), ("INCLUDE", "Some attributes"))
_STREAMS: Final = (
    ("", "Off"),
    ("NEW_AND_OLD_IMAGES", "New and old images"),
    ("NEW_IMAGE", "New image"),
    ("OLD_IMAGE", "Old image"),
    ("KEYS_ONLY", "Keys only"),
)


def routes(console: Frame) -> list[Route]:
    """Return the routes of tables."""
    pages = _TablePages(console)
    table = "/data/tables/{table}"
    return [
        console.route("/data/", pages.tables),
        console.route("/data/create", pages.create, methods=("GET", "POST")),
        console.route(f"{table}/about", pages.about),
        console.route(f"{table}/settings", pages.change, methods=("POST",)),
        console.route(f"{table}/delete", pages.delete, methods=("GET", "POST")),
        console.route(f"{table}/empty", pages.empty, methods=("GET", "POST")),
        console.route(f"{table}/delete-index", pages.delete_index, methods=("GET", "POST")),
    ]


class _TablePages:
    def __init__(self, console: Frame) -> None:
        self._console, self._source = console, console.source

    def tables(self, request: Request) -> Response:
        """List the tables, some of them on each page."""
        after = request.query_params.get("after", "")
        start = {"ExclusiveStartTableName": after} if after else {}
        answer = self._source.call("ListTables", {"Limit": _TABLES, **start})
        names: list[str] = answer.get("TableNames", [])
        wanted = request.query_params.get("name", "").strip().lower()
        if wanted:
            names = [name for name in names if wanted in name.lower()]

        def facts_of(name: str) -> TableFacts:
            try:
                return describe_fully(self._source, name, tags=False)
            except NoAnswerError:
                raise
            except ServiceError as error:  # deleted between the two calls, or not permitted
                return TableFacts(name, {}, missing={"DescribeTable": error.message})

        tables = in_parallel(self._source, facts_of, names)
        missing = {operation: text for facts in tables for operation, text in facts.missing.items()}
        return self._console.render(
            request,
            "data/tables.html.j2",
            tables=tables,
            missing=missing,
            wanted=request.query_params.get("name", ""),
            next=answer.get("LastEvaluatedTableName", ""),
            after=after,
            size_text=size_text,
        )

    def about(self, request: Request) -> Response:
        """Show keys, indexes and settings of a table."""
        return self._about(request, request.path_params["table"])

    def _about(self, request: Request, name: str, errors: Mapping[str, str] | None = None) -> Response:
        facts = describe_fully(self._source, name)
        listed = attempt(self._source, facts.missing, "ListBackups", {"TableName": name, "Limit": 20})
        backups = [
            {
                "name": backup.get("BackupName", ""),
                "status": backup.get("BackupStatus", ""),
                "size": size_text(backup.get("BackupSizeBytes") or 0),
                "created": instant(backup.get("BackupCreationDateTime")),
            }
            for backup in listed.get("BackupSummaries", [])
        ]
        return self._console.render(
            request,
            "data/about.html.j2",
            400 if errors else 200,
            facts=facts,
            tab="about",
            backups=backups,
            errors=errors or {},
            streams=_STREAMS,
            key_types=_KEY_TYPES,
            projections=_PROJECTIONS,
            size_text=size_text,
            code=code_of(self._source, "DescribeTable", {"TableName": name}),
        )

    def change(self, request: Request) -> Response:
        """Change one setting of a table: time to live, stream, recovery, protection, an index, a backup."""
        name, posted = request.path_params["table"], form(request)
        facts = describe_fully(self._source, name)
        setting = posted["setting"]
        try:
            operation, call, done = _setting(facts, setting, posted)
            self._source.call(operation, call)
        except NoAnswerError:
            raise
        except _FieldError as error:
            return self._about(request, name, {error.field: str(error)})
        except ServiceError as error:
            return self._about(request, name, {setting: f"{error.code}: {error.message}"})
        return redirect(f"{request.url.path.removesuffix('settings')}about", done)

    def create(self, request: Request) -> Response:
        """Show the form of a new table, or create it."""
        if request.method == "GET":
            return self._create_page(request, PostedForm([]), {})
        posted = form(request)
        try:
            call = _json_table(posted["json"]) if posted["json"].strip() else _new_table(posted)
            self._source.call("CreateTable", call)
        except NoAnswerError:
            raise
        except _FieldError as error:
            return self._create_page(request, posted, {error.field: str(error)})
        except ServiceError as error:
            return self._create_page(request, posted, {"form": f"{error.code}: {error.message}"})
        created = f"Table {call['TableName']} created."
        if posted["ttl"].strip() and not posted["json"].strip():
            missing: dict[str, str] = {}
            ttl = {"Enabled": True, "AttributeName": posted["ttl"].strip()}
            attempt(
                self._source,
                missing,
                "UpdateTimeToLive",
                {"TableName": call["TableName"], "TimeToLiveSpecification": ttl},
            )
            created += "".join(f" Time to live is off: {text}" for text in missing.values())
        path = request.url.path.removesuffix("create")
        return redirect(f"{path}tables/{call['TableName']}/about", created)

    def _create_page(self, request: Request, posted: PostedForm, errors: Mapping[str, str]) -> Response:
        return self._console.render(
            request,
            "data/create.html.j2",
            400 if errors else 200,
            posted=posted,
            errors=errors,
            key_types=_KEY_TYPES,
            projections=_PROJECTIONS,
            streams=_STREAMS,
            indexes=range(_INDEXES),
        )

    def delete(self, request: Request) -> Response:
        """Ask for the table's name, then delete it with all items."""
        facts = describe(self._source, request.path_params["table"])
        errors = {}
        if request.method == "POST":
            if form(request)["typed"] == facts.name:
                try:
                    self._source.call("DeleteTable", {"TableName": facts.name})
                    return redirect(request.url.path.partition("/data/")[0] + "/data/", f"Table {facts.name} deleted.")
                except NoAnswerError:
                    raise
                except ServiceError as error:
                    errors["typed"] = f"{error.code}: {error.message}"
            else:
                errors["typed"] = f"Type {facts.name} to confirm."
        items = facts.keys.items
        return self._console.render(
            request,
            "data/confirm.html.j2",
            400 if errors else 200,
            facts=facts,
            tab="about",
            heading=f"Delete table {facts.name}?",
            consequence=f"The table, about {items:,} items ({size_text(facts.keys.size)}) and its indexes are deleted. "
            "They cannot be restored, except from a backup.",
            subjects=[],
            action=request.url.path,
            hidden=[],
            button="Delete table",
            typed=facts.name,
            back="about",
            errors=errors,
        )

    def empty(self, request: Request) -> Response:
        """Ask for the table's name, then delete its items, some thousands with each confirmation."""
        facts = describe(self._source, request.path_params["table"])
        errors = {}
        if request.method == "POST":
            if form(request)["typed"] == facts.name:
                deleted, is_empty = _emptied(self._source, facts)
                rest = "The table is empty." if is_empty else "More items are left: empty the table again."
                return redirect(request.url.path.removesuffix("empty"), f"{deleted:,} items deleted. {rest}")
            errors["typed"] = f"Type {facts.name} to confirm."
        return self._console.render(
            request,
            "data/confirm.html.j2",
            400 if errors else 200,
            facts=facts,
            tab="about",
            heading=f"Delete all items of {facts.name}?",
            consequence=f"Reads the table and deletes its items, at most {_EMPTIED:,} at once; each deletion consumes "
            "write capacity. The table, its indexes and settings stay.",
            subjects=[],
            action=request.url.path,
            hidden=[],
            button="Delete all items",
            typed=facts.name,
            back="about",
            errors=errors,
        )

    def delete_index(self, request: Request) -> Response:
        """Ask for the index's name, then delete the index."""
        facts = describe(self._source, request.path_params["table"])
        index = request.query_params.get("index", "")
        if facts.keys_of(index) is None or not index:
            return self._console.refused(request, 404, "Not Found", f"{facts.name} has no index {index}.")
        errors = {}
        if request.method == "POST":
            if form(request)["typed"] == index:
                try:
                    updates = [{"Delete": {"IndexName": index}}]
                    self._source.call("UpdateTable", {"TableName": facts.name, "GlobalSecondaryIndexUpdates": updates})
                    return redirect(request.url.path.removesuffix("delete-index") + "about", f"Index {index} deleted.")
                except NoAnswerError:
                    raise
                except ServiceError as error:
                    errors["typed"] = f"{error.code}: {error.message}"
            else:
                errors["typed"] = f"Type {index} to confirm."
        return self._console.render(
            request,
            "data/confirm.html.j2",
            400 if errors else 200,
            facts=facts,
            tab="about",
            heading=f"Delete index {index}?",
            consequence="Requests that read the index fail from now on. Items stay in the table.",
            subjects=[],
            action=f"{request.url.path}?{request.url.query}",
            hidden=[],
            button="Delete index",
            typed=index,
            back="about",
            errors=errors,
        )


def _emptied(source: Source, facts: TableFacts) -> tuple[int, bool]:
    """Delete items of a table up to a limit; return their number and whether no item is left."""
    aliases = {f"#k{place}": name for place, name in enumerate(facts.keys.names)}
    scan: dict[str, Any] = {
        "TableName": facts.name,
        "ProjectionExpression": ", ".join(aliases),
        "ExpressionAttributeNames": aliases,
        "Limit": 1000,
    }
    deleted = 0
    while deleted < _EMPTIED:
        answer = source.call("Scan", scan)
        keys = answer["Items"]
        for start in range(0, len(keys), _BATCH):
            requests = {facts.name: [{"DeleteRequest": {"Key": key}} for key in keys[start : start + _BATCH]]}
            for _ in range(_ATTEMPTS):
                requests = source.call("BatchWriteItem", {"RequestItems": requests}).get("UnprocessedItems") or {}
                if not requests:
                    break
            deleted += len(keys[start : start + _BATCH]) - len(requests.get(facts.name, ()))
        if not answer.get("LastEvaluatedKey"):
            return deleted, True
        scan["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
    return deleted, False


class _FieldError(ValueError):
    """A field of a form that cannot be used."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def _setting(facts: TableFacts, setting: str, posted: PostedForm) -> tuple[str, dict[str, Any], str]:  # noqa: C901
    """Return operation, request and the message afterwards."""
    table = {"TableName": facts.name}
    if setting == "ttl":
        attribute = facts.ttl_attribute or posted["attribute"].strip()
        if not attribute:
            raise _FieldError("ttl", "enter the attribute with the time of expiry, in seconds of the epoch")
        specification = {"Enabled": not facts.ttl_attribute, "AttributeName": attribute}
        done = f"Time to live is {'off' if facts.ttl_attribute else f'on: {attribute}'}."
        return "UpdateTimeToLive", {**table, "TimeToLiveSpecification": specification}, done
    if setting == "stream":
        view = posted["view"]
        stream = {"StreamEnabled": True, "StreamViewType": view} if view else {"StreamEnabled": False}
        return "UpdateTable", {**table, "StreamSpecification": stream}, "Stream changed."
    if setting == "recovery":
        recovery = {"PointInTimeRecoveryEnabled": not facts.has_recovery}
        done = f"Point-in-time recovery is {'off' if facts.has_recovery else 'on'}."
        return "UpdateContinuousBackups", {**table, "PointInTimeRecoverySpecification": recovery}, done
    if setting == "protection":
        done = f"Deletion protection is {'off' if facts.is_protected else 'on'}."
        return "UpdateTable", {**table, "DeletionProtectionEnabled": not facts.is_protected}, done
    if setting == "backup":
        name = posted["name"].strip()
        if not name:
            raise _FieldError("backup", "enter a name for the backup")
        return "CreateBackup", {**table, "BackupName": name}, f"Backup {name} created."
    if setting == "tag":
        if not posted["tag_key"].strip():
            raise _FieldError("tag", "enter a key")
        tags = [{"Key": posted["tag_key"].strip(), "Value": posted["tag_value"]}]
        return "TagResource", {"ResourceArn": facts.arn, "Tags": tags}, "Tag added."
    if setting == "untag":
        return "UntagResource", {"ResourceArn": facts.arn, "TagKeys": [posted["tag_key"]]}, "Tag removed."
    if setting == "index":
        definitions = _Definitions({part["AttributeName"]: part["AttributeType"] for part in _defined(facts)})
        index = _index(posted, "index_", definitions, "index")
        if facts.description.get("ProvisionedThroughput", {}).get("ReadCapacityUnits"):
            index["ProvisionedThroughput"] = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
        changes = [{"Create": index}]
        call = {**table, "AttributeDefinitions": definitions.all(), "GlobalSecondaryIndexUpdates": changes}
        return "UpdateTable", call, f"Index {index['IndexName']} is being created."
    raise _FieldError("form", f"unknown setting {setting!r}")


def _defined(facts: TableFacts) -> list[Mapping[str, str]]:
    return list(facts.description.get("AttributeDefinitions", ()))


class _Definitions:
    """Types of key attributes."""

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        self._types = dict(known or {})

    def add(self, field: str, name: str, kind: str) -> None:
        if self._types.setdefault(name, kind) != kind:
            raise _FieldError(field, f"{name} is already a key attribute of type {self._types[name]}")

    def all(self) -> list[dict[str, str]]:
        return [{"AttributeName": name, "AttributeType": kind} for name, kind in self._types.items()]


def _schema(pk: str, sk: str) -> list[dict[str, str]]:
    hash_key = [{"AttributeName": pk, "KeyType": "HASH"}]
    return [*hash_key, {"AttributeName": sk, "KeyType": "RANGE"}] if sk else hash_key


def _index(posted: PostedForm, prefix: str, definitions: _Definitions, field: str) -> dict[str, Any]:
    name, pk, sk = (posted[prefix + part].strip() for part in ("name", "pk", "sk"))
    if not (name and pk):
        raise _FieldError(field, "an index needs a name and a partition key")
    definitions.add(field, pk, posted[f"{prefix}pk_type"] or "S")
    if sk:
        definitions.add(field, sk, posted[f"{prefix}sk_type"] or "S")
    projection: dict[str, Any] = {"ProjectionType": posted[f"{prefix}projection"] or "ALL"}
    if projection["ProjectionType"] == "INCLUDE":
        projection["NonKeyAttributes"] = [
            part.strip() for part in posted[f"{prefix}attributes"].split(",") if part.strip()
        ]
    return {"IndexName": name, "KeySchema": _schema(pk, sk), "Projection": projection}


def _new_table(posted: PostedForm) -> dict[str, Any]:
    name, pk, sk = (posted[part].strip() for part in ("name", "pk", "sk"))
    if not name:
        raise _FieldError("name", "Enter a name.")
    if not pk:
        raise _FieldError("pk", "Enter the name of the partition key.")
    definitions = _Definitions()
    definitions.add("pk", pk, posted["pk_type"] or "S")
    if sk:
        definitions.add("sk", sk, posted["sk_type"] or "S")
    call: dict[str, Any] = {"TableName": name, "KeySchema": _schema(pk, sk)}
    throughput = None
    if posted["billing"] == "PROVISIONED":
        units = [posted[part].strip() for part in ("rcu", "wcu")]
        if not all(unit.isdecimal() and int(unit) > 0 for unit in units):
            raise _FieldError("rcu", "Enter whole numbers of capacity units.")
        throughput = {"ReadCapacityUnits": int(units[0]), "WriteCapacityUnits": int(units[1])}
        call["ProvisionedThroughput"] = throughput
    else:
        call["BillingMode"] = "PAY_PER_REQUEST"
    indexes = [
        _index(posted, f"index{place}_", definitions, f"index{place}_name")
        for place in range(_INDEXES)
        if posted[f"index{place}_name"].strip() or posted[f"index{place}_pk"].strip()
    ]
    if indexes:
        call["GlobalSecondaryIndexes"] = [
            {**index, **({"ProvisionedThroughput": throughput} if throughput else {})} for index in indexes
        ]
    if posted["stream"]:
        call["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": posted["stream"]}
    call["AttributeDefinitions"] = definitions.all()
    return call


def _json_table(text: str) -> dict[str, Any]:
    """Return the request of a CreateTable JSON, as `aws dynamodb create-table --cli-input-json` accepts it."""
    try:
        call = read_json(text)
    except DocumentError as error:
        raise _FieldError("json", str(error)) from None
    if not isinstance(call, dict) or not isinstance(call.get("TableName"), str):
        raise _FieldError("json", "expected a request of CreateTable with a TableName")
    return call
