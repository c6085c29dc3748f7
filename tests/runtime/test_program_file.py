"""Program files: the same bits without a compiler, refusals, damage, a file of each format."""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import gnomon as gn
from gnomon.capture.program_writer import deflated
from gnomon.runtime import native, program, program_file
from gnomon.runtime.program_file import HEAD, ROW, ProgramFileError, load_program
from tests.mutations_of_files import laid_out, sections

GOLDEN = Path(__file__).parent / "golden"
ALONE = """
import importlib.util, sys
sys.modules["gnomon"] = sys.modules["llvmlite"] = None
spec = importlib.util.spec_from_file_location("program_file", sys.argv[1])
file = importlib.util.module_from_spec(spec)
spec.loader.exec_module(file)
import numpy as np
made = file.load_program(sys.argv[2])
np.save(sys.argv[4], made(np.load(sys.argv[3])))
"""


def packed_by(*options: int) -> Callable[[bytes], bytes]:
    """Packs by other blocks of deflate: level, method, window, memory, strategy."""

    def pack(content: bytes) -> bytes:
        packer = zlib.compressobj(*options)
        return packer.compress(content) + packer.flush()

    return pack


PACKINGS = (
    *(
        deflated,
        packed_by(0, 8, -15),
        packed_by(1, 8, -9, 1),
        packed_by(9, 8, -15, 9, zlib.Z_FIXED),
    ),
    *(packed_by(6, 8, -15, 8, zlib.Z_HUFFMAN_ONLY), packed_by(6, 8, -15, 8, zlib.Z_RLE)),
)


@pytest.fixture(scope="module")
def model():
    gn.manual_seed(0)
    nn = gn.nn
    return nn.Sequential(nn.Linear(24, 40), nn.GELU(), nn.LayerNorm(40), nn.Linear(40, 6)).eval()


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    found = tmp_path_factory.mktemp("program") / "model.gnp"
    gn.export.export(model, (gn.ones(3, 24),)).save(found)
    return found


def resealed(content: bytes) -> bytes:
    """A file whose digests are those of its bytes."""
    made = bytearray(content)
    fields = HEAD.unpack_from(made)
    for k in range(fields[4]):
        at = HEAD.size + k * ROW.size
        row = ROW.unpack_from(made, at)
        own = hashlib.sha256(made[row[2] : row[2] + row[3]]).digest()
        ROW.pack_into(made, at, *row[:5], own)
    table = bytes(made[HEAD.size : HEAD.size + fields[4] * ROW.size])
    HEAD.pack_into(made, 0, *fields[:5], bytes(32))
    whole = hashlib.sha256(bytes(made[: HEAD.size]) + table).digest()
    HEAD.pack_into(made, 0, *fields[:5], whole)
    return bytes(made)


def test_a_process_without_the_package_gets_the_bits_of_the_compiled_module(model, path, tmp_path):
    x = gn.randn(3, 24)
    np.save(tmp_path / "x.npy", x.numpy())
    source = Path(program_file.__file__)
    paths = [source, path, tmp_path / "x.npy", tmp_path / "y.npy"]
    subprocess.run([sys.executable, "-I", "-c", ALONE, *map(str, paths)], check=True, timeout=120)
    with gn.no_grad():
        expected = gn.compile(model)(x).numpy()

    assert np.load(tmp_path / "y.npy").tobytes() == expected.tobytes()


def test_the_loader_imports_the_standard_library_and_numpy():
    tree = ast.parse(Path(program_file.__file__).read_text())
    found = {
        name.partition(".")[0]
        for x in ast.walk(tree)
        if isinstance(x, ast.Import | ast.ImportFrom)
        for name in ([x.module] if isinstance(x, ast.ImportFrom) else [y.name for y in x.names])
    }

    assert found <= {"numpy", *sys.stdlib_module_names}


def test_the_loader_has_the_numbers_of_the_native_runtime():
    block = ("CALLS", "COUNT", "BINDINGS", "SLOT_COUNT", "GIVEN", "SLOTS", "SCRATCH_START")
    block += ("THREADS", "CONTROL", "SCRATCH", "STRIDE", "RECORDS", "CAPACITY", "BASES")
    assert [getattr(native, name) for name in block] == [*range(14)]
    words = ("CALL", "BRANCH", "SKIP", "SET", "BIND", "MUTEX", "CONDITION", "CONTROL_BYTES")
    words += ("IDLE_LOOKS", "YIELD_AFTER", "BRIEF", "SCRATCH_START", "THREADS", "BASES")
    for name in words:
        assert getattr(program_file, name) == getattr(native, name), name
    for name in ("FUNCTION", "FIRST_SLOT", "KIND", "TARGET"):
        assert 8 * getattr(program_file, name) == getattr(native, name), name
    assert program_file.FIRST_BASE == program.FIRST_BASE


