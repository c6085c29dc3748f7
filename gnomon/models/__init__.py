"""Language models under Hugging Face's names, out of folders of transformers and into them."""

from gnomon.models.bert import mean_pooled
from gnomon.models.pretrained import from_pretrained

__all__ = ["from_pretrained", "mean_pooled"]
