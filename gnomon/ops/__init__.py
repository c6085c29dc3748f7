"""What can be computed: scalar functions, primitives, and the operations that users call.

Importing any of it brings all primitives, since a graph may hold any of them.
"""

import gnomon.ops.collectives
import gnomon.ops.lookup_primitives
import gnomon.ops.primitives
import gnomon.ops.view_primitives
