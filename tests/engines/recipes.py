"""Which real engines die at which length? Each recipe with its edge, as arithmetic on its own configuration says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.engines.install import environment
from tests.engines.keeping import Engine, free_port, kept, warm

MODEL = "tiny"
START_S = 180.0


@dataclass(frozen=True, slots=True)
class Model:
    """A model of `tiny_hf.py`."""

    architecture: str
    positions: int
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Recipe:
    """A set-up and where its edge lies. `serve` may name the drafter's folder as DRAFTER."""

    name: str
    target: Model
    serve: tuple[str, ...]
    ask: tuple[str, ...]
    finding: str
    last_good: int
    first_bad: int
    drafter: Model | None = None
    signature: str = ""
    says: str = ""  # why the edge lies there
    env: dict[str, str] = field(default_factory=dict)


def speculating(tokens: int, **more: int) -> tuple[str, str]:
    return "--speculative-config", json.dumps(
        {"method": "draft_model", "model": "DRAFTER", "num_speculative_tokens": tokens, **more}
    )


# A rotary cache in plain torch refuses what is beyond it; a compiled kernel would read whatever lies there.
PLAIN = ("--compilation-config", '{"custom_ops":["none"]}')
LONG = {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}
INDEX = "IndexError: index out of range in self"

VLLM_RECIPES = (
    Recipe(
        "V1",
        Model("mistral", 1 << 20),
        ("--max-model-len", "1048576", *speculating(7, max_model_len=1 << 20), *PLAIN),
        ("--lo", "244689", "--hi", "300000"),
        "death", 262_106, 262_107, Model("mistral", 1 << 18, seed=5), INDEX,
        "prompt + output + k may reach the drafter's positions + 1: 262144 + 1 - 7 - 32",
        LONG,
    ),
    Recipe(
        "V2, 1 output token",
        Model("llama", 8192),
        ("--max-model-len", "8192", *speculating(3, max_model_len=8192), *PLAIN),
        ("--lo", "512", "--hi", "4096", "--output-tokens", "1"),
        "death", 2_045, 2_046, Model("llama", 2048), INDEX,
        "2048 + 1 - 3 - 1", LONG,
    ),
    Recipe(
        "V2, 8 output tokens",
        Model("llama", 8192),
        ("--max-model-len", "8192", *speculating(3, max_model_len=8192), *PLAIN),
        ("--lo", "512", "--hi", "4096", "--output-tokens", "8"),
        "death", 2_037, 2_038, Model("llama", 2048), INDEX,
        "all drafts accepted: 2048 + 1 - 3 - (1 + 4 x 2)", LONG,
    ),
    Recipe(
        "V3",
        Model("mistral", 1 << 17),
        ("--max-model-len", "1048576", *PLAIN),
        ("--lo", "65536", "--hi", "300000", "--output-tokens", "1"),
        "death", 131_072, 131_073, None, INDEX, "the target's own positions", LONG,
    ),
    Recipe(
        "V4, 1 output token",
        Model("gpt2", 4096),
        ("--max-model-len", "16384"),
        ("--lo", "512", "--hi", "9000", "--output-tokens", "1"),
        "death", 4_096, 4_097, None, INDEX, "learned positions", LONG,
    ),
    Recipe(
        "V4, 20 output tokens",
        Model("gpt2", 4096),
        ("--max-model-len", "16384"),
        # A model of random weights now and then says nothing at all.
        ("--lo", "512", "--hi", "9000", "--output-tokens", "20", "--fail-on", "death,error,hang,truncated"),
        "death", 4_077, 4_078, None, INDEX, "4096 + 1 - 20: it dies in mid-stream", LONG,
    ),
    Recipe(
        "V5",
        Model("llama", 8192),
        ("--max-model-len", "8192", *speculating(3)),
        ("--lo", "512", "--hi", "4096", "--output-tokens", "9", "--fail-on", "death,error,hang,degraded"),
        "degraded", 2_045, 2_046, Model("llama", 2048), "",
        "no drafts from a batch whose longest request would leave the drafter's positions", {},
    ),
)  # fmt: skip
T1 = Recipe(
    "T1",
    Model("llama", 8192),
    ("--continuous-batching", "--cb-block-size", "32", "--cb-num-blocks", "64", "--cb-max-batch-tokens", "256",
     "--attn-implementation", "sdpa"),
    ("--lo", "512", "--hi", "4096", "--output-tokens", "8"),
    "death", 2_041, 2_042, None, "", "prompt + output - 1 may fill 64 blocks of 32",
)  # fmt: skip

