"""Help for those who test programs: close values, one seed for all that draws, hashes of bits."""

from gnomon.testing.comparison import assert_allclose, assert_close
from gnomon.testing.seeds import seed_all, seeded
from gnomon.testing.tensors import make_tensor
from gnomon.testing.witness import witness

__all__ = ["assert_allclose", "assert_close", "make_tensor", "seed_all", "seeded", "witness"]
