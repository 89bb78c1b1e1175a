"""The shape of the package: small modules, short functions, and nothing private borrowed."""

import ast
import re
import statistics
from pathlib import Path

import polyseme

ROOT = Path(polyseme.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))


def _trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}


def test_modules_are_small() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: lines for name, lines in lengths.items() if lines > 300} == {}
    assert statistics.median(lengths.values()) <= 110


def test_few_functions_are_long() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.name}"
        for path, tree in _trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > 40
    ]
    assert len(long) <= 15, long


def test_no_private_name_is_imported_from_another_module() -> None:
    borrowed = [
        f"{path.relative_to(ROOT)}: {alias.name}"
        for path, tree in _trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("polyseme")
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]
    assert borrowed == []


def test_any_stands_where_a_foreign_library_gives_it() -> None:
    lines = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in MODULES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"\bAny\b", line.partition("#")[0])
    ]
    assert len(lines) <= 60, len(lines)
