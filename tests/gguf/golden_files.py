"""Writes tests/golden/gguf with gguf-py, the format's own package; by hand, where that is there.

    python tests/gguf/golden_files.py

Blocks are made here: gguf-py quantizes no k-quants, and numbers that a quantizer would give hold no
extremes. Not a test.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).parent.parent / "golden" / "gguf"
HALVES = {
    **{"Q4_0": (0,), "Q4_1": (0, 2), "Q5_0": (0,), "Q5_1": (0, 2), "Q8_0": (0,)},
    **{"Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,)},
}
"""The places of the halves in a block of each type."""
EXTREMES = (0x0000, 0x8000, 0x0001, 0x83FF, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00)
"""Zeros, subnormal numbers, the largest ones, infinities and a NaN, as the bits of halves."""
FILLS = (0x00, 0x80, 0xFF)
"""Bytes of which whole blocks are made: 0x80 is -128 in a scale of 8 bits."""
RANDOM = 4
QUANTIZED = ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1")
PLAIN = ("F32", "F16", "F64", "I8", "I16", "I32", "I64")


def blocks(nbytes: int, places: tuple[int, ...], chance: np.random.Generator) -> np.ndarray:
    """Blocks of a type: of random bytes, with extreme halves, and of one byte."""
    count = RANDOM + len(EXTREMES) + len(FILLS)
    made = chance.integers(0, 256, (count, nbytes), dtype=np.uint8)
    usual = chance.normal(0, 0.02, (count, len(places))).astype("<f2")
    for column, place in enumerate(places):
        made[:, place : place + 2] = usual[:, column : column + 1].view(np.uint8)
        for row, bits in enumerate(EXTREMES, RANDOM):
            made[row, place : place + 2] = np.frombuffer(bits.to_bytes(2, "little"), np.uint8)
    for row, byte in enumerate(FILLS, RANDOM + len(EXTREMES)):
        made[row] = byte
    return made


def rows(chance: np.random.Generator) -> np.ndarray:
    """Numbers to be quantized: usual ones, and rows of zeros, ties, subnormal and large numbers."""
    usual = chance.normal(0, 1, (6, 64)).astype(np.float32)
    usual[1] *= np.float32(1e-9)
    usual[2] *= np.float32(1e4)
    usual[3] = np.float32(0.5) * np.arange(-32, 32)
    usual[4] = 0
    usual[5, ::3] = -0.0
    return usual


def plain_numbers(name: str) -> np.ndarray:
    """Numbers of a plain type, extreme ones among them."""
    dtype = np.dtype(f"{name[0].lower()}{int(name[1:]) // 8}")
    if dtype.kind == "i":
        limits = np.iinfo(dtype)
        return np.array([[limits.min, -1, 0], [1, 2, limits.max]], dtype)
    limits = np.finfo(dtype)
    numbers = [[limits.min, -0.0, np.inf], [limits.smallest_subnormal, np.nan, limits.max]]
    return np.array(numbers, dtype)


def add_metadata(writer) -> None:
    """A key of every type."""
    for width in (8, 16, 32, 64):
        getattr(writer, f"add_uint{width}")(f"test.u{width}", 2**width - 1)
        getattr(writer, f"add_int{width}")(f"test.i{width}", -(2 ** (width - 1)))
    writer.add_float32("test.f32", 0.1)
    writer.add_float64("test.f64", 0.1)
    writer.add_bool("test.bool", True)
    writer.add_string("test.string", "naïve 🙂")
    writer.add_array("test.integers", [1, -2, 3])
    writer.add_array("test.floats", [0.5, 1.5])
    writer.add_array("test.truths", [True, False])
    writer.add_array("test.strings", ["a", "", "bc"])


def main() -> None:
    """Write every file."""
    import gguf

    GOLDEN.mkdir(exist_ok=True)
    chance = np.random.default_rng(1)
    writer, expected = gguf.GGUFWriter(GOLDEN / "blocks.gguf", "test"), {}
    add_metadata(writer)
    for name, places in HALVES.items():
        kind = gguf.GGMLQuantizationType[name]
        _, nbytes = gguf.GGML_QUANT_SIZES[kind]
        made = blocks(nbytes, places, chance)
        writer.add_tensor(f"blocks.{name}", made, raw_dtype=kind)
        with np.errstate(all="ignore"):
            expected[f"blocks.{name}"] = gguf.dequantize(made, kind)
    for name in PLAIN:
        writer.add_tensor(f"plain.{name}", plain_numbers(name))
        expected[f"plain.{name}"] = plain_numbers(name)
    bits = np.array([[0x0001, 0x3F80, 0xC000], [0x7F80, 0x7F7F, 0x7FC0]], np.uint16)
    kind = gguf.GGMLQuantizationType.BF16
    writer.add_tensor("plain.BF16", bits.view(np.uint8), raw_dtype=kind)
    expected["plain.BF16"] = gguf.dequantize(bits.view(np.uint8), kind)
    finish(writer)
    np.savez_compressed(GOLDEN / "blocks.npz", **expected)

    writer = gguf.GGUFWriter(GOLDEN / "quantized.gguf", "test")
    numbers = rows(chance)
    writer.add_tensor("numbers", numbers)
    for name in (*QUANTIZED, "BF16"):
        kind = gguf.GGMLQuantizationType[name]
        writer.add_tensor(f"numbers.{name}", gguf.quantize(numbers, kind), raw_dtype=kind)
    finish(writer)


def finish(writer) -> None:
    """Write what was added."""
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
