"""Language models under Hugging Face's names: Qwen3-style dense decoders."""
