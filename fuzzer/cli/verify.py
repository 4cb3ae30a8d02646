"""Which flags does `ctxfuzz verify` take, and where do its cap and its conditions come from?"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from fuzzer.cli import values
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.flags import probing
from fuzzer.cli.grouping import Command, option, stack
from fuzzer.errors import CtxfuzzError, RunStopped, UsageFault
from fuzzer.finding import FindingKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fuzzer.cli.session import Session
    from fuzzer.plans.verify import VerifyQuestion
    from fuzzer.store import Run

CAP = stack(
    option("Cap", "--cap", metavar="TOKENS", type=values.length, help="The max_model_len that ought to be in force."),
    option("Cap", "--from-run", metavar="RUN",
           help="Take the cap, where it used to fail, and the conditions that are not told here from this run."),
    option("Cap", "--first-bad", metavar="TOKENS", type=values.length,
           help="Where it used to fail: sent only after a clean refusal just above the cap."),
    option("Output", "--junit", metavar="FILE", type=values.OutputFile(),
           help="Write the checks as JUnit XML too."),
)  # fmt: skip


class Fix(NamedTuple):
    """What was found (tokens), and under which conditions; `found_by`, where that is on record."""

    cap: int
    first_bad: int | None
    flags: CommonFlags
    found_by: Run | None = None


class Gate(Command):
    """A command that leaves no older result in its JUnit file, not even where its command line cannot be read; and why
    there is no result stands in it.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except (click.UsageError, CtxfuzzError) as fault:
            if (file := self._junit(ctx, given)) is not None:
                _begin_anew(file, fault)
            raise

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  (as click has it)
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort):
            raise
        except Exception as fault:
            file = ctx.params["junit"]
            if file is not None and not ctx.params["dry_run"] and _is_begun(file):
                _begin_anew(file, fault)
            raise

    def _junit(self, ctx: click.Context, args: list[str]) -> Path | None:
        """What --junit says, whatever else is said."""
        said = {}
        for word, after in zip(args, [*args[1:], ""], strict=True):
            name, equals, value = word.partition("=")
            if name == "--junit":
                said["junit"] = value if equals else after
        [param] = (param for param in self.params if param.name == "junit")
        try:
            file = param.process_value(ctx, param.consume_value(ctx, said)[0])
        except click.UsageError:
            return None
        return file if isinstance(file, Path) else None  # click has a mark of its own for what nobody says


def _begin(junit: Path, *why: str) -> None:
    from fuzzer.cli import concluding  # noqa: PLC0415  (heavy)
    from fuzzer.report.verify import junit_begun  # noqa: PLC0415  (heavy)

    concluding.write_junit(junit, junit_begun(*why))


def _begin_anew(junit: Path, fault: Exception) -> None:
    """With why there is no result. The fault is the one to tell, and not that this cannot be written."""
    from fuzzer.cli.faults import sole, told  # noqa: PLC0415  (heavy)
    from fuzzer.cli.secrecy import hidden  # noqa: PLC0415

    words = fault.format_message() if isinstance(fault, click.ClickException) else told(sole(fault))[0]
    with suppress(UsageFault):
        _begin(junit, hidden(words))


def _is_begun(junit: Path) -> bool:
    """Is that all which stands there? A result that was written, and could not be printed, is one."""
    from fuzzer.report.verify import junit_begun  # noqa: PLC0415  (heavy)

    with suppress(OSError):
        return junit.read_bytes() == junit_begun().encode()
    return False


