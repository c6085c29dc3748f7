"""The language: scalar functions, primitives, and the operations that users call.

Importing any of its files loads all primitives, since a graph may contain any of them.
"""

from gnomon.ops import collectives as collectives
from gnomon.ops import lookup_primitives as lookup_primitives
from gnomon.ops import primitives as primitives
from gnomon.ops import view_primitives as view_primitives
