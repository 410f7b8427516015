"""Two values that differ in case are one item

`{name:lower}` in a primary key makes "Anna" and "ANNA" the same item: the second create is refused, and a plain
put replaces the first. For identities that people type, such as e-mail addresses, that is usually meant, but
then the stored field may still say "ANNA" while the key says "anna".

Bring the value into one form before it becomes the field (a pydantic validator), and use the field as it is;
or accept this finding where the fold is meant.

Source: developer guide, "Supported data types and naming rules": names and values are case-sensitive.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.template_field import Field

RULE = Rule("KP211", "case-folded-identity", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Holes of primary keys that fold the case of values in which case differs."""
    for _, entity in subject.entities:
        for part in entity.key.attributes:
            for hole in part.template.holes if part.template is not None else ():
                if hole.spec in {"lower", "upper"} and not _one_case(hole.field, hole.spec):
                    yield Finding(
                        RULE.code,
                        "warning",
                        entity.name,
                        f"{entity.name}.{hole.name} is folded to {hole.spec} case in {part.text}, its primary key:"
                        " values that differ in case are one item",
                        f"fold {hole.name} where it is made, and write {{{hole.name}}}",
                        entity.key.place.at(f"{{{hole.name}:"),
                        entity.place,
                    )


def _one_case(field: Field, case: str) -> bool:
    """Whether the declaration allows one case only."""
    if field.choices is not None:
        texts = [str(choice) for choice in field.stored_choices]
        return len({getattr(text, case)() for text in texts}) == len(texts)
    ranges = "A-Z" if case == "lower" else "a-z"
    return field.pattern is not None and field.pattern.startswith("^") and "[^" not in field.pattern and (
        ranges not in field.pattern and "\\w" not in field.pattern and "." not in field.pattern.replace("\\.", "")
    )  # fmt: skip
