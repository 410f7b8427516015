"""The modules of both distributions import each other without cycles, and few public class names are used twice."""

from __future__ import annotations

import ast
import re
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

CLASS = re.compile(r"^class ([A-Za-z]\w*)", re.MULTILINE)
SOURCES = Path(__file__).parents[1] / "src"
PUBLIC_CLASS_NAMES_USED_TWICE = 5


def test_no_modules_import_each_other_in_a_cycle() -> None:
    """Imports for type checkers count too: a reader follows them like any other."""
    graph = grimp.build_graph("keyplan", "keyplan_systems", cache_dir=None, exclude_type_checking_imports=False)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the modules


def test_few_public_classes_share_a_name() -> None:
    texts = [path.read_text() for path in SOURCES.rglob("*.py")]
    lines = Counter(name for text in texts for name in CLASS.findall(text))
    defined = Counter(  # only files with such a line are parsed: it may be part of a text
        node.name
        for text in texts
        if any(lines[name] > 1 for name in CLASS.findall(text))
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    shared = sorted(name for name, count in defined.items() if count > 1)
    assert len(shared) <= PUBLIC_CLASS_NAMES_USED_TWICE, shared
