"""Update the documents that the tests in this folder expect: `python -m tests.export.keep`, then read the diff."""

from __future__ import annotations

from tests.export import test_cloudformation, test_explain, test_markdown, test_terraform
from tests.export.prices import fixed

from keyplan.export.cloudformation import template
from keyplan.export.explain import explain
from keyplan.export.resources import resources
from keyplan.export.terraform import configuration

if __name__ == "__main__":
    for pattern in test_explain.DESIGN.patterns:
        path = test_explain.EXPECTED / f"{pattern.name}.txt"
        path.write_text(explain(pattern, fixed()))
    test_markdown.EXPECTED.write_text(test_markdown.document_of(fixed()))
    for module, generate in ((test_cloudformation, template), (test_terraform, configuration)):
        module.EXPECTED.write_text(generate(module.DESIGN, resources(module.DESIGN.tables)))
