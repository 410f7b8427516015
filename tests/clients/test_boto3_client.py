"""boto3's client: tables, items, pages, batches, transactions, streams, expiry, PartiQL, errors."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError, ParamValidationError

Item = dict[str, dict[str, Any]]


def order(customer: str, placed: int, **attributes: dict[str, Any]) -> Item:
    return {"customer": {"S": customer}, "placed": {"N": str(placed)}, **attributes}


def key(customer: str, placed: int) -> Item:
    return order(customer, placed)


def fill(client: Any, table: str, customer: str, count: int) -> None:
    for first in range(0, count, 25):
        puts = [
            {"PutRequest": {"Item": order(customer, n, total={"N": str(n % 10)}, state={"S": "new"})}}
            for n in range(first, min(first + 25, count))
        ]
        response = client.batch_write_item(RequestItems={table: puts})
        assert response["UnprocessedItems"] == {}


def test_a_table_is_created_described_listed_and_deleted(client: Any, orders: dict[str, Any]) -> None:
    table_description = client.create_table(**orders)["TableDescription"]
    assert table_description["TableName"] == "orders"
    assert isinstance(table_description["CreationDateTime"], datetime.datetime)
    assert table_description["CreationDateTime"].tzinfo is not None
    client.get_waiter("table_exists").wait(TableName="orders")
    described = client.describe_table(TableName="orders")["Table"]
    assert described["TableStatus"] == "ACTIVE"
    assert [index["IndexName"] for index in described["GlobalSecondaryIndexes"]] == ["by-state"]
    assert described["LatestStreamArn"].startswith(described["TableArn"])
    assert client.list_tables()["TableNames"] == ["orders"]
    client.delete_table(TableName="orders")
    client.get_waiter("table_not_exists").wait(TableName="orders")
    assert client.list_tables()["TableNames"] == []


def test_tables_are_listed_in_pages(client: Any) -> None:
    names = [f"table-{n}" for n in range(5)]
    for name in names:
        client.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
    pages = client.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 2})
    assert [page["TableNames"] for page in pages] == [names[:2], names[2:4], names[4:]]


def test_every_type_of_value_comes_back(client: Any, table: str) -> None:
    item = order(
        "ann",
        1,
        text={"S": "grün"},
        number={"N": "-12.5"},
        binary={"B": b"\x00\xff"},
        texts={"SS": ["a", "b"]},
        numbers={"NS": ["1", "2"]},
        binaries={"BS": [b"\x00", b"\x01"]},
        yes={"BOOL": True},
        nothing={"NULL": True},
        list={"L": [{"S": "a"}, {"M": {"deep": {"B": b"x"}}}]},
        map={"M": {"empty": {"L": []}}},
    )
    client.put_item(TableName=table, Item=item)
    stored_item = client.get_item(TableName=table, Key=key("ann", 1))["Item"]
    for name in ("texts", "numbers", "binaries"):
        (kind,) = item[name]
        assert sorted(stored_item[name][kind]) == item[name][kind]
        del stored_item[name]
    assert stored_item == {name: value for name, value in item.items() if name in stored_item}


def test_binary_is_accepted_as_text_and_as_an_array(client: Any, table: str) -> None:
    item = order("ann", 1, text={"B": "grün"}, array={"B": bytearray(b"\x01")})
    client.put_item(TableName=table, Item=item)
    stored_item = client.get_item(TableName=table, Key=key("ann", 1))["Item"]
    assert (stored_item["text"], stored_item["array"]) == ({"B": "grün".encode()}, {"B": b"\x01"})


def test_an_item_is_updated_and_deleted(client: Any, table: str) -> None:
    client.put_item(TableName=table, Item=order("ann", 1, total={"N": "5"}))
    updated = client.update_item(
        TableName=table,
        Key=key("ann", 1),
        UpdateExpression="SET #t = #t + :n, #s = :s REMOVE absent",
        ExpressionAttributeNames={"#t": "total", "#s": "state"},
        ExpressionAttributeValues={":n": {"N": "2"}, ":s": {"S": "paid"}},
        ReturnValues="UPDATED_NEW",
        ReturnConsumedCapacity="TOTAL",
    )
    assert updated["Attributes"] == {"total": {"N": "7"}, "state": {"S": "paid"}}
    assert updated["ConsumedCapacity"]["TableName"] == table
    assert updated["ConsumedCapacity"]["CapacityUnits"] > 0
    deleted = client.delete_item(TableName=table, Key=key("ann", 1), ReturnValues="ALL_OLD")
    assert deleted["Attributes"]["state"] == {"S": "paid"}
    assert "Item" not in client.get_item(TableName=table, Key=key("ann", 1))


def test_a_failed_condition_shows_the_item(client: Any, table: str) -> None:
    client.put_item(TableName=table, Item=order("ann", 1, blob={"B": b"\x00"}))
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as caught:
        client.put_item(
            TableName=table,
            Item=order("ann", 1),
            ConditionExpression="attribute_not_exists(customer)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert caught.value.response["Error"]["Message"] == "The conditional request failed"
    assert caught.value.response["Item"] == order("ann", 1, blob={"B": b"\x00"})


def test_queries_run_in_both_orders_and_stop_at_the_limit(client: Any, table: str) -> None:
    fill(client, table, "ann", 10)
    ask = {
        "TableName": table,
        "KeyConditionExpression": "customer = :c AND placed BETWEEN :low AND :high",
        "ExpressionAttributeValues": {":c": {"S": "ann"}, ":low": {"N": "2"}, ":high": {"N": "8"}},
    }
    forward = client.query(**ask)
    assert [item["placed"]["N"] for item in forward["Items"]] == ["2", "3", "4", "5", "6", "7", "8"]
    backward = client.query(**ask, ScanIndexForward=False, Limit=2)
    assert [item["placed"]["N"] for item in backward["Items"]] == ["8", "7"]
    assert backward["LastEvaluatedKey"] == key("ann", 7)
    assert client.query(**ask, Select="COUNT")["Count"] == 7


def test_queries_are_paged(client: Any, table: str) -> None:
    fill(client, table, "ann", 30)
    pages = client.get_paginator("query").paginate(
        TableName=table,
        KeyConditionExpression="customer = :c",
        ExpressionAttributeValues={":c": {"S": "ann"}},
        PaginationConfig={"PageSize": 7},
    )
    assert [item["placed"]["N"] for page in pages for item in page["Items"]] == [str(n) for n in range(30)]


def test_indexes_are_queried(client: Any, table: str) -> None:
    fill(client, table, "ann", 20)
    fill(client, table, "bob", 5)
    by_state = client.query(
        TableName=table,
        IndexName="by-state",
        KeyConditionExpression="#s = :s AND placed < :n",
        FilterExpression="customer = :c",
        ExpressionAttributeNames={"#s": "state"},
        ExpressionAttributeValues={":s": {"S": "new"}, ":n": {"N": "3"}, ":c": {"S": "bob"}},
    )
    assert (by_state["Count"], by_state["ScannedCount"]) == (3, 6)
    by_total = client.query(
        TableName=table,
        IndexName="by-total",
        KeyConditionExpression="customer = :c AND #t = :t",
        ExpressionAttributeNames={"#t": "total"},
        ExpressionAttributeValues={":c": {"S": "ann"}, ":t": {"N": "4"}},
    )
    assert by_total["Items"] == [order("ann", n, total={"N": "4"}) for n in (4, 14)]


def test_segments_of_a_scan_are_disjoint_and_complete(client: Any, table: str) -> None:
    for n in range(20):
        client.put_item(TableName=table, Item=order(f"customer-{n}", n))
    placed = []
    for segment in range(3):
        pages = client.get_paginator("scan").paginate(
            TableName=table, Segment=segment, TotalSegments=3, PaginationConfig={"PageSize": 4}
        )
        placed += [item["placed"]["N"] for page in pages for item in page["Items"]]
    assert sorted(placed, key=int) == [str(n) for n in range(20)]


def test_batches_read_the_items_that_batches_wrote(client: Any, table: str) -> None:
    fill(client, table, "ann", 50)
    response = client.batch_get_item(
        RequestItems={
            table: {
                "Keys": [key("ann", n) for n in (3, 30, 300)],
                "ProjectionExpression": "placed",
            }
        }
    )
    results = sorted(item["placed"]["N"] for item in response["Responses"][table])
    assert (results, response["UnprocessedKeys"]) == (["3", "30"], {})


def test_a_transaction_writes_all_or_nothing(client: Any, table: str) -> None:
    client.put_item(TableName=table, Item=order("ann", 1, total={"N": "5"}))
    put = {"Put": {"TableName": table, "Item": order("ann", 2)}}
    check = {
        "ConditionCheck": {
            "TableName": table,
            "Key": key("ann", 1),
            "ConditionExpression": "#t = :t",
            "ExpressionAttributeNames": {"#t": "total"},
            "ExpressionAttributeValues": {":t": {"N": "6"}},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    }
    with pytest.raises(client.exceptions.TransactionCanceledException) as caught:
        client.transact_write_items(TransactItems=[put, check])
    first, second = caught.value.response["CancellationReasons"]
    assert first == {"Code": "None"}
    assert second["Code"] == "ConditionalCheckFailed"
    assert second["Item"] == order("ann", 1, total={"N": "5"})
    check["ConditionCheck"]["ExpressionAttributeValues"] = {":t": {"N": "5"}}
    client.transact_write_items(TransactItems=[put, check])
    got = client.transact_get_items(TransactItems=[{"Get": {"TableName": table, "Key": key("ann", n)}} for n in (2, 3)])
    assert got["Responses"] == [{"Item": order("ann", 2)}, {}]


def test_a_transaction_token_is_applied_once(client: Any, table: str) -> None:
    add = {
        "Update": {
            "TableName": table,
            "Key": key("ann", 1),
            "UpdateExpression": "ADD hits :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
    }
    for _ in range(2):
        client.transact_write_items(TransactItems=[add], ClientRequestToken="once")
    assert client.get_item(TableName=table, Key=key("ann", 1))["Item"]["hits"] == {"N": "1"}
    other = {"Delete": {"TableName": table, "Key": key("ann", 1)}}
    with pytest.raises(client.exceptions.IdempotentParameterMismatchException):
        client.transact_write_items(TransactItems=[other], ClientRequestToken="once")


def test_a_stream_has_a_record_for_every_change(client: Any, connect: Callable[[str], Any], table: str) -> None:
    client.put_item(TableName=table, Item=order("ann", 1, blob={"B": b"\x00"}))
    client.put_item(TableName=table, Item=order("ann", 1, total={"N": "5"}))
    client.delete_item(TableName=table, Key=key("ann", 1))
    streams = connect("dynamodbstreams")
    (stream,) = streams.list_streams(TableName=table)["Streams"]
    described = streams.describe_stream(StreamArn=stream["StreamArn"])["StreamDescription"]
    assert isinstance(described["CreationRequestDateTime"], datetime.datetime)
    records = []
    for shard in described["Shards"]:
        iterator = streams.get_shard_iterator(
            StreamArn=stream["StreamArn"],
            ShardId=shard["ShardId"],
            ShardIteratorType="TRIM_HORIZON",
        )["ShardIterator"]
        records += streams.get_records(ShardIterator=iterator)["Records"]
    assert [record["eventName"] for record in records] == ["INSERT", "MODIFY", "REMOVE"]
    changed = records[1]["dynamodb"]
    assert changed["OldImage"] == order("ann", 1, blob={"B": b"\x00"})
    assert changed["NewImage"] == order("ann", 1, total={"N": "5"})
    assert isinstance(changed["ApproximateCreationDateTime"], datetime.datetime)


def test_expiry_is_enabled_and_described(client: Any, table: str) -> None:
    specification = {"Enabled": True, "AttributeName": "expires"}
    client.update_time_to_live(TableName=table, TimeToLiveSpecification=specification)
    described = client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    assert described["AttributeName"] == "expires"
    assert described["TimeToLiveStatus"] in ("ENABLING", "ENABLED")


def test_tags_are_stored(client: Any, table: str) -> None:
    arn = client.describe_table(TableName=table)["Table"]["TableArn"]
    client.tag_resource(ResourceArn=arn, Tags=[{"Key": "team", "Value": "orders"}])
    assert client.list_tags_of_resource(ResourceArn=arn)["Tags"] == [{"Key": "team", "Value": "orders"}]
    client.untag_resource(ResourceArn=arn, TagKeys=["team"])
    assert client.list_tags_of_resource(ResourceArn=arn)["Tags"] == []


def test_statements_read_and_write(client: Any, table: str) -> None:
    fill(client, table, "ann", 5)
    client.execute_statement(
        Statement=f"INSERT INTO \"{table}\" VALUE {{'customer': ?, 'placed': 9, 'seal': ?, 'tags': <<'a'>>}}",
        Parameters=[{"S": "ann"}, {"B": b"\x00\x01"}],
    )
    response = client.execute_statement(
        Statement=f"SELECT seal, tags FROM \"{table}\" WHERE customer = 'ann' AND placed = 9"
    )
    assert response["Items"] == [{"seal": {"B": b"\x00\x01"}, "tags": {"SS": ["a"]}}]
    select = f"SELECT placed FROM \"{table}\" WHERE customer = 'ann'"
    first = client.execute_statement(Statement=select, Limit=4)
    second = client.execute_statement(Statement=select, Limit=4, NextToken=first["NextToken"])
    assert [item["placed"]["N"] for item in first["Items"] + second["Items"]] == ["0", "1", "2", "3", "4", "9"]
    update = f'UPDATE "{table}" SET total = 1 WHERE customer = ? AND placed = 9 RETURNING ALL NEW *'
    batch = client.batch_execute_statement(
        Statements=[{"Statement": update, "Parameters": [{"S": name}]} for name in ("ann", "bob")]
    )
    assert batch["Responses"][0]["Item"]["seal"] == {"B": b"\x00\x01"}
    assert batch["Responses"][1]["Error"]["Code"] == "ConditionalCheckFailed"
    with pytest.raises(client.exceptions.TransactionCanceledException) as cancelled:
        client.execute_transaction(
            TransactStatements=[
                {"Statement": f"DELETE FROM \"{table}\" WHERE customer = 'ann' AND placed = 1"},
                {"Statement": f"INSERT INTO \"{table}\" VALUE {{'customer': 'ann', 'placed': 9}}"},
            ]
        )
    assert [reason["Code"] for reason in cancelled.value.response["CancellationReasons"]] == ["None", "DuplicateItem"]
    with pytest.raises(client.exceptions.DuplicateItemException):
        client.execute_statement(Statement=f"INSERT INTO \"{table}\" VALUE {{'customer': 'ann', 'placed': 9}}")


def test_unsupported_operations_are_reported(client: Any) -> None:
    with pytest.raises(ClientError) as refused:
        client.list_global_tables()
    assert refused.value.response["Error"]["Code"] == "UnknownOperationException"
    assert "ListGlobalTables" in refused.value.response["Error"]["Message"]


def test_errors_are_those_of_the_service(client: Any, table: str, orders: dict[str, Any]) -> None:
    with pytest.raises(client.exceptions.ResourceNotFoundException) as not_found:
        client.get_item(TableName="nowhere", Key=key("ann", 1))
    assert not_found.value.response["Error"]["Message"] == "Requested resource not found"
    assert not_found.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    with pytest.raises(client.exceptions.ResourceInUseException):
        client.create_table(**orders)
    with pytest.raises(ClientError) as invalid:
        client.get_item(TableName=table, Key={"customer": {"S": "ann"}})
    assert invalid.value.response["Error"] == {
        "Code": "ValidationException",
        "Message": "The provided key element does not match the schema",
    }
    with pytest.raises(ParamValidationError):
        client.get_item(TableName=table, Key={"customer": {"N": 5}})
