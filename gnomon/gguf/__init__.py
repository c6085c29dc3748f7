"""Models in llama.cpp's GGUF format: `gn.gguf.load` reads a file, `gn.gguf.save` writes one."""

from gnomon.gguf.chat import chat_text
from gnomon.gguf.file import GGUFFile, GGUFTensor, load
from gnomon.gguf.hugging_face import DecodedTensors, from_hugging_face, to_hugging_face
from gnomon.gguf.tokenization import tokenizer
from gnomon.gguf.writing import save

__all__ = [
    "DecodedTensors",
    "GGUFFile",
    "GGUFTensor",
    "chat_text",
    "from_hugging_face",
    "load",
    "save",
    "to_hugging_face",
    "tokenizer",
]
