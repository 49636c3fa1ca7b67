"""The language of rates as text: parsed, never evaluated as Python.

In: what a user writes on the command line or what a file holds, such as
``"precision(sex == 'Female') >= precision(sex == 'Male') - 0.02"``. Out: the same expressions, constraints and
slices that Python users build. The grammar is a small part of Python's own: numbers, strings, the functions of the
`catalogue`, arithmetic, one comparison, and slices made of attribute names, comparisons, ``& | ~`` and
``.isin([...])``. Nothing else is accepted, so untrusted text can be parsed safely. ``repr`` of an expression
parses back to it.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from .._core.errors import ParseError
from ..data.slices import Attribute, Slice, attr
from ..language.catalogue import CATALOGUE
from ..language.expressions import Constraint, Expression, expression
from ..language.parity import READY_MADE, ConstraintFamily
from .hints import SYMBOLS, comma_hint, compared, equals_hint, function_hint, percent_hint, syntax_hint
from .problem import Objective, maximize, minimize

_RATES = {name: function for name, function in CATALOGUE.items() if name != "black_box"}  # text holds no functions
_OTHERS: dict[str, Callable[..., Any]] = {"attr": attr, "minimize": minimize, "maximize": maximize, **READY_MADE}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
}
_JOIN: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.LtE: lambda a, b: a <= b,
    ast.GtE: lambda a, b: a >= b,
    ast.Lt: lambda a, b: a < b,
    ast.Gt: lambda a, b: a > b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
}
# Sums and joined slices are flat, however long: their operators do not count as nesting.
_FLAT: tuple[frozenset[type[ast.operator]], ...] = (
    frozenset({ast.Add, ast.Sub}),
    frozenset({ast.BitAnd}),
    frozenset({ast.BitOr}),
)
_LONGEST = 20_000
_DEEPEST = 30
_LARGEST = 2**1023  # whole numbers stay exact, and within the range of other numbers


def parse(text: str) -> Any:
    """Parse any text of the language: an expression, a constraint, a list of ready-made ones, a slice or an objective.

    Parameters
    ----------
    text
        What to read. It has the notation of Python, with attributes by their names: ``tpr(sex == 'Female') >=
        0.8``.

    Returns
    -------
    Expression, Constraint, list, Slice or Objective
        What the text says.

    Examples
    --------
    >>> parse("precision(sex == 'Female') >= precision(sex == 'Male') - 0.02")
    precision(sex == 'Female') >= precision(sex == 'Male') - 0.02
    >>> parse("demographic_parity(sex, tolerance=0.05)")
    [demographic_parity(sex, tolerance=0.05)]
    >>> parse("__import__('os')")
    Traceback (most recent call last):
    ...
    equirate.ParseError: cannot read "__import__('os')": there is no function '__import__'
    """
    if not isinstance(text, str) or not text.strip():
        raise ParseError('expected text such as "f1() >= 0.8"; got nothing')
    if len(text) > _LONGEST:
        raise ParseError(f"the text is {len(text)} characters long; at most {_LONGEST} are read")
    source = text.strip()
    try:
        tree = _tree(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason, line, offset = (getattr(error, name, None) for name in ("msg", "lineno", "offset"))
        reason, column = reason or error, _column(source, line, offset - 1) if line and offset else len(source)
        hint = syntax_hint(source)
        reason = f"{str(reason).partition('. ')[0] if hint else reason}{hint}"
        raise ParseError(f"cannot read {_shown(text)}: {reason}", str(reason), source, column) from None
    reader = _Reader(source)
    try:
        return reader.result(tree.body)
    except ParseError:
        raise
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise reader.refusal(f"{error}{_uncalled(tree)}") from error


def parse_expression(text: str) -> Expression:
    """Parse text that must be an expression, such as ``"f1()"``."""
    result = parse(text)
    if isinstance(result, Expression):
        return result
    raise _not_a(text, "an expression of rates: write, for example, f1() or tpr() - fpr()")


def parse_constraints(text: str) -> list[Constraint | ConstraintFamily]:
    """Parse text that must be a constraint, or a ready-made family of them."""
    result = parse(text)
    if isinstance(result, Constraint):
        return [result]
    if isinstance(result, list):
        return result
    raise _not_a(text, "a constraint: compare two expressions with <= or >=")


def parse_objective(text: str) -> Objective:
    """Parse text that must be an objective, such as ``"maximize(f1())"``."""
    result = parse(text)
    if isinstance(result, Objective):
        return result
    raise _not_a(text, "an objective: write minimize(...) or maximize(...)")


class _Reader:
    """Reads the syntax tree; any kind of node without a method here is an error."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.node: ast.expr | None = None
        """The part that is being read: where an error message points."""

    def result(self, node: ast.expr) -> Any:
        """Read the text, which must be something that `parse` returns."""
        result = self.read(node, 0)
        if isinstance(result, list):
            return list(self._constraints(result))
        if _is_number(result):
            return expression(result)
        if isinstance(result, (Expression, Constraint, Slice, Objective, Attribute)):
            return result
        raise self.refusal("it is neither an expression, a constraint, a slice nor an objective")

    def _constraints(self, parts: list[Any]) -> Iterator[Constraint | ConstraintFamily]:
        for part in parts:
            if isinstance(part, list):
                yield from self._constraints(part)
            elif isinstance(part, (Constraint, ConstraintFamily)):
                yield part
            else:
                hint = comma_hint(self.text) if _is_number(part) else ""
                raise self.refusal(f"{part!r} is not a constraint, and only constraints are listed{hint}")

    def read(self, node: ast.expr, depth: int) -> Any:
        if depth > _DEEPEST:
            raise self.refusal(f"it is nested more than {_DEEPEST} deep")
        outer, self.node = self.node, node
        method = _READERS.get(type(node))
        if method is None:
            raise self.refusal(f"{type(node).__name__} is not part of the language")
        result = method(self, node, depth + 1)
        self.node = outer
        return result

    def refusal(self, reason: str) -> ParseError:
        column = None if self.node is None else place_of(self.text, self.node)
        return ParseError(f"cannot read {_shown(self.text)}: {reason}", reason, self.text, column)

    def number(self, value: float) -> float:
        """Bound numbers, so that arithmetic on them stays cheap."""
        if (isinstance(value, int) and abs(value) >= _LARGEST) or not math.isfinite(value):
            raise self.refusal("a number is too large")
        return value

    def _constant(self, node: ast.Constant, depth: int) -> Any:
        if node.value is None or isinstance(node.value, (bool, str)):
            return node.value
        if isinstance(node.value, (int, float)):
            return self.number(node.value)
        raise self.refusal(f"{type(node.value).__name__} is neither a number nor a string")

    def _name(self, node: ast.Name, depth: int) -> Attribute:
        # Python's parser normalises letters that look alike; the name of a column stays as it was written.
        written = None if self.text.isascii() else ast.get_source_segment(self.text, node)
        return attr(written or node.id)

    def _list(self, node: ast.List | ast.Tuple, depth: int) -> list[Any]:
        return [self.read(part, depth) for part in node.elts]

    def _dict(self, node: ast.Dict, depth: int) -> dict[Any, Any]:
        if any(key is None for key in node.keys):
            raise self.refusal("* and ** are not part of the language")
        keys = [self.read(key, depth) for key in node.keys if key is not None]
        if not all(isinstance(key, (bool, int, float, str)) for key in keys):
            raise self.refusal("the keys of a dict are numbers or strings")
        return dict(zip(keys, (self.read(value, depth) for value in node.values), strict=True))

    def _unaryop(self, node: ast.UnaryOp, depth: int) -> Any:
        operand = self.read(node.operand, depth)
        if isinstance(node.op, ast.Invert) and isinstance(operand, Slice):
            return ~operand
        if isinstance(node.op, (ast.USub, ast.UAdd)) and _is_arithmetic(operand):
            return -operand if isinstance(node.op, ast.USub) else operand
        if isinstance(node.op, ast.Not) and isinstance(operand, Slice):
            raise self.refusal(f"the rest of a slice has ~: write ~({ast.unparse(node.operand)})")
        raise self.refusal("use - for the negative of an expression and ~ for the rest of a slice")

    def _boolop(self, node: ast.BoolOp, depth: int) -> NoReturn:
        for part in node.values:
            self._refuse_joined(self.read(part, depth))
        sign = " & " if isinstance(node.op, ast.And) else " | "
        written = sign.join(f"({ast.unparse(part)})" for part in node.values)
        raise self.refusal(f"slices are joined with & and |, not with and and or: write {written}")

    def _refuse_joined(self, part: Any) -> None:
        if isinstance(part, (Constraint, list)):
            raise self.refusal("constraints are not joined: give them as two constraints")

    def _binop(self, node: ast.BinOp, depth: int) -> Any:
        first, operations = _spine(node)
        result = self.read(first, depth)
        for operation, part in operations:
            result = self._combined(type(operation), result, self.read(part, depth))
        return result

    def _combined(self, operation: type[ast.operator], left: Any, right: Any) -> Any:
        if operation in _JOIN:
            self._refuse_joined(left)
            if not (isinstance(left, Slice) and isinstance(right, Slice)):
                raise self.refusal("& and | join slices: put each comparison in parentheses")
            return _JOIN[operation](left, right)
        if operation not in _ARITHMETIC:
            hint = percent_hint(self.text) if operation is ast.Mod else ""
            powers = "powers are square(...), sqrt(...), inv(...)"
            raise self.refusal(f"only + - * / are part of the language; {powers}{hint}")
        for side in (left, right):
            if isinstance(side, (Attribute, Slice)):
                if isinstance(left, Attribute) and isinstance(right, Attribute) and operation is ast.Sub:
                    name = f"{left.name}-{right.name}"
                    raise self.refusal(f"if {name!r} is the name of a column, write attr({name!r})")
                slice_ = f"{side!r} == ..." if isinstance(side, Attribute) else repr(side)
                raise self.refusal(f"{side!r} is not an expression: use it inside a rate, as in tpr({slice_})")
            if not _is_arithmetic(side):
                raise self.refusal(f"only expressions and numbers can be added or multiplied, not {side!r}")
        result = _ARITHMETIC[operation](left, right)
        return self.number(result) if _is_number(result) else result

    def _compare(self, node: ast.Compare, depth: int) -> Any:
        for part in (node.left, *node.comparators):
            if isinstance(part, ast.BinOp) and type(part.op) in _JOIN:
                self.node = part
                raise self.refusal("& and | bind more tightly than comparisons: put each comparison in parentheses")
        sides = (node.left, *node.comparators)
        if len(node.ops) > 1 or type(node.ops[0]) not in _COMPARE:
            parts = [compared(sides[k], operation, sides[k + 1]) for k, operation in enumerate(node.ops)]
            if len(parts) == 1:
                raise self.refusal(f"write {parts[0]}")
            if isinstance(self.read(sides[1], depth), Attribute):
                raise self.refusal(f"one comparison at a time: write {' & '.join(f'({part})' for part in parts)}")
            raise self.refusal(f"one comparison at a time: give a chain as two constraints, {', '.join(parts)}")
        left, right = self.read(node.left, depth), self.read(node.comparators[0], depth)
        symbol = SYMBOLS[type(node.ops[0])]
        if isinstance(left, Attribute):
            if isinstance(right, Attribute):
                raise self.refusal(
                    f"an attribute is compared with a number or a string, not with {right!r}: put text in quotes, as "
                    f"in {left!r} {symbol} '{right.name}'"
                )
            self._value(right)
        elif isinstance(right, Attribute) and not isinstance(left, Expression):
            raise self.refusal(f"an attribute is on the left: write {compared(sides[0], node.ops[0], sides[1])}")
        elif isinstance(left, str):
            raise self.refusal(f"an attribute by its name in quotes: write attr({left!r}) {symbol} {right!r}")
        elif isinstance(left, list):
            raise self.refusal("this is a constraint already: leave the comparison out")
        elif not (_is_arithmetic(left) and _is_arithmetic(right)) or (_is_number(left) and _is_number(right)):
            raise self.refusal("compare two expressions, or an attribute (on the left) with a number or a string")
        return _COMPARE[type(node.ops[0])](left, right)

    def _value(self, value: Any) -> None:
        if not isinstance(value, (bool, int, float, str)):
            raise self.refusal(f"an attribute is compared with a number or a string, not with {value!r}")

    def _call(self, node: ast.Call, depth: int) -> Any:
        names = [keyword.arg for keyword in node.keywords]
        if None in names or any(isinstance(part, ast.Starred) for part in node.args):
            raise self.refusal("* and ** are not part of the language")
        if len(set(names)) != len(names):
            raise self.refusal("an argument is given twice")
        arguments = [self.read(part, depth) for part in node.args]
        options = {str(keyword.arg): self.read(keyword.value, depth) for keyword in node.keywords}
        if isinstance(node.func, ast.Attribute) and node.func.attr == "isin":
            return self._isin(self.read(node.func.value, depth), arguments, options)
        if not isinstance(node.func, ast.Name):
            prefix = ": leave 'eq.' out" if ast.unparse(node.func).startswith("eq.") else ""
            raise self.refusal(f"only the functions of the language can be called{prefix}")
        name = node.func.id
        function = _RATES.get(name) or _OTHERS.get(name)
        if function is None:
            raise self.refusal(f"there is no function {name!r}{function_hint(name, [*_RATES, *_OTHERS])}")
        for option, value in options.items():
            hint = equals_hint(function, option, value)
            if hint and name in _RATES:
                raise self.refusal(hint)
        result = function(*arguments, **options)
        return expression(result) if name in _RATES else result

    def _isin(self, column: Any, arguments: list[Any], options: dict[str, Any]) -> Slice:
        if not isinstance(column, Attribute) or options or len(arguments) != 1 or not isinstance(arguments[0], list):
            raise self.refusal("write attribute.isin(['a', 'b'])")
        for value in arguments[0]:
            self._value(value)
        return column.isin(arguments[0])


