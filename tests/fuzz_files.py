"""Every reader that a user can point at a file, on files with something wrong in them.

A reader gives what the file says, or raises an error of ours that names the file: nothing else, at
once, and within the memory that a sound file takes. By hand, for as long as one likes:

    python -m tests.fuzz_files --seconds 3600 --seed 7

The mutations are in mutations_of_files.py, the short run in test_fuzz_files.py.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import resource
import signal
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import gnomon as gn
from gnomon.errors import GnomonError, IndexOutOfBounds
from gnomon.gguf.decoding import DECODERS
from gnomon.gguf.element_types import plain_dtype
from gnomon.models.config import Qwen3Config
from gnomon.models.decoder import DecoderForCausalLM
from gnomon.models.stored_parameters import load_parameters
from gnomon.profiler.chrome import write_chrome
from gnomon.profiler.compare import compare_table
from gnomon.profiler.store import PROFILE, read_profile, write_profile
from gnomon.profiler.tables import summary
from gnomon.runtime.cache import Cache, digest
from gnomon.runtime.program_file import DESCRIPTION, NOTES, PLAN, WEIGHTS
from gnomon.train import checkpoint
from gnomon.train.config import Config, overridden, to_dict
from gnomon.train.finish import draw
from gnomon.train.metrics import line
from gnomon.train.recipes import configure
from gnomon.train.runs import read_config, write_config
from gnomon.train.state import parameter_arrays
from gnomon.train.tokenizer import bytes_per_token, load_tokenizer, train
from tests.mutations_of_files import (
    BYTES,
    GGUF,
    JSON,
    LINES,
    SAFETENSORS,
    TOML,
    TORCH,
    ZIP,
    Mutation,
    bomb,
    program_changed,
)
from tests.profiler.synthetic import made_up
from tests.profiler.validate import check_chrome
from tests.torch_writer import Saved, older, zipped
from tests.train import saving

SECONDS_AT_MOST = 5
"""Of one case: a sound file takes milliseconds."""
MEMORY = 1 << 30
"""Bytes that reading may take beside what the process has."""
LONGEST_MESSAGE = 1200
RECIPE = """\
recipe = "tiny"

[run]
name = "mine"
seed = 3

[model]
num_hidden_layers = 6
rope_theta = 10000.0

[optimizer]
learning_rate = 1e-3

[train]
steps = 4000
batch_size = 2
"""
SIZES = Qwen3Config(
    vocab_size=300,
    hidden_size=8,
    intermediate_size=8,
    num_hidden_layers=1,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=4,
    max_position_embeddings=16,
)
TEXTS = ["def square(x):\n    return x * x\n" * 20, "import os\n\nprint(os.getcwd())\n" * 20]


@dataclass
class Target:
    """A reader: the sound files that it reads, how they are changed, what must hold of a result."""

    name: str
    write: Callable[[Path], dict[str, tuple[Mutation, ...]]]
    """Puts the sound files into a folder; tells how each may be changed."""
    read: Callable[[Path], object]
    settle: Callable[[Path], object] = lambda folder: None
    """What somebody would do who changes the file on purpose."""
    files: dict[str, tuple[Mutation, ...]] = field(default_factory=dict)


class Hang(BaseException):
    """A case took too long."""


# gn.load


TREE = {"tensor": 0, "shape": [2, 3], "dtype": "int64"}


def write_tree(folder: Path) -> dict[str, tuple[Mutation, ...]]:
    """A file as gn.save wrote it before: a tree of tensors of several dtypes."""
    truths = {"tensor": 1, "shape": [2, 3], "dtype": "bool"}
    lists = {"list": [TREE, {"tuple": [truths, None, 1.5]}]}
    tree = {"dict": [["x", TREE], ["again", lists], [7, {"dtype_of": "float16"}]]}
    with zipfile.ZipFile(folder / "tree.gn", "w") as archive:
        archive.writestr("tree.json", json.dumps(tree))
        archive.writestr("tensors/0", np.arange(6).tobytes())
        archive.writestr("tensors/1", bytes([0, 1, 0, 1, 1, 0]))
    return {"tree.gn": (*ZIP, *ZIP, bomb)}


def write_saved(folder: Path, **words: bool) -> dict[str, tuple[Mutation, ...]]:
    """What gn.save writes of tensors of several dtypes and kinds."""
    x = gn.arange(6).reshape(2, 3)
    pairs, weight = gn.ones(3, dtype=gn.complex64), gn.nn.Parameter(gn.ones(2))
    weight.note = {"a": 1}
    tree = {"x": x, "again": [x, x.T, (x > 2, None, 1.5)], 7: gn.float16, "half": x.bfloat16()}
    tree |= {"pairs": [pairs, pairs.real], "kept": [weight, gn.nn.Buffer(gn.ones(2))]}
    gn.save(tree, folder / "tree.gn", **words)
    return {"tree.gn": TORCH if not words else BYTES}


def read_tree(folder: Path) -> None:
    """Load it, and look at every tensor."""
    look_at(gn.load(folder / "tree.gn"))


def torch_files(write: Callable[[object], io.BytesIO], kinds: tuple[Mutation, ...]) -> Callable:
    """A writer of one of PyTorch's kinds of files."""

    def written(folder: Path) -> dict[str, tuple[Mutation, ...]]:
        numbers = np.arange(12, dtype=np.float32)
        state = {"w": Saved(numbers.reshape(3, 4)), "row": Saved(numbers, (4,), (1,), 4)}
        state |= {"turned": Saved(numbers, (4, 3), (1, 4)), "b": Saved(np.ones(3, bool))}
        (folder / "x.pt").write_bytes(write([state, {"step": 2, "x": (1.5, None, "a")}]).getvalue())
        return {"x.pt": kinds}

    return written


