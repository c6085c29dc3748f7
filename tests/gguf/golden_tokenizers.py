"""Writes tokenizers to tests/golden/gguf, and the ids that SentencePiece and transformers give.

    python tests/gguf/golden_tokenizers.py

By hand, where gguf, sentencepiece and transformers are installed. Not a test.
"""

from __future__ import annotations

import hashlib
import json
import random
from io import BytesIO
from pathlib import Path

GOLDEN = Path(__file__).parent.parent / "golden" / "gguf"
FRAGMENTS = (
    *("the", "model", "Weights", "don't", "we'll", "IT'S", "naïve", "Straße", "e\u0301", "日本語"),
    *("def f(x):", "return", "x+=1", "3.14159", "2026", "12345678", "٣", "🙂", "👩‍👩‍👧", "\u200b"),
    *(" ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", "\u00a0", "!", "...", "({[", "http://a.b/c?d"),
    *("<s>", "</s>", "<unk>", "<0x0A>", "\u2581", "a", "I", "\0", "\ufffd", "Ω≈ç√"),
)
"""Pieces of which texts are made."""
COUNT, SHOWN = 1000, 30
SPECIAL = "<|end|>"


def texts() -> list[str]:
    """Texts of some pieces each, always the same."""
    chance = random.Random(7)
    made = [""]
    while len(made) < COUNT:
        parts = [chance.choice(FRAGMENTS) for _ in range(chance.randrange(1, 12))]
        made.append(chance.choice(("", " ")).join(parts))
    return made


def digest(ids: list[list[int]]) -> str:
    """A sum over the ids of all texts."""
    return hashlib.sha256(json.dumps(ids).encode()).hexdigest()


def corpus() -> list[str]:
    """What the tokenizers learn from."""
    page = Path(__file__).parents[2] / "LICENSE"
    return [*page.read_text(encoding="utf-8").splitlines(), *FRAGMENTS[:20] * 20]


def sentence_pieces(gguf, writer) -> list[list[int]]:
    """Learn SentencePiece's BPE; the ids of the texts."""
    import sentencepiece

    file = BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus()),
        model_writer=file,
        model_type="bpe",
        vocab_size=500,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        minloglevel=2,
    )
    model = sentencepiece.SentencePieceProcessor(model_proto=file.getvalue())
    count, kinds = model.vocab_size(), gguf.TokenType
    types = [
        kinds.UNKNOWN
        if model.is_unknown(k)
        else kinds.CONTROL
        if model.is_control(k)
        else kinds.BYTE
        if model.is_byte(k)
        else kinds.NORMAL
        for k in range(count)
    ]
    writer.add_tokenizer_model("llama")
    writer.add_token_list([model.id_to_piece(k) for k in range(count)])
    writer.add_token_scores([model.get_score(k) for k in range(count)])
    writer.add_token_types(types)
    writer.add_bos_token_id(model.bos_id())
    writer.add_eos_token_id(model.eos_id())
    return [model.encode(x, add_bos=True) for x in texts() if is_plain(x)]


def is_plain(text: str) -> bool:
    """Whether a text spells no control token, which SentencePiece takes for characters."""
    return not any(x in text for x in ("<s>", "</s>"))


def byte_level(gguf, writer, name: str) -> list[list[int]]:
    """Learn a byte-level BPE; the ids that transformers' class of this kind gives to the texts."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import GPT2Tokenizer, Qwen2Tokenizer

    learned = Tokenizer(models.BPE())
    learned.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=alphabet, special_tokens=[SPECIAL], show_progress=False
    )
    learned.train_from_iterator(corpus(), trainer)
    found = json.loads(learned.to_str())["model"]
    vocab, merges = found["vocab"], [tuple(x) for x in found["merges"]]
    kind = {"gpt-2": GPT2Tokenizer, "qwen2": Qwen2Tokenizer}[name]
    words = {f"{x}_token": SPECIAL for x in ("unk", "bos", "eos", "pad")}
    theirs = kind(vocab=vocab, merges=merges, **words)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(name)
    writer.add_token_list(sorted(vocab, key=vocab.get))
    types = [gguf.TokenType.CONTROL] + [gguf.TokenType.NORMAL] * (len(vocab) - 1)
    writer.add_token_types(types)
    writer.add_token_merges([" ".join(x) for x in merges])
    writer.add_eos_token_id(0)
    return [theirs.encode(x, add_special_tokens=False) for x in texts()]


def main() -> None:
    """Write every file."""
    import gguf

    found = {}
    for name in ("llama", "gpt-2", "qwen2"):
        writer = gguf.GGUFWriter(GOLDEN / f"tokenizer.{name}.gguf", "test")
        ids = sentence_pieces(gguf, writer) if name == "llama" else byte_level(gguf, writer, name)
        found[name] = {"first": ids[:SHOWN], "digest": digest(ids)}
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    text = json.dumps(found, separators=(",", ":"))
    (GOLDEN / "tokenizers.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
