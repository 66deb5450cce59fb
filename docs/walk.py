"""The path of one request through the code: the modules that it enters, in order, read from the calls.

    python docs/walk.py pubench_cli.run:run pubench_core.engine.execute:execute

Calls are followed in the order in which Python evaluates them, through every branch, into every function of this
repository that the types in the code lead to. Each function is followed once, when it is first called; a ``raise`` ends
a path and is left out, and so are modules of words and types alone (:data:`PLAIN`). A *return* is a call into a module
that the path had entered before and left. ``tests/test_rooms.py`` bounds them.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: What carries no step of a run: words of errors, types of specs and results, descriptions of plugins.
PLAIN = ("errors", "specs", "results", "plugins.info", "plugins.events", "randomness")


@dataclass(frozen=True)
class Place:
    """A definition: its module, its name there (``Class.method`` too), its node."""

    module: str
    name: str
    node: ast.AST


@dataclass
class Code:
    """Every module below ``root``, by name."""

    root: Path = ROOT
    _trees: dict[str, ast.Module | None] = field(default_factory=dict)

    @cached_property
    def files(self) -> dict[str, Path]:
        found = {}
        for source in (*self.root.glob("*/src"), *self.root.glob("plugins/*/*/src")):
            for file in source.rglob("*.py"):
                found[".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__")] = file
        return found

    def tree(self, module: str) -> ast.Module | None:
        if module not in self._trees:
            file = self.files.get(module)
            self._trees[module] = ast.parse(file.read_text(encoding="utf-8")) if file is not None else None
        return self._trees[module]

    def names(self, module: str, body: ast.AST | None = None) -> dict[str, tuple[str, str]]:
        """Imported name -> (module, name there), of a module or of one function."""
        tree, found = body or self.tree(module), {}
        if tree is None:
            return {}
        package = module if self.files[module].name == "__init__.py" else module.rpartition(".")[0]
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
                source = ".".join([*above, *([node.module] if node.module else [])])
                for alias in node.names:
                    inner = f"{source}.{alias.name}"
                    found[alias.asname or alias.name] = (inner, "") if inner in self.files else (source, alias.name)
        return found

    def find(self, module: str, name: str) -> Place | None:
        """The function or class of this name in a module, followed through what the module imports."""
        tree = self.tree(module)
        if tree is None or not name:
            return None
        head, _, rest = name.partition(".")
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == head:
                return Place(module, head, node) if not rest else self.member(Place(module, head, node), rest)
        source = self.names(module).get(head)
        if source is None:  # a package that finds its names by a table
            homes = (n for n in ast.walk(tree) if isinstance(n, ast.Dict) and tree.body and module in self.files)
            for table in homes:
                for key, value in zip(table.keys, table.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == head and isinstance(value, ast.Constant):
                        return self.find(f"{module}.{value.value}", name)
            return None
        return self.find(source[0], ".".join(filter(None, (source[1], rest)))) if source[0] != module else None

    def member(self, owner: Place, name: str) -> Place | None:
        """A method or property of a class or of its bases."""
        assert isinstance(owner.node, ast.ClassDef)
        for node in owner.node.body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return Place(owner.module, f"{owner.name}.{name}", node)
        for base in owner.node.bases:
            at = self.kind(base, owner.module)
            if at is not None and (found := self.member(at, name)):
                return found
        return None

    def kind(self, annotation: ast.AST | None, module: str) -> Place | None:
        """The class of this repository that an annotation names, the first one of a union."""
        if annotation is None:
            return None
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            return self.kind(ast.parse(annotation.value, mode="eval").body, module)
        if isinstance(annotation, ast.BinOp):
            return self.kind(annotation.left, module) or self.kind(annotation.right, module)
        if isinstance(annotation, ast.Subscript):
            return self.kind(annotation.value, module)
        if isinstance(annotation, ast.Name):
            found = self.find(module, annotation.id)
            return found if found is not None and isinstance(found.node, ast.ClassDef) else None
        return None


class Walk:
    """``entries``: the modules that the path enters, one after the other."""

    def __init__(self, code: Code) -> None:
        self.code, self.entries = code, list[str]()
        self._seen: set[tuple[str, str]] = set()

    def follow(self, place: Place, carried: Collection[str], caller: str = "") -> None:
        """The calls of a function that are handed the request, and what these call. ``carried``: parameters with it."""
        if (place.module, place.name) in self._seen:
            return
        self._seen.add((place.module, place.name))
        if place.module not in (caller, *self.entries[-1:]):
            self.entries.append(place.module)
        _Body(self, place, carried).read()

    @property
    def returns(self) -> int:
        """Entries into modules that had been entered and left."""
        return len(self.entries) - len(set(self.entries))


class _Body:
    """One function on the path: the types of its variables, and the calls in it."""

    def __init__(self, walk: Walk, place: Place, carried: Collection[str]) -> None:
        self.walk, self.code, self.place = walk, walk.code, place
        self.carried = set(carried)
        self.types: dict[str, Place] = {}
        self.local = self.code.names(place.module, place.node)
        owner = place.name.rpartition(".")[0]
        if owner and (at := self.code.find(place.module, owner)):
            self.types["self"] = self.types["cls"] = at
        assert isinstance(place.node, ast.FunctionDef)
        arguments = place.node.args
        for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if found := self.code.kind(one.annotation, place.module):
                self.types[one.arg] = found

    def read(self) -> None:
        assert isinstance(self.place.node, ast.FunctionDef)
        for statement in self.place.node.body:
            self._visit(statement)

    def _visit(self, node: ast.AST) -> None:
        if isinstance(node, (ast.Raise, ast.Import, ast.ImportFrom)):
            return
        if isinstance(node, (ast.For, ast.comprehension)) and self._carries(node.iter):
            self.carried |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
        for child in _in_order(node):
            self._visit(child)
        if isinstance(node, ast.Call):
            called = self._called(node.func)
            if called is not None and isinstance(called.node, ast.ClassDef):
                made = (self.code.member(called, name) for name in ("__init__", "__post_init__"))
                called = next((one for one in made if one is not None), None)
            if called is not None and (handed := self._handed(node, called)):
                self._enter(called, handed)
        found = self._property(node) if isinstance(node, ast.Attribute) and self._carries(node.value) else None
        if found is not None:
            self._enter(found, ["self"])
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            kind = self._type(node.value)
            if self._carries(node.value):
                self.carried |= {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
            for target in targets:
                if isinstance(target, ast.Name) and kind is not None:
                    self.types[target.id] = kind
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for name, value in zip(target.elts, node.value.elts, strict=False):
                        if isinstance(name, ast.Name) and (of := self._type(value)):
                            self.types[name.id] = of
        if isinstance(node, ast.With):
            for item in node.items:
                if item.optional_vars is not None and self._carries(item.context_expr):
                    self.carried |= {n.id for n in ast.walk(item.optional_vars) if isinstance(n, ast.Name)}
                if isinstance(item.optional_vars, ast.Name) and (of := self._type(item.context_expr)):
                    self.types[item.optional_vars.id] = of

    def _carries(self, node: ast.AST | None) -> bool:
        """Whether an expression is made of the request."""
        return node is not None and any(isinstance(n, ast.Name) and n.id in self.carried for n in ast.walk(node))

    def _handed(self, call: ast.Call, place: Place) -> list[str]:
        """The parameters of what is called that get something of the request."""
        assert isinstance(place.node, ast.FunctionDef)
        names = [one.arg for one in (*place.node.args.posonlyargs, *place.node.args.args)]
        found = [keyword.arg for keyword in call.keywords if keyword.arg and self._carries(keyword.value)]
        is_method = "." in place.name and names[:1] in (["self"], ["cls"])
        if is_method:
            names = names[1:]
            if isinstance(call.func, ast.Attribute) and self._carries(call.func.value):
                found.append("self")
        return found + [name for name, value in zip(names, call.args, strict=False) if self._carries(value)]

    def _enter(self, place: Place, carried: Collection[str]) -> None:
        plain = place.module.partition(".")[2]
        if not any(plain == name or plain.startswith(f"{name}.") for name in PLAIN):
            self.walk.follow(place, carried, self.place.module)

    def _called(self, function: ast.AST) -> Place | None:
        if isinstance(function, ast.Name):
            if function.id in self.local:
                return self.code.find(*self.local[function.id])
            return self.code.find(self.place.module, function.id)
        if isinstance(function, ast.Attribute):
            owner = self._type(function.value)
            if owner is not None and isinstance(owner.node, ast.ClassDef):
                return self.code.member(owner, function.attr)
            if isinstance(function.value, ast.Name):
                module = (self.local | self.code.names(self.place.module)).get(function.value.id, ("", ""))
                if module[0] in self.code.files and not module[1]:
                    return self.code.find(module[0], function.attr)
        return None

    def _property(self, node: ast.Attribute) -> Place | None:
        owner = self._type(node.value)
        if owner is None or not isinstance(owner.node, ast.ClassDef):
            return None
        found = self.code.member(owner, node.attr)
        decorated = isinstance(found.node, ast.FunctionDef) and found.node.decorator_list if found else []
        is_property = any(isinstance(d, ast.Name) and d.id in ("property", "cached_property") for d in decorated)
        return found if is_property else None

    def _type(self, node: ast.AST) -> Place | None:
        """The class of this repository that an expression is an object of."""
        if isinstance(node, ast.Name):
            if node.id in self.types:
                return self.types[node.id]
            found = self._called(node)
            return found if found is not None and isinstance(found.node, ast.ClassDef) else None
        if isinstance(node, ast.Call):
            found = self._called(node.func)
            if found is None or isinstance(found.node, ast.ClassDef):
                return found
            assert isinstance(found.node, ast.FunctionDef)
            returned = found.node.returns
            if isinstance(returned, ast.Name) and returned.id == "Self":
                return self.code.find(found.module, found.name.rpartition(".")[0])
            generates = isinstance(returned, ast.Subscript) and isinstance(returned.value, ast.Name)
            if generates and returned.value.id in ("Iterator", "Generator"):  # type: ignore[union-attr]
                return self.code.kind(returned.slice, found.module)  # type: ignore[union-attr]
            return self.code.kind(returned, found.module)
        if isinstance(node, ast.Attribute):
            owner = self._type(node.value)
            if owner is None or not isinstance(owner.node, ast.ClassDef):
                return None
            for item in owner.node.body:
                if (
                    isinstance(item, ast.AnnAssign)
                    and isinstance(item.target, ast.Name)
                    and item.target.id == node.attr
                ):
                    return self.code.kind(item.annotation, owner.module)
            found = self._property(node)
            return self.code.kind(found.node.returns, found.module) if found else None  # type: ignore[attr-defined]
        if isinstance(node, ast.BoolOp):
            return next((found for value in node.values if (found := self._type(value))), None)
        return None


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of a node as they are evaluated: of an assignment the value first, of a call the arguments."""
    if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
        yield from (node.body if isinstance(node.body, list) else [node.body])
        return
    yield from ast.iter_child_nodes(node)


def walk(*starts: str, root: Path = ROOT) -> Walk:
    """The path from functions named ``module:function``, one after the other."""
    found = Walk(Code(root))
    for start in starts:
        module, name, carried = f"{start}:".split(":")[:3]
        place = found.code.find(module, name)
        if place is None:
            raise LookupError(f"{start}: no such function")
        parameters = [one.arg for one in (*place.node.args.args, *place.node.args.kwonlyargs)]
        found.follow(place, [carried] if carried else parameters)
    return found


if __name__ == "__main__":
    path = walk(*sys.argv[1:])
    print("\n".join(path.entries))
    print(f"{len(path.entries)} entries, {len(set(path.entries))} modules, {path.returns} returns")
