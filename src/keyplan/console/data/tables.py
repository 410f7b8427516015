"""Pages that list tables, and pages that show, create, change and delete a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keyplan.console.data.code import code_of
from keyplan.console.data.definitions import INDEXES, FieldError, change_of, json_table, new_table
from keyplan.console.data.facts import TableFacts, attempt, describe, describe_fully, in_parallel, instant, size_text
from keyplan.console.frame import Frame, PostedForm, error_text, posted_form, utc
from keyplan.console.source import Source
from keyplan.errors import ServiceError
from keyplan.pages import redirect

_TABLES: Final = 50
_MAX_DELETED: Final = 20_000
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
    """Return the routes of the pages for tables."""
    pages = _TablePages(console)
    table = "/data/tables/{table}"
    return [
        console.route("/data/", pages.tables),
        console.route("/data/create", pages.create, methods=("GET", "POST")),
        console.route(f"{table}/about", pages.about),
        console.route(f"{table}/settings", pages.change, methods=("POST",)),
        console.route(f"{table}/delete", pages.delete, methods=("GET", "POST")),
        console.route(f"{table}/restore", pages.restore, methods=("POST",)),
        console.route(f"{table}/delete-backup", pages.delete_backup, methods=("POST",)),
        console.route(f"{table}/empty", pages.empty, methods=("GET", "POST")),
        console.route(f"{table}/delete-index", pages.delete_index, methods=("GET", "POST")),
    ]


class _TablePages:
    def __init__(self, console: Frame) -> None:
        self._console, self._source = console, console.source

    def tables(self, request: Request) -> Response:
        """Show a page of the list of tables."""
        after = request.query_params.get("after", "")
        start = {"ExclusiveStartTableName": after} if after else {}
        response = self._source.call("ListTables", {"Limit": _TABLES, **start})
        names: list[str] = response.get("TableNames", [])
        name_part = request.query_params.get("name", "").strip().lower()
        if name_part:
            names = [name for name in names if name_part in name.lower()]

        def facts_of(name: str) -> TableFacts:
            try:
                return describe_fully(self._source, name, tags=False)
            except ServiceError as error:  # deleted between the two calls, or not permitted
                return TableFacts(name, {}, failed_operations={"DescribeTable": error_text(error)})

        tables = in_parallel(self._source, facts_of, names)
        failed_operations = {operation: text for facts in tables for operation, text in facts.failed_operations.items()}
        return self._console.render(
            request,
            "data/tables.html.j2",
            tables=tables,
            failed_operations=failed_operations,
            search_text=request.query_params.get("name", ""),
            next=response.get("LastEvaluatedTableName", ""),
            after=after,
        )

    def about(self, request: Request) -> Response:
        """Show the keys, indexes and settings of a table."""
        return self._about_page(request, request.path_params["table"])

    def _about_page(self, request: Request, name: str, errors: Mapping[str, str] | None = None) -> Response:
        facts = describe_fully(self._source, name)
        response = attempt(self._source, facts.failed_operations, "ListBackups", {"TableName": name, "Limit": 20})
        backups = [
            {
                "name": backup.get("BackupName", ""),
                "arn": backup.get("BackupArn", ""),
                "status": backup.get("BackupStatus", ""),
                "size": size_text(backup.get("BackupSizeBytes") or 0),
                "created": instant(backup.get("BackupCreationDateTime")),
            }
            for backup in response.get("BackupSummaries", [])
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
        """Change one setting of a table: TTL, stream, recovery, deletion protection, an index or a backup."""
        name, posted = request.path_params["table"], posted_form(request)
        facts = describe_fully(self._source, name)
        setting = posted["setting"]
        try:
            operation, call, message = change_of(facts, setting, posted)
            self._source.call(operation, call)
        except FieldError as error:
            return self._about_page(request, name, {error.field: str(error)})
        except ServiceError as error:
            return self._about_page(request, name, {setting: error_text(error)})
        return redirect(f"{request.url.path.removesuffix('settings')}about", message)

    def restore(self, request: Request) -> Response:
        """Restore a backup, or the table as of a given time, to a new table."""
        name, posted = request.path_params["table"], posted_form(request)
        target = posted["target"].strip()
        if not target:
            return self._about_page(request, name, {"restore": "enter a name for the restored table"})
        try:
            if arn := posted["arn"]:
                self._source.call("RestoreTableFromBackup", {"BackupArn": arn, "TargetTableName": target})
            else:
                time = _restore_time(posted["time"])
                call = {"SourceTableName": name, "TargetTableName": target, **time}
                self._source.call("RestoreTableToPointInTime", call)
        except FieldError as error:
            return self._about_page(request, name, {error.field: str(error)})
        except ServiceError as error:
            return self._about_page(request, name, {"restore": error_text(error)})
        tables = request.url.path.partition("/data/")[0] + "/data/"
        return redirect(tables, f"Table {target} is being restored.")

    def delete_backup(self, request: Request) -> Response:
        """Ask for confirmation, then delete a backup."""
        facts, posted = describe(self._source, request.path_params["table"]), posted_form(request)
        if posted["confirmed"] != "yes":
            return self._console.render(
                request,
                "data/confirm.html.j2",
                facts=facts,
                tab="about",
                heading=f"Delete backup {posted['name']}?",
                consequence="The table does not change, but can no longer be restored from this backup.",
                subjects=[],
                action=request.url.path,
                hidden=[("arn", posted["arn"]), ("name", posted["name"])],
                button="Delete backup",
                typed="",
                back="about",
                errors={},
            )
        try:
            self._source.call("DeleteBackup", {"BackupArn": posted["arn"]})
        except ServiceError as error:
            return self._about_page(request, facts.name, {"backup": error_text(error)})
        return redirect(f"{request.url.path.removesuffix('delete-backup')}about", f"Backup {posted['name']} deleted.")

    def create(self, request: Request) -> Response:
        """Show the form for a new table, or create the table."""
        if request.method == "GET":
            return self._create_page(request, PostedForm([]), {})
        posted = posted_form(request)
        try:
            table_request = json_table(posted["json"]) if posted["json"].strip() else new_table(posted)
            self._source.call("CreateTable", table_request)
        except FieldError as error:
            return self._create_page(request, posted, {error.field: str(error)})
        except ServiceError as error:
            return self._create_page(request, posted, {"form": error_text(error)})
        created = f"Table {table_request['TableName']} created."
        if posted["ttl"].strip() and not posted["json"].strip():
            failed_operations: dict[str, str] = {}
            ttl = {"Enabled": True, "AttributeName": posted["ttl"].strip()}
            attempt(
                self._source,
                failed_operations,
                "UpdateTimeToLive",
                {"TableName": table_request["TableName"], "TimeToLiveSpecification": ttl},
            )
            created += "".join(f" Time to live could not be turned on: {text}" for text in failed_operations.values())
        path = request.url.path.removesuffix("create")
        return redirect(f"{path}tables/{table_request['TableName']}/about", created)

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
            indexes=range(INDEXES),
        )

    def delete(self, request: Request) -> Response:
        """Ask for the table's name, then delete the table with all its items."""
        facts = describe(self._source, request.path_params["table"])

        def act() -> Response:
            self._source.call("DeleteTable", {"TableName": facts.name})
            return redirect(request.url.path.partition("/data/")[0] + "/data/", f"Table {facts.name} deleted.")

        return self._confirm(
            request,
            facts,
            facts.name,
            act,
            heading=f"Delete table {facts.name}?",
            consequence=f"Deletes the table with about {facts.keys.items:,} items ({size_text(facts.keys.size)}) and "
            "its indexes. They can be restored only from a backup.",
            button="Delete table",
        )

    def empty(self, request: Request) -> Response:
        """Ask for the table's name, then delete the table's items.

        Each confirmation deletes at most a few thousand items.
        """
        facts = describe(self._source, request.path_params["table"])

        def act() -> Response:
            deleted, is_empty = _delete_items(self._source, facts)
            outcome = "The table is empty." if is_empty else "Items remain: delete all items again."
            return redirect(request.url.path.removesuffix("empty"), f"{deleted:,} items deleted. {outcome}")

        return self._confirm(
            request,
            facts,
            facts.name,
            act,
            heading=f"Delete all items of {facts.name}?",
            consequence=f"Reads the table and deletes its items, at most {_MAX_DELETED:,} at once; each deletion "
            "consumes write capacity. The table, its indexes and its settings are kept.",
            button="Delete all items",
        )

    def delete_index(self, request: Request) -> Response:
        """Ask for the index's name, then delete the index."""
        facts = describe(self._source, request.path_params["table"])
        index = request.query_params.get("index", "")
        if facts.keys_of(index) is None or not index:
            return self._console.error_page(request, 404, "Not Found", f"{facts.name} has no index {index}.")

        def act() -> Response:
            updates = [{"Delete": {"IndexName": index}}]
            self._source.call("UpdateTable", {"TableName": facts.name, "GlobalSecondaryIndexUpdates": updates})
            return redirect(request.url.path.removesuffix("delete-index") + "about", f"Index {index} deleted.")

        return self._confirm(
            request,
            facts,
            index,
            act,
            heading=f"Delete index {index}?",
            consequence="Requests that read the index will fail. The items stay in the table.",
            button="Delete index",
        )

    def _confirm(
        self,
        request: Request,
        facts: TableFacts,
        name: str,
        perform: Callable[[], Response],
        *,
        heading: str,
        consequence: str,
        button: str,
    ) -> Response:
        """Ask the user to type a name, and call `perform` when the typed name is correct.

        If `perform` raises an error, the error is shown next to the field.
        """
        errors = {}
        if request.method == "POST":
            if posted_form(request)["typed"] == name:
                try:
                    return perform()
                except ServiceError as error:
                    errors["typed"] = error_text(error)
            else:
                errors["typed"] = f"Type {name} to confirm."
        return self._console.render(
            request,
            "data/confirm.html.j2",
            400 if errors else 200,
            facts=facts,
            tab="about",
            heading=heading,
            consequence=consequence,
            subjects=[],
            action=f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path,
            hidden=[],
            button=button,
            typed=name,
            back="about",
            errors=errors,
        )


