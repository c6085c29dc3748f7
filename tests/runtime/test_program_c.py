"""Program files from C: the bits of compiled modules, refusals, hostile files."""

from __future__ import annotations

import os
import random
import re
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

import gnomon as gn
from gnomon.export import Dim, export
from gnomon.runtime import device, program_file
from gnomon.runtime.program_file import CODE, DESCRIPTION, HEAD, PLAN, ROW
from tests.mutations_of_files import laid_out, sections, worded
from tests.runtime.test_program_file import PACKINGS, hostile_packings, resealed

ROOT = Path(__file__).parent.parent.parent
SOURCES = Path(program_file.__file__).parent / "c"
COMPILER = shutil.which("cc") or shutil.which("gcc")
CHECKED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover")
OPENS = """
#include "gnomon_program.h"
#include <stdio.h>
int main(int count, char **paths)
{
    for (int k = 1; k < count; k++) {
        gnomon_program *program;
        int code = gnomon_open(paths[k], NULL, 2, &program);
        printf("%d\\n", code);
        gnomon_close(program);
    }
    return 0;
}
"""
COUNTS = """
#include "gnomon_program.h"
#include <stdio.h>
int main(int count, char **words)
{
    gnomon_program *program;
    float x[6] = {0, 1, 2, 3, 4, 5};
    gnomon_array given = {"float32", 2, {2, 3}, x}, made;
    int code = count < 3 ? -1 : gnomon_open(words[1], words[2], 0, &program);
    for (int k = 0; k < 2 && !code; k++) {
        code = gnomon_run(program, "scaled", 1, &given, 1, &made);
        for (int i = 0; i < 6 && !code; i++)
            printf("%g ", ((float *)made.data)[i]);
    }
    if (!code)
        code = gnomon_run(program, "count", 0, NULL, 1, &made);
    if (!code)
        printf("%g %d", *(float *)made.data, made.rank);
    gnomon_close(program);
    return code;
}
"""

