"""Two versions of a design in one process; uses of a design's names in programs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from keyplan.design.errors import DesignError
from keyplan.diff.programs import UnreadableProgramError, load_isolated, uses_of

ENTITIES = """from __future__ import annotations

from keyplan import *

app = Table("app", pk="PK")


@app.entity(key=key("{prefix}#{{name}}"))
class Thing(Entity):
    name: str
"""
DESIGN = """from __future__ import annotations

from keyplan import *
from {package}entities import Thing, app


@app.get(Thing)
def thing(name: str) -> ItemKey:
    return item(name=name)
"""


def package(folder: Path, prefix: str, imports: str) -> Path:
    """Write a design in a package named store, with its entities in another module, and return its path."""
    inside = folder / "store"
    inside.mkdir(parents=True)
    (inside / "__init__.py").write_text("")
    (inside / "entities.py").write_text(ENTITIES.format(prefix=prefix))
    (inside / "design.py").write_text(DESIGN.format(package=imports))
    return inside / "design.py"


@pytest.mark.parametrize("imports", [".", "store."])
def test_packages_with_one_name_are_distinguished(imports: str, tmp_path: Path) -> None:
    paths = package(tmp_path / "old", "OLD", imports), package(tmp_path / "new", "NEW", imports)
    loaded = [load_isolated(str(path)) for path in paths]
    texts = [program.design.tables[0].entities[0].key.attributes[0].text for program in loaded]
    assert texts == ["OLD#{name}", "NEW#{name}"]
    assert [len(program.design.tables[0].patterns) for program in loaded] == [1, 1]
    assert not loaded[0].files & loaded[1].files
    assert [program.file for program in loaded] == list(paths)


def test_files_next_to_a_design_are_loaded_separately(tmp_path: Path) -> None:
    texts = []
    for name in ("old", "new"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "entities.py").write_text(ENTITIES.format(prefix=name))
        (folder / "design.py").write_text(DESIGN.format(package=""))
        texts.append(load_isolated(str(folder / "design.py")).design.tables[0].entities[0].key.attributes[0].text)
    assert texts == ["old#{name}", "new#{name}"]


def test_previously_imported_modules_are_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = package(tmp_path, "A", "store.")
    monkeypatch.syspath_prepend(tmp_path)
    modules, search = dict(sys.modules), list(sys.path)
    first, second = load_isolated("store.design"), load_isolated(str(path))
    assert first.design.tables[0] is not second.design.tables[0]
    assert first.file == second.file == path
    assert first.files == second.files == {path, path.parent / "entities.py", path.parent / "__init__.py"}
    assert sys.modules == modules
    assert sys.path == search


def test_a_failing_design_leaves_no_modules_loaded(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("x = 1\n")
    (tmp_path / "design.py").write_text("import helper\n")
    modules, search = dict(sys.modules), list(sys.path)
    with pytest.raises(DesignError, match="declares no table"):
        load_isolated(str(tmp_path / "design.py"))
    assert (sys.modules, sys.path) == (modules, search)


def test_a_table_imported_from_the_same_file_is_detected(tmp_path: Path) -> None:
    path = package(tmp_path, "A", "store.")
    other = path.parent / "other.py"
    other.write_text(path.read_text())
    first, second = load_isolated(str(path)), load_isolated(str(other))
    assert first.tables_shared_with(second) == ("app",)
    assert second.places["app"] == path.parent / "entities.py"


def test_the_standard_library_is_never_imported_again() -> None:
    before = {name: module for name, module in sys.modules.items() if name in sys.stdlib_module_names}
    for name in ("sys", "json", "os"):
        with pytest.raises(DesignError, match="declares no table"):
            load_isolated(name)
    assert all(sys.modules[name] is module for name, module in before.items())


def test_the_first_of_two_tables_with_one_name_has_the_place(tmp_path: Path) -> None:
    path = tmp_path / "design.py"
    path.write_text("from keyplan import Table\n\none = Table('app', pk='PK')\ntwo = Table('app', pk='PK', sk='SK')\n")
    assert load_isolated(str(path)).places == {"app": path}


PROGRAM = """import shop.design
import shop.design as plan
from shop import design
from shop.design import note, other
from .design import note as one
from elsewhere import note as stranger

shop.design.note("1")
plan.note("2")
design.note("3")
other.note("4")
design.keep("5")
"""


def test_imports_and_attributes_of_the_module_are_uses(tmp_path: Path) -> None:
    file = tmp_path / "service.py"
    file.write_text(PROGRAM)
    uses = uses_of("design", ["note"], [tmp_path])
    assert sorted(use.place.line for use in uses) == [4, 5, 8, 9, 10]
    assert {(use.name, use.place.file) for use in uses} == {("note", str(file))}


def test_files_of_the_designs_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "service.py"
    file.write_text(PROGRAM)
    assert uses_of("design", ["note"], [tmp_path], [file]) == ()


@pytest.mark.parametrize(
    ("text", "problem"), [(None, "not found"), ("x = (", "is not valid Python"), ("\0", "is not valid Python")]
)
def test_an_unreadable_program_is_rejected(text: str | None, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "service.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UnreadableProgramError, match=problem):
        uses_of("design", ["note"], [path])
