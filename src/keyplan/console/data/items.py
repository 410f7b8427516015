"""Pages that show, edit and delete items. A change never overwrites a concurrent change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keyplan.console.data.code import code_of
from keyplan.console.data.documents import (
    DocumentError,
    Item,
    bytes_of,
    cell,
    decoded_key,
    digest,
    encoded_key,
    is_same,
    key_text,
    plain_text,
    read_plain,
    read_typed,
    typed_text,
)
from keyplan.console.data.facts import IndexKeys, TableFacts, describe, size_text
from keyplan.console.data.fields import (
    FIELD_TYPES,
    FORM_ATTRIBUTES,
    FORM_BYTES,
    AttributeField,
    fields_of,
    has_plain_loss,
    read_fields,
)
from keyplan.console.data.rows import columns_of, groups_of
from keyplan.console.data.search import (
    FILTERS,
    SORT_CONDITIONS,
    VALUE_TYPES,
    AttributeFilter,
    Search,
    SearchError,
    scalar,
)
from keyplan.console.frame import Frame, PostedForm, error_text, posted_form
from keyplan.console.source import Source
from keyplan.errors import ConditionalCheckFailedError, ServiceError
from keyplan.pages import redirect

_MAX_CHANGES: Final = 100
"""The maximum number of attributes in one update.

