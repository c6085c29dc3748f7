"""The command line: train, launch, plan, run, bisect, generate, chat, serve, eval, profile ...

It parses arguments and calls functions of gnomon/train and its neighbours. __main__.py enters.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from gnomon.bench.command import BenchOptions
from gnomon.bench.command import bench as measure
from gnomon.bench.harness import Options
from gnomon.bisect.command import bisect as bisect_script
from gnomon.distributed.launcher import Launch, delimited
from gnomon.distributed.restarts import Restarts, counts_of
from gnomon.drop_in.command import run as run_torch_script
from gnomon.errors import ConfigError, GnomonError, system_message
from gnomon.train import text_commands
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
from gnomon.train.sampling_flags import UNSET, SamplingFlags
from gnomon.train.state import model_of
from gnomon.train.team import Team
from gnomon.train.text_commands import app
from gnomon.train.to_gguf import gguf
from gnomon.train.to_program import program
from gnomon.train.tokenizer import load_tokenizer
from gnomon.train.values import keep_values

__all__ = ["app", "called"]

app.command(run_torch_script)
app.command(bisect_script)
app.command(gguf)
app.command(program)


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
        Override a value of the configuration, GROUP.NAME=VALUE; may be repeated.
    resume
        Resume the run in run.dir, or else the latest one.
    mesh
        The shape of the device mesh, such as data=2,tensor=2. "data" shards the rows of a batch,
        "shard" rows and parameters, "tensor" attention heads, the MLP's hidden dimension and the
        vocabulary. The results have the same bits with every mesh.
    plan
        A .toml file with a sharding plan: rows and fully (lists of mesh axes), axes (a table from
        axes of parameters to mesh axes), reductions (the most in flight, or "auto"). Or pairs that
        extend the default plan: expert=data, or expert=data:tokens, which sends tokens to experts
        instead of weights.
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
                f"train: {system_message(wrong)}. Checkpoints that were saved are whole. "
                "Once that is mended:"
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
    """Run a command with N ranks: one of gnomon's (train), or a Python script.

    Parameters
    ----------
    command
        The command of each rank: train and its options, a script, or any program.
    ranks
        Number of ranks; 4,3,2 are the numbers at first and after each restart.
    hosts
        A host file of MPI; without it all ranks run on this machine.
    patience
        Timeout in seconds for waiting on other ranks; 600 by default.
    restarts
        How often the job is restarted when a rank is lost or fails. train resumes from its latest
        valid checkpoint; a script has to resume by itself.
    backend
        mpi: processes connected by MPI; node: processes of one machine; threads: for debugging.
    dry_run
        Print the command without running it.
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
    """Rank the meshes for a training step over N chips by a cost model; nothing is run.

    Parameters
    ----------
    recipe
        A recipe's name (python, tiny) or a .toml file.
    world
        Number of chips.
    chip
        a100, h100, h200, mi300x, epyc-9654, or this: this machine, measured.
    changes
        Override a value of the configuration, GROUP.NAME=VALUE; may be repeated.
    plan
        A .toml file with a sharding plan, as for train.
    json
        Print JSON, with times in seconds and sizes in bytes.
    """
    return print_plan(LayoutOptions(recipe, world, chip, tuple(changes or ()), plan, json))


@app.command
def generate(
    run: str | None = None,
    /,
    *,
    prompt: str = "import os\n\n\ndef",
    sampling: SamplingFlags = UNSET,
) -> int:
    """Generate text from a trained model.

    Without a flag: 200 tokens at temperature 0.8 of the 40 most probable, by the seed 0.

    Parameters
    ----------
    run
        A run's folder or name, or a checkpoint's folder; the latest run if none is named.
    prompt
        The beginning of the text.
    sampling
        How the text is drawn.
    """
    wanted = sampling.checked().max_new_tokens
    most = 200 if wanted is None else wanted
    checkpoint = find_checkpoint(run)
    tokenizer = load_tokenizer(checkpoint.folder / "tokenizer.json")
    writer = TextGenerator(model_of(checkpoint))
    print(prompt, end="", flush=True)
    for piece in stream(writer, tokenizer, prompt, Sampling.of(sampling), most):
        print(piece, end="", flush=True)
    print()
    return 0


@app.command(name="eval")
def evaluate(run: str | None = None, /) -> int:
    """Measure bits per byte of a trained model on all held-out text, beside gzip and xz.

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
    """Profile a training step: time and memory by source line, as tables and an HTML page.

    Parameters
    ----------
    recipe
        A recipe's name (python, tiny) or a .toml file.
    steps
        Number of recorded steps, after those that compile.
    out
        Output folder; profiles/NAME-DATE by default.
    changes
        Override a value of the configuration, GROUP.NAME=VALUE; may be repeated.
    compare
        Compare two recorded profiles (folders or profile.json files) instead of recording one.
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
    """Find the first step, layer, operation and element in which two runs differ.

    Both were trained with --set train.record_hashes=true. The exit code is 0 where every recorded
    bit agrees, 1 where one differs, and 2 where they cannot be compared.

    Parameters
    ----------
    first
        A run's folder or name.
    second
        Another run's folder or name.
    """
    code, lines = compare_runs(first, second)
    print("\n".join(lines))
    return code


@app.command
def values(run: str, step: int, /, *, mesh: str | None = None, plan: Path | None = None) -> int:
    """Replay a run up to a step, and save all values of that step for diverge.

    Parameters
    ----------
    run
        A run's folder or name. The replay starts at the nearest checkpoint before the step and
        runs in memory: the run's metrics and checkpoints are not changed.
    step
        The step whose values are saved, in RUN/values.
    mesh
        The shape of the device mesh, as for train.
    plan
        A .toml file with a sharding plan, as for train.
    """
    with Team(mesh, plan) as team, Progress(quiet=not team.leads) as progress:
        keep_values(run, step, progress, team)
    return 0


@app.command
def doctor() -> int:
    """Report what this machine supports, what is disabled, and why."""
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
    """Benchmark training steps and single operations, optionally against other frameworks.

    Parameters
    ----------
    workloads
        Any of gpt, moe, lce, resnet, gemm, attention, chains, decode, embedding, replay and
        compile; all of them if none is named. Or collectives, between launched ranks.
    peers
        Frameworks to compare with: torch, jax, or torch=/path/to/python of another environment;
        for collectives mpi4py and gloo.
    json
        A file for all measurements.
    svg
        A file for a chart of the ratios.
    rounds
        Number of undisturbed samples of each workload; the median counts.
    threads
        Threads of each framework, on as many cores.
    patience
        Seconds to wait for other processes to be idle before a sample.
    """
    if min(rounds, threads) < 1:
        raise ConfigError("bench: --rounds and --threads: expected int >= 1.")
    options = Options(rounds=rounds, threads=threads, patience=patience)
    measure(BenchOptions(workloads, peers, json, svg, options))
    return 0


def called(words: Sequence[str]) -> int:
    """The exit code of a command."""
    return text_commands.called(delimited(words))
