"""Frameworks to compare: their names, interpreters and environments.

A peer's programs are in benchmarks/peers of a source checkout; they are started, never imported.
"""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gnomon.bench.cases import Case
from gnomon.errors import ConfigError

__all__ = ["Contender", "Peer", "contenders_of", "parse_peers", "root", "write_byte_code"]

PACKAGES = {name: name for name in ("torch", "jax", "mlx", "tinygrad")}
"""Peer's name -> the module that an interpreter must be able to import."""
TUNED = (
    "int mkl_serv_intel_cpu_true(void) { return 1; } int mkl_serv_intel_cpu(void) { return 1; }\n"
)
"""With this before it, torch's MKL takes the path that it takes on processors of its maker."""


@dataclass(frozen=True)
class Peer:
    """Somebody else, in an environment of their own."""

    name: str
    python: str
    variants: tuple[str, ...] = ()
    """The contenders that take part; all when none is named."""


@dataclass(frozen=True)
class Contender:
    """A process to measure: its name, Python, function and extra environment variables."""

    name: str
    python: str
    module: str
    function: str
    variant: str
    environment: dict[str, str] = field(default_factory=dict)


def root() -> Path | None:
    """The checkout that this package is imported from; None when it is installed alone."""
    found = Path(__file__).parents[2]
    return found if (found / "benchmarks" / "peers").is_dir() else None


def parse_peers(text: str) -> tuple[list[Peer], list[str]]:
    """The peers of "torch,jax=/path/to/python", and a line for each that cannot take part."""
    found, missing = [], []
    for word in filter(None, text.split(",")):
        label, _, given = word.partition("=")
        name, _, variant = label.partition(".")
        if name not in PACKAGES:
            raise ConfigError(f"bench: no peer {name!r}. There are {', '.join(PACKAGES)}.")
        python = given or sys.executable
        if root() is None:
            missing.append(f"{name}: its programs are in a source checkout, which this is not.")
        elif not has_package(python, PACKAGES[name]):
            missing.append(f"{name}: {python} cannot import {PACKAGES[name]}. Name another: "
                           f"--peers {name}=/path/to/python.")  # fmt: skip
        else:
            found.append(Peer(name, python, (variant,) if variant else ()))
    return found, missing


def has_package(python: str, package: str) -> bool:
    """Whether an interpreter can find a package."""
    question = f"import importlib.util as u; raise SystemExit(u.find_spec({package!r}) is None)"
    try:
        return subprocess.run([python, "-c", question], capture_output=True).returncode == 0
    except OSError:
        return False


def contenders_of(case: Case, peers: list[Peer], cold: Path) -> list[Contender]:
    """Ourselves, then the peers of a case; caches that a peer fills begin empty in `cold`."""
    ours = Contender("gnomon", sys.executable, f"gnomon.bench.ours.{case.place}", case.problem, "",
                     {"GNOMON_CACHE_DIR": str(cold / "gnomon")})  # fmt: skip
    found = [ours]
    for peer in peers:
        for name in case.peers:
            family, _, variant = name.partition(".")
            if family == peer.name and variant in (peer.variants or (variant,)):
                found.append(contender(case, peer, name, cold))
    return found


def contender(case: Case, peer: Peer, name: str, cold: Path) -> Contender:
    """One peer's process."""
    variant = name.partition(".")[2]
    environment = {
        "PYTHONPATH": str(root()),
        "TORCHINDUCTOR_CACHE_DIR": str(cold / name),
        "JAX_ENABLE_COMPILATION_CACHE": "0",
    }
    if variant == "tuned" and (shim := built_shim(cold)):
        environment["LD_PRELOAD"] = str(shim)
    module = f"benchmarks.peers.{peer.name}_{case.place}"
    return Contender(name, peer.python, module, case.problem, variant, environment)


def built_shim(folder: Path) -> Path | None:
    """The library that has MKL take its best path; None without a C compiler."""
    compiler, made = shutil.which("cc"), folder / "tuned.so"
    if compiler is None:
        return None
    if not made.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tuned.c").write_text(TUNED)
        command = [compiler, "-shared", "-fPIC", "-o", str(made), str(folder / "tuned.c")]
        subprocess.run(command, check=True, capture_output=True)
    return made


def environment_of(contender: Contender, threads: int) -> dict[str, str]:
    """The whole environment of a contender's process."""
    counts = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GNOMON_NUM_THREADS")
    around = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**around, **dict.fromkeys(counts, str(threads)), **contender.environment}


def write_byte_code() -> None:
    """Compile Gnomon's byte code to disk, as an installer did with the peers'."""
    package = Path(__file__).parents[1]
    with suppress(OSError):
        compileall.compile_dir(package, quiet=2)