pytestmark = pytest.mark.skipif(
    COMPILER is None or not Path("/proc/cpuinfo").exists(), reason="no C compiler, or not Linux"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Programs in C by name: the example, and two of these tests, with checks where there are."""
    folder = tmp_path_factory.mktemp("c")
    (folder / "opens.c").write_text(OPENS)
    (folder / "counts.c").write_text(COUNTS)
    texts = {"example": ROOT / "examples" / "run_program.c"}
    texts |= {name: folder / f"{name}.c" for name in ("opens", "counts")}
    strict = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{SOURCES}")
    made = {}
    for name, text in texts.items():
        words = [str(text), str(SOURCES / "gnomon_program.c"), "-o", str(folder / name)]
        for more in (CHECKED, ("-O1",)):
            done = subprocess.run(
                [COMPILER, *strict, *more, *words], capture_output=True, text=True
            )
            if done.returncode == 0:
                break
        assert done.returncode == 0, done.stderr
        made[name] = folder / name
    return made


@pytest.fixture(scope="module")
def model():
    gn.manual_seed(0)
    nn = gn.nn
    return nn.Sequential(nn.Linear(24, 40), nn.GELU(), nn.LayerNorm(40), nn.Linear(40, 6)).eval()


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    found = tmp_path_factory.mktemp("program") / "model.gnp"
    shapes = {"input": {0: Dim("batch", max=12)}}
    export(model, (gn.ones(3, 24),), dynamic_shapes=shapes).save(found, [device.target().name])
    return found


def ran(built, path, method, x):
    """The exit status and the output of the example."""
    sizes = map(str, x.shape)
    words = [built["example"], path, method, x.dtype.name, *sizes]
    done = subprocess.run([*map(str, words)], input=x.tobytes(), capture_output=True, timeout=60)
    return done.returncode, done.stdout


def test_the_example_gives_the_bits_of_the_compiled_module(built, path, model):
    compiled = gn.compile(model, dynamic=False)
    for n in (3, 12, 1):
        x = gn.randn(n, 24)
        with gn.no_grad():
            expected = compiled(x).numpy().tobytes()
        assert ran(built, path, "forward", x.numpy()) == (0, expected), n


@pytest.mark.parametrize("version", [1, 2])
def test_methods_share_what_they_write(built, tmp_path, version):
    golden = tmp_path / "golden.gnp"
    shutil.copy(Path(__file__).parent / "golden" / f"program_{version}.gnp", golden)
    os.chmod(golden, 0o644)
    digest = golden.read_bytes()[32:64].hex()
    done = subprocess.run([built["counts"], golden, digest.upper()], capture_output=True, text=True)

    assert done.stdout == "0 2 6 3 8 15 0 3 8 6 12 20 2 0", done.stderr
    assert subprocess.run([built["counts"], golden, "00"], check=False).returncode == 6


def test_calls_of_other_kinds_are_refused(built, path, tmp_path):
    x = np.ones((3, 24), np.float32)
    assert ran(built, path, "backward", x)[0] == 8
    for other in (x[:, :5], x.astype(np.float64), x[0], np.ones((13, 24), np.float32)):
        assert ran(built, path, "forward", other)[0] == 9
    table = gn.nn.Embedding(5, 3)
    export(table, (gn.tensor([0, 1]),)).save(tmp_path / "table.gnp", [device.target().name])
    assert ran(built, tmp_path / "table.gnp", "forward", np.array([4, 2]))[0] == 0
    assert ran(built, tmp_path / "table.gnp", "forward", np.array([4, 5]))[0] == 10


def opened(built, paths):
    """The codes of files; none of them ends the process."""
    done = subprocess.run([built["opens"], *paths], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return [int(code) for code in done.stdout.split()]


def test_files_for_others_are_refused_with_the_reason(built, path, tmp_path):
    content, names = path.read_bytes(), ("whole", "format", "abi", "digest", "open", "else")
    paths = dict(zip(names, [tmp_path / name for name in names], strict=True))
    for name, at, value in (("format", 8, 3), ("abi", 12, 9), ("digest", 16, 1)):
        paths[name].write_bytes(content[:at] + struct.pack("<I", value) + content[at + 4 :])
    for name in ("whole", "open"):
        paths[name].write_bytes(content)
    paths["open"].chmod(0o666)
    others = [(kind, 9 if kind in (CODE, PLAN) else 0, x) for kind, _, x in sections(content)]
    paths["else"].write_bytes(laid_out(others))

    assert opened(built, paths.values()) == [0, 4, 4, 3, 2, 5]
    assert opened(built, [tmp_path / "none", tmp_path]) == [1, 1]


def test_hostile_files_are_refused_or_opened(built, path, tmp_path):
    content, paths, chance = path.read_bytes(), [], random.Random(4)
    parts = sections(content)
    ends = [(at, at + n) for _, _, at, n, *_ in rows_of(content)[2:]] + [(0, 64 * 5)]

    def add(made):
        paths.append(tmp_path / f"{len(paths)}")
        paths[-1].write_bytes(made)

    for size in (0, 1, 8, 63, 64, 200, 320, 4096, len(content) // 2, len(content) - 1):
        add(content[:size])
    for _ in range(60):  # a bit
        at = chance.randrange(*chance.choice(ends))
        add(content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :])
    refused = len(paths)
    for at in range(16, 64 * 5, 8):  # a word of head and table, under a right digest
        for value in (-1, 1, 1 << 40, (1 << 63) - 1, -(1 << 63)):
            made = bytearray(content)
            struct.pack_into("<q", made, at, value)
            try:
                add(resealed(bytes(made)))
            except (struct.error, ValueError, MemoryError):
                continue
    for _ in range(400):  # numbers of descriptions and plans
        places = [k for k, x in enumerate(parts) if x[0] in (DESCRIPTION, PLAN)]
        place = chance.choice(places)
        kind, target, part = parts[place]
        add(laid_out([*parts[:place], (kind, target, worded(part, chance)), *parts[place + 1 :]]))
    places = [k for k, x in enumerate(rows_of(content)) if x[4]]
    for _ in range(300):  # bits of what is packed, under a right digest
        begin, size = rows_of(content)[chance.choice(places)][2:4]
        made = bytearray(content)
        for _ in range(chance.choice((1, 2, 8))):
            made[begin + chance.randrange(size)] ^= 1 << chance.randrange(8)
        add(resealed(bytes(made)))
    codes = opened(built, paths)

    assert set(codes) <= {0, 3, 4, 5, 7}
    assert 0 not in codes[:refused]
    assert sum(code == 3 for code in codes) > 200


def test_sections_are_unpacked_or_refused(built, path, tmp_path):
    content, paths = path.read_bytes(), []
    files = [laid_out(sections(content), pack) for pack in PACKINGS]
    for made in (*files, *hostile_packings(content)):
        paths.append(tmp_path / f"{len(paths)}")
        paths[-1].write_bytes(made)
    codes = opened(built, paths)

    assert codes[: len(files)] == [0] * len(files)
    assert codes[len(files) :] == [3] * 39


def rows_of(content):
    """The table of sections."""
    count = HEAD.unpack_from(content)[4]
    return [ROW.unpack_from(content, HEAD.size + k * ROW.size) for k in range(count)]


def test_the_loader_in_c_has_the_numbers_and_names_of_the_one_in_python():
    text = (SOURCES / "gnomon_program.c").read_text()
    found: dict[str, int] = {}
    for inside in re.findall(r"enum \{ (.*?) \};", text):
        at = 0
        for name, value in re.findall(r"(\w+)(?: = (\d+))?", inside):
            found[name] = at = int(value) if value else at
            at += 1
    sizes = {"HEAD": HEAD.size, "ROW": ROW.size, "TARGETS": 4}
    targets = {name.upper(): number for name, number in program_file.TARGETS.items()}
    for name, number in found.items():
        expected = sizes.get(name, targets.get(name, getattr(program_file, name, None)))
        assert number == expected, name
    assert len(found) > 25
    library = text[text.index("LIBRARY[] = {") : text.index("DTYPES[] = {")]
    assert set(re.findall(r'\{"(\w+)"', library)) == program_file.LIBRARY
    dtypes = text[text.index("DTYPES[] = {") : text.index("#define COUNT")]
    assert set(re.findall(r'\{"(\w+)"', dtypes)) == {*program_file.DTYPES}
    for target, (_, words) in program_file.FLAGS.items():
        assert f'[{target.upper()}] = "{words}"' in text
