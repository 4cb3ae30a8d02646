"""How does a shell complete our commands?"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from fuzzer.cli.grouping import Command
from fuzzer.cli.streams import emit, say

INSTALL = {
    "bash": "ctxfuzz completion bash > ~/.local/share/bash-completion/completions/ctxfuzz",
    "zsh": "ctxfuzz completion zsh > ~/.zfunc/_ctxfuzz    (with ~/.zfunc in fpath, before compinit)",
    "fish": "ctxfuzz completion fish > ~/.config/fish/completions/ctxfuzz.fish",
}


@click.command(cls=Command, examples="\n".join(INSTALL.values()))
@click.argument("shell", type=click.Choice(tuple(INSTALL)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL; put it where the shell looks."""
    complete = get_completion_class(shell)
    assert complete is not None
    emit(complete(ctx.find_root().command, {}, "ctxfuzz", "_CTXFUZZ_COMPLETE").source())
    say(f"to install it: {INSTALL[shell]}")
