"""Functions that convert form fields to requests that create a table or change its settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from keyplan.console.data.documents import DocumentError, read_json
from keyplan.console.data.facts import TableFacts
from keyplan.console.frame import PostedForm

Change: TypeAlias = tuple[str, dict[str, Any], str]
"""A request that changes a table: the operation, the request, and the message to show if it succeeds."""
INDEXES: Final = 3
"""The maximum number of global secondary indexes that can be entered in the form for a new table."""


class FieldError(ValueError):
    """Raised for a form field with an invalid value."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class _Definitions:
    """Collects the key attributes of a table and its indexes with their types, for AttributeDefinitions in
    a request.
    """

    def __init__(self, known_types: Mapping[str, str] | None = None) -> None:
        self._types = dict(known_types or {})

    def add(self, field: str, name: str, type_code: str) -> None:
        if self._types.setdefault(name, type_code) != type_code:
            raise FieldError(field, f"{name} is already a key attribute of type {self._types[name]}")

    def elements(self) -> list[dict[str, str]]:
        return [{"AttributeName": name, "AttributeType": type_code} for name, type_code in self._types.items()]


def _schema(pk: str, sk: str) -> list[dict[str, str]]:
    hash_key = [{"AttributeName": pk, "KeyType": "HASH"}]
    return [*hash_key, {"AttributeName": sk, "KeyType": "RANGE"}] if sk else hash_key


def _index(posted: PostedForm, prefix: str, definitions: _Definitions, field: str) -> dict[str, Any]:
    name, pk, sk = (posted[prefix + suffix].strip() for suffix in ("name", "pk", "sk"))
    if not (name and pk):
        raise FieldError(field, "an index needs a name and a partition key")
    definitions.add(field, pk, posted[f"{prefix}pk_type"] or "S")
    if sk:
        definitions.add(field, sk, posted[f"{prefix}sk_type"] or "S")
    projection: dict[str, Any] = {"ProjectionType": posted[f"{prefix}projection"] or "ALL"}
    if projection["ProjectionType"] == "INCLUDE":
        projection["NonKeyAttributes"] = [
            suffix.strip() for suffix in posted[f"{prefix}attributes"].split(",") if suffix.strip()
        ]
    return {"IndexName": name, "KeySchema": _schema(pk, sk), "Projection": projection}


def _throughput(posted: PostedForm, field: str) -> dict[str, int]:
    units = [posted[field_name].strip() for field_name in ("rcu", "wcu")]
    if not all(unit.isdecimal() and len(unit) < 8 and int(unit) > 0 for unit in units):
        raise FieldError(field, "Enter whole numbers of capacity units.")
    return {"ReadCapacityUnits": int(units[0]), "WriteCapacityUnits": int(units[1])}


def new_table(posted: PostedForm) -> dict[str, Any]:
    name, pk, sk = (posted[part].strip() for part in ("name", "pk", "sk"))
    if not name:
        raise FieldError("name", "Enter a name.")
    if not pk:
        raise FieldError("pk", "Enter the name of the partition key.")
    definitions = _Definitions()
    definitions.add("pk", pk, posted["pk_type"] or "S")
    if sk:
        definitions.add("sk", sk, posted["sk_type"] or "S")
    request: dict[str, Any] = {"TableName": name, "KeySchema": _schema(pk, sk)}
    throughput = None
    if posted["billing"] == "PROVISIONED":
        throughput = request["ProvisionedThroughput"] = _throughput(posted, "rcu")
    else:
        request["BillingMode"] = "PAY_PER_REQUEST"
    indexes = [
        _index(posted, f"index{number}_", definitions, f"index{number}_name")
        for number in range(INDEXES)
        if posted[f"index{number}_name"].strip() or posted[f"index{number}_pk"].strip()
    ]
    if indexes:
        request["GlobalSecondaryIndexes"] = [
            {**index, **({"ProvisionedThroughput": throughput} if throughput else {})} for index in indexes
        ]
    if posted["stream"]:
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": posted["stream"]}
    request["AttributeDefinitions"] = definitions.elements()
    return request


def json_table(text: str) -> dict[str, Any]:
    """Parse the JSON of a CreateTable request, in the format that `aws dynamodb create-table --cli-input-json` accepts.

    Raises FieldError if the text is not such a request.
    """
    try:
        request = read_json(text)
    except DocumentError as error:
        raise FieldError("json", str(error)) from None
    if not isinstance(request, dict) or not isinstance(request.get("TableName"), str):
        raise FieldError("json", "expected a CreateTable request with a TableName")
    return request