def _restore_time(text: str) -> dict[str, Any]:
    """Return the request parameter for the time to restore. `text` is a time in UTC.

    If the text is empty, the latest possible time is restored. Raises FieldError for an invalid time.
    """
    try:
        return {"RestoreDateTime": utc(text).timestamp()} if text.strip() else {"UseLatestRestorableTime": True}
    except ValueError:
        raise FieldError("restore", f"expected a UTC time such as 2026-01-31T09:30:00, got {text!r}") from None


def _delete_items(source: Source, facts: TableFacts) -> tuple[int, bool]:
    """Delete items from a table, up to a limit. Return the number of deleted items, and whether the table
    is now empty.
    """
    aliases = {f"#k{number}": name for number, name in enumerate(facts.keys.names)}
    scan: dict[str, Any] = {
        "TableName": facts.name,
        "ProjectionExpression": ", ".join(aliases),
        "ExpressionAttributeNames": aliases,
        "Limit": 1000,
    }
    deleted = 0
    while deleted < _MAX_DELETED:
        response = source.call("Scan", scan)
        count = source.write_batch(facts.name, [{"DeleteRequest": {"Key": key}} for key in response["Items"]])
        deleted += count
        if count < len(response["Items"]):
            return deleted, False
        if not response.get("LastEvaluatedKey"):
            return deleted, True
        scan["ExclusiveStartKey"] = response["LastEvaluatedKey"]
    return deleted, False
