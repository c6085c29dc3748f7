"""The command line: train, launch, plan, run, bisect, generate, chat, serve, eval, profile ...

Words become calls here; what they do is in gnomon/train. __main__.py enters.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, CycloptsError, Parameter
from rich.console import Console

import gnomon as gn
from gnomon.bench.command import BenchOptions
from gnomon.bench.command import bench as measure
from gnomon.bench.harness import Options
from gnomon.bisect.command import bisect as bisect_script
from gnomon.distributed.launcher import Launch, delimited
from gnomon.distributed.restarts import Restarts, counts_of
from gnomon.drop_in.command import run as run_torch_script
from gnomon.errors import ConfigError, GnomonError, told
from gnomon.train.chat import chat
from gnomon.train.config import keys
from gnomon.train.diverge import diverge as compare_runs
from gnomon.train.doctor import findings, table_of
from gnomon.train.finish import remeasured, train_to_end
from gnomon.train.generate import Sampling, TextGenerator, stream
from gnomon.train.layout_page import LayoutOptions, print_plan
from gnomon.train.profile import ProfileOptions as WantedProfile
from gnomon.train.profile import compare as compare_profiles
from gnomon.train.profile import profile as profile_recipe
from gnomon.train.progress import Progress
from gnomon.train.runs import begin, find_checkpoint, resumable, together
from gnomon.train.serve import serve
from gnomon.train.state import model_of
from gnomon.train.team import Team
from gnomon.train.to_gguf import gguf
from gnomon.train.tokenizer import load_tokenizer
from gnomon.train.values import keep_values

__all__ = ["app", "called"]

app = App(
    name="gnomon",
    help="A deep-learning compiler and distributed trainer, small enough to read.",
    version=gn.__version__,
    help_format="plaintext",
)
app.command(run_torch_script)
app.command(bisect_script)
app.command(chat)
app.command(serve)
app.command(gguf)


@app.command(help_epilogue=f"Configuration, for --set GROUP.NAME=VALUE:\n\n{keys()}")
def train(
    recipe: str | None = None,
    /,
    *,
    changes: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    resume: Annotated[bool, Parameter(negative=())] = False,
    mesh: str | None = None,
    plan: Path | None = None,
) -> int:
    """Train a language model; with no arguments it learns Python in about five minutes.

    Parameters
    ----------
    recipe
        A recipe's name (python, tiny, qwen3-moe, tiny-moe) or a .toml file.
    changes
        A change of the configuration, GROUP.NAME=VALUE; may be given again and again.
    resume
        Continue: the run in run.dir, or else the latest one.
    mesh
        How launched ranks stand, such as data=2,tensor=2: rows of a batch are spread over "data",
        rows and parameters over "shard", heads, inner widths and words over "tensor". The bits do
        not depend on it.
    plan
        A .toml file with another plan: rows and fully (lists of mesh axes), axes (a table of
        parameters' axes and mesh axes), reductions (how many at once, or "auto"); or pairs that
        are added to the usual one: expert=data (or expert=data:tokens: no matrix is sent).
    """
    with Team(mesh, plan) as team, Progress(quiet=not team.leads) as progress:
        begun = begin(recipe, changes or [], resume) if team.leads else None
        run = together(begun, team)
        try:
            return train_to_end(run, progress, team)
        except OSError as wrong:
            if run.lock:
                run.lock.check()
            raise GnomonError(
                f"train: {told(wrong)}. Checkpoints that were saved are whole. Once that is mended:"
                f"\n  gnomon train --resume --set run.dir={run.folder}"
            ) from wrong
        finally:
            if run.lock:
                run.lock.release()


@app.command
def launch(
    *command: str,
    ranks: Annotated[str, Parameter(name=("--ranks", "-n"))] = "1",
    hosts: Path | None = None,
    patience: float | None = None,
    restarts: int = 0,
    backend: str = Launch.backend,
    dry_run: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Start a command as many ranks: one of gnomon's (train), or a Python script.

    Parameters
    ----------
    command
        What each rank runs: train and its options, a script, or any program.
    ranks
        How many; 4,3,2 is how many at first, and after each restart.
    hosts
        MPI's file of hosts; without it all ranks run here.
    patience
        Seconds that a rank waits for the others before it gives up; otherwise 600.
    restarts
        How often the job is started again when a rank is lost or fails. train goes on from its
        newest whole checkpoint; a script has to know by itself where it was.
    backend
        mpi: a process for each rank; node: on one machine, without MPI; threads: to debug.
    dry_run
        Say what would be started, and start nothing.
    """
    if not command:
        raise ConfigError("launch: nothing to run. Name a command: gnomon launch -n 2 train")
    counts, retry = counts_of(ranks), command
    if restarts and command[0] == "train":
        command, retry = resumable(command, counts)
    wanted = Launch(command, counts[0], hosts, patience, backend)
    if dry_run:
        print(wanted)
        return 0
    return Restarts(restarts, retry, counts).run(wanted)


@app.command
def plan(
    recipe: str,
    /,
    *,
    world: int,
    chip: str = "this",
    changes: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    plan: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Rank the layouts of a training step over many chips, by a model; nothing is run.

    Parameters
    ----------
    recipe
        A recipe's name (python, tiny) or a .toml file.
    world
        How many chips.
    chip
        a100, h100, h200, mi300x, epyc-9654, or this: the machine here, measured.
    changes
        A change of the configuration, GROUP.NAME=VALUE; may be given again and again.
    plan
        A .toml file with another plan, as for train.
    json
        Print JSON, in seconds and bytes.
    """
    return print_plan(LayoutOptions(recipe, world, chip, tuple(changes or ()), plan, json))


@app.command
def generate(
    run: str | None = None,
    /,
    *,
    prompt: str = "import os\n\n\ndef",
    max_new_tokens: int = 200,
    temperature: float = 0.8,
    top_k: int = 40,
    seed: int = 0,
) -> int:
    """Let a trained model write on.

    Parameters
    ----------
    run
        A run's folder or name, or a checkpoint's folder; the latest run if none is named.
    prompt
        What the text begins with.
    max_new_tokens
        The most that is written.
    temperature
        How freely; 0 always takes the likeliest token.
    top_k
        How many of the likeliest tokens may be drawn; 0: all.
    seed
        Another seed, another text.
    """
    sampling = Sampling(temperature, top_k, seed).checked(max_new_tokens)
    checkpoint = find_checkpoint(run)
    tokenizer = load_tokenizer(checkpoint.folder / "tokenizer.json")
    writer = TextGenerator(model_of(checkpoint))
    print(prompt, end="", flush=True)
    for piece in stream(writer, tokenizer, prompt, sampling, max_new_tokens):
        print(piece, end="", flush=True)
    print()
    return 0


@app.command(name="eval")
def evaluate(run: str | None = None, /) -> int:
    """Measure a trained model on every held-out byte, beside gzip and xz.

    Parameters
    ----------
    run
        A run's folder or name; the latest run if none is named.
    """
    print("\n".join(remeasured(run)))
    return 0


@app.command
def profile(
    recipe: str = WantedProfile.recipe,
    /,
    *,
    steps: int = WantedProfile.steps,
    out: Path | None = None,
    changes: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    compare: tuple[Path, Path] | None = None,
) -> int:
    """Show where a training step's time and memory go, by line, and write a page about it.

    Parameters
    ----------
    recipe
        A recipe's name (python, tiny) or a .toml file.
    steps
        How many steps are recorded, after those that compile.
    out
        The folder for page, traces and records; otherwise profiles/NAME-DATE.
    changes
        A change of the configuration, GROUP.NAME=VALUE; may be given again and again.
    compare
        Record nothing: two folders, or profile files, and what changed between them.
    """
    if compare is not None:
        compare_profiles(*compare)
    else:
        with Team() as team:
            wanted = WantedProfile(recipe, tuple(changes or ()), steps, out)
            quiet = None if team.leads else Console(quiet=True)
            profile_recipe(wanted, quiet, team)
    return 0


@app.command
def diverge(first: str, second: str, /) -> int:
    """Name the first step, layer, operation and element that differ between two runs.

    Both were trained with --set train.record_hashes=true. The exit code is 0 where every recorded
    bit agrees, 1 where one differs, and 2 where they cannot be compared.

    Parameters
    ----------
    first
        A run's folder or name.
    second
        Another one's.
    """
    code, lines = compare_runs(first, second)
    print("\n".join(lines))
    return code


@app.command
def values(run: str, step: int, /, *, mesh: str | None = None, plan: Path | None = None) -> int:
    """Take a run's steps again up to one, and keep all values of that one for diverge.

    Parameters
    ----------
    run
        A run's folder or name. It goes on from the nearest checkpoint before the step, in memory:
        its metrics and checkpoints stay.
    step
        The step whose values are kept, in RUN/values.
    mesh
        How launched ranks stand, as for train.
    plan
        A .toml file with another plan, as for train.
    """
    with Team(mesh, plan) as team, Progress(quiet=not team.leads) as progress:
        keep_values(run, step, progress, team)
    return 0


@app.command
def doctor() -> int:
    """Say what this machine offers, what is off, and why."""
    Console(soft_wrap=True).print(table_of(findings()))
    return 0


@app.command
def bench(
    *workloads: str,
    peers: str = "",
    json: Path | None = None,
    svg: Path | None = None,
    rounds: int = Options.rounds,
    threads: int = Options.threads,
    patience: float = Options.patience,
) -> int:
    """Measure Gnomon on whole training steps and single operations, beside others if asked.

    Parameters
    ----------
    workloads
        Which of gpt, moe, lce, resnet, gemm, attention, chains, decode, embedding, replay and
        compile; all of them if none is named. Or collectives, between launched ranks.
    peers
        Who else takes part: torch, jax, or torch=/path/to/python for another environment; beside
        collectives mpi4py and gloo.
    json
        A file for everything that was found.
    svg
        A file for a picture of the ratios.
    rounds
        How many clean samples each takes; the median counts.
    threads
        Threads, and processors, of each.
    patience
        Seconds that a sample waits for other processes to be idle.
    """
    if min(rounds, threads) < 1:
        raise ConfigError("bench: --rounds and --threads: expected int >= 1.")
    options = Options(rounds=rounds, threads=threads, patience=patience)
    measure(BenchOptions(workloads, peers, json, svg, options))
    return 0


def called(words: Sequence[str]) -> int:
    """The exit code of a command."""
    try:
        options = {"exit_on_error": False, "print_error": False, "result_action": "return_value"}
        code = app(delimited(words), **options)
    except CycloptsError as wrong:
        raise ConfigError(str(wrong)) from wrong
    return code if isinstance(code, int) else 0
