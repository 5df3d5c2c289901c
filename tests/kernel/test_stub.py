"""The kernel's stub says what `help` says: one text, in the two places where people look."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import bpefleet.kernel
from bpefleet.kernel import _kernel

STUB = Path(bpefleet.kernel.__file__).with_name("_kernel.pyi")


def documented(body: list[ast.stmt], owner: object, name: str) -> dict[str, tuple[str, str]]:
    """By name, what the stub and the compiled module say of each class and function in `body`."""
    found = {}
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("__"):
            what = getattr(owner, node.name)
            texts = ast.get_docstring(node) or "", inspect.cleandoc(what.__doc__ or "")
            found[f"{name}.{node.name}"] = texts
            if isinstance(node, ast.ClassDef):
                found |= documented(node.body, what, node.name)
    return found


def arguments(node: ast.FunctionDef) -> list[str]:
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [argument.arg for argument in every if argument.arg not in {"self", "cls"}]


def test_the_stub_and_the_module_have_the_same_docstrings() -> None:
    found = documented(ast.parse(STUB.read_text("utf-8")).body, _kernel, "kernel")
    assert len(found) > 20
    for name, (stub, compiled) in found.items():
        assert stub, name
        assert stub == compiled, name


def test_every_argument_is_described() -> None:
    for node in ast.walk(ast.parse(STUB.read_text("utf-8"))):
        if isinstance(node, ast.ClassDef):
            made = [m for m in node.body if isinstance(m, ast.FunctionDef) and m.name == "__new__"]
            wanted, text = (arguments(made[0]) if made else []), ast.get_docstring(node)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
            wanted, text = arguments(node), ast.get_docstring(node)
        else:
            continue
        assert [name for name in wanted if f"    {name}: " not in (text or "")] == [], node.name
