"""torch.utils._pytree's names: nested containers as a list of leaves and a structure.

A leaf is any value whose class is not registered as a container. gn.compile and gn.func have
structures of their own, of tensors alone (gnomon/tensor/pytree.py).
"""

from gnomon.utils.pytree.nodes import (
    SUPPORTED_NODES,
    ConstantNode,
    Context,
    GetAttrKey,
    MappingKey,
    NodeDef,
    SequenceKey,
    _dict_flatten,
    _dict_unflatten,
    _list_flatten,
    _list_unflatten,
    _private_register_pytree_node,
    _register_namedtuple,
    _register_pytree_node,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    key_get,
    keystr,
    register_constant,
    register_dataclass,
    register_pytree_node,
)
from gnomon.utils.pytree.specs import (
    LeafSpec,
    PyTree,
    PyTreeSpec,
    TreeSpec,
    _get_node_type,
    treespec_leaf,
)
from gnomon.utils.pytree.texts import treespec_dumps, treespec_loads, treespec_pprint
from gnomon.utils.pytree.walks import (
    _broadcast_to_and_flatten,
    arg_tree_leaves,
    map_only,
    tree_all,
    tree_all_only,
    tree_any,
    tree_any_only,
    tree_flatten,
    tree_flatten_with_path,
    tree_is_leaf,
    tree_iter,
    tree_leaves,
    tree_leaves_with_path,
    tree_map,
    tree_map_,
    tree_map_only,
    tree_map_only_,
    tree_map_with_path,
    tree_structure,
    tree_unflatten,
)

__all__ = [
    *("ConstantNode", "Context", "GetAttrKey", "LeafSpec", "MappingKey", "NodeDef", "PyTree"),
    *("PyTreeSpec", "SUPPORTED_NODES", "SequenceKey", "TreeSpec", "arg_tree_leaves"),
    *("is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "is_structseq"),
    *("is_structseq_class", "is_structseq_instance", "key_get", "keystr", "map_only"),
    *("register_constant", "register_dataclass", "register_pytree_node", "tree_all"),
    *("tree_all_only", "tree_any", "tree_any_only", "tree_flatten", "tree_flatten_with_path"),
    *("tree_is_leaf", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_"),
    *("tree_map_only", "tree_map_only_", "tree_map_with_path", "tree_structure"),
    *("tree_unflatten", "treespec_dumps", "treespec_leaf", "treespec_loads", "treespec_pprint"),
]