Each attribute needs two of the 300 operators that a condition can have.
"""
_MAX_DELETED: Final = 1000
_MAX_COUNTED_PAGES: Final = 100
"""The maximum number of pages, of up to 1 MB each, that are read to count items."""
_VIEWS: Final = (("form", "Form"), ("plain", "JSON"), ("dynamodb", "DynamoDB JSON"))


def routes(console: Frame) -> list[Route]:
    """Return the routes of the pages for items."""
    pages = _ItemPages(console)
    table = "/data/tables/{table}"
    return [
        console.route(f"{table}/", pages.items),
        console.route(f"{table}/item", pages.item, methods=("GET", "POST")),
        console.route(f"{table}/new", pages.new, methods=("GET", "POST")),
        console.route(f"{table}/delete-items", pages.delete, methods=("POST",)),
    ]


@dataclass
class Draft:
    """The content of the item editor, with error messages."""

    view: str
    text: str = ""
    fields: list[AttributeField] = field(default_factory=list)
    digest: str = ""
    error: str = ""
    conflict: list[str] = field(default_factory=list)
    """The names of the attributes whose stored and entered values differ after a concurrent change."""
    key_errors: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    """The texts that were entered in the key fields of a new item, by attribute."""
    existing: str = ""
    """The encoded key of the stored item that has the same key as the new item, or an empty string if none exists."""


class _ItemPages:
    def __init__(self, console: Frame) -> None:
        self._console, self._source = console, console.source

    def items(self, request: Request) -> Response:
        """Show a page of a table's or index's items: the first page of a scan, or the result of the search form."""
        facts = describe(self._source, request.path_params["table"])
        search = Search.from_query(request.query_params)
        errors: dict[str, str] = {}
        failure, code, response, total = "", None, {}, None
        try:
            operation, call = search.request(facts)
            code = code_of(self._source, operation, call)
            response = self._source.call(operation, call)
            if request.query_params.get("count") == "yes":
                total = _count_items(self._source, operation, call)
        except SearchError as error:
            errors[error.name] = error.message
        except ServiceError as error:
            failure = error_text(error)
        items = response.get("Items", [])
        keys = facts.keys_of(search.index) or facts.keys
        columns = columns_of(items, list(dict.fromkeys([*keys.names, *facts.keys.names])), search.columns)
        last = response.get("LastEvaluatedKey")
        return self._console.render(
            request,
            "data/items.html.j2",
            400 if errors else 200,
            facts=facts,
            tab="items",
            search=search,
            keys=keys,
            indexes=[("", f"table {facts.name}"), *((index.name, f"index {index.name}") for index in facts.indexes)],
            errors=errors,
            failure=failure,
            code=code,
            count=len(items),
            total=total,
            scanned=response.get("ScannedCount", len(items)),
            columns=columns,
            groups=groups_of(items, columns, search, keys, facts),
            next=search.link(start=encoded_key(last)) if last else "",
            sort_conditions=SORT_CONDITIONS,
            filters=FILTERS,
            value_types=VALUE_TYPES,
            filter_rows=[*search.filters, AttributeFilter("")],
            size_text=size_text,
        )

    def item(self, request: Request) -> Response:
        """Show one item, or save its changes."""
        facts = describe(self._source, request.path_params["table"])
        try:
            key = decoded_key(request.query_params.get("key", ""))
        except DocumentError as error:
            return self._console.error_page(request, 400, "The URL does not identify an item", str(error))
        item = get(self._source, facts, key)
        if request.method == "POST" and item is not None:
            return self._save(request, facts, key, item)
        view = _view(request.query_params.get("as"), item or {})
        return self._editor(request, facts, key, item, _item_draft(item or {}, view, facts.keys))

    def _save(self, request: Request, facts: TableFacts, key: Item, item: Item) -> Response:
        posted = posted_form(request)
        draft = _posted_draft(posted)
        try:
            new_item = _posted_item(posted, draft, item)
            for name in facts.keys.names:
                if not is_same(new_item.setdefault(name, key[name]), key[name]):
                    raise DocumentError(
                        f"{name}: a key attribute cannot change; create a copy of the item with another key"
                    )
        except DocumentError as error:
            draft.error = str(error)
            return self._editor(request, facts, key, item, draft, 400)
        if posted["digest"] != digest(item):
            return self._conflict(request, facts, key, item, draft)
        item_url = f"{request.url.path}?key={encoded_key(key)}&as={draft.view}"
        update = update_of(facts, key, item, new_item)
        if update is None:
            return redirect(item_url, "Nothing has changed.")
        if isinstance(update, str):
            draft.error = update
            return self._editor(request, facts, key, item, draft, 400)
        try:
            self._source.call("UpdateItem", update)
        except ConditionalCheckFailedError:
            current = get(self._source, facts, key)
            return self._conflict(request, facts, key, current, draft)
        except ServiceError as error:
            draft.error = error_text(error)
            return self._editor(request, facts, key, item, draft, 400)
        return redirect(item_url, "Item saved.")

    def _conflict(self, request: Request, facts: TableFacts, key: Item, current: Item | None, draft: Draft) -> Response:
        """Show the editor with the entered text again, because another program has changed the item.

        The user can then decide whether to save the text. `current` is the stored item, or None if it was deleted.
        """
        if current is not None:
            entered_item = _item_without_invalid_fields(draft, current)
            names = sorted({*current, *entered_item} - set(facts.keys.names))
            draft.conflict = [name for name in names if not _is_equal(current.get(name), entered_item.get(name))]
            draft.digest = digest(current)
        return self._editor(request, facts, key, current, draft, 409)

    def _editor(  # noqa: PLR0917 - the parts of one page
        self, request: Request, facts: TableFacts, key: Item, item: Item | None, draft: Draft, status: int = 200
    ) -> Response:
        call = {"TableName": facts.name, "Key": key}
        return self._console.render(
            request,
            "data/item.html.j2",
            status if item is not None else (409 if request.method == "POST" else 404),
            facts=facts,
            tab="items",
            key=key,
            key_cells=[(name, cell(key[name])) for name in facts.keys.names if name in key],
            encoded=encoded_key(key),
            item=item,
            draft=draft,
            views=_VIEWS,
            is_large=item is not None and _is_large(item),
            loses_types=item is not None and any(has_plain_loss({"L": [value]}) for value in item.values()),
            size=size_text(bytes_of(item or {})),
            field_types=FIELD_TYPES,
            code=code_of(self._source, "GetItem", call),
            collection=Search(pk=key_text(key[facts.keys.pk])).link() if facts.keys.sk and facts.keys.pk in key else "",
        )

    def new(self, request: Request) -> Response:
        """Show the form for a new item or for a copy of an item, or create the item."""
        facts = describe(self._source, request.path_params["table"])
        if request.method == "POST":
            return self._create(request, facts)
        item: Item = {}
        if "key" in request.query_params:
            try:
                item = get(self._source, facts, decoded_key(request.query_params["key"])) or {}
            except DocumentError:
                item = {}
        view = _view(request.query_params.get("as"), item)
        draft = _item_draft(item, view, facts.keys)
        if not item and view != "form":
            example = {
                name: {facts.type_of(name): "" if facts.type_of(name) != "N" else "0"} for name in facts.keys.names
            }
            draft.text = plain_text(example) if view == "plain" else typed_text(example)
        draft.keys = {name: key_text(item[name]) for name in facts.keys.names if name in item}
        return self._new_page(request, facts, draft)

    def _create(self, request: Request, facts: TableFacts) -> Response:
        posted = posted_form(request)
        draft = _posted_draft(posted)
        draft.keys = {name: posted[f"key_{name}"] for name in facts.keys.names}
        try:
            item = _posted_item(posted, draft, {})
            if draft.view == "form":
                item = {**self._key_fields(facts, draft), **item}
            put_request = {
                "TableName": facts.name,
                "Item": item,
                "ConditionExpression": "attribute_not_exists(#key)",
                "ExpressionAttributeNames": {"#key": facts.keys.pk},
            }
            self._source.call("PutItem", put_request)
        except ConditionalCheckFailedError:
            draft.error = "An item with this key already exists. Open it to change it, or enter another key."
            draft.existing = encoded_key({name: item[name] for name in facts.keys.names})
            return self._new_page(request, facts, draft, 409)
        except DocumentError as error:
            draft.error = str(error)
            return self._new_page(request, facts, draft, 400)
        except ServiceError as error:
            draft.error = error_text(error)
            return self._new_page(request, facts, draft, 400)
        key = {name: item[name] for name in facts.keys.names}
        path = request.url.path.removesuffix("new")
        return redirect(f"{path}item?key={encoded_key(key)}&as={draft.view}", "Item created.")

    def _key_fields(self, facts: TableFacts, draft: Draft) -> Item:
        key: Item = {}
        for name in facts.keys.names:
            text = draft.keys[name]
            try:
                if not text:
                    raise DocumentError(f"{name}: enter a value")
                key[name] = scalar(facts.type_of(name), text, name)
            except DocumentError as error:
                draft.key_errors[f"key_{name}"] = str(error).removeprefix(f"{name}: ")
        if draft.key_errors:
            raise DocumentError("The key is incomplete.")
        return key

    def _new_page(self, request: Request, facts: TableFacts, draft: Draft, status: int = 200) -> Response:
        return self._console.render(
            request,
            "data/new.html.j2",
            status,
            facts=facts,
            tab="items",
            draft=draft,
            views=_VIEWS,
            field_types=FIELD_TYPES,
            copied=request.query_params.get("key", ""),
        )

    def delete(self, request: Request) -> Response:
        """Ask for confirmation, then delete the selected items."""
        facts = describe(self._source, request.path_params["table"])
        posted = posted_form(request)
        table = request.url.path.removesuffix("delete-items")
        selected_keys = list(dict.fromkeys(posted.all("key")))[:_MAX_DELETED]
        if not selected_keys:
            return redirect(table, "Select the items to delete first.")
        try:
            keys = [decoded_key(text) for text in selected_keys]
        except DocumentError as error:
            return self._console.error_page(request, 400, "The URL does not identify an item", str(error))
        if posted["confirmed"] != "yes":
            return self._console.render(
                request,
                "data/confirm.html.j2",
                facts=facts,
                tab="items",
                heading="Delete this item?" if len(keys) == 1 else f"Delete {len(keys)} items?",
                consequence="Deleted items can be restored only from a backup.",
                subjects=[" / ".join(cell(value).text for value in key.values()) for key in keys],
                action=request.url.path,
                hidden=[("key", text) for text in selected_keys],
                button="Delete" if len(keys) == 1 else f"Delete {len(keys)} items",
                typed="",
                back=table,
                errors={},
            )
        for key in keys:
            self._source.call("DeleteItem", {"TableName": facts.name, "Key": key})
        return redirect(table, "Item deleted." if len(keys) == 1 else f"{len(keys)} items deleted.")


def get(source: Source, facts: TableFacts, key: Item) -> Item | None:
    """Return the stored item with the given key, or None if it does not exist. The read is strongly consistent."""
    stored: Item | None = source.call("GetItem", {"TableName": facts.name, "Key": key, "ConsistentRead": True}).get(
        "Item"
    )
    return stored


def update_of(facts: TableFacts, key: Item, item: Item, new_item: Item) -> dict[str, Any] | str | None:
    """Return an update of the attributes that differ between `item` and `new_item`.

    The update fails if one of these attributes no longer has the value in `item`. Return None if nothing changed, and
    an error message if too many attributes changed.
    """
    names = [
        name
        for name in sorted({*item, *new_item})
        if name not in facts.keys.names and not _is_equal(item.get(name), new_item.get(name))
    ]
    if not names:
        return None
    if len(names) > _MAX_CHANGES:
        return f"{len(names)} attributes changed: save at most {_MAX_CHANGES} at once"
    aliases = {name: f"#n{number}" for number, name in enumerate(names)}
    values: Item = {}
    assignments, removals, conditions = [], [], ["attribute_exists(#key)"]
    for number, name in enumerate(names):
        if name in new_item:
            values[f":v{number}"] = new_item[name]
            assignments.append(f"{aliases[name]} = :v{number}")
        else:
            removals.append(aliases[name])
        if name in item:
            values[f":o{number}"] = item[name]
            conditions.append(f"{aliases[name]} = :o{number}")
        else:
            conditions.append(f"attribute_not_exists({aliases[name]})")
    actions = [
        f"SET {', '.join(assignments)}" if assignments else "",
        f"REMOVE {', '.join(removals)}" if removals else "",
    ]
    return {
        "TableName": facts.name,
        "Key": key,
        "UpdateExpression": " ".join(filter(None, actions)),
        "ConditionExpression": " AND ".join(conditions),
        "ExpressionAttributeNames": {**{alias: name for name, alias in aliases.items()}, "#key": facts.keys.pk},
        **({"ExpressionAttributeValues": values} if values else {}),
    }


def _count_items(source: Source, operation: str, call: Mapping[str, Any]) -> tuple[int, int, bool]:
    """Count the items that a query or scan returns.

    Return the number of matching items, the number of items read, and whether all items were read.
    """
    ignored = {"Limit", "ProjectionExpression", "ExclusiveStartKey"}
    count: dict[str, Any] = {**{name: value for name, value in call.items() if name not in ignored}, "Select": "COUNT"}
    expressions = " ".join(str(call.get(name, "")) for name in ("KeyConditionExpression", "FilterExpression"))
    aliases = {alias: name for alias, name in call.get("ExpressionAttributeNames", {}).items() if alias in expressions}
    if aliases:
        count["ExpressionAttributeNames"] = aliases
    else:
        count.pop("ExpressionAttributeNames", None)
    match_count = read_count = 0
    for _ in range(_MAX_COUNTED_PAGES):
        response = source.call(operation, count)
        match_count += response["Count"]
        read_count += response.get("ScannedCount", response["Count"])
        if not response.get("LastEvaluatedKey"):
            return match_count, read_count, True
        count["ExclusiveStartKey"] = response["LastEvaluatedKey"]
    return match_count, read_count, False


def _is_equal(left: Mapping[str, Any] | None, right: Mapping[str, Any] | None) -> bool:
    if left is None or right is None:
        return left is right
    return is_same(left, right)


def _is_large(item: Item) -> bool:
    return len(item) > FORM_ATTRIBUTES or bytes_of(item) > FORM_BYTES


def _view(requested: str | None, item: Item) -> str:
    views = {name for name, _ in _VIEWS}
    view = requested if requested in views else "form"
    return "dynamodb" if view == "form" and _is_large(item) else view


def _item_draft(item: Item, view: str, keys: IndexKeys) -> Draft:
    draft = Draft(view, digest=digest(item))
    if view == "form":
        draft.fields = fields_of(item, keys.names)
    else:
        draft.text = plain_text(item) if view == "plain" else typed_text(item)
    return draft


def _posted_draft(posted: PostedForm) -> Draft:
    view = posted["as"] if posted["as"] in {"plain", "dynamodb"} else "form"
    return Draft(view, text=posted["text"], digest=posted["digest"])


def _posted_item(posted: PostedForm, draft: Draft, stored_item: Item) -> Item:
    """Return the item in a posted form. Raises DocumentError if the form does not contain a valid item."""
    if draft.view == "dynamodb":
        return read_typed(draft.text)
    if draft.view == "plain":
        return read_plain(draft.text, stored_item)
    item, draft.fields = read_fields(
        posted.all("a_name"), posted.all("a_type"), posted.all("a_value"), posted.all("a_remove")
    )
    invalid_fields = [input_field for input_field in draft.fields if input_field.error]
    if invalid_fields:
        raise DocumentError(f"{invalid_fields[0].name or 'a field without a name'}: {invalid_fields[0].error}")
    return item


def _item_without_invalid_fields(draft: Draft, current: Item) -> Item:
    """Return the item in a draft, without the form fields that are invalid.

    Raises DocumentError if the draft contains JSON that is not a valid item.
    """
    if draft.view == "form":
        return read_fields(
            [input_field.name for input_field in draft.fields],
            [input_field.type_name for input_field in draft.fields],
            [input_field.text for input_field in draft.fields],
            (),
        )[0]
    return read_typed(draft.text) if draft.view == "dynamodb" else read_plain(draft.text, current)
