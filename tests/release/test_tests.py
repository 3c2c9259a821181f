"""Every test asserts something on every path through it: one that can end before it has is one that cannot fail.

The paths are followed in the source. What counts is an ``assert``, ``pytest.raises`` or ``warns``, a function named
``assert…``, and a helper of ours that asserts on every path itself. A loop counts where what it goes through is seen to
hold something: a literal, or what is made of one. A path that skips or raises ends there.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILES = sorted(TESTS.rglob("test_*.py"))
PASSING_ON = {"enumerate", "zip", "sorted", "reversed", "list", "tuple", "set", "dict", "product", "permutations"}
ENDING = {"skip", "fail", "xfail", "exit", "_exit"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def functions(tree: ast.AST) -> dict[str, Function]:
    return {node.name: node for node in ast.walk(tree) if isinstance(node, Function)}


@cache
def helpers(path: Path) -> dict[str, tuple[Path, Function]]:
    """Functions that a test of the file can call by name: its own, and those it imports from other files of tests."""
    tree = parsed(path)
    known = {name: (path, node) for name, node in functions(tree).items()}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            places = [
                home / f"{node.module.replace('.', '/')}.py"
                for home in (TESTS, path.parent, TESTS / "golden", TESTS / "support")
            ]
            for place in (place for place in places if place.exists()):
                there = functions(parsed(place))
                names = {alias.asname or alias.name: alias.name for alias in node.names}
                known |= {ours: (place, there[theirs]) for ours, theirs in names.items() if theirs in there}
    return known


class Paths:
    """The ways through a function; ``states`` say of the ways to a place whether something was asserted on them."""

    def __init__(self, path: Path, callers: tuple[str, ...] = ()) -> None:
        self.path, self.callers = path, callers
        self.left: set[bool] = set()  # by a return
        self.broken: set[bool] = set()  # out of the loop, or on to its next round
        self.holding: set[str] = set()  # names of what is seen to hold something
        self.learn(parsed(path))

    def through(self, function: Function) -> set[bool]:
        arguments = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
        self.holding -= arguments | set(_stored(function))  # names of its own, whatever they are outside
        self.learn(function)
        return self.run(function.body, {False}) | self.left

    def learn(self, tree: ast.Module | Function) -> None:
        for name, value in _assigned(tree):  # in order: one may be made of another
            if self.holds(value):
                self.holding.add(name)

    def run(self, body: list[ast.stmt], states: set[bool]) -> set[bool]:
        for statement in body:
            states = self.step(statement, states)
        return states

    def step(self, node: ast.stmt, states: set[bool]) -> set[bool]:
        match node:
            case ast.Assert():
                return {True} if states else states
            case ast.Raise():
                return set()
            case ast.Break() | ast.Continue():
                self.broken |= states
                return set()
            case ast.Return(value=value):
                self.left |= self.after(value, states)
                return set()
            case ast.If(test=test, body=body, orelse=orelse):
                states = self.after(test, states)
                return self.run(body, states) | self.run(orelse, states)
            case ast.For(iter=over, body=body, orelse=orelse):
                return self.loop(body, orelse, states, at_least_once=self.holds(over))
            case ast.While(test=test, body=body, orelse=orelse):
                return self.loop(body, orelse, states, at_least_once=isinstance(test, ast.Constant))
            case ast.With(items=items, body=body):
                for item in items:
                    states = self.after(item.context_expr, states)
                return self.run(body, states)
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
                tried = self.run(orelse, self.run(body, states))
                handled = [self.run(handler.body, states) for handler in handlers]
                return self.run(finalbody, tried.union(*handled))
            case ast.Match(cases=cases):
                return states.union(*(self.run(case.body, states) for case in cases))
            case ast.Expr(value=value) | ast.Assign(value=value) | ast.AnnAssign(value=value):
                return self.after(value, states)
        return states

    def loop(
        self, body: list[ast.stmt], orelse: list[ast.stmt], states: set[bool], *, at_least_once: bool
    ) -> set[bool]:
        outer, self.broken = self.broken, set()
        after = self.run(body, states) | self.broken
        self.broken = outer
        return self.run(orelse, after if at_least_once else after | states)

    def after(self, node: ast.expr | None, states: set[bool]) -> set[bool]:
        """Behind an expression: every call in it that is certain to be made."""
        for call in _certain_calls(node):
            name = _name(call.func)
            if name in ENDING and isinstance(call.func, ast.Attribute):
                return set()
            if name in ("raises", "warns", "deprecated_call") or name.startswith("assert") or self.helps(name):
                states = {True} if states else states
        return states

    def helps(self, name: str) -> bool:
        found = helpers(self.path).get(name)
        if found is None or name in self.callers:
            return False
        return Paths(found[0], (*self.callers, name)).through(found[1]) == {True}

    def holds(self, node: ast.expr) -> bool:
        """Whether it is seen to hold something."""
        match node:
            case ast.Tuple(elts=values) | ast.List(elts=values) | ast.Set(elts=values):
                return any(not isinstance(value, ast.Starred) or self.holds(value.value) for value in values)
            case ast.Dict(keys=keys, values=values):
                return any(key is not None or self.holds(value) for key, value in zip(keys, values, strict=True))
            case ast.Constant(value=str() as text):
                return bool(text)
            case ast.Name(id=name):
                return name in self.holding
            case ast.Call(func=ast.Attribute(value=value, attr="items" | "values" | "keys")):
                return self.holds(value)
            case ast.IfExp(body=body, orelse=orelse):
                return self.holds(body) and self.holds(orelse)
            case ast.Call(func=ast.Name(id="zip"), args=values, keywords=[ast.keyword("strict", ast.Constant(True))]):
                return any(self.holds(value) for value in values)  # else it raises
            case ast.Call(func=ast.Name(id="range") | ast.Attribute(attr="arange"), args=values):
                numbers = [value.value for value in values if isinstance(value, ast.Constant)]
                return len(numbers) == len(values) and len(range(*numbers)) > 0
            case ast.Call(func=function, args=values) if _name(function) in PASSING_ON:
                return bool(values) and all(self.holds(value) for value in values)
            case ast.ListComp(generators=[generator]) | ast.DictComp(generators=[generator]):
                return not generator.ifs and self.holds(generator.iter)
        return False


def _stored(tree: ast.AST) -> Counter[str]:
    """How often each name is given a value."""
    return Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))


def _assigned(tree: ast.Module | Function) -> list[tuple[str, ast.expr]]:
    """Names that are given a value once, in the open, and never another; with the value."""
    found = [node for node in tree.body if isinstance(node, ast.Assign) and len(node.targets) == 1]
    places = [(node.targets[0], node.value) for node in found]
    often = _stored(tree)
    return [(place.id, value) for place, value in places if isinstance(place, ast.Name) and often[place.id] == 1]


def _name(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _certain_calls(node: ast.AST | None) -> list[ast.Call]:
    """Calls in an expression but those that may not be made: in a lambda, a comprehension, a second alternative."""
    if node is None or isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return []
    inside: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.BoolOp):
        inside = [node.values[0]]
    elif isinstance(node, ast.IfExp):
        inside = [node.test]
    found = [call for child in inside for call in _certain_calls(child)]
    return [*found, node] if isinstance(node, ast.Call) else found


def silent(path: Path) -> list[str]:
    """The tests of a file that can end without having asserted anything."""
    found = []
    for name, function in functions(parsed(path)).items():
        checked = any("parametrize_with_checks" in ast.unparse(mark) for mark in function.decorator_list)
        if name.startswith("test_") and not checked and Paths(path).through(function) != {True}:
            found.append(f"{path.relative_to(path.parents[1])}:{function.lineno} {name}")
    return found


def test_there_are_tests():
    assert len(FILES) > 50


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_every_test_asserts_on_every_path(path):
    assert silent(path) == []


SOUND = """
def holds(x):
    assert x

