"""The backend of the host: texts to handles, an executor of tables, memory."""

from __future__ import annotations

import numpy as np

from gnomon.runtime import cpu
from gnomon.runtime.backend import HOST
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.runtime.program import Call, InputSlot, Needs, OutputSlot
from tests.runtime.kernels import add_text


def test_a_text_becomes_a_handle_that_a_table_calls_on_buffers_of_the_memory():
    handles = HOST.kernels.load({"backend_add": add_text("backend_add", 16)})
    slots = (OutputSlot(0), InputSlot(0), InputSlot(1))
    program = HOST.program([Call("backend_add", slots)], handles, Needs(inputs=2, outputs=1))
    x, y, z = (DeviceBuffer(64, HOST.memory) for _ in range(3))
    x.numpy(np.float32)[:] = np.arange(16)
    y.numpy(np.float32)[:] = 1

    program.run([x.address, y.address], [z.address])

    assert z.numpy(np.float32).tolist() == [*range(1, 17)]


def test_every_buffer_knows_the_memory_that_it_is_in():
    made = DeviceBuffer(8)

    assert made.memory is DeviceBuffer.of(np.ones(2)).memory is HOST.memory
    assert made.memory.block(8, 64).memory is made.memory


def test_a_key_says_what_code_depends_on():
    assert HOST.kernels.key_of("a") == cpu.key_of("a") != cpu.key_of("b")
    assert f"LLVM {cpu.LLVM}" == HOST.kernels.version