def test_weights_are_mapped_and_equal_ones_are_there_once(model, path, tmp_path):
    found = load_program(path)
    twice = gn.nn.Sequential(gn.nn.Linear(64, 64), gn.nn.Linear(64, 64), gn.nn.Linear(64, 64))
    for x in (twice[1], twice[2]):
        x.load_state_dict(twice[0].state_dict())
    gn.export.export(twice, (gn.ones(2, 64),)).save(tmp_path / "twice.gnp", ["avx2"])
    tied = load_program(tmp_path / "twice.gnp")

    assert not found.state
    assert not any(x.flags.writeable or x.flags.owndata for x in found.tensors)
    assert all(x.ctypes.data % 64 == 0 for x in found.tensors)
    assert len({x.ctypes.data for x in tied.tensors}) == 2 < len(tied.tensors)
    expected = {x.detach().numpy().tobytes() for x in model.parameters()}
    assert {x.tobytes() for x in found.tensors} == expected


def test_arrays_of_any_memory_are_taken_and_others_are_refused(path):
    made, x = load_program(path, threads=1), gn.randn(3, 24).numpy()
    odd = np.frombuffer(b"12345678" + x.tobytes(), np.float32)[2:].reshape(3, 24)
    across = np.asfortranarray(x)

    assert made(odd).tobytes() == made(across).tobytes() == made(x).tobytes()
    with pytest.raises(
        ProgramFileError, match=r"input is float32\[2, 24\]: it was exported for input float32\[3"
    ):
        made(x[:2])
    with pytest.raises(ProgramFileError, match=r"input is float64\[3, 24\]"):
        made(x.astype(np.float64))
    with pytest.raises(ProgramFileError, match="the call is nested otherwise"):
        made(x, x)
    with pytest.raises(ProgramFileError, match="the call is nested otherwise"):
        made(x, scale=2)


def test_files_for_others_are_refused_with_the_reason(path, tmp_path, monkeypatch):
    content, other = path.read_bytes(), tmp_path / "other.gnp"
    for at, value, told in (
        (8, 3, "it has format 3, and this loader reads 1 to 2"),
        (8, 0, "it has format 0, and this loader reads 1 to 2"),
        (12, 7, "its code has ABI 7, and this loader has 1"),
    ):
        changed = content[:at] + struct.pack("<I", value) + content[at + 4 :]
        other.write_bytes(resealed(changed))
        with pytest.raises(ProgramFileError, match=told):
            load_program(other)
    with pytest.raises(ProgramFileError, match="its digest is"):
        load_program(path, digest="00")
    other.write_bytes(content)
    other.chmod(0o666)
    with pytest.raises(ProgramFileError, match="others can write it"):
        load_program(other)
    monkeypatch.setattr(program_file.platform, "machine", lambda: "riscv64")
    with pytest.raises(ProgramFileError, match="for other processors than this riscv64"):
        load_program(path)
    monkeypatch.setattr(program_file.sys, "platform", "darwin")
    with pytest.raises(ProgramFileError, match="its code is for Linux, not for darwin"):
        load_program(path)
    with pytest.raises(FileNotFoundError):
        load_program(tmp_path / "none.gnp")


def test_the_digest_that_save_gave_is_the_files(model, tmp_path):
    digest = gn.export.export(model, (gn.ones(3, 24),)).save(tmp_path / "m.gnp")
    first = (tmp_path / "m.gnp").read_bytes()

    load_program(tmp_path / "m.gnp", digest.upper())
    gn.export.export(model, (gn.ones(3, 24),)).save(tmp_path / "m.gnp")
    assert (tmp_path / "m.gnp").read_bytes() == first


