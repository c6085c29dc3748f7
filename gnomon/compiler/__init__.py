"""Compile closed graphs to programs: the order of passes, measurements, and the caches.

The functions behind PyTorch's names are in gnomon/capture/annotations.py.
"""

from gnomon.lazy import names_in

__getattr__ = names_in("gnomon.capture.annotations", __name__)
