"""Where does the simulator's tokenizer come from? Trained by `python benchmarks/train_tokenizer.py`, on text made here.

Writes tokenizer.json, tokenizer_config.json (with a chat template) and words.json (single-token words that the
simulated engine speaks in) to targets/sim/tokenizer/. The corpus is generated from tokenizer_words.txt with a fixed
seed, so the result is the same everywhere.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY = 6144
HOME = Path(__file__).parent.parent / "targets" / "sim" / "tokenizer"
SPECIAL = ["<|end|>", "<|start|>", "<|stop|>"]
CHAT_TEMPLATE = (
    "{% for message in messages %}<|start|>{{ message['role'] }}\n{{ message['content'] }}<|stop|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


def word_lists() -> dict[str, list[str]]:
    """The sections of tokenizer_words.txt: a name in brackets, then words."""
    lists: dict[str, list[str]] = {}
    for word in (Path(__file__).parent / "tokenizer_words.txt").read_text(encoding="utf-8").split():
        if word.startswith("["):
            words = lists.setdefault(word.strip("[]"), [])
        else:
            words.append(word)
    return lists


WORDS = word_lists()
TAILS = ["", "", "", "s", "ed", "ing", "er", "ly", "ness", "ment", "able", "less", "ful"]
HEADS = ["", "", "", "", "re", "un", "over", "out", "under", "fore", "inter", "sub"]
HAN = (
    "的一是了我不人在他有这个上们来到时大地为子中你说生国年着就那和要她出也得里后自以会家可下而过天去能对"
    "小多然于心学么之都好看起发当没成只如事把还用第样道想作种开美总从无情己面最女但现前些所同日手又行意动"
    "方期它头经长儿回位分爱老因很给名法间斯知世什两次使身者被高已亲其进此话常与活正感"
)
KANA = "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをん"
HANGUL = "가나다라마바사아자차카타파하고노도로모보소오조이기니리미비시지그느드르"


def sentences(rng: random.Random, count: int) -> Iterator[str]:
    """English-like sentences, with derived words so that the merges learn affixes too."""
    for _ in range(count):
        words = []
        for _ in range(rng.randint(5, 16)):
            kind = rng.choice(["glue", "nouns", "verbs", "qualities"])
            word = rng.choice(WORDS[kind])
            if kind != "glue" and rng.random() < 0.35:
                word = rng.choice(HEADS) + word + rng.choice(TAILS)
            words.append(word)
        text = " ".join(words)
        yield (text.capitalize() if rng.random() < 0.5 else text) + rng.choice([". ", ", ", "? ", "; ", ".\n"])


def code(rng: random.Random, count: int) -> Iterator[str]:
    for _ in range(count):
        a, b, c = rng.sample(WORDS["fields"], 3)
        n = rng.randint(0, 4096)
        yield rng.choice(
            [
                f"def {a}_{b}({c}: int) -> int:\n    return {c} + {n}\n\n",
                f"for {a} in range({n}):\n    if {a} > {b}:\n        print({a}, {b})\n",
                f"class {a.title()}{b.title()}:\n    def __init__(self, {c}):\n        self.{c} = {c}\n",
                f'{{"{a}": {n}, "{b}": [{n}, {n + 1}], "{c}": "null"}}\n',
                f"const {a} = {b}.{c}({n}); // {a}\n",
            ]
        )


def cjk(rng: random.Random, count: int) -> Iterator[str]:
    for _ in range(count):
        letters = rng.choice([HAN, HAN, KANA, HANGUL])
        yield "".join(rng.choices(letters, k=rng.randint(4, 20))) + rng.choice("。、\n")


def corpus() -> list[str]:
    rng = random.Random(20)
    lines = [*sentences(rng, 30_000), *code(rng, 4_000), *cjk(rng, 4_000)]
    rng.shuffle(lines)
    return lines


def main() -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[AddedToken(token, special=True, normalized=False) for token in SPECIAL],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    assert tokenizer.get_vocab_size() == VOCABULARY, tokenizer.get_vocab_size()
    HOME.mkdir(parents=True, exist_ok=True)
    data = json.loads(tokenizer.to_str())
    _write("tokenizer.json", data)
    _write(
        "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": SPECIAL[0],
            "pad_token": SPECIAL[0],
            "clean_up_tokenization_spaces": False,
            "model_max_length": 1_048_576,
            "chat_template": CHAT_TEMPLATE,
        },
    )
    spoken = WORDS["glue"] + WORDS["nouns"][:180] + WORDS["verbs"][:60]
    pairs = [(tokenizer.token_to_id("Ġ" + word), " " + word) for word in spoken]
    _write("words.json", [[index, text] for index, text in pairs if index is not None])


def _write(name: str, data: object) -> None:
    (HOME / name).write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
