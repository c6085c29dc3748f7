"""Language models under Hugging Face's names, out of folders of transformers and into them."""

from gnomon.models.bert import mean_pooled
from gnomon.models.pretrained import from_pretrained
from gnomon.models.text_pieces import text_pieces

__all__ = ["from_pretrained", "mean_pooled", "text_pieces"]
