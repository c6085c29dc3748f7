"""The few native functions that run every program, as IR text.

`run` wakes the pool and walks a program's table as thread 0; `worker` is a thread of the pool and
walks the same table. Each thread has bases and slots of its own, where its scratch memory begins:
loops move them without asking the others. Who makes the blocks that they read, and when they are
called, is in threads.py and program.py; the layouts of those blocks are the constants here.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from gnomon.codegen.emitter import Emitter, LLVMModule
from gnomon.runtime.device import Target

# a pool's block, in bytes; what different threads write stands on different cache lines
GENERATION, JOB, DONE, SLEEPERS, ARRIVED, PHASE, IDLE_LOOKS, YIELD_AFTER = range(0, 512, 64)
MUTEX, CONDITION, CONTROL_BYTES = 512, 768, 1024

# a run's block, in 8-byte words: the program's, then the run's own; the given bases follow
CALLS, COUNT, BINDINGS, SLOT_COUNT, GIVEN, SLOTS, SCRATCH_START = range(7)
THREADS, CONTROL, SCRATCH, STRIDE, RECORDS, CAPACITY, BASES = range(7, 14)

# an entry of the table, in bytes; slots are named by the byte at which they stand
FUNCTION, FIRST_SLOT, BARRIER, KIND, TARGET, ENTRY_BYTES = range(0, 48, 8)
CALL, BRANCH, SKIP, SET, BIND = range(5)
"""Run a function; go to a step if a byte is zero, or if a number is; set a base; fill slots."""

# a thread's records: a counter, then (call, began, ended) for each, in nanoseconds
RECORD_BYTES = 24

BRIEF = 256
"""Looks in vain, some 5 µs, after which a wait yields its core at each to whoever else needs it.

A control block says so, since a pool of more threads than cores yields at the first.
"""

X86_FLOATS = 0x1F80
"""MXCSR: round to nearest, no exception traps, denormals are numbers. On Arm the same is 0."""


def text_for(target: Target) -> str:
    """The IR of `run` and `worker` for a processor."""
    module = LLVMModule()
    write_floats(module, target)
    write_now(module)
    write_relax(module, target)
    for write in (write_barrier, write_slots, write_execute, write_post, write_worker, write_run):
        write(module)
    return module.text()


def private(module: LLVMModule, name: str, *parameters: tuple[str, str], returns: str = "void"):
    """Start a function with internal linkage."""
    return module.function(name, parameters, returns=returns, linkage="internal")


def word(e: Emitter, block: str, index: int, kind: str = "i64") -> str:
    """Read a word of a run's block."""
    return e.load(e.offset(block, 8 * index), kind, 8)


def atomic_load(e: Emitter, place: str, order: str) -> str:
    """Emit an atomic load of a counter that threads share."""
    return e.value(f"load atomic i64, ptr {place} {order}, align 8")


def atomic_add(e: Emitter, place: str, amount: int, order: str) -> str:
    """Emit an atomic addition to a shared counter; gives its previous value."""
    return e.value(f"atomicrmw add ptr {place}, i64 {amount} {order}, align 8")


# floating point


def write_floats(module: LLVMModule, target: Target) -> None:
    """Define `floats`, which sets the rounding mode and returns the previous one; and `restore`."""
    write_both = arm_floats if target.name == "neon" else x86_floats
    write_both(
        private(module, "floats", returns="i64"), private(module, "restore", ("i64", "before"))
    )


def x86_floats(floats: Emitter, restore: Emitter) -> None:
    """Write functions that reset and restore x86's floating-point register, MXCSR."""
    place = floats.value("alloca i32, align 4")
    floats.call("void", "llvm.x86.sse.stmxcsr", ("ptr", place))
    before = floats.value(f"zext i32 {floats.load(place, 'i32', 4)} to i64")
    floats.store(str(X86_FLOATS), place, "i32", 4)
    floats.call("void", "llvm.x86.sse.ldmxcsr", ("ptr", place))
    floats.ret(f"i64 {before}")
    place = restore.value("alloca i32, align 4")
    restore.store(restore.value("trunc i64 %before to i32"), place, "i32", 4)
    restore.call("void", "llvm.x86.sse.ldmxcsr", ("ptr", place))
    restore.ret()


