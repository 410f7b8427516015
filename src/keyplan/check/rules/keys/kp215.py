"""The tenant does not lead the key

An entity that belongs to a tenant, and whose partition key does not begin with it, can be reached with another
tenant's id in hand: only program code keeps customers apart. With the tenant first, an IAM policy with the
condition key `dynamodb:LeadingKeys` does, a tenant's items can be found to be exported or deleted, and its load
can be told from that of others.

Begin partition keys with the tenant (`TENANT#{tenant_id}#USER#{user_id}`), in indexes too; or accept this where
all access goes through a service that checks.

Source: developer guide, "Using IAM policy conditions for fine-grained access control", dynamodb:LeadingKeys.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.names import is_tenant
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec

RULE = Rule("KP215", "tenant-not-leading", ("advice",))


def check(subject: Subject) -> Iterator[Finding]:
    """Entities with a tenant field that their partition keys do not begin with, the tenants themselves left out."""
    for _, entity in subject.entities:
        tenant = next((name for name in entity.fields if is_tenant(name)), None)
        if tenant is None or _is_the_tenant(entity, tenant):
            continue
        late = [bound for bound in (entity.key, *entity.indexes) if bound.partition[0].fields[:1] != (tenant,)]
        if late:
            where = [entity.schema.where(bound.index) for bound in late]
            yield Finding(
                RULE.code,
                "advice",
                entity.name,
                f"{entity.name} belongs to {tenant}, which does not lead its partition key of {', '.join(where)}",
                f"begin the partition key with {{{tenant}}}",
                late[0].place,
                entity.place,
            )


def _is_the_tenant(entity: EntitySpec, tenant: str) -> bool:
    return entity.name.lower() in tenant.lower()
