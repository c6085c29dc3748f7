"""Help for those who test programs: values that must be close, one seed for all that draws."""

from gnomon.testing.comparison import assert_allclose, assert_close
from gnomon.testing.seeds import seed_all, seeded
from gnomon.testing.tensors import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor", "seed_all", "seeded"]