_READERS: dict[type[ast.expr], Callable[[_Reader, Any, int], Any]] = {
    ast.Constant: _Reader._constant,
    ast.Name: _Reader._name,
    ast.List: _Reader._list,
    ast.Tuple: _Reader._list,
    ast.Dict: _Reader._dict,
    ast.UnaryOp: _Reader._unaryop,
    ast.BoolOp: _Reader._boolop,
    ast.BinOp: _Reader._binop,
    ast.Compare: _Reader._compare,
    ast.Call: _Reader._call,
}


def _spine(node: ast.BinOp) -> tuple[ast.expr, list[tuple[ast.operator, ast.expr]]]:
    """First operand of a chain of flat operators, and the operators with the operands that follow."""
    same_kind = next((kinds for kinds in _FLAT if type(node.op) in kinds), frozenset())
    operations = [(node.op, node.right)]
    first = node.left
    while isinstance(first, ast.BinOp) and type(first.op) in same_kind:
        operations.append((first.op, first.right))
        first = first.left
    return first, operations[::-1]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_arithmetic(value: Any) -> bool:
    return isinstance(value, Expression) or _is_number(value)


def _uncalled(tree: ast.AST) -> str:
    """A hint if the name of a function is used without parentheses."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and id(node) not in called and node.id in _RATES:
            return f" ({node.id} is a function: write {node.id}())"
    return ""


def _not_a(text: str, wanted: str) -> ParseError:
    return ParseError(f"{_shown(text)} is not {wanted}{_uncalled(_tree(text.strip()))}")


def _tree(source: str) -> ast.Expression:
    with warnings.catch_warnings():
        for kind in (SyntaxWarning, DeprecationWarning):  # such as an unknown escape in a string, before Python 3.12
            warnings.simplefilter("ignore", kind)
        return ast.parse(source, mode="eval")


def place_of(text: str, node: ast.expr) -> int:
    """Where in the text a part of its syntax tree begins, in characters; the tree counts bytes in a line."""
    line = text.encode().splitlines()[node.lineno - 1] if "\n" in text or "\r" in text else text.encode()
    return _column(text, node.lineno, len(line[: node.col_offset].decode()))


def _column(text: str, line: int, column: int) -> int:
    """The position in the text of a column in a line."""
    before = text.splitlines(keepends=True)[: max(line - 1, 0)]
    return min(sum(map(len, before)) + max(column, 0), len(text))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 200 else text[:200] + "...")