def change_of(facts: TableFacts, setting: str, posted: PostedForm) -> Change:
    """Return the request that changes `setting` of a table according to the posted form.

    Raises FieldError for a form field with an invalid value.
    """
    if setting not in _SETTINGS:
        raise FieldError("form", f"unknown setting {setting!r}")
    return _SETTINGS[setting](facts, posted)


def _ttl(facts: TableFacts, posted: PostedForm) -> Change:
    attribute = facts.ttl_attribute or posted["attribute"].strip()
    if not attribute:
        raise FieldError("ttl", "enter the attribute that contains the expiry time in epoch seconds")
    specification = {"Enabled": not facts.ttl_attribute, "AttributeName": attribute}
    message = f"Time to live is {'off' if facts.ttl_attribute else f'on: {attribute}'}."
    return "UpdateTimeToLive", {"TableName": facts.name, "TimeToLiveSpecification": specification}, message


def _stream(facts: TableFacts, posted: PostedForm) -> Change:
    view = posted["view"]
    stream = {"StreamEnabled": True, "StreamViewType": view} if view else {"StreamEnabled": False}
    return "UpdateTable", {"TableName": facts.name, "StreamSpecification": stream}, "Stream changed."


def _recovery(facts: TableFacts, _posted: PostedForm) -> Change:
    request = {
        "TableName": facts.name,
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": not facts.has_recovery},
    }
    return "UpdateContinuousBackups", request, f"Point-in-time recovery is {'off' if facts.has_recovery else 'on'}."


def _protection(facts: TableFacts, _posted: PostedForm) -> Change:
    request = {"TableName": facts.name, "DeletionProtectionEnabled": not facts.is_protected}
    return "UpdateTable", request, f"Deletion protection is {'off' if facts.is_protected else 'on'}."


def _capacity(facts: TableFacts, posted: PostedForm) -> Change:
    request: dict[str, Any] = {"TableName": facts.name, "BillingMode": "PAY_PER_REQUEST"}
    if posted["billing"] != "PAY_PER_REQUEST":
        throughput = _throughput(posted, "capacity")
        request |= {"BillingMode": "PROVISIONED", "ProvisionedThroughput": throughput}
        indexes = [index.name for index in facts.indexes if index.kind == "global"]
        if indexes and facts.billing == "on demand":  # each index then needs its own capacity
            request["GlobalSecondaryIndexUpdates"] = [
                {"Update": {"IndexName": name, "ProvisionedThroughput": throughput}} for name in indexes
            ]
    return "UpdateTable", request, "Capacity changed."


def _backup(facts: TableFacts, posted: PostedForm) -> Change:
    name = posted["name"].strip()
    if not name:
        raise FieldError("backup", "enter a name for the backup")
    return "CreateBackup", {"TableName": facts.name, "BackupName": name}, f"Backup {name} created."


def _tag(facts: TableFacts, posted: PostedForm) -> Change:
    if not posted["tag_key"].strip():
        raise FieldError("tag", "enter a key")
    tags = [{"Key": posted["tag_key"].strip(), "Value": posted["tag_value"]}]
    return "TagResource", {"ResourceArn": facts.arn, "Tags": tags}, "Tag added."


def _untag(facts: TableFacts, posted: PostedForm) -> Change:
    return "UntagResource", {"ResourceArn": facts.arn, "TagKeys": [posted["tag_key"]]}, "Tag removed."


def _new_index(facts: TableFacts, posted: PostedForm) -> Change:
    defined = facts.description.get("AttributeDefinitions", ())
    definitions = _Definitions({definition["AttributeName"]: definition["AttributeType"] for definition in defined})
    index = _index(posted, "index_", definitions, "index")
    throughput = facts.description.get("ProvisionedThroughput") or {}
    if throughput.get("ReadCapacityUnits"):
        names = ("ReadCapacityUnits", "WriteCapacityUnits")
        index["ProvisionedThroughput"] = {name: throughput[name] for name in names}
    request = {
        "TableName": facts.name,
        "AttributeDefinitions": definitions.elements(),
        "GlobalSecondaryIndexUpdates": [{"Create": index}],
    }
    return "UpdateTable", request, f"Index {index['IndexName']} is being created."


_SETTINGS: Final[Mapping[str, Callable[[TableFacts, PostedForm], Change]]] = {
    "backup": _backup,
    "capacity": _capacity,
    "index": _new_index,
    "protection": _protection,
    "recovery": _recovery,
    "stream": _stream,
    "tag": _tag,
    "ttl": _ttl,
    "untag": _untag,
}
