"""Where a step's time and memory go, and which line of yours each kernel came from."""

from gnomon.profiler.model import Event, Line, Machine, Op, Profile, Record

__all__ = ["Event", "Line", "Machine", "Op", "Profile", "Record"]
