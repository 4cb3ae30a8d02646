"""Which is the smallest model that llama.cpp's server loads? A llama of random weights with the simulator's tokenizer.

python tests/engines/tiny_gguf.py OUT.gguf [CONTEXT]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import gguf
import numpy as np

TOKENIZER = Path(__file__).parents[2] / "targets" / "sim" / "tokenizer" / "tokenizer.json"
WIDTH, LAYERS, HEADS = 64, 2, 2
READABLE = str.maketrans("ĠĊ", " \n")  # how a byte-level vocabulary spells a space and a line's end


def write_tiny_model(path: Path, context: int = 8192, seed: int = 7) -> None:
    """Write a GGUF of about 3 MB whose answers mean nothing and whose arithmetic is that of a real llama."""
    writer = gguf.GGUFWriter(str(path), "llama")
    tokens, special = _read_tokenizer(writer)
    _add_shape(writer, len(tokens), context)
    spoken = np.array([token.translate(READABLE).isascii() and token not in special for token in tokens])
    _add_weights(writer, spoken, np.random.default_rng(seed))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _read_tokenizer(writer: gguf.GGUFWriter) -> tuple[list[str], set[str]]:
    described = json.loads(TOKENIZER.read_text(encoding="utf-8"))
    special = {entry["content"]: entry["id"] for entry in described["added_tokens"]}
    vocab: dict[str, int] = {**described["model"]["vocab"], **special}
    tokens = [token for token, _ in sorted(vocab.items(), key=lambda item: item[1])]
    control, normal = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in described["model"]["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([control if token in special else normal for token in tokens])
    writer.add_token_merges(merges)
    end = min(special.values())
    writer.add_bos_token_id(end)
    writer.add_eos_token_id(end)
    writer.add_add_bos_token(value=False)
    return tokens, set(special)


def _add_shape(writer: gguf.GGUFWriter, vocabulary: int, context: int) -> None:
    writer.add_name("tiny-random-llama")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_context_length(context)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(vocabulary)


def _add_weights(writer: gguf.GGUFWriter, spoken: np.ndarray, random: np.random.Generator) -> None:
    """Random weights, but for tokens that the model must never say: an answer of byte fragments is a 500 here."""

    def noise(name: str, *shape: int) -> None:
        writer.add_tensor(name, (random.standard_normal(shape) * 0.05).astype(np.float16))

    def ones(name: str) -> None:
        writer.add_tensor(name, np.ones(WIDTH, np.float32))

    embedding = random.standard_normal((len(spoken), WIDTH)) * 0.05 * spoken[:, None]
    writer.add_tensor("token_embd.weight", embedding.astype(np.float16))
    ones("output_norm.weight")
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        ones(block + "attn_norm.weight")
        ones(block + "ffn_norm.weight")
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            noise(f"{block}{part}.weight", WIDTH, WIDTH)
        noise(block + "ffn_gate.weight", 2 * WIDTH, WIDTH)
        noise(block + "ffn_up.weight", 2 * WIDTH, WIDTH)
        noise(block + "ffn_down.weight", WIDTH, 2 * WIDTH)


if __name__ == "__main__":
    write_tiny_model(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 8192)