def look_at(value: object, seen: frozenset[int] = frozenset()) -> None:
    """Read every tensor inside, and compute with it; a list may hold itself."""
    if id(value) in seen:
        return
    seen |= {id(value)}
    if isinstance(value, gn.Tensor):
        array = value.numpy(force=True)
        array.tobytes()
        assert value.dtype is not gn.bool or array.view(np.uint8).max(initial=0) <= 1
    elif isinstance(value, dict):
        for part in value.values():
            look_at(part, seen)
    elif isinstance(value, (list, tuple)):
        for part in value:
            look_at(part, seen)


# gn.gguf.load


def write_gguf(folder: Path) -> dict[str, tuple[Mutation, ...]]:
    """A file of tensors and metadata of most types."""
    kinds = ("F32", "F16", "BF16", "I8", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0")
    tensors = {name: gn.zeros(32, dtype=gn.int8 if name == "I8" else None) for name in kinds}
    metadata = {"general.alignment": 8, "a": 0.5, "b": "text", "c": [1, 2, 3], "d": True}
    metadata |= {"e": ["a", "", "bc"], "f": [[[1.5]], [[]]], "g": np.ones(3, bool), "h": -1}
    types = {name: name for name in kinds}
    gn.gguf.save(folder / "x.gguf", tensors, metadata, types=types)
    return {"x.gguf": GGUF}


def read_gguf(folder: Path) -> None:
    """Open it, and decode every tensor that can be."""
    file = gn.gguf.load(folder / "x.gguf")
    repr((file, file.metadata, file.tensors))
    for tensor in file.tensors.values():
        if tensor.type in DECODERS or plain_dtype(tensor.type) is not None:
            tensor.numpy().tobytes()


def write_model(folder: Path) -> dict[str, tuple[Mutation, ...]]:
    """A model of two experts, in GGUF."""
    config = {"model_type": "qwen3_moe", "hidden_size": 4, "num_hidden_layers": 1}
    config |= {"num_attention_heads": 2, "num_experts": 2, "norm_topk_prob": True}
    names = [f"experts.{k}.{part}_proj" for k in range(2) for part in ("gate", "up", "down")]
    tensors = {f"model.layers.0.mlp.{name}.weight": np.ones((2, 2), np.float32) for name in names}
    gn.gguf.save(folder / "x.gguf", *gn.gguf.from_hugging_face(config, tensors))
    return {"x.gguf": GGUF}


def read_model(folder: Path) -> None:
    """Name its config and tensors as Hugging Face does."""
    config, tensors = gn.gguf.to_hugging_face(gn.gguf.load(folder / "x.gguf"))
    json.dumps(config)
    for array in tensors.values():
        array.tobytes()


def write_tokens(folder: Path) -> dict[str, tuple[Mutation, ...]]:
    """Two small tokenizers, in GGUF."""
    start, tokens = "tokenizer.ggml.", ["<s>", "a", "b", "ab", "\u2581", "\u2581a"]
    shared = {f"{start}tokens": tokens, f"{start}token_type": [3, 1, 1, 1, 1, 1]}
    shared |= {f"{start}bos_token_id": 0, f"{start}add_bos_token": True}
    merged = {f"{start}model": "gpt2", f"{start}pre": "qwen2", f"{start}merges": ["a b"]}
    scored = {f"{start}model": "llama", f"{start}scores": [0.0, -1.0, -2.0, -3.0, -4.0, -5.0]}
    gn.gguf.save(folder / "a.gguf", {}, shared | merged)
    gn.gguf.save(folder / "b.gguf", {}, shared | scored)
    return {"a.gguf": GGUF, "b.gguf": GGUF}


def read_tokens(folder: Path) -> None:
    """Encode and decode with both."""
    for name in ("a.gguf", "b.gguf"):
        made = gn.gguf.tokenizer(gn.gguf.load(folder / name))
        made.decode(made.encode("abba <s> a1\n\u00e9").ids)


# configurations


def write_recipe(folder: Path) -> dict[str, tuple[Mutation, ...]]:
    """A recipe of one's own."""
    (folder / "mine.toml").write_text(RECIPE)
    return {"mine.toml": TOML}


def write_change(folder: Path) -> dict[str, tuple[Mutation, ...]]:
    """A change as one writes it behind --set."""
    (folder / "change").write_text("train.steps = 5")
    return {"change": TOML}


def read_change(folder: Path) -> None:
    """Make the change."""
    text = (folder / "change").read_bytes().decode("utf-8", "surrogateescape")
    configure("tiny", [text])
    overridden({"train": 5, "run": {}}, [text])


def write_run(folder: Path) -> dict[str, tuple[Mutation, ...]]:
    """What a run records of itself."""
    write_config(folder, configure("tiny", []))
    return {"run.json": JSON}


def write_metrics(folder: Path) -> dict[str, tuple[Mutation, ...]]:
    """The lines of some steps."""
    rows = [{"step": k, "loss": 5.0 / k, "learning_rate": 1e-3} for k in range(1, 6)]
    rows[3] |= {"held_out_loss": 2.0, "held_out_bits_per_byte": 3.0}
    (folder / "metrics.jsonl").write_bytes(b"".join(map(line, rows)))
    return {"metrics.jsonl": LINES}


# the tokenizer


def write_tokenizer(folder: Path) -> dict[str, tuple[Mutation, ...]]:
    """A small tokenizer."""
    train(TEXTS, 300).save(str(folder / "tokenizer.json"))
    return {"tokenizer.json": JSON}


def read_tokenizer(folder: Path) -> None:
    """Load it and do what training does with it."""
    tokenizer = load_tokenizer(folder / "tokenizer.json")
    ids = tokenizer.encode("def f(x):\n\treturn 'é'").ids
    tokenizer.decode(ids)
    bytes_per_token(tokenizer)[ids].sum()


# profiles


def write_both(folder: Path) -> dict[str, tuple[Mutation, ...]]:
    """A profile, and as a trace."""
    write_profile(made_up(layers=1, steps=1), folder / PROFILE)
    return {PROFILE: JSON}


def read_both(folder: Path) -> None:
    """Compare it with itself."""
    found = read_profile(folder)
    summary(found)
    compare_table(found, found)


def write_trace(folder: Path) -> dict[str, tuple[Mutation, ...]]:
    """A trace for chrome."""
    write_chrome(made_up(layers=1, steps=1), folder / "trace.json")
    return {"trace.json": JSON}


# checkpoints


MODEL = DecoderForCausalLM(SIZES)


def write_checkpoint(folder: Path) -> dict[str, tuple[Mutation, ...]]:
    """A checkpoint of a small model."""
    arrays = parameter_arrays(MODEL)
    state = {f"{name}.exp_avg": array for name, array in arrays.items()}
    trainer = {"data_hash": "x", "seed": 0, "config": to_dict(Config(model=SIZES))}
    text = train(TEXTS, 300).to_str()
    both = {"model": arrays, "optimizer": state}
    saved = saving.contents(7, both, model=SIZES, tokenizer=text, trainer=trainer)
    where = saving.save(folder, saved, keep=2).relative_to(folder)
    kinds = {".safetensors": SAFETENSORS, ".json": JSON}
    return {str(where / x.name): kinds[x.suffix] for x in (folder / where).iterdir()}


def read_newest(folder: Path) -> None:
    """The newest whole one is the one that was written, or there is none and it is said why."""
    found, problems = checkpoint.newest(folder)
    if found is None:
        assert problems
        assert str(folder) in problems[0], problems
        return
    assert found.step == 7
    assert found.trainer["config"]["model"]["hidden_size"] == SIZES.hidden_size
    load_parameters(MODEL, found.parameters())


def reseal(folder: Path) -> None:
    """Give every file of a checkpoint the sum that it has now."""
    (where,) = (folder / "checkpoints").iterdir()
    try:
        saving.reseal(where)
    except Exception:  # what cannot be sealed is met as it is
        return


def read_parts(folder: Path) -> None:
    """Everything that a checkpoint holds, whoever wrote it."""
    (where,) = (folder / "checkpoints").iterdir()
    found = checkpoint.verified(where)
    assert found.model.matrix_parameters
    load_parameters(MODEL, found.parameters())
    dict(found.optimizer())


# the cache


CONTENT = bytes(range(256)) * 3


def write_entry(folder: Path) -> dict[str, tuple[Mutation, ...]]:
    """One entry."""
    cache = Cache(folder / "objects")
    cache.store(digest("a"), CONTENT)
    return {str(cache.path(digest("a")).relative_to(folder)): BYTES}


def read_entry(folder: Path) -> None:
    """The entry, or nothing."""
    assert Cache(folder / "objects").load(digest("a")) in (None, CONTENT)


# compiled functions


def compiled_files(*kinds: Mutation) -> Callable[[Path], dict[str, tuple[Mutation, ...]]]:
    """A writer of a compiled function's file."""

    def written(folder: Path) -> dict[str, tuple[Mutation, ...]]:
        weight, table = gn.arange(6.0).reshape(3, 2), gn.arange(4)

        def function(x: dict[str, gn.Tensor], scale: float) -> tuple:
            y = (x["a"] @ weight).softmax(-1) * scale
            return y, [y[table], table > 1], {"kept": x["a"]}

        example = {"a": gn.ones(4, 3)}
        gn.compile(function).precompile(example, 2.0).precompile(example, 3.0).save(
            folder / "f.gnc"
        )
        return {"f.gnc": kinds}

    return written


def call_compiled(folder: Path) -> None:
    """Load it and call it: all but its code and its content may be changed."""
    try:
        look_at(gn.load_compiled(folder / "f.gnc")({"a": gn.ones(4, 3)}, 2.0))
    except IndexOutOfBounds as found:  # a table of the state said so
        raise IndexOutOfBounds(f"f.gnc: {found}") from None


TARGETS = (
    Target("gn.load", write_saved, read_tree),
    Target(
        "older gn.load",
        lambda x: write_saved(x, _use_new_zipfile_serialization=False),
        read_tree,
    ),
    Target("former gn.load", write_tree, read_tree),
    Target("torch zip", torch_files(zipped, TORCH), lambda x: look_at(gn.load(x / "x.pt"))),
    Target("torch file", torch_files(older, BYTES), lambda x: look_at(gn.load(x / "x.pt"))),
    Target("gguf", write_gguf, read_gguf),
    Target("model in gguf", write_model, read_model),
    Target("tokens in gguf", write_tokens, read_tokens),
    Target("recipe", write_recipe, lambda x: configure(str(x / "mine.toml"), ["run.seed=1"])),
    Target("--set", write_change, read_change),
    Target("run.json", write_run, read_config),
    Target("metrics.jsonl", write_metrics, lambda x: draw(x, 1.0)),
    Target("tokenizer.json", write_tokenizer, read_tokenizer),
    Target("profile.json", write_both, read_both),
    Target("trace.json", write_trace, lambda x: check_chrome(x / "trace.json")),
    Target("damaged checkpoint", write_checkpoint, read_newest),
    Target("hostile checkpoint", write_checkpoint, read_parts, reseal),
    Target("cache entry", write_entry, read_entry),
    Target("compiled file", compiled_files(*BYTES), call_compiled),
    Target("hostile state", compiled_files(program_changed(WEIGHTS)), call_compiled),
    Target("hostile notes", compiled_files(program_changed(NOTES)), call_compiled),
    Target(
        "hostile program",
        compiled_files(program_changed(DESCRIPTION, PLAN)),
        lambda x: gn.load_compiled(x / "f.gnc"),
    ),
)


# running


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Stop what takes longer."""

    def ring(number: int, frame: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def meet(target: Target, folder: Path) -> str:
    """What is wrong with how a reader met a file; nothing if it read it or refused it well."""
    try:
        with alarm(SECONDS_AT_MOST):
            target.read(folder)
    except GnomonError as refused:
        said = str(refused)
        if len(said) > LONGEST_MESSAGE:
            return f"a message of {len(said)} characters"
        named = any(Path(name).name in said for name in target.files)
        # what --set says names the change, and a run.json may say so of a value's path
        named = named or target.name in ("--set", "hostile checkpoint")
        return "" if named else f"no file is named: {type(refused).__name__}: {said}"
    except Hang:
        return "it hangs: " + place_of(Hang)
    except BaseException as wrong:  # a panic of a library in Rust is no Exception
        if isinstance(wrong, (KeyboardInterrupt, SystemExit)):
            raise
        return f"{type(wrong).__name__}: {str(wrong)[:120]!r} {last_line(wrong)}"
    return ""


def place_of(kind: type[BaseException]) -> str:
    """The kind of an error by name."""
    return kind.__name__


def last_line(wrong: BaseException) -> str:
    """The last line of ours that an error passed."""
    ours = [x for x in traceback.extract_tb(wrong.__traceback__) if "gnomon" in x.filename]
    return f"at {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""


def cases(target: Target, folder: Path, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Change one file after the other, meet it, and put it back; what was wrong, and its bytes."""
    target.files = target.write(folder)
    sound = {name: (folder / name).read_bytes() for name in target.files}
    yield meet(target, folder), b""
    while True:
        name = chance.choice(list(sound))
        changed = chance.choice(target.files[name])(sound[name], chance)
        (folder / name).write_bytes(changed)
        target.settle(folder)
        yield meet(target, folder), changed
        for path, content in sound.items():
            (folder / path).write_bytes(content)


def fuzz(seed: int, most: int, seconds: float = 1e9, only: str = "") -> tuple[int, Counter]:
    """Cases in turns over all readers; how many there were, and what was found how often."""
    found: Counter = Counter()
    end, count = time.monotonic() + seconds, 0
    with tempfile.TemporaryDirectory() as name:
        runs = []
        for number, target in enumerate(x for x in TARGETS if only in x.name):
            folder = Path(name) / str(number)
            folder.mkdir()
            runs.append((target, cases(target, folder, random.Random(f"{seed} {target.name}"))))
        while count < most and time.monotonic() < end:
            for target, turns in runs:
                wrong, _ = next(turns)
                count += 1
                if wrong:
                    found[f"{target.name}: {wrong}"] += 1
    return count, found


def limit_memory(more: int = MEMORY) -> None:
    """Let this process have so much more than it has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, -1))


def main() -> None:
    """Fuzz for some time and list what was found."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--seconds", type=float, default=60.0)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--only", default="")
    chosen = words.parse_args()
    limit_memory()
    count, found = fuzz(chosen.seed, 10**9, chosen.seconds, chosen.only)
    for text, times in found.most_common():
        print(f"{times:6}  {text}")
    print(f"{count} files, {sum(found.values())} findings of {len(found)} kinds")
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
