"""The target: this machine's instructions, all that code generation may know of it.

Read from LLVM when first asked for. Cores, caches and memory are in system.py.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

from gnomon.errors import ConfigError
from gnomon.settings import current

AVX512 = ("avx512f", "avx512bw", "avx512dq", "avx512vl")
AVX2 = ("avx2", "fma")
COMMON = ("x86-64-v3", (*AVX2, "avx", "bmi", "bmi2", "f16c", "lzcnt", "movbe"))
"""The processor, and its features, that code under a limit to AVX2 is made for: it runs on every
one that has AVX2, this one or another."""


@dataclass(frozen=True)
class Target:
    """A processor as code generation sees it: its LLVM name, features and vectors.

    `registers` counts vector registers, each `vector_bits` wide.
    """

    name: str
    triple: str
    cpu: str
    features: str
    registers: int
    vector_bits: int

    def has(self, feature: str) -> bool:
        """Whether an LLVM feature, such as "avx512bf16", may be used."""
        return f"+{feature}" in self.features.split(",")


SHAPES = {"avx512": (32, 512), "avx2": (16, 256), "sse2": (16, 128), "neon": (32, 128)}
"""Vector registers and their bits, by the target's name."""

FOREIGN = {
    "avx512": ("x86_64-unknown-linux-gnu", "skylake-avx512", (*AVX2, "f16c", *AVX512)),
    "avx2": ("x86_64-unknown-linux-gnu", "haswell", (*AVX2, "f16c")),
    "neon": ("aarch64-unknown-linux-gnu", "cortex-a76", ("neon", "fullfp16")),
}


def foreign(name: str) -> Target:
    """A generic processor of a kind, to generate code without running it."""
    triple, cpu, features = FOREIGN[name]
    return Target(name, triple, cpu, ",".join(f"+{f}" for f in features), *SHAPES[name])


def target() -> Target:
    """The host machine, restricted by the setting `cpu_features`."""
    return host(current().cpu_features)


@cache
def host(limit: str = "auto") -> Target:
    """The host machine, restricted to `limit`: "auto", "avx2", "avx512" or "neon"."""
    features = host_features()
    best = kind_of(features)
    name = best if limit == "auto" else limit
    if name != best and (name, best) != ("avx2", "avx512"):
        raise ConfigError(
            f'cpu_features: "{limit}" is not what this machine has: it has {best}. Use "auto".'
        )
    processor = llvm.get_host_cpu_name()
    if limit == "avx2":
        processor, known = COMMON
        features = {f: on for f, on in features.items() if f in known}
    text = ",".join(f"{'+' if on else '-'}{f}" for f, on in sorted(features.items()))
    triple = llvm.get_process_triple()
    return Target(name, triple, processor, text, *SHAPES[name])


def host_features() -> dict[str, bool]:
    """LLVM's features of this machine; empty if LLVM does not know them."""
    try:
        return dict(llvm.get_host_cpu_features())
    except RuntimeError:
        return {}


def kind_of(features: Mapping[str, bool]) -> str:
    """The name of the widest vector extension among features."""
    if platform.machine().lower() in ("arm64", "aarch64"):
        return "neon"
    if all(features.get(f) for f in AVX512):
        return "avx512"
    return "avx2" if all(features.get(f) for f in AVX2) else "sse2"
