"""From a closed graph to a program: the passes in order, what is measured, what is built when.

PyTorch's names of this path are those of gnomon/capture/annotations.py.
"""

from gnomon.lazy import names_in

__getattr__ = names_in("gnomon.capture.annotations", __name__)
