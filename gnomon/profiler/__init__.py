"""The profiler: time and memory of a step by kernel and by line of your code."""

from gnomon.profiler.compare import Change, changes
from gnomon.profiler.memory import Live, Memory, memory_timeline
from gnomon.profiler.model import Event, Line, MachineLimits, OpRecord, Profile, Record
from gnomon.profiler.page import write_page
from gnomon.profiler.python import FunctionRow, profile_compile
from gnomon.profiler.reports import (
    Cost,
    KernelRow,
    LineRow,
    ModuleRow,
    Totals,
    by_kernel,
    by_module,
    by_source_line,
    totals,
    why_recompiled,
)
from gnomon.profiler.schedule import (
    ProfilerAction,
    ProfilerActivity,
    schedule,
    tensorboard_trace_handler,
)
from gnomon.profiler.session import profile, record_function
from gnomon.profiler.store import read_profile, write_profile

__all__ = [
    "Change",
    "Cost",
    "Event",
    "FunctionRow",
    "KernelRow",
    "Line",
    "LineRow",
    "Live",
    "MachineLimits",
    "Memory",
    "ModuleRow",
    "OpRecord",
    "Profile",
    "ProfilerAction",
    "ProfilerActivity",
    "Record",
    "Totals",
    "by_kernel",
    "by_module",
    "by_source_line",
    "changes",
    "memory_timeline",
    "profile",
    "profile_compile",
    "read_profile",
    "record_function",
    "schedule",
    "tensorboard_trace_handler",
    "totals",
    "why_recompiled",
    "write_page",
    "write_profile",
]