PLAIN_VLLM = Recipe("no drafter", Model("llama", 2048), ("--max-model-len", "2048"), (), "clean-limit", 2047, 2048)
LOOKUP = ("--spec-type", "ngram-simple", "--spec-ngram-simple-size-n", "1", "--spec-ngram-simple-size-m", "1022")
PLAIN_LLAMACPP = ("-c", "2048")
L1 = ("-c", "8192", "-b", "32", "-ub", "32", *LOOKUP)


@contextmanager
def llamacpp(serve: Sequence[str], folder: Path, context: int = 8192) -> Iterator[Engine]:
    """llama.cpp's server on a tiny model. Raises LookupError where it, or gguf, is not installed."""
    from tests.engines.tiny_gguf import write_tiny_model  # noqa: PLC0415  (gguf is an engine's)

    model, port = folder / "tiny.gguf", free_port()
    write_tiny_model(model, context)
    command = (
        llama_server(), "-m", str(model), "--host", "127.0.0.1", "--port", str(port), "-np", "1", "--no-warmup",
        "--metrics", *serve,
    )  # fmt: skip
    # Without a backtrace an abort is quick.
    with kept(command, f"http://127.0.0.1:{port}", folder, within_s=30, env={"GGML_NO_BACKTRACE": "1"}) as engine:
        yield engine


def llama_server() -> str:
    """The server, beside our own interpreter or on the path. Raises LookupError."""
    beside = Path(sys.executable).with_name("llama-server-vulkan")
    found = str(beside) if beside.exists() else shutil.which("llama-server-vulkan")
    if found is None:
        raise LookupError("there is no llama-server-vulkan: install the dependency group `engines`")
    return found


@contextmanager
def vllm(recipe: Recipe, version: str, folder: Path) -> Iterator[Engine]:
    """The recipe's server, serving. Installs the engine where it is not there yet."""
    home = environment(f"vllm-{version}")
    target = made(home, folder / "target", recipe.target)
    drafter = "" if recipe.drafter is None else str(made(home, folder / "drafter", recipe.drafter))
    port = free_port()
    arguments = (
        "--model", str(target), "--served-model-name", MODEL, "--host", "127.0.0.1", "--port", str(port),
        "--enforce-eager", "--max-num-seqs", "4", *(word.replace("DRAFTER", drafter) for word in recipe.serve),
    )  # fmt: skip
    env = {
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "OMP_NUM_THREADS": "1",
        **recipe.env,
    }
    with warm(home, arguments, f"http://127.0.0.1:{port}", folder, within_s=START_S, env=env) as engine:
        yield engine


@contextmanager
def transformers(recipe: Recipe, folder: Path) -> Iterator[Engine]:
    home = environment("transformers")
    target, port = made(home, folder / "target", recipe.target), free_port()
    command = (
        str(home / "bin" / "transformers"), "serve", "--host", "127.0.0.1", "--port", str(port), "--device", "cpu",
        "--dtype", "float32", *recipe.serve, str(target),
    )  # fmt: skip
    with kept(command, f"http://127.0.0.1:{port}", folder, within_s=START_S, env={"HF_HUB_OFFLINE": "1"}) as engine:
        yield engine


def made(home: Path, folder: Path, model: Model) -> Path:
    """The folder with the model in it, written by the engine's own environment."""
    script = Path(__file__).with_name("tiny_hf.py")
    words: Sequence[object] = (script, folder, model.architecture, model.positions, model.seed)
    subprocess.run([str(home / "bin" / "python"), *map(str, words)], check=True, capture_output=True)
    return folder
