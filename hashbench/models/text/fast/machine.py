"""Machine instructions that NumPy and numba have no names for, each beside a plain function that gives the same.

Inside a kernel an instruction is written out as LLVM's code for it. Where numba cannot do so, the plain function is
compiled in its place; it runs, too, where nothing is compiled. Offsets and array lengths are not checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hashbench.models.text.compiled import instruction

SCAN_BLOCK = 64  # bytes that are classified at a time: the bits of one number


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """LLVM's pointer to array.ravel()[index], for a contiguous array."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index])


def _load_number(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    from llvmlite import ir

    pointer = builder.bitcast(_address(context, builder, signature.args[0], *values), ir.IntType(64).as_pointer())
    return builder.load(pointer, align=1)


@instruction(lambda of, data, at: of.uint64(data, of.int64), _load_number)
def load_number(data: np.ndarray, at: int) -> np.uint64:
    """The eight bytes of `data` (n,) uint8 from `at` on as a little-endian number."""
    number = np.uint64(0)
    for i in range(8):
        number |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return number


def _store_number(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    from llvmlite import ir

    pointer = builder.bitcast(_address(context, builder, signature.args[0], *values[:2]), ir.IntType(64).as_pointer())
    builder.store(values[2], pointer, align=1)
    return context.get_dummy_value()


@instruction(lambda of, data, at, number: of.none(data, of.int64, of.uint64), _store_number)
def store_number(data: np.ndarray, at: int, number: np.uint64) -> None:
    """Writes a number as the eight bytes of `data` (n,) uint8 from `at` on, little-endian."""
    for i in range(8):
        data[at + i] = np.uint8((number >> np.uint64(8 * i)) & np.uint64(0xFF))


def _trailing_zeros(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    from llvmlite import ir

    return builder.cttz(values[0], ir.Constant(ir.IntType(1), 0))


@instruction(lambda of, bits: of.int64(of.uint64), _trailing_zeros)
def trailing_zeros(bits: np.uint64) -> int:
    """The number of zero bits below the lowest one; 64 for zero."""
    n = 0
    while n < 64 and (bits >> np.uint64(n)) & np.uint64(1) == np.uint64(0):
        n += 1
    return n


def _prefetch(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    from llvmlite import ir

    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    name = "llvm.prefetch.p0i8" if "*" in str(byte) else "llvm.prefetch.p0"
    kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    module = builder.module
    function = module.globals[name] if name in module.globals else ir.Function(module, kind, name)
    pointer = builder.bitcast(_address(context, builder, signature.args[0], *values), byte)
    # The request is for reading, into all caches, of data
    builder.call(function, [pointer, *(ir.Constant(number, value) for value in (0, 3, 1))])
    return context.get_dummy_value()


@instruction(lambda of, array, index: of.none(array, of.int64), _prefetch)
def prefetch(array: np.ndarray, index: int) -> None:
    """Asks for the cache line of an element, by its index in the flat array, before it is needed; changes nothing."""


def _vector_constant(kind: Any, value: int) -> Any:
    from llvmlite import ir

    return ir.Constant(kind, [value] * kind.count)


def _within(builder: Any, vector: Any, low: int, count: int) -> Any:
    """Of each byte, whether it is one of `count` values from `low` on."""
    shifted = builder.sub(vector, _vector_constant(vector.type, low))
    return builder.icmp_unsigned("<", shifted, _vector_constant(vector.type, count))


def _block_of(context: Any, builder: Any, array_type: Any, array: Any, at: Any) -> Any:
    from llvmlite import ir

    kind = ir.VectorType(ir.IntType(8), SCAN_BLOCK)
    pointer = builder.bitcast(_address(context, builder, array_type, array, at), kind.as_pointer())
    return builder.load(pointer, align=1)


def _masks(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    from llvmlite import ir

    block = _block_of(context, builder, signature.args[0], *values)
    either_case = builder.or_(block, _vector_constant(block.type, 0x20))
    word = builder.or_(_within(builder, either_case, ord("a"), 26), _within(builder, block, ord("0"), 10))
    word = builder.or_(word, _within(builder, block, ord("_"), 1))
    space = builder.or_(_within(builder, block, ord(" "), 1), _within(builder, block, 0x09, 5))
    space = builder.or_(space, _within(builder, block, 0x1C, 4))
    plain = _within(builder, block, 1, 0x7F)
    bits = [builder.bitcast(mask, ir.IntType(64)) for mask in (word, space)]
    return context.make_tuple(
        builder, signature.return_type, [*bits, builder.not_(builder.bitcast(plain, ir.IntType(64)))]
    )


@instruction(lambda of, data, at: of.UniTuple(of.uint64, 3)(data, of.int64), _masks)
def masks(data: np.ndarray, at: int) -> tuple[np.uint64, np.uint64, np.uint64]:
    """The classes of 64 bytes of `data` (n,) uint8 from `at` on, one bit a byte.

    -> (ASCII word characters, ASCII white space, NUL and bytes that are not ASCII).
    """
    word, space, odd = np.uint64(0), np.uint64(0), np.uint64(0)
    for i in range(SCAN_BLOCK):
        byte, bit = data[at + i], np.uint64(1) << np.uint64(i)
        either_case = byte | 0x20
        if 97 <= either_case <= 122 or 48 <= byte <= 57 or byte == 95:
            word |= bit
        elif byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31:
            space |= bit
        elif byte == 0 or byte >= 128:
            odd |= bit
    return word, space, odd


def _copy_block(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    from llvmlite import ir

    source, at, target, tail, lower = values
    block = _block_of(context, builder, signature.args[0], source, at)
    capital = _within(builder, block, ord("A"), 26)
    case = builder.select(lower, ir.Constant(ir.IntType(8), 0x20), ir.Constant(ir.IntType(8), 0))
    empty = ir.Constant(block.type, ir.Undefined)
    first = builder.insert_element(empty, case, ir.Constant(ir.IntType(32), 0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), SCAN_BLOCK), [0] * SCAN_BLOCK)
    bit = builder.shuffle_vector(first, empty, lanes)
    lowered = builder.or_(block, builder.select(capital, bit, _vector_constant(block.type, 0)))
    pointer = builder.bitcast(_address(context, builder, signature.args[2], target, tail), block.type.as_pointer())
    builder.store(lowered, pointer, align=1)
    return context.get_dummy_value()


@instruction(
    lambda of, source, at, target, tail, lower: of.none(source, of.int64, target, of.int64, of.boolean), _copy_block
)
def copy_block(source: np.ndarray, at: int, target: np.ndarray, tail: int, lower: bool) -> None:
    """Copies 64 bytes from source[at:] to target[tail:], both (n,) uint8, with A to Z as a to z where `lower`."""
    for i in range(SCAN_BLOCK):
        byte = source[at + i]
        target[tail + i] = byte | 0x20 if lower and 65 <= byte <= 90 else byte
