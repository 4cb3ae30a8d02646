"""How does vLLM come back from the dead in seconds? Imports it once, and forks a fresh API server at every exit.

python tests/engines/warm_vllm.py FOLDER [api_server's arguments...]     # in vLLM's environment

A supervisor: it writes the server's process id to FOLDER/engine.pid, appends one line to FOLDER/exits at every exit
(the return code, negative for a signal), and leaves at SIGTERM with everything that it started. A restart costs the
loading of the model instead of half a minute of imports.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import runpy
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

SERVER = ("vllm.entrypoints.launchers.api_server.entry", "vllm.entrypoints.openai.api_server")  # newer, older
IMPORTED = (
    *SERVER,
    "vllm.v1.engine.core",
    "vllm.v1.engine.async_llm",
    "vllm.v1.executor.uniproc_executor",
    "vllm.v1.worker.cpu_worker",
    "vllm.v1.worker.cpu_model_runner",
    "vllm.v1.attention.backends.cpu_attn",
    "vllm.v1.spec_decode.draft_model",
    "vllm.v1.spec_decode.ngram_proposer",
    "vllm.model_executor.models.llama",
    "vllm.model_executor.models.mistral",
    "vllm.model_executor.models.gpt2",
    "vllm.model_executor.model_loader",
    "torch._inductor.codecache",
)
PAUSE_S = 0.5
QUICKEST_LIFE_S = 3.0  # a server that does not even start is not started again at once


def main(folder: Path, arguments: list[str]) -> NoReturn:
    """Never returns: SIGTERM ends it."""
    _warm_up()
    while True:
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            _serve(arguments)
        (folder / "engine.pid").write_text(str(child))
        signal.signal(signal.SIGTERM, lambda *_, server=child: _leave(server))
        _, status = os.waitpid(child, 0)
        _end_group(child)
        with (folder / "exits").open("a") as exits:
            exits.write(f"{os.waitstatus_to_exitcode(status)}\n")
        time.sleep(PAUSE_S if time.monotonic() - began > QUICKEST_LIFE_S else QUICKEST_LIFE_S)


def _warm_up() -> None:
    for name in IMPORTED:
        try:
            importlib.import_module(name)
        except ImportError:
            sys.stderr.write(f"[warm] this vLLM has no {name}\n")
    for module in list(sys.modules.values()):
        if str(getattr(module, "__name__", "")).startswith("vllm") and hasattr(module, "get_mp_context"):
            module.get_mp_context = _fork  # type: ignore[attr-defined]
    _look_at_plain_modules_only()


def _fork() -> Any:
    return multiprocessing.get_context("fork")


def _look_at_plain_modules_only() -> None:
    """vLLM walks over `vars` of all that was imported, and trips on objects whose __dict__ is no dict."""
    try:
        dispatcher: Any = importlib.import_module("vllm.triton_utils.dispatcher")
    except ImportError:
        return
    plain = (dict, type(type.__dict__))

    def vars_of(thing: object) -> object:
        found = getattr(thing, "__dict__", None)
        return found if isinstance(found, plain) else {}

    dispatcher.vars = vars_of


def _serve(arguments: list[str]) -> NoReturn:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.argv = ["api_server", *arguments]
    code = 1
    try:
        runpy.run_module(_entry(), run_name="__main__")
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    except BaseException:
        traceback.print_exc()  # which nobody sees after the exit below
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _entry() -> str:
    return next(name for name in SERVER if name in sys.modules)


def _leave(server: int) -> NoReturn:
    _end_group(server)
    os._exit(0)


def _end_group(server: int) -> None:
    try:
        os.killpg(server, signal.SIGKILL)
    except ProcessLookupError:
        return


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
