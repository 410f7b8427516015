"""A small sample table of films by director and year, with an index by genre and rating."""

from __future__ import annotations

from typing import TYPE_CHECKING

from keyplan.errors import ResourceInUseError

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine

TABLE = "sample-films"
_FILMS = (
    ("Agnes Varda", 1962, "Cleo from 5 to 7", "drama", "7.9"),
    ("Agnes Varda", 1985, "Vagabond", "drama", "7.7"),
    ("Agnes Varda", 2000, "The Gleaners and I", "documentary", "7.7"),
    ("Akira Kurosawa", 1950, "Rashomon", "drama", "8.2"),
    ("Akira Kurosawa", 1954, "Seven Samurai", "adventure", "8.6"),
    ("Akira Kurosawa", 1961, "Yojimbo", "adventure", "8.2"),
    ("Buster Keaton", 1924, "Sherlock Jr.", "comedy", "8.2"),
    ("Buster Keaton", 1926, "The General", "comedy", "8.1"),
    ("Fritz Lang", 1927, "Metropolis", "science fiction", "8.3"),
    ("Fritz Lang", 1931, "M", "crime", "8.3"),
)


def load(engine: Engine) -> None:
    """Create and fill the sample table if it does not exist."""
    try:
        engine.call(
            "CreateTable",
            {
                "TableName": TABLE,
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [
                    {"AttributeName": "director", "AttributeType": "S"},
                    {"AttributeName": "year", "AttributeType": "N"},
                    {"AttributeName": "genre", "AttributeType": "S"},
                    {"AttributeName": "rating", "AttributeType": "N"},
                ],
                "KeySchema": [
                    {"AttributeName": "director", "KeyType": "HASH"},
                    {"AttributeName": "year", "KeyType": "RANGE"},
                ],
                "GlobalSecondaryIndexes": [
                    {
                        "IndexName": "by-genre",
                        "KeySchema": [
                            {"AttributeName": "genre", "KeyType": "HASH"},
                            {"AttributeName": "rating", "KeyType": "RANGE"},
                        ],
                        "Projection": {"ProjectionType": "ALL"},
                    }
                ],
            },
        )
    except ResourceInUseError:
        return
    puts = [
        {
            "PutRequest": {
                "Item": {
                    "director": {"S": director},
                    "year": {"N": str(year)},
                    "title": {"S": title},
                    "genre": {"S": genre},
                    "rating": {"N": rating},
                }
            }
        }
        for director, year, title, genre, rating in _FILMS
    ]
    engine.call("BatchWriteItem", {"RequestItems": {TABLE: puts}})


def hints(url: str, *, accepts_any: bool) -> list[str]:
    """Return lines with example commands that use the sample table. Lines that contain commands are indented.

    `url` is the URL of the server. `accepts_any` is True if the server accepts any credentials.
    """
    connect = f"--endpoint-url {url} --region us-east-1"
    needed = "any credentials set" if accepts_any else "an access key of the --credentials file set"
    return [
        f"the table {TABLE} contains {len(_FILMS)} films. Example commands, with {needed}:",
        *(["  export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any"] if accepts_any else []),
        f"  aws dynamodb list-tables {connect}",
        f"  aws dynamodb query {connect} --table-name {TABLE} --index-name by-genre \\",
        "      --key-condition-expression 'genre = :g AND rating > :r' \\",
        '      --expression-attribute-values \'{":g": {"S": "drama"}, ":r": {"N": "7.8"}}\'',
        f'in Python: boto3.client("dynamodb", endpoint_url="{url}", region_name="us-east-1")',
    ]
