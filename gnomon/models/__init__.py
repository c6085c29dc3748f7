"""Language models under Hugging Face's names, out of folders of transformers and into them."""

from typing import TYPE_CHECKING

from gnomon.lazy import names_in
from gnomon.models.text_pieces import text_pieces

if TYPE_CHECKING:
    from gnomon.models.bert import mean_pooled
    from gnomon.models.pretrained import from_pretrained

__all__ = ["from_pretrained", "mean_pooled", "text_pieces"]

__getattr__ = names_in("gnomon.models.pretrained gnomon.models.bert", __name__)
