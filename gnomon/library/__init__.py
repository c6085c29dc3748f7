"""Operations of a user's own, by PyTorch's names: gn.library.custom_op."""

from gnomon.library.custom_op import CustomOp, custom_op

__all__ = ["CustomOp", "custom_op"]