@click.command(
    cls=Gate,
    examples="""
ctxfuzz verify --url http://localhost:8000 --cap 245760
ctxfuzz verify --url http://localhost:8000 --from-run last --junit gate.xml
""",
)
@CAP
@probing
def verify(
    flags: CommonFlags, cap: int | None, from_run: str | None, first_bad: int | None, junit: Path | None
) -> None:
    """Check that a cap is in force, that all it admits passes, and that what is longer is refused cleanly.

    The order keeps the engine safe: nothing long is sent while the advertised limit is not the cap, nothing above
    the cap before all that it admits has passed. The first unclean answer ends it. Exit code 0 if the cap holds.
    """
    from fuzzer.cli import conduct  # noqa: PLC0415  (heavy)

    if junit is not None and not flags.dry_run:
        _begin(junit)
    if (cap is None) == (from_run is None):
        raise UsageFault("Which cap? Give either --cap TOKENS or --from-run RUN.")
    if first_bad is not None and cap is not None and first_bad <= cap:
        raise UsageFault(
            f"--first-bad {first_bad} is a length that --cap {cap} admits: a cap is lower than what fails."
        )
    fix = Fix(cap, first_bad, flags) if cap is not None else _of_run(flags, str(from_run), first_bad)
    conduct.listed(fix.flags, "verify", partial(asked_of, fix), junit=junit)


def asked_of(fix: Fix, opened: Session) -> VerifyQuestion:
    """The question for a target. Raises RunStopped where the cap is another model's, and UsageFault."""
    from fuzzer.cli import questions  # noqa: PLC0415  (heavy)

    if fix.found_by is None:
        return questions.to_verify(opened, fix.cap, fix.first_bad)
    question = questions.to_verify(opened, _in_force(fix.found_by, fix.cap, opened.survey.engine), fix.first_bad)
    return replace(question, another_build=_another(fix.found_by, opened))


def _in_force(found_by: Run, cap: int, engine: str) -> int:
    """What the engine is set to where it holds the cap of a run, in tokens, as `recommend` prints it: some only take
    steps. What a run found safe as it is was set by nobody.
    """
    from fuzzer.report.recommendation import settable  # noqa: PLC0415  (heavy)

    is_as_it_was = found_by.finding is not None and found_by.finding.kind is FindingKind.CLEAN_LIMIT
    return cap if is_as_it_was else settable(engine, cap) or cap


def _another(found_by: Run, opened: Session) -> str:
    """How the build that is asked differs from that of the run: a gate is there for new ones. One that does not tell
    its version may be another. Raises RunStopped where it is another model.
    """
    was, now = found_by.record, opened.survey
    if was.model and now.model and was.model != now.model:
        raise RunStopped(
            f"Run {found_by.run} found its cap for the model {was.model}, and this is {now.model}: it says nothing of "
            "it. Bisect this one, or if only the name differs, say --cap and --first-bad."
        )
    if was.engine != now.engine:
        return f"engine was {was.engine} and is {now.engine}"
    if None in {was.engine_version, now.version} or was.engine_version != now.version:
        return f"version was {was.engine_version or 'not told'} and is {now.version or 'not told'}"
    return ""


def _of_run(flags: CommonFlags, name: str, first_bad: int | None) -> Fix:
    from fuzzer.store import History  # noqa: PLC0415  (heavy)

    with History.open(flags.db) as history:
        run = history.trusted(name)
    if run.finding is None or run.finding.cap is None:
        raise UsageFault(f"Run {run.run} recommends no cap: give --cap, or another run. `ctxfuzz runs` lists them.")
    return Fix(run.finding.cap, first_bad or run.finding.first_bad, _as_found(flags, run.record.question), run)


def _as_found(flags: CommonFlags, question: Mapping[str, Any]) -> CommonFlags:
    """The flags, with the run's own conditions where the command line and its profile say nothing.

    A search that was mixed is verified warm: its first long prompt is read cold, and the next ones are served.
    """
    from fuzzer.report.asked import FROM_RUN  # noqa: PLC0415  (heavy)

    told = {name for name in (*FROM_RUN, "corpus") if _is_told(name)}
    untold = {name for name in FROM_RUN if name in question} - (told | ({"content"} if "corpus" in told else set()))
    found = {name: question[name] for name in untold}
    if found.get("cache") == "mixed":
        found["cache"] = "warm"
    return replace(flags, **found)


def _is_told(name: str) -> bool:
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT
