"""PATCH requests that change only the given fields, and timestamps for the creation and the last write.

`python examples/partial_updates.py` prints an article after each change.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from keyplan import (
    GSI,
    UNSET,
    Bytes,
    Created,
    Entity,
    F,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Rate,
    Table,
    Unset,
    Updated,
    Volume,
    connect,
    item,
    key,
    pk,
)

Name = Annotated[str, Field(min_length=1, max_length=80)]

blog = Table("blog", pk="PK", sk="SK", indexes=[GSI("drafts", pk="GSI1PK", sk="GSI1SK")])


@blog.entity(
    key=key("SITE#{site}", "ARTICLE#{name}"),
    indexes={"drafts": key("DRAFTS#{site}", "{created_at:utc_ms}", only_if=F.state == "draft")},
    version="version",
    volume=Volume(count=20_000, bytes=Bytes(2_000), distinct={"site": 100, "state": {"draft": 0.1, "out": 0.9}}),
)
class Article(Entity):
    """An article of a site."""

    site: Name
    name: Name
    title: str
    subtitle: str | None = None
    state: Literal["draft", "out"] = "draft"
    created_at: datetime = Created()
    updated_at: datetime = Updated()
    version: int = 0


class ArticleChanges(BaseModel):
    """The body of a PATCH request. Omitted fields stay unchanged."""

    title: str | Unset = UNSET
    subtitle: str | Unset | None = UNSET


@blog.create(Article, rate=Rate(average=1))
def write(article: Article) -> ItemWrite:
    """Add an article."""
    return item(article)


@blog.get(Article, rate=Rate(average=50))
def article(site: Name, name: Name) -> ItemKey:
    """Get an article."""
    return item(site=site, name=name)


@blog.query(Article, index="drafts", rate=Rate(average=1), expected_items=20)
def drafts(site: Name) -> KeyCondition:
    """List the drafts of a site, oldest first."""
    return pk(site=site)


@blog.update(Article, rate=Rate(average=2))
def edit(site: Name, name: Name, version: int, changes: ArticleChanges) -> ItemWrite:
    """Change the given fields, if the article still has the version that the caller has read."""
    return item(site=site, name=name).patch(title=changes.title, subtitle=changes.subtitle).if_version(version)


@blog.update(Article, rate=Rate(average=1))
def publish(site: Name, name: Name) -> ItemWrite:
    """Publish an article, which removes it from the index of drafts."""
    return item(site=site, name=name).set(state="out").condition(F.state == "draft")


def main() -> None:
    """Write an article, change it field by field, and publish it."""
    with connect(":memory:") as db:
        article = db.run(write(Article(site="blog", name="keys", title="Keys")))
        print(f"created {article.title!r}, version {article.version}")
        for body in ('{"title": "Keys and templates"}', '{"subtitle": "A guide"}', '{"subtitle": null}', "{}"):
            changes = ArticleChanges.model_validate_json(body)
            article = db.run(edit("blog", "keys", article.version, changes))
            print(f"{body}: {article.title!r}, {article.subtitle!r}, version {article.version}")
        published = db.run(publish("blog", "keys"))
        assert published.created_at == article.created_at
        assert published.updated_at >= article.updated_at
        print(f"drafts: {len(db.run(drafts('blog')))}")


if __name__ == "__main__":
    main()
