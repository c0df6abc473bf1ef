"""The command group: subcommands are imported when they are used, errors become messages."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import click

from msopgen_wrap import __version__
from msopgen_wrap.cli import output
from msopgen_wrap.diagnostics import Diagnostic, OpgenError, machine_error

# name -> (one-line help, section); the module is msopgen_wrap.cli.<name>_command.
COMMANDS = {
    "new": ("Scaffold a project from one or more specs.", "Author"),
    "check": ("Validate specs.", "Author"),
    "plan": ("Show the schedule and memory plan of an op.", "Author"),
    "fuse": ("Find the ops that a model could use, and write specs for them.", "Author"),
    "list": ("List the op library, or the ops of a project.", "Author"),
    "test": ("Compile and run every case in the CPU emulation.", "Run"),
    "bench": ("Time an op over sizes, beside eager PyTorch.", "Run"),
    "profile": ("Model the time of a kernel on an NPU, and where it goes.", "Run"),
    "tune": ("Search the schedule of a spec by its modelled time.", "Run"),
    "run": ("Run an AscendC program or op project on the CPU.", "Run"),
    "exec": ("Run a command with torch_npu on the emulation.", "Run"),
    "build": ("Build the installable package.", "Ship"),
    "verify": ("Compile-check generated sources against CANN headers.", "Ship"),
    "doctor": ("Check the machine, each problem with its cure.", "Help"),
    "explain": ("Explain a diagnostic or CANN error code.", "Help"),
    "cache": ("Show or clear the build cache.", "Help"),
}
# Commands that are no use without a compiler and a cache: both are looked at before anything else.
COMPILING = frozenset({"test", "bench", "profile", "tune", "run", "build", "verify"})
REPORT = "please report it with this text and the spec"


class LazyGroup(click.Group):
    """Imports ``msopgen_wrap.cli.<name>_command:command`` only when that command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"msopgen_wrap.cli.{name}_command")
        command: click.Command = module.command
        if name in COMPILING and not hasattr(command.callback, "__wrapped__"):
            command.callback = _after_machine_checks(name, command.callback)
        if command.epilog is None and name != "exec":
            command.epilog = output.EXIT_CODES
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and name not in COMMANDS and not name.startswith("-"):
            from msopgen_wrap.spec.findings import suggestion

            hint = suggestion(name, COMMANDS)
            ctx.fail(f"no such command '{name}'. {hint or 'See opgen --help.'}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections = dict.fromkeys(section for _, section in COMMANDS.values())
        for section in sections:
            rows = [(n, text) for n, (text, place) in COMMANDS.items() if place == section]
            with formatter.section(section):
                formatter.write_dl(rows, col_spacing=4)


def _after_machine_checks(name: str, callback: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return the callback of a command that compiles, with a look at the machine before it.

    Raises (when called):
        OpgenError: OPG301, OPG302 (no usable compiler), OPG305 (the cache cannot be written).
    """
    assert callback is not None

    @functools.wraps(callback)
    def checked(*args: Any, **kwargs: Any) -> Any:
        from msopgen_wrap.build.cache import cache_dir
        from msopgen_wrap.build.toolchain import find_toolchain

        # CANN's own build brings its compilers.
        if not (name == "build" and kwargs.get("target") == "npu"):
            find_toolchain()
            cache_dir()
        return callback(*args, **kwargs)

    return checked


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=output.EXIT_CODES,
)
@click.version_option(__version__, "-V", "--version", prog_name="opgen")
@click.option("--debug", is_flag=True, help="Show Python tracebacks of errors.")
def opgen(debug: bool) -> None:
    """One YAML spec to AscendC kernel, host code, torch op and CANN package; runs on any CPU.

    Start with `opgen new SPEC.yaml -o DIR`, then `opgen test DIR`.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; nothing but SystemExit codes escapes."""
    args = list(sys.argv[1:] if arguments is None else arguments)
    debug = bool(os.environ.get("OPGEN_DEBUG"))
    # Planning makes many short-lived symbols beside the objects of PyTorch, which never die.
    gc.set_threshold(20_000)
    if "--debug" in args:
        # Accepted anywhere before a "--", so that it can simply be appended to a failing command.
        end = args.index("--") if "--" in args else len(args)
        position = args.index("--debug")
        if position < end:
            debug = True
            del args[position]
    as_json = _wants_json(args)
    code = output.INTERNAL
    try:
        with output.json_only() if as_json else contextlib.nullcontext():
            code = _run(args, debug, as_json)
            sys.stdout.flush()
    except BrokenPipeError:
        return _without_output(output.OK)  # the reader has gone: `opgen list | head`
    except OSError as error:
        problem = machine_error(error)
        if problem is None:
            raise
        _without_output(code)
        return _fail([problem], output.ENVIRONMENT, as_json=False)
    return code


def _wants_json(args: list[str]) -> bool:
    """Whether ``--json`` is meant for opgen: not behind ``--``, and not for the program of exec."""
    name = next((arg for arg in args if not arg.startswith("-")), "")
    end = args.index("--") if "--" in args else len(args)
    return name != "exec" and "--json" in args[:end]


def _without_output(code: int) -> int:
    """Keep Python from complaining about a closed or full standard output at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return code


def _run(args: list[str], debug: bool, as_json: bool) -> int:
    try:
        result = opgen.main(args, prog_name="opgen", standalone_mode=False)
        return result if isinstance(result, int) else output.OK
    except click.exceptions.NoArgsIsHelpError as error:
        output.echo(error.format_message())
        return output.USAGE
    except click.UsageError as error:
        if as_json:
            return _fail([Diagnostic("OPG096", error.format_message())], output.USAGE, as_json)
        error.show()
        return output.USAGE
    except click.exceptions.Exit as error:
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        if as_json:
            return _fail([Diagnostic("OPG097", "interrupted")], output.INTERRUPTED, as_json)
        output.echo("interrupted", err=True)
        return output.INTERRUPTED
    except click.ClickException as error:
        if as_json:
            return _fail([Diagnostic("OPG096", error.format_message())], output.FINDINGS, as_json)
        error.show()
        return output.FINDINGS
    except OpgenError as error:
        if debug:
            traceback.print_exc()
        code = output.exit_code(error.diagnostics) or output.FINDINGS
        return _fail(error.diagnostics, code, as_json)
    except BrokenPipeError:
        raise
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except OSError as error:
        problem = machine_error(error)
        if problem is None:
            return _internal(error, debug, as_json)
        if debug:
            traceback.print_exc()
        return _fail([problem], output.ENVIRONMENT, as_json)
    except Exception as error:
        return _internal(error, debug, as_json)


def _fail(diagnostics: list[Diagnostic], code: int, as_json: bool) -> int:
    """Print the diagnostics of a failed command and return its exit code."""
    if as_json:
        output.print_json({"ok": False, "diagnostics": [d.as_dict() for d in diagnostics]})
        return code
    output.print_diagnostics(diagnostics)
    codes = list(dict.fromkeys(d.code for d in diagnostics))
    output.echo(
        f"{output.count_text(diagnostics)}; `opgen explain {codes[0]}` tells more", err=True
    )
    return code


def _internal(error: Exception, debug: bool, as_json: bool) -> int:
    if debug:
        traceback.print_exc()
    frame = traceback.extract_tb(error.__traceback__)[-1:]
    place = f" at {os.path.basename(frame[0].filename)}:{frame[0].lineno}" if frame else ""
    text = str(error).splitlines()
    detail = f": {text[0]}" if text else ""
    what = f"{type(error).__name__}{detail}{place}"
    why = f"this is a bug in opgen {__version__}, not in your input"
    fix = f"{REPORT}; the same command with --debug shows the traceback"
    if as_json:
        return _fail([Diagnostic("OPG099", what, why=why, fix=fix)], output.INTERNAL, as_json)
    head = output.styled("internal error[OPG099]", "error")
    output.echo(f"{head}: {what}\n      why: {why}\n      fix: {fix}", err=True)
    return output.INTERNAL


def invoke(arguments: Sequence[str]) -> Any:
    """Run one command in process, for tests: returns the exit code."""
    return run(arguments)