def test_a_file_that_was_cut_short_is_refused(path, tmp_path):
    content, other = path.read_bytes(), tmp_path / "short.gnp"
    for size in (0, 1, 8, HEAD.size - 1, HEAD.size, 500, len(content) // 2, len(content) - 1):
        other.write_bytes(content[:size])
        with pytest.raises(ProgramFileError):
            load_program(other)


def test_a_flipped_bit_is_noticed_wherever_something_follows_from_it(path, tmp_path):
    content, other = path.read_bytes(), tmp_path / "flipped.gnp"
    rows = [ROW.unpack_from(content, HEAD.size + k * ROW.size) for k in range(6)]
    ends = [(0, HEAD.size + 6 * ROW.size)]
    ends += [(at, at + n) for kind, _, at, n, *_ in rows if kind != program_file.WEIGHTS]
    places = np.random.default_rng(0).choice([k for a, b in ends for k in range(a, b)], 200, False)
    for at in places:
        made = bytearray(content)
        made[at] ^= 1 << at % 8
        other.write_bytes(made)
        with pytest.raises(ProgramFileError):
            load_program(other)


def test_hostile_numbers_under_a_right_digest_load_or_are_refused(path, tmp_path):
    content, other = path.read_bytes(), tmp_path / "hostile.gnp"
    parts, told = sections(content), (program_file.DESCRIPTION, program_file.PLAN)
    words = [
        (k, at)
        for k, (kind, _, part) in enumerate(parts)
        for at in (range(0, len(part), 8) if kind in told else ())
    ]
    words += [(-1, at) for at in range(16, HEAD.size + 6 * ROW.size, 8)]
    count = 0
    for k, at in np.random.default_rng(0).choice(words, 250, False).tolist():
        for value in (-1, 1, 1 << 20, 1 << 47, (1 << 63) - 1, -(1 << 63)):
            made = bytearray(content if k < 0 else parts[k][2])
            struct.pack_into("<q", made, at, value)
            try:
                changed = [*parts[:k], (*parts[k][:2], bytes(made)), *parts[k + 1 :]]
                other.write_bytes(resealed(bytes(made)) if k < 0 else laid_out(changed))
            except (struct.error, ValueError, MemoryError):
                continue
            try:
                load_program(other)
            except ProgramFileError:
                count += 1

    assert count > 500


def with_row(content: bytes, place: int, whole: int, stored: bytes) -> bytes:
    """A file whose section at a place has other bytes, or says other of their unpacked number."""
    made = bytearray(content)
    at = HEAD.size + place * ROW.size
    kind, target, begin, size, _, own = ROW.unpack_from(made, at)
    made[begin : begin + size] = stored.ljust(size, b"\0")[:size]
    ROW.pack_into(made, at, kind, target, begin, len(stored), whole, own)
    return resealed(bytes(made))


def hostile_packings(content: bytes) -> Iterator[bytes]:
    """Files with a section that does not hold what it says, under right digests."""
    rows = [ROW.unpack_from(content, HEAD.size + k * ROW.size) for k in range(4)]
    for place in (0, 2, 3):
        *_, begin, size, whole, _ = rows[place]
        stored = content[begin : begin + size]
        for said in (whole - 8, whole + 8, 1 << 20, 1 << 40, (1 << 63) - 1, (1 << 64) - 1, 8):
            yield with_row(content, place, said, stored)
        for other in (b"", b"\7", stored[: size // 2], stored[:-1], bytes(size), b"\xff" * size):
            yield with_row(content, place, whole, other)


def test_sections_that_do_not_hold_what_they_say_are_refused(path, tmp_path):
    other, found = tmp_path / "packed.gnp", [*hostile_packings(path.read_bytes())]
    for made in found:
        other.write_bytes(made)
        with pytest.raises(ProgramFileError):
            load_program(other, targets=["avx2"])
    assert len(found) == 39


def test_files_of_any_packing_have_the_same_tensors(path, tmp_path):
    parts, other = sections(path.read_bytes()), tmp_path / "other.gnp"
    x, expected = np.ones((3, 24), np.float32), []
    for pack in PACKINGS:
        other.write_bytes(laid_out(parts, pack))
        expected.append(load_program(other)(x).tobytes())
    assert len({*expected, load_program(path)(x).tobytes()}) == 1


def test_what_a_method_writes_is_not_in_the_file_where_it_begins_as_zeros(tmp_path):
    class Cache(gn.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("rows", gn.zeros(1 << 10, 1 << 10))
            self.register_buffer("ones", gn.ones(4))

        def forward(self, x):
            self.rows[0].copy_(x)
            self.ones.add_(1)
            return self.rows[0].sum() + self.ones.sum()

    gn.export.export(Cache(), (gn.ones(1 << 10),)).save(tmp_path / "cache.gnp")
    made, x = load_program(tmp_path / "cache.gnp"), np.ones(1 << 10, np.float32)

    assert (tmp_path / "cache.gnp").stat().st_size < 1 << 16
    for _ in range(2):
        assert not made.state["rows"].any()
        assert made.state["ones"].tolist() == [1.0] * 4
        assert [made(x), made(2 * x)] == [1032.0, 2060.0]
        made.reset()


def test_code_for_arm_is_told_to_the_caches_of_instructions(path, monkeypatch):
    """The call is that of Arm; on other processors it does nothing."""
    target = load_program(path).target
    monkeypatch.setattr(program_file.platform, "machine", lambda: "aarch64")

    assert load_program(path, targets=[target])(np.ones((3, 24), np.float32)).shape == (3, 6)


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_of_each_format_stays_readable(version, tmp_path):
    """`python -m tests.runtime.golden.write` wrote the files, once each."""
    copy = tmp_path / "golden.gnp"
    shutil.copy(GOLDEN / f"program_{version}.gnp", copy)
    os.chmod(copy, 0o644)
    made, x = load_program(copy), np.arange(6, dtype=np.float32).reshape(2, 3)
    first, second = made["scaled"](x), made["scaled"](x)

    assert first.tolist() == [[0.0, 2.0, 6.0], [3.0, 8.0, 15.0]]
    assert second.tolist() == [[0.0, 3.0, 8.0], [6.0, 12.0, 20.0]]
    assert made["count"]().tolist() == 2.0