def arm_floats(floats: Emitter, restore: Emitter) -> None:
    """Write functions that reset and restore Arm's floating-point register, FPCR."""
    before = floats.call("i64", "llvm.aarch64.get.fpcr")
    floats.call("void", "llvm.aarch64.set.fpcr", ("i64", "0"))
    floats.ret(f"i64 {before}")
    restore.call("void", "llvm.aarch64.set.fpcr", ("i64", "%before"))
    restore.ret()


# waiting


def write_relax(module: LLVMModule, target: Target) -> None:
    """Define `relax`, which pauses between two polls.

    After many short pauses it yields the core.
    """
    e = private(module, "relax", ("i64", "tries"), ("i64", "brief"))
    e.do(f"br i1 {e.value('icmp uge i64 %tries, %brief')}, label %leave, label %stay")
    e.label("leave")
    e.call("i32", "sched_yield")
    e.ret()
    e.label("stay")
    if target.name == "neon":
        e.call("void", "llvm.aarch64.isb", ("i32", "15"))
    else:
        e.call("void", "llvm.x86.sse2.pause")
    e.ret()


def wait_until(e: Emitter, brief: str, ready: Callable[[], str]) -> None:
    """Emit a polling loop until `ready` holds; after `brief` polls the core is yielded."""
    before, look, retry, done = e.block, e.fresh("look"), e.fresh("retry"), e.fresh("done")
    e.do(f"br label %{look}")
    e.label(look)
    tries = e.value(f"phi i64 [0, %{before}], [%n{retry}, %{retry}]")
    e.do(f"br i1 {ready()}, label %{done}, label %{retry}")
    e.label(retry)
    e.call("void", "relax", ("i64", tries), ("i64", brief))
    e.do(f"%n{retry} = add i64 {tries}, 1")
    e.do(f"br label %{look}")
    e.label(done)


def write_barrier(module: LLVMModule) -> None:
    """Define `barrier`, which returns when all threads called it; the last starts a new phase."""
    e = private(module, "barrier", ("ptr", "control"), ("i64", "threads"))
    arrived, phase = e.offset("%control", ARRIVED), e.offset("%control", PHASE)
    now = atomic_load(e, phase, "monotonic")
    place = e.value(f"add i64 {atomic_add(e, arrived, 1, 'acq_rel')}, 1")
    e.do(f"br i1 {e.value(f'icmp eq i64 {place}, %threads')}, label %last, label %others")
    e.label("last")
    e.do(f"store atomic i64 0, ptr {arrived} monotonic, align 8")
    following = e.value(f"add i64 {now}, 1")
    e.do(f"store atomic i64 {following}, ptr {phase} release, align 8")
    e.ret()
    e.label("others")
    brief = e.load(e.offset("%control", YIELD_AFTER), "i64", 8)
    wait_until(e, brief, lambda: e.value(f"icmp ne i64 {atomic_load(e, phase, 'acquire')}, {now}"))
    e.ret()


# the table of calls


def write_now(module: LLVMModule) -> None:
    """Define `now`, which reads time.CLOCK_MONOTONIC in nanoseconds."""
    e = private(module, "now", returns="i64")
    place = e.value("alloca [2 x i64], align 8")
    e.call("i32", "clock_gettime", ("i32", str(time.CLOCK_MONOTONIC)), ("ptr", place))
    seconds = e.mul(e.load(place, "i64", 8), 1_000_000_000)
    e.ret(f"i64 {e.add(seconds, e.load(e.offset(place, 8), 'i64', 8))}")


