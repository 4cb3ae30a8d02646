"""How is the CLI started without its script? `python -m fuzzer.cli`."""

from __future__ import annotations

from fuzzer.cli import main

main(prog_name="ctxfuzz")
