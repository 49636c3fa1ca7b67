"""A vector of 16 configurations as one value: what lets a compiled pass keep their scores in registers.

Numba compiles loops over single numbers; whether LLVM makes vector instructions of them is a matter of luck. Here the
vectors are explicit: `load` takes 16 neighbours of a row, `fma`, `add` and `hinge` compute on all of them at once,
`store` and `tally` put the result back. LLVM maps them to whatever width the machine has.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

from . import LANES as WIDTH

_FUSE = ("contract",)
"""Allow a product and a sum to become one instruction, and nothing else of fast arithmetic."""


class Lanes(types.Type):
    """16 numbers of one kind."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.VectorType(manager.lookup(kind.dtype).get_value_type(), WIDTH))


def _pointer(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
    """Address of the 16 neighbours that begin at ``array[row, column]``."""
    array = context.make_array(kinds[0])(context, builder, values[0])
    where = [context.cast(builder, values[k], kinds[k], types.intp) for k in (1, 2)]
    first = cgutils.get_item_pointer(context, builder, kinds[0], array, where, wraparound=False)
    vector = ir.VectorType(context.get_value_type(kinds[0].dtype), WIDTH)
    return builder.bitcast(first, vector.as_pointer()), kinds[0].dtype.bitwidth // 8


def _load(builder: Any, pointer: Any, align: int) -> Any:
    loaded = builder.load(pointer)
    loaded.align = align
    return loaded


def _splat(builder: Any, value: Any) -> Any:
    """The same number 16 times."""
    vector = ir.VectorType(value.type, WIDTH)
    nothing = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH))


def _constant(vector: Any, value: float) -> Any:
    return ir.Constant(vector, [value] * WIDTH)


@intrinsic
def load(_typing: Any, array: Any, row: Any, column: Any) -> Any:
    """Read ``array[row, column : column + 16]``."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _load(builder, *_pointer(context, builder, signature.args, values))

    return Lanes(array.dtype)(array, row, column), generate


@intrinsic
def store(_typing: Any, array: Any, row: Any, column: Any, lanes: Any) -> Any:
    """Write ``array[row, column : column + 16]``."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer, align = _pointer(context, builder, signature.args, values)
        builder.store(values[3], pointer, align=align)
        return context.get_dummy_value()

    return types.void(array, row, column, lanes), generate


@intrinsic
def zeros(_typing: Any, array: Any) -> Any:
    """16 zeros of the array's kind."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _constant(ir.VectorType(context.get_value_type(signature.args[0].dtype), WIDTH), 0.0)

    return Lanes(array.dtype)(array), generate


@intrinsic
def add(_typing: Any, a: Any, b: Any) -> Any:
    """``a + b``."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fadd(*values)

    return a(a, b), generate


@intrinsic
def widened(_typing: Any, lanes: Any, array: Any) -> Any:
    """The same numbers in the array's precision, which is not smaller."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        wide = ir.VectorType(context.get_value_type(signature.args[1].dtype), WIDTH)
        return values[0] if values[0].type == wide else builder.fpext(values[0], wide)

    return Lanes(array.dtype)(lanes, array), generate


@intrinsic
def fma(_typing: Any, lanes: Any, factor: Any, other: Any) -> Any:
    """``lanes + factor * other`` with one number as the factor."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        one = context.cast(builder, values[1], signature.args[1], signature.args[0].dtype)
        return builder.fadd(values[0], builder.fmul(_splat(builder, one), values[2], flags=_FUSE), flags=_FUSE)

    return lanes(lanes, factor, other), generate