def write_execute(module: LLVMModule) -> None:
    """Define `execute`, which walks the table as one of the threads."""
    e = private(module, "execute", ("ptr", "job"), ("i64", "thread"), ("i64", "threads"))
    control, calls, bindings = (word(e, "%job", k, "ptr") for k in (CONTROL, CALLS, BINDINGS))
    count, records = word(e, "%job", COUNT), thread_records(e)
    own = e.offset(word(e, "%job", SCRATCH, "ptr"), e.mul("%thread", word(e, "%job", STRIDE)))
    slots, scratch = (e.offset(own, word(e, "%job", k)) for k in (SLOTS, SCRATCH_START))
    shared = e.value("icmp ugt i64 %threads, 1")
    e.call("void", "begin", ("ptr", "%job"), ("ptr", own))
    fill_slots(e, own, "0", e.mul(word(e, "%job", SLOT_COUNT), 8))
    e.do("br label %head")
    e.label("head")
    k = e.value("phi i64 [0, %entry], [%onward, %step]")
    e.do(f"br i1 {e.value(f'icmp ult i64 {k}, {count}')}, label %body, label %end")
    e.label("body")
    entry = e.offset(calls, e.mul(k, ENTRY_BYTES))
    first, barrier, kind, target = (
        e.load(e.offset(entry, at), "i64", 8) for at in (FIRST_SLOT, BARRIER, KIND, TARGET)
    )
    following = e.add(k, 1)
    waits = e.value(f"and i1 {shared}, {e.value(f'icmp ne i64 {barrier}, 0')}")
    e.when(waits, lambda: e.do(f"call void @barrier(ptr {control}, i64 %threads)"))
    names = [(BRANCH, "branch"), (SKIP, "skip"), (SET, "set"), (BIND, "fill")]
    e.do(f"switch i64 {kind}, label %call [{' '.join(f'i64 {n}, label %{x}' for n, x in names)}]")
    e.label("branch")
    at = slot_value(e, own, bindings, first)
    byte = e.load(e.value(f"inttoptr i64 {at} to ptr"), "i8", 1)
    onward = [(emit_branch(e, f"i8 {byte}", target, following), "branch")]
    e.do("br label %step")
    e.label("skip")
    number = slot_value(e, own, bindings, first)
    onward += [(emit_branch(e, f"i64 {number}", target, following), "skip")]
    e.do("br label %step")
    e.label("set")
    e.store(slot_value(e, own, bindings, first), e.offset(own, target), "i64", 8)
    e.do("br label %step")
    e.label("fill")
    fill_slots(e, own, first, target)
    e.do("br label %step")
    e.label("call")
    place = e.offset(slots, first)
    call_recorded(e, entry, records, k, f"(ptr {place}, i64 %thread, i64 %threads, ptr {scratch})")
    onward += [(following, name) for name in ("set", "fill", e.block)]
    e.do("br label %step")
    e.label("step")
    e.do(f"%onward = phi i64 {', '.join(f'[{x}, %{block}]' for x, block in onward)}")
    e.do("br label %head")
    e.label("end")
    e.ret()


def emit_branch(e: Emitter, number: str, target: str, following: str) -> str:
    """Emit the next step: `target` if a number is zero, else the following one."""
    zero = e.value(f"icmp eq {number}, 0")
    return e.value(f"select i1 {zero}, i64 {target}, i64 {following}")


def thread_records(e: Emitter) -> str:
    """The address of this thread's records; null if nothing is recorded."""
    base = word(e, "%job", RECORDS, "ptr")
    size = e.add(e.mul(word(e, "%job", CAPACITY), RECORD_BYTES), 8)
    own = e.offset(base, e.mul("%thread", size))
    return e.value(f"select i1 {e.value(f'icmp eq ptr {base}, null')}, ptr null, ptr {own}")