def test_a():
    holds(1)

def test_b():
    for x in (1, 2):
        assert x

def test_c(x):
    if x:
        pytest.skip("reason")
    with pytest.raises(ValueError):
        f(x)

def test_d(x):
    for y in x:
        assert y
    np.testing.assert_array_equal(x, 1)

def test_e():
    cases = {"a": 1}
    for name, value in cases.items():
        if name:
            assert value
        else:
            raise ValueError

ONE = (1,)
MORE = [*ONE, *f()]

def test_g():
    for x in MORE:
        assert x

def test_f(x):
    for y in range(3):
        if x:
            assert y
            continue
        assert not y
"""
SILENT = """
def may(x):
    if x:
        assert x

def test_nothing():
    f()

def test_helper():
    may(1)

def test_return(x):
    if x is None:
        return
    assert x

def test_loop(x):
    for y in x:
        assert y

def test_filtered():
    names = [n for n in ("a", "b") if f(n)]
    for name in names:
        assert name

def test_one_branch(x):
    if x:
        assert x

def test_caught(x):
    try:
        f(x)
        assert x
    except ValueError:
        pass

def test_later(x):
    check = lambda: np.testing.assert_equal(x, 1)

def test_perhaps(x):
    x and holds(x)

CASES = (1, 2)

def test_hidden(x):
    CASES = f(x)
    for y in CASES:
        assert y

def test_unpacked():
    for x in {**f()}.values():
        assert x

def test_starred():
    for x in [*f()]:
        assert x

def test_emptied(x):
    cases = [1, 2]
    if x:
        cases = []
    for y in cases:
        assert y

def test_continued(x):
    for y in (1, 2):
        if x:
            continue
        assert y
"""


def test_what_is_sound_passes_and_what_is_silent_is_found(tmp_path):
    sound, wrong = tmp_path / "a" / "test_sound.py", tmp_path / "a" / "test_silent.py"
    sound.parent.mkdir()
    sound.write_text(SOUND)
    wrong.write_text(SILENT)
    assert silent(sound) == []
    assert [line.split()[1] for line in silent(wrong)] == [
        name for name in functions(parsed(wrong)) if name.startswith("test_")
    ]
