"""The command `gnomon bisect`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated

from cyclopts import Parameter

import gnomon
from gnomon.bisect.case import load_case
from gnomon.bisect.commits import first_bad
from gnomon.bisect.runs import RunOutcome, Script
from gnomon.bisect.search import first_wrong, guilty
from gnomon.errors import ConfigError
from gnomon.settings import OPTIMISATIONS

__all__ = ["bisect"]

LAST = "claim"
"""The only optimisation that changes bits (of attention): tried last, with a tolerance."""
SHOWING = '''"""{title}"""

from gnomon.bisect.case import load_case

case = load_case({path!r})
print(case)
print("with it:   ", case.ending())
print("without it:", case.ending(without={name!r}))
'''


@dataclass(frozen=True)
class Question:
    """The criterion of a wrong run: another hash, an error, or too many seconds."""

    hash: str | None
    error: bool
    seconds: float | None

    def is_right(self, outcome: RunOutcome, reference: RunOutcome | None = None) -> bool:
        """Whether a run meets the criterion of a correct one."""
        if self.seconds is not None:
            return outcome.code == 0 and outcome.seconds <= self.seconds
        if self.error:
            return outcome.code == 0
        wanted = self.hash or (reference.witness if reference else "")
        return outcome.code == 0 and outcome.witness.startswith(wanted)


def bisect(
    script: Path,
    /,
    *arguments: Annotated[str, Parameter(allow_leading_hyphen=False)],
    hash: str | None = None,
    error: bool = False,
    seconds: float | None = None,
    commits: str | None = None,
    out: Path = Path(),
) -> int:
    """Find the optimisation, and its first application, that makes a script wrong or slow.

    Runs are compared by a hash of the values that the script passes to gn.testing.witness(x), or
    else of its output. The default reference is a run without optimisations.

    Parameters
    ----------
    script
        A Python file, run as by `gnomon run`.
    arguments
        Arguments of the script.
    hash
        The hash of a correct run, or its beginning.
    error
        Count a run as wrong if it ends with an error.
    seconds
        Count a run as wrong if it takes longer than this.
    commits
        GOOD..BAD: find the commit of Gnomon's repository instead, by git's bisection.
    out
        The output folder for the case and a program that reproduces it.
    """
    question = Question(hash, error, seconds)
    if not script.is_file():
        raise ConfigError(f"bisect: there is no script {str(script)!r}. Give a Python file.")
    if commits is not None:
        return of_commits(script, arguments, question, commits)
    return of_optimisations(Script(script, arguments), question, out)


def of_optimisations(
    script: Script, question: Question, out: Path, say: Callable[[str], None] = print
) -> int:
    """Find the optimisation that breaks a script, and where it does; 0 if one was found."""
    names = [name for name in OPTIMISATIONS if name != LAST]
    reference = script.run(",".join(names))
    if not question.is_right(reference, reference):
        return of_the_core(script, reference, question, say)
    everything = script.run()
    if question.is_right(everything, reference):
        say("With all optimisations it is right: nothing to find.")
        return 1

    def is_right_without(left_out: Sequence[str]) -> bool:
        return question.is_right(script.run(",".join(left_out)), reference)

    found = guilty(names, is_right_without)
    say(f"It is right without {', '.join(found)}.")
    if len(found) > 1:
        return 0
    (name,) = found
    count = everything.counts.get(name, 0)
    number = first_wrong(count, lambda since: is_right_without([f"{name}@{since}+"]))
    count = max(count, number)
    say(f"{name}: application {number} of {count}: {OPTIMISATIONS[name]}.")
    show(script, name, number, out, say)
    return 0


def of_the_core(
    script: Script, reference: RunOutcome, question: Question, say: Callable[[str], None]
) -> int:
    """Report a fault that remains without any optimisation."""
    others = ",".join(name for name in OPTIMISATIONS if name != LAST)
    bare = script.run(f"{LAST},{others}")
    if question.is_right(bare) or (question.hash and bare.code == 0 and not reference.code):
        far = "" if bare.is_close(reference) else ", and its values are far from those with it"
        say(f"It differs without {LAST} ({OPTIMISATIONS[LAST]}){far}.")
        return 0
    say(f"It is wrong without any optimisation: look in the core, or in the script. {bare.error}")
    return 1


def show(script: Script, name: str, number: int, out: Path, say: Callable[[str], None]) -> None:
    """Write the graph of an application and its inputs, and a program that shows it."""
    case = out / f"bisect-{name}-{number}.npz"
    script.run(case=str(case), at=(name, number))
    if not case.is_file():
        say("It was applied to no graph of fixed sizes: there is no case to show.")
        return
    program = case.with_suffix(".py")
    title = f"{name}, application {number} of {script.path.name}: both lines should be one hash."
    text = SHOWING.format(title=title, path=str(case.resolve()), name=name)
    program.write_text(text, encoding="utf-8")
    kept = load_case(case)
    say(f"{program} shows it: {kept.ending()} with it, {kept.ending(name)} without.")


def of_commits(script: Path, arguments: Sequence[str], question: Question, commits: str) -> int:
    """Find the commit, and revert it at the end of the range; 0 where that mends it."""
    package = Path(gnomon.__file__).parents[1]

    def run(tree: Path) -> RunOutcome:
        began = perf_counter()
        made = subprocess.run(
            [sys.executable, str(script.resolve()), *arguments],
            env={**os.environ, "PYTHONPATH": str(tree), "GNOMON_CACHE": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
        return RunOutcome(made.returncode, made.stdout.strip(), (), {}, perf_counter() - began, "")

    found = first_bad(package, commits, lambda tree: question.is_right(run(tree)))
    verified = {True: "reverted, it is right", False: "reverted, it is still wrong"}
    end = verified.get(found.verified, "it cannot be reverted there")  # type: ignore[arg-type]
    print(f"{found.commit[:12]} {found.title}: {end}.")
    return 0 if found.verified else 1
