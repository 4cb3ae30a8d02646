"""Which models are small enough to make on the spot, and have the positions that a test needs? Random weights.

python tests/engines/tiny_hf.py OUT ARCHITECTURE POSITIONS [SEED]      # in an environment that has torch

`mistral` has one layer and a sliding window, so that a prefill takes linear time: 250,000 tokens in seconds. Two llamas
of one seed differ in nothing but their positions: the one accepts every draft of the other.
"""

from __future__ import annotations

import json
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

TOKENIZER = Path(__file__).parents[2] / "targets" / "sim" / "tokenizer"
VOCABULARY, WIDTH, HEADS, HEAD = 6144, 64, 2, 32
END = 0


def write_tiny_model(folder: Path, architecture: str, positions: int, seed: int = 0) -> None:
    """Write weights, configuration and the simulator's tokenizer into `folder`."""
    torch: Any = import_module("torch")  # only an engine's environment has it
    torch.manual_seed(seed)
    folder.mkdir(parents=True, exist_ok=True)
    _model(architecture, positions).to(torch.bfloat16).eval().save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(TOKENIZER / name, folder / name)
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": END}))


def _model(architecture: str, positions: int) -> Any:
    transformers: Any = import_module("transformers")
    if architecture == "gpt2":
        width = HEADS * HEAD
        config = transformers.GPT2Config(
            vocab_size=VOCABULARY, n_positions=positions, n_embd=width, n_layer=2, n_head=HEADS,
            bos_token_id=END, eos_token_id=END,
        )  # fmt: skip
        return transformers.GPT2LMHeadModel(config)
    shape: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "max_position_embeddings": positions,
        "hidden_size": WIDTH,
        "intermediate_size": 2 * WIDTH,
        "num_attention_heads": HEADS,
        "num_key_value_heads": 1,
        "head_dim": HEAD,
        "tie_word_embeddings": False,
        "bos_token_id": None,
        "eos_token_id": END,
        "pad_token_id": None,
    }
    if architecture == "mistral":
        config = transformers.MistralConfig(**shape, num_hidden_layers=1, sliding_window=256)
        return transformers.MistralForCausalLM(config)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**shape, num_hidden_layers=2))


if __name__ == "__main__":
    write_tiny_model(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), *map(int, sys.argv[4:5]))
