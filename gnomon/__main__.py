"""The command line: train, generate, eval, profile, doctor, bench.

Words become calls here; what they do is in gnomon/train. A mistake is one line and exit code 2.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, CycloptsError, Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text
from tokenizers import Tokenizer

import gnomon as gn
from gnomon.bench.command import Wanted
from gnomon.bench.command import bench as measure
from gnomon.bench.harness import Options
from gnomon.errors import ConfigError, GnomonError
from gnomon.train.compression import gzip_bits_per_byte, xz_bits_per_byte
from gnomon.train.doctor import findings
from gnomon.train.evaluate import HeldOut
from gnomon.train.finish import comparison, finish, how_to_resume
from gnomon.train.generate import Sampling, Writer, stream
from gnomon.train.loop import Trainer
from gnomon.train.profile import Wanted as WantedProfile
from gnomon.train.profile import compare as compare_profiles
from gnomon.train.profile import profile as profile_recipe
from gnomon.train.progress import Progress
from gnomon.train.runs import begin, find_checkpoint, read_config
from gnomon.train.state import model_of
from gnomon.train.text import prepare

__all__ = ["app", "main"]

app = App(
    name="gnomon",
    help="A deep-learning compiler and distributed trainer, small enough to read.",
    version=gn.__version__,
    help_format="plaintext",
)


@app.command
def train(
    recipe: str | None = None,
    /,
    *,
    changes: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    resume: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Train a language model; with no arguments it learns Python in about five minutes.

    Parameters
    ----------
    recipe
        A recipe's name (python, tiny) or a .toml file.
    changes
        A change of the configuration, GROUP.NAME=VALUE; may be given again and again.
    resume
        Continue: the run in run.dir, or else the latest one.
    """
    with Progress() as progress:
        run = begin(recipe, changes or [], resume)
        for line in run.remarks:
            progress.say(line)
        if run.config.run.threads:
            gn.set_num_threads(run.config.run.threads)
        trainer = Trainer(run.config, run.folder, progress, run.checkpoint)
        trainer.prepare()
        for line in trainer.introduction():
            progress.say(line)
        stop = trainer.run()
        if stop.asked is None:
            finish(trainer)
        else:
            progress.say(how_to_resume(trainer))
    return stop.exit_code


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
    for name, value in (("max-new-tokens", max_new_tokens), ("top-k", top_k), ("seed", seed)):
        if value < 0:
            raise ConfigError(f"generate: --{name}: expected int >= 0: got {value}.")
    if not 0 <= temperature < float("inf"):
        raise ConfigError(f"generate: --temperature: expected float >= 0: got {temperature}.")
    checkpoint = find_checkpoint(run)
    tokenizer = Tokenizer.from_file(str(checkpoint.folder / "tokenizer.json"))
    writer = Writer(model_of(checkpoint))
    sampling = Sampling(temperature, top_k, seed)
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
    checkpoint = find_checkpoint(run)
    config = read_config(checkpoint.folder.parent.parent)
    text = prepare(config, Tokenizer.from_file(str(checkpoint.folder / "tokenizer.json")))
    if text.corpus.hash != checkpoint.trainer["data_hash"]:
        print("note: these are other files than the model was trained beside.", file=sys.stderr)
    shape = (config.evaluation.batch_size, config.train.sequence_length)
    model, stride = model_of(checkpoint), config.evaluation.stride
    measure = HeldOut(model, text.held_out, text.lengths, shape, stride).measure()
    content = text.corpus.held_out_bytes
    figures = {
        "bits_per_byte": measure.bits_per_byte,
        "xz_bits_per_byte": xz_bits_per_byte(content),
        "gzip_bits_per_byte": gzip_bits_per_byte(content),
    }
    print(f"{checkpoint.folder}: {len(text.corpus.held_out)} files, {measure.bytes:,} bytes")
    print("\n".join(comparison(figures)))
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
        profile_recipe(WantedProfile(recipe, tuple(changes or ()), steps, out))
    return 0


@app.command
def doctor() -> int:
    """Say what this machine offers, what is off, and why."""
    table = Table(box=None, show_header=False, pad_edge=False)
    before = ""
    for finding in findings():
        topic = "" if finding.topic == before else finding.topic
        mark = Text("✓", style="green") if finding.good else Text("·", style="yellow")
        table.add_row(topic, mark, Text(finding.text))
        before = finding.topic
    Console(soft_wrap=True).print(table)
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
        compile; all of them if none is named.
    peers
        Who else takes part: torch, jax, or torch=/path/to/python for another environment.
    json
        A file for everything that was found.
    svg
        A file for a picture of the ratios.
    rounds
        How many clean turns each takes; the median counts.
    threads
        Threads, and processors, of each.
    patience
        Seconds that a turn waits for other processes to be idle.
    """
    if min(rounds, threads) < 1:
        raise ConfigError("bench: --rounds and --threads: expected int >= 1.")
    options = Options(rounds=rounds, threads=threads, patience=patience)
    measure(Wanted(workloads, peers, json, svg, options))
    return 0


def main(words: Sequence[str] | None = None) -> None:
    """Run a command and leave with its exit code."""
    sys.exit(code_of(words))


def code_of(words: Sequence[str] | None) -> int:
    """The exit code of a command: 0, 1 for what failed, 2 for a mistake in what was asked."""
    try:
        code = app(
            words if words is None else list(words),
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
    except (ConfigError, CycloptsError) as wrong:
        return complain(str(wrong), 2)
    except GnomonError as wrong:
        return complain(str(wrong), 1)
    except KeyboardInterrupt:
        return complain("interrupted.", 130)
    except BrokenPipeError:
        # whoever read the text has enough of it
        sys.stderr.close()
        return 0
    return code if isinstance(code, int) else 0


def complain(message: str, code: int) -> int:
    """Say what is wrong, without a traceback."""
    print(f"gnomon: {message.strip()}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