def call_recorded(e: Emitter, entry: str, records: str, k: str, arguments: str) -> None:
    """Emit a call of an entry's function, with its begin and end recorded if requested."""
    function = e.load(e.offset(entry, FUNCTION), "ptr", 8)
    recorded, plain, done = e.fresh("recorded"), e.fresh("plain"), e.fresh("called")
    absent = e.value(f"icmp eq ptr {records}, null")
    e.do(f"br i1 {absent}, label %{plain}, label %{recorded}")
    e.label(recorded)
    began = e.call("i64", "now")
    e.do(f"call void {function}{arguments}")
    note(e, records, (k, began, e.call("i64", "now")))
    e.do(f"br label %{done}")
    e.label(plain)
    e.do(f"call void {function}{arguments}")
    e.do(f"br label %{done}")
    e.label(done)


def note(e: Emitter, records: str, fields: tuple[str, str, str]) -> None:
    """Emit the append of a record; one beyond the capacity is only counted."""
    count = e.load(records, "i64", 8)
    e.store(e.add(count, 1), records, "i64", 8)

    def write() -> None:
        place = e.offset(records, e.add(e.mul(count, RECORD_BYTES), 8))
        for k, field in enumerate(fields):
            e.store(field, e.offset(place, 8 * k), "i64", 8)

    e.when(e.value(f"icmp ult i64 {count}, {word(e, '%job', CAPACITY)}"), write)


def write_slots(module: LLVMModule) -> None:
    """Define `begin`, which copies the given bases, and `bind`, which fills a range of slots."""
    e = private(module, "begin", ("ptr", "job"), ("ptr", "own"))
    given = e.offset("%job", 8 * BASES)

    def copy(k: str) -> None:
        at = e.mul(k, 8)
        e.store(e.load(e.offset(given, at), "i64", 8), e.offset("%own", at), "i64", 8)

    e.loop(0, word(e, "%job", GIVEN), 1, copy)
    e.ret()
    e = private(module, "bind", ("ptr", "job"), ("ptr", "own"), ("i64", "from"), ("i64", "to"))
    slots, bindings = e.offset("%own", word(e, "%job", SLOTS)), word(e, "%job", BINDINGS, "ptr")

    def fill(at: str) -> None:
        e.store(slot_value(e, "%own", bindings, at), e.offset(slots, at), "i64", 8)

    e.loop("%from", "%to", 8, fill)
    e.ret()


def slot_value(e: Emitter, own: str, bindings: str, at: str) -> str:
    """The value of a slot: one of the thread's bases plus an offset."""
    binding = e.offset(bindings, e.mul(at, 2))
    base = e.load(e.offset(own, e.load(binding, "i64", 8)), "i64", 8)
    return e.value(f"add i64 {base}, {e.load(e.offset(binding, 8), 'i64', 8)}")


def fill_slots(e: Emitter, own: str, first: str, end: str) -> None:
    """Emit a call that fills the slots between two byte offsets."""
    e.call("void", "bind", ("ptr", "%job"), ("ptr", own), ("i64", first), ("i64", end))


# the pool


def write_post(module: LLVMModule) -> None:
    """Define `post`, which gives the workers a job (null: exit) and wakes sleeping ones."""
    e = module.function("post", [("ptr", "control"), ("ptr", "job")])
    e.store("%job", e.offset("%control", JOB), "ptr", 8)
    e.do(f"store atomic i64 0, ptr {e.offset('%control', DONE)} monotonic, align 8")
    # a worker counts itself asleep and then looks at the generation; here it is the other way round
    atomic_add(e, e.offset("%control", GENERATION), 1, "seq_cst")
    asleep = atomic_load(e, e.offset("%control", SLEEPERS), "seq_cst")
    mutex, condition = e.offset("%control", MUTEX), e.offset("%control", CONDITION)

    def wake() -> None:
        e.call("i32", "pthread_mutex_lock", ("ptr", mutex))
        e.call("i32", "pthread_cond_broadcast", ("ptr", condition))
        e.call("i32", "pthread_mutex_unlock", ("ptr", mutex))

    e.when(e.value(f"icmp ne i64 {asleep}, 0"), wake)
    e.ret()


