"""Hooks that average gradients for DistributedDataParallel, some of them in fewer bits.

`model.register_comm_hook(group, hook)` takes one; the group is None for all ranks.
"""

from __future__ import annotations

from collections.abc import Callable

from gnomon.distributed.collectives import all_reduce
from gnomon.distributed.groups import Group, get_world_size
from gnomon.dtypes import DType, bfloat16, float16
from gnomon.nn.parallel import GradBucket
from gnomon.ops.group_folds import ReduceOp
from gnomon.tensor.tensor import Tensor
from gnomon.tensor.works import Future

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]

Hook = Callable[[Group, GradBucket], Future]


def first_of(future: Future) -> Tensor:
    """The tensor of a collective's result."""
    found = future.value()
    return found[0] if isinstance(found, (list, tuple)) else found


def allreduce_hook(process_group: Group, bucket: GradBucket) -> Future:
    """Average gradients as without a hook, to the bit."""
    work = all_reduce(bucket.buffer(), ReduceOp.AVG, process_group, async_op=True)
    assert work is not None, "it was asked for"
    return work.get_future().then(first_of)


def compressed(process_group: Group, bucket: GradBucket, dtype: DType) -> Future:
    """Average gradients that are sent in another dtype."""
    row = bucket.buffer()
    small = row.to(dtype) / get_world_size(process_group)
    work = all_reduce(small, ReduceOp.SUM, process_group, async_op=True)
    assert work is not None, "it was asked for"
    return work.get_future().then(lambda future: row.copy_(first_of(future)))


def fp16_compress_hook(process_group: Group, bucket: GradBucket) -> Future:
    """Average gradients that are sent as float16."""
    return compressed(process_group, bucket, float16)


def bf16_compress_hook(process_group: Group, bucket: GradBucket) -> Future:
    """Average gradients that are sent as bfloat16."""
    return compressed(process_group, bucket, bfloat16)


def narrowed(hook: Hook, dtype: DType) -> Hook:
    """A hook that casts gradients to a dtype, calls another hook, and casts them back."""

    def narrow(state: Group, bucket: GradBucket) -> Future:
        row = bucket.buffer()
        bucket.set_buffer(row.to(dtype))
        return hook(state, bucket).then(lambda future: row.copy_(first_of(future)))

    return narrow


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that casts gradients to float16 for another hook."""
    return narrowed(hook, float16)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that casts gradients to bfloat16 for another hook."""
    return narrowed(hook, bfloat16)