@intrinsic
def times(_typing: Any, lanes: Any, factor: Any) -> Any:
    """``factor * lanes`` with one number as the factor."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        one = context.cast(builder, values[1], signature.args[1], signature.args[0].dtype)
        return builder.fmul(values[0], _splat(builder, one))

    return lanes(lanes, factor), generate


@intrinsic
def hinge(_typing: Any, scores: Any, up: Any, down: Any) -> Any:
    """Slope of the hinge bounds: ``up`` where the score is above -1, plus ``down`` where it is below 1."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        s, up, down = values
        nothing = _constant(s.type, 0.0)
        rising = builder.select(builder.fcmp_ordered(">", s, _constant(s.type, -1.0)), up, nothing)
        falling = builder.select(builder.fcmp_ordered("<", s, _constant(s.type, 1.0)), down, nothing)
        return builder.fadd(rising, falling)

    return scores(scores, up, down), generate


@intrinsic
def tally(_typing: Any, counts: Any, row: Any, column: Any, scores: Any) -> Any:
    """Count the scores above 0: add 1 to ``counts[row, ...]`` (whole numbers) in their places."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer, align = _pointer(context, builder, signature.args, values)
        before = _load(builder, pointer, align)
        above = builder.fcmp_ordered(">", values[3], _constant(values[3].type, 0.0))
        builder.store(builder.add(before, builder.zext(above, before.type)), pointer, align=align)
        return context.get_dummy_value()

    return types.void(counts, row, column, scores), generate


@intrinsic
def tally_weight(_typing: Any, sums: Any, row: Any, column: Any, scores: Any, weight: Any) -> Any:
    """Add a weight to ``sums[row, ...]`` in the places of the scores above 0; both whole numbers or neither."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer, align = _pointer(context, builder, signature.args, values)
        before = _load(builder, pointer, align)
        above = builder.fcmp_ordered(">", values[3], _constant(values[3].type, 0.0))
        weight = _splat(builder, context.cast(builder, values[4], signature.args[4], signature.args[0].dtype))
        integer = isinstance(signature.args[0].dtype, types.Integer)
        share = builder.select(above, weight, _constant(before.type, 0 if integer else 0.0))
        builder.store((builder.add if integer else builder.fadd)(before, share), pointer, align=align)
        return context.get_dummy_value()

    return types.void(sums, row, column, scores, weight), generate


@intrinsic
def tally_bounds(_typing: Any, upper: Any, lower: Any, row: Any, column: Any, scores: Any, weight: Any) -> Any:
    """Add a weight times the hinge bounds on the prediction: max(0, 1 + score) and min(1, score)."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kinds, wide = signature.args, ir.VectorType(ir.DoubleType(), WIDTH)
        s = values[4] if values[4].type == wide else builder.fpext(values[4], wide)
        weight = _splat(builder, context.cast(builder, values[5], kinds[5], types.float64))
        zero, one = _constant(wide, 0.0), _constant(wide, 1.0)
        rising = builder.fadd(one, s)
        bounds = (
            builder.select(builder.fcmp_ordered(">", rising, zero), rising, zero),
            builder.select(builder.fcmp_ordered("<", s, one), s, one),
        )
        for k, bound in enumerate(bounds):
            place = (kinds[k], *kinds[2:4]), (values[k], *values[2:4])
            pointer, align = _pointer(context, builder, *place)
            before = _load(builder, pointer, align)
            builder.store(builder.fadd(before, builder.fmul(weight, bound)), pointer, align=align)
        return context.get_dummy_value()

    return types.void(upper, lower, row, column, scores, weight), generate


@intrinsic
def decide(_typing: Any, decided: Any, row: Any, column: Any, scores: Any) -> Any:
    """Write 1 to ``decided[row, ...]`` (bytes) where the score is above 0, 2 where it is no number, else 0."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer, align = _pointer(context, builder, signature.args, values)
        s, small = values[3], ir.VectorType(ir.IntType(8), WIDTH)
        above = builder.zext(builder.fcmp_ordered(">", s, _constant(s.type, 0.0)), small)
        gap = builder.fsub(s, s)  # 0, or no number for infinity and NaN
        broken = builder.zext(builder.fcmp_unordered("uno", gap, gap), small)
        builder.store(builder.add(above, builder.shl(broken, ir.Constant(small, [1] * WIDTH))), pointer, align=align)
        return context.get_dummy_value()

    return types.void(decided, row, column, scores), generate