def write_worker(module: LLVMModule) -> None:
    """Define `worker`, which polls for jobs and then sleeps; its argument is {control, thread}."""
    e = module.function("worker", [("ptr", "start")], returns="ptr")
    control, thread = word(e, "%start", 0, "ptr"), word(e, "%start", 1)
    generation = e.offset(control, GENERATION)
    patience, brief = (e.load(e.offset(control, at), "i64", 8) for at in (IDLE_LOOKS, YIELD_AFTER))
    e.call("i64", "floats")
    e.do("br label %wait")
    e.label("wait")
    seen = e.value("phi i64 [0, %entry], [%current, %work]")
    e.do("br label %spin")
    e.label("spin")
    tries = e.value("phi i64 [0, %wait], [%more, %idle]")
    new = atomic_load(e, generation, "acquire")
    e.do(f"br i1 {e.value(f'icmp ne i64 {new}, {seen}')}, label %go, label %still")
    e.label("still")
    e.do(f"br i1 {e.value(f'icmp ult i64 {tries}, {patience}')}, label %idle, label %sleep")
    e.label("idle")
    e.call("void", "relax", ("i64", tries), ("i64", brief))
    e.do(f"%more = add i64 {tries}, 1")
    e.do("br label %spin")
    e.label("sleep")
    woken = sleep_until_new(e, control, seen)
    asleep = e.block
    e.do("br label %go")
    e.label("go")
    e.do(f"%current = phi i64 [{new}, %spin], [{woken}, %{asleep}]")
    job = e.load(e.offset(control, JOB), "ptr", 8)
    e.do(f"br i1 {e.value(f'icmp eq ptr {job}, null')}, label %leave, label %work")
    e.label("work")
    threads = word(e, job, THREADS)
    e.call("void", "execute", ("ptr", job), ("i64", thread), ("i64", threads))
    atomic_add(e, e.offset(control, DONE), 1, "release")
    e.do("br label %wait")
    e.label("leave")
    e.ret("ptr null")


def sleep_until_new(e: Emitter, control: str, seen: str) -> str:
    """Sleep on the pool's condition until the generation is not `seen`; gives the new one."""
    mutex, condition = e.offset(control, MUTEX), e.offset(control, CONDITION)
    check, nap, awake = e.fresh("check"), e.fresh("nap"), e.fresh("awake")
    e.call("i32", "pthread_mutex_lock", ("ptr", mutex))
    atomic_add(e, e.offset(control, SLEEPERS), 1, "seq_cst")
    e.do(f"br label %{check}")
    e.label(check)
    new = atomic_load(e, e.offset(control, GENERATION), "seq_cst")
    e.do(f"br i1 {e.value(f'icmp eq i64 {new}, {seen}')}, label %{nap}, label %{awake}")
    e.label(nap)
    e.call("i32", "pthread_cond_wait", ("ptr", condition), ("ptr", mutex))
    e.do(f"br label %{check}")
    e.label(awake)
    atomic_add(e, e.offset(control, SLEEPERS), -1, "seq_cst")
    e.call("i32", "pthread_mutex_unlock", ("ptr", mutex))
    return new


def write_run(module: LLVMModule) -> None:
    """Define `run`, a whole run: wake workers, run the table as thread 0, wait for the others."""
    e = module.function("run", [("ptr", "job")])
    before = e.call("i64", "floats")
    threads, control = word(e, "%job", THREADS), word(e, "%job", CONTROL, "ptr")
    shared = e.value(f"icmp ugt i64 {threads}, 1")
    e.when(shared, lambda: e.do(f"call void @post(ptr {control}, ptr %job)"))
    e.call("void", "execute", ("ptr", "%job"), ("i64", "0"), ("i64", threads))
    others = e.sub(threads, 1)

    def join() -> None:
        brief, done = e.load(e.offset(control, YIELD_AFTER), "i64", 8), e.offset(control, DONE)
        wait_until(
            e, brief, lambda: e.value(f"icmp eq i64 {atomic_load(e, done, 'acquire')}, {others}")
        )

    e.when(shared, join)
    e.call("void", "restore", ("i64", before))
    e.ret()
