"""The matrix product: emit_matmul chooses how it is computed.

Every way gives the same bits: packed.py copies operands into panels first, unpacked.py the right
one alone, and direct.py reads it unpacked; on a card teams of threads do (team_products.py).
"""

from __future__ import annotations

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.direct import WRITERS, layout_of
from gnomon.codegen.kernels.packed import PackedWriter
from gnomon.codegen.kernels.product import Epilogue, MatmulSpec
from gnomon.codegen.kernels.team_products import writer_of
from gnomon.codegen.kernels.tile_chain import is_tiled
from gnomon.codegen.kernels.unpacked import UnpackedWriter, reader_of
from gnomon.codegen.machine import Machine


def emit_matmul(
    module: LLVMModule,
    name: str,
    spec: MatmulSpec,
    machine: Machine,
    epilogue: Epilogue | None = None,
) -> int:
    """Define kernel `name` in the module; gives the bytes of scratch that each thread needs."""
    if is_tiled(machine):
        return writer_of(spec, machine)(module, name, spec, machine, epilogue).write()
    writer = WRITERS.get(layout_of(spec), UnpackedWriter if reader_of(spec) else PackedWriter)
    return writer(module, name, spec, machine, epilogue).write()
