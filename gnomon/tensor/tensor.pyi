"""What tensor.py holds; written by tools/stubs.py."""

from __future__ import annotations
import builtins
from collections.abc import Callable
from collections.abc import Sequence
from gnomon.ops.placements import Placement
from gnomon.tensor.autograd.hooks import Handle
from gnomon.tensor.functions import Values
from gnomon.tensor.matrices import Reflected
from gnomon.tensor.matrices import Solved
from gnomon.tensor.matrices import Svd
from gnomon.tensor.questions import Histogram
from gnomon.tensor.random import Generator
from gnomon.tensor.sparse_tensor import SparseTensor
from gnomon.tensor.standard import Count
from gnomon.tensor.storage import TypedStorage
from gnomon.tensor.storage import UntypedStorage
from numpy import ndarray
from types import ModuleType
from typing import Any
_bool = builtins.bool
_float = builtins.float
_int = builtins.int
_type = builtins.type
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import ref
import numpy as np
from gnomon.dtypes import DType, dtype_of
from gnomon.errors import GradientError
from gnomon.ir.memo import kind_of, memo
from gnomon.ir.node import Node, pattern_of
from gnomon.ops.histories import rewritten
from gnomon.ops.layouts import note_axes
from gnomon.runtime.buffer import Allocator, DeviceBuffer, memory, row_major
from gnomon.tensor import module_versions as changes
from gnomon.tensor import views
from gnomon.tensor.borrowing import at_home, borrows, is_lent, kept_apart
from gnomon.tensor.device import Device, device_behind
from gnomon.tensor.evaluate import evaluate, evaluate_kept, relieve
from gnomon.tensor.size import Size
from gnomon.tensor.state import NOTHING, Storage, grads, is_capturing, keep, leaf, leaf_of_value, mesh_results, of_complex, own_leaf, program_size, state, storage_of
from gnomon.tensor.views import Chain, View
from gnomon.tensor.watchers import Rare
_detaching: dict[tuple, Node]
class Tensor:
    __array_priority__: Any
    _storage: Storage
    _view: View | None
    _rare: Rare | None
    _requires: _bool

    @property
    def shape(self) -> Size:
        ...

    @property
    def _version(self) -> _int:
        ...

    @property
    def dtype(self) -> DType:
        ...

    @property
    def device(self) -> Device:
        ...

    @property
    def ndim(self) -> _int:
        ...

    @property
    def requires_grad(self) -> _bool:
        ...

    @requires_grad.setter
    def requires_grad(self, value: _bool) -> None:
        ...

    @property
    def is_leaf(self) -> _bool:
        ...

    @property
    def grad(self) -> Tensor | None:
        ...

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        ...

    @grad.deleter
    def grad(self) -> None:
        ...

    @property
    def data(self) -> Tensor:
        ...

    @data.setter
    def data(self, value: Tensor) -> None:
        ...

    def __len__(self) -> _int:
        ...
    __hash__: Any
    @property
    def H(self) -> Tensor:
        ...
    @property
    def T(self) -> Tensor:
        ...
    def __abs__(self) -> Tensor:
        ...
    def __add__(self, other: Any) -> Tensor:
        ...
    def __and__(self, other: Any) -> Tensor:
        ...
    def __array__(self, dtype: Any = ..., copy: _bool | None = ...) -> ndarray:
        """The array of numpy.asarray: the same memory unless a copy is asked for."""
    def __array_function__(self, function: Any, types: Any, args: Any, named: Any) -> Any:
        """Apply numpy's other functions, as in np.mean(t) and np.concatenate([t, u])."""
    def __array_namespace__(self, *, api_version: str | None = ...) -> ModuleType:
        """The namespace that the array API standard asks a tensor for: gnomon itself."""
    def __array_ufunc__(self, function: Any, how: str, *inputs: Any, **named: Any) -> Any:
        """Apply numpy's functions of elements, as in np.exp(t) and array + t."""
    def __bool__(self) -> Any:
        """True if self else False"""
    def __complex__(self) -> complex:
        """The one element as a complex number."""
    def __contains__(self, element: Any) -> _bool:
        """Whether any element equals this one."""
    def __copy__(self) -> Tensor:
        """A tensor of the same storage: a leaf that requires gradients if this one does."""
    def __deepcopy__(self, memo: dict) -> Tensor:
        """A leaf of its own with the same value."""
    def __dlpack__(self, *, stream: object = ..., max_version: tuple[_int, _int] | None = ..., dl_device: tuple[_int, _int] | None = ..., copy: _bool | None = ...) -> Any:
        """A capsule over the tensor's memory; of a card's tensor for the host, over a copy."""
    def __dlpack_device__(self) -> tuple[_int, _int]:
        """The device as DLPack's kind and number."""
    def __eq__(self, value: Any) -> Tensor:  # type: ignore[override]
        """Return self==value."""
    def __float__(self) -> _float:
        """The one element as a float."""
    def __floordiv__(self, other: Any) -> Tensor:
        ...
    def __format__(self, format_spec: Any) -> Any:
        """Default object formatter."""
    def __ge__(self, value: Any) -> Tensor:
        """Return self>=value."""
    def __getitem__(self, index: Any = ..., *, input: Any = ..., indices: Any = ...) -> Tensor:
        """The part of the tensor at an index."""
    def __gt__(self, value: Any) -> Tensor:
        """Return self>value."""
    def __iadd__(self, other: Any) -> Tensor:
        ...
    def __iand__(self, other: Any) -> Tensor:
        ...
    def __ifloordiv__(self, other: Any) -> Tensor:
        ...
    def __ilshift__(self, other: Any) -> Tensor:
        ...
    def __imatmul__(self, other: Any) -> Tensor:
        ...
    def __imod__(self, other: Any) -> Tensor:
        ...
    def __imul__(self, other: Any) -> Tensor:
        ...
    def __index__(self) -> _int:
        """The one integer."""
    def __init__(self, *args: Any, **kwargs: Any) -> Any:
        """Initialize self.  See help(type(self)) for accurate signature."""
    def __int__(self) -> _int:
        """The one element, rounded towards zero."""
    def __invert__(self) -> Tensor:
        ...
    def __ior__(self, other: Any) -> Tensor:
        ...
    def __ipow__(self, other: Any) -> Tensor:
        ...
    def __irshift__(self, other: Any) -> Tensor:
        ...
    def __isub__(self, other: Any) -> Tensor:
        ...
    def __iter__(self) -> Any:
        """The parts along the first axis."""
    def __itruediv__(self, other: Any) -> Tensor:
        ...
    def __ixor__(self, other: Any) -> Tensor:
        ...
    def __le__(self, value: Any) -> Tensor:
        """Return self<=value."""
    def __lshift__(self, other: Any) -> Tensor:
        ...
    def __lt__(self, value: Any) -> Tensor:
        """Return self<value."""
    def __matmul__(self, other: Any) -> Tensor:
        ...
    def __mod__(self, other: Any) -> Tensor:
        ...
    def __mul__(self, other: Any) -> Tensor:
        ...
    def __ne__(self, value: Any) -> Tensor:  # type: ignore[override]
        """Return self!=value."""
    def __neg__(self) -> Tensor:
        ...
    def __or__(self, other: Any) -> Tensor:
        ...
    def __pos__(self) -> Tensor:
        ...
    def __pow__(self, other: Any, modulus: Any = ...) -> Tensor:
        """x ** y; a third argument is not known."""
    def __radd__(self, other: Any) -> Tensor:
        ...
    def __rand__(self, other: Any) -> Tensor:
        ...
    def __reduce_ex__(self, protocol: Any) -> Any:
        """Helper for pickle."""
    def __repr__(self) -> Any:
        """Return repr(self)."""
    def __reversed__(self) -> Tensor:
        """The tensor with its first axis in reverse."""
    def __rfloordiv__(self, other: Any) -> Tensor:
        ...
    def __rlshift__(self, other: Any) -> Tensor:
        ...
    def __rmatmul__(self, other: Any) -> Tensor:
        ...
    def __rmod__(self, other: Any) -> Tensor:
        ...
    def __rmul__(self, other: Any) -> Tensor:
        ...
    def __ror__(self, other: Any) -> Tensor:
        ...
    def __rpow__(self, other: Any) -> Tensor:
        ...
    def __rrshift__(self, other: Any) -> Tensor:
        ...
    def __rshift__(self, other: Any) -> Tensor:
        ...
    def __rsub__(self, other: Any) -> Tensor:
        ...
    def __rtruediv__(self, other: Any) -> Tensor:
        ...
    def __rxor__(self, other: Any) -> Tensor:
        ...
    def __setitem__(self, index: Any = ..., value: Any = ..., *, input: Any = ..., indices: Any = ...) -> None:
        """Set the part of the tensor at an index."""
    def __sub__(self, other: Any) -> Tensor:
        ...
    def __truediv__(self, other: Any) -> Tensor:
        ...
    def __xor__(self, other: Any) -> Tensor:
        ...
    @property
    def _base(self) -> Tensor | None:
        """The base of a view; a new tensor of the whole storage if the base is gone."""
    @property
    def _grad(self) -> Tensor | None:
        """The gradient that backward passes have gathered here."""
    def _is_view(self) -> _bool:
        """Whether the tensor is a view of another one."""
    def _repr_html_(self) -> str:
        """A notebook's view: dtype and shape, and the values if they are few or known."""
    def _typed_storage(self) -> TypedStorage:
        """The memory behind this tensor, in elements."""
    def abs(self) -> Tensor:
        """|x|."""
    def abs_(self) -> Tensor:
        """|x|."""
    def absolute(self) -> Tensor:
        """|x|."""
    def absolute_(self) -> Tensor:
        """|x|."""
    def acos(self) -> Tensor:
        """The angle of a cosine."""
    def acos_(self) -> Tensor:
        """The angle of a cosine."""
    def acosh(self) -> Tensor:
        """The inverse of cosh."""
    def acosh_(self) -> Tensor:
        """The inverse of cosh."""
    def adaptive_avg_pool(self, sizes: Sequence[_int]) -> Tensor:
        """The mean of each of the bins that divide the last axes into the given numbers of parts."""
    def adaptive_avg_pool1d(self, output_size: _int | Sequence[_int | None]) -> Tensor:
        """avg over bins that cut each of the last 1 axes evenly."""
    def adaptive_avg_pool1d_(self, output_size: _int | Sequence[_int | None]) -> Tensor:
        """avg over bins that cut each of the last 1 axes evenly."""
    def adaptive_avg_pool2d(self, output_size: _int | Sequence[_int | None]) -> Tensor:
        """avg over bins that cut each of the last 2 axes evenly."""
    def adaptive_avg_pool2d_(self, output_size: _int | Sequence[_int | None]) -> Tensor:
        """avg over bins that cut each of the last 2 axes evenly."""
    def adaptive_avg_pool3d(self, output_size: _int | Sequence[_int | None]) -> Tensor:
        """avg over bins that cut each of the last 3 axes evenly."""
    def adaptive_avg_pool3d_(self, output_size: _int | Sequence[_int | None]) -> Tensor:
        """avg over bins that cut each of the last 3 axes evenly."""
    def adaptive_avg_pool_(self, sizes: Sequence[_int]) -> Tensor:
        """The mean of each of the bins that divide the last axes into the given numbers of parts."""
    def adaptive_max_pool(self, sizes: Sequence[_int], return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
        """The maximum of each bin of adaptive_avg_pool, and on request the index of its first place."""
    def adaptive_max_pool1d(self, output_size: _int | Sequence[_int | None], return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
        """max over bins that cut each of the last 1 axes evenly."""
    def adaptive_max_pool1d_(self, output_size: _int | Sequence[_int | None], return_indices: _bool = ...) -> Tensor:
        """max over bins that cut each of the last 1 axes evenly."""
    def adaptive_max_pool2d(self, output_size: _int | Sequence[_int | None], return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
        """max over bins that cut each of the last 2 axes evenly."""
    def adaptive_max_pool2d_(self, output_size: _int | Sequence[_int | None], return_indices: _bool = ...) -> Tensor:
        """max over bins that cut each of the last 2 axes evenly."""
    def adaptive_max_pool3d(self, output_size: _int | Sequence[_int | None], return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
        """max over bins that cut each of the last 3 axes evenly."""
    def adaptive_max_pool3d_(self, output_size: _int | Sequence[_int | None], return_indices: _bool = ...) -> Tensor:
        """max over bins that cut each of the last 3 axes evenly."""
    def adaptive_max_pool_(self, sizes: Sequence[_int], return_indices: _bool = ...) -> Tensor:
        """The maximum of each bin of adaptive_avg_pool, and on request the index of its first place."""
    def add(self, y: Tensor | _bool | _int | _float = ..., *, alpha: _bool | _int | _float = ..., other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x + alpha · y."""
    def add_(self, y: Tensor | _bool | _int | _float = ..., *, alpha: _bool | _int | _float = ..., other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x + alpha · y."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _float = ..., alpha: _float = ...) -> Tensor:
        """beta · input + alpha · Σ batch1[k] @ batch2[k]."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _float = ..., alpha: _float = ...) -> Tensor:
        """beta · input + alpha · Σ batch1[k] @ batch2[k]."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: _float = ...) -> Tensor:
        """x + value · tensor1 / tensor2."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: _float = ...) -> Tensor:
        """x + value · tensor1 / tensor2."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: _float = ...) -> Tensor:
        """x + value · tensor1 · tensor2."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: _float = ...) -> Tensor:
        """x + value · tensor1 · tensor2."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: _bool | _int | _float = ..., alpha: _bool | _int | _float = ...) -> Tensor:
        """beta · x + alpha · (mat1 @ mat2)."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: _bool | _int | _float = ..., alpha: _bool | _int | _float = ...) -> Tensor:
        """beta · x + alpha · (mat1 @ mat2)."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: _bool | _int | _float = ..., alpha: _bool | _int | _float = ...) -> Tensor:
        """beta · x + alpha · (mat @ vec)."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: _bool | _int | _float = ..., alpha: _bool | _int | _float = ...) -> Tensor:
        """beta · x + alpha · (mat @ vec)."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: _bool | _int | _float = ..., alpha: _bool | _int | _float = ...) -> Tensor:
        """beta · x + alpha · outer(vec1, vec2)."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: _bool | _int | _float = ..., alpha: _bool | _int | _float = ...) -> Tensor:
        """beta · x + alpha · outer(vec1, vec2)."""
    def adjoint(self) -> Tensor:
        """Exchange the last two axes and conjugate complex elements."""
    def all(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """Whether all elements over axes differ from 0."""
    def all_(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """Whether all elements over axes differ from 0."""
    def allclose(self, y: Tensor = ..., rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ..., *, other: Tensor = ...) -> _bool:
        """Whether all elements are close."""
    def amax(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The maximum over axes; NaN if any is. Equal elements share the gradient."""
    def amax_(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The maximum over axes; NaN if any is. Equal elements share the gradient."""
    def amin(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The minimum over axes; NaN if any is. Equal elements share the gradient."""
    def amin_(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The minimum over axes; NaN if any is. Equal elements share the gradient."""
    def aminmax(self, axis: _int | None = ..., keepdims: _bool = ..., *, dim: _int | None = ..., keepdim: _bool = ...) -> tuple[Tensor, Tensor]:
        """The minimum and the maximum over an axis; None means all elements."""
    def aminmax_(self, axis: _int | None = ..., keepdims: _bool = ..., *, dim: _int | None = ..., keepdim: _bool = ...) -> Tensor:
        """The minimum and the maximum over an axis; None means all elements."""
    def angle(self) -> Tensor:
        """The angle of a number in the complex plane; of a real one 0, or π below 0."""
    def any(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """Whether any element over axes differs from 0."""
    def any_(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """Whether any element over axes differs from 0."""
    def apply_(self, callable: Callable[[Any], Any]) -> Tensor:
        """Set each element to the result of a Python function of it."""
    def arccos(self) -> Tensor:
        """The angle of a cosine."""
    def arccos_(self) -> Tensor:
        """The angle of a cosine."""
    def arccosh(self) -> Tensor:
        """The inverse of cosh."""
    def arccosh_(self) -> Tensor:
        """The inverse of cosh."""
    def arcsin(self) -> Tensor:
        """The angle of a sine."""
    def arcsin_(self) -> Tensor:
        """The angle of a sine."""
    def arcsinh(self) -> Tensor:
        """The inverse of sinh."""
    def arcsinh_(self) -> Tensor:
        """The inverse of sinh."""
    def arctan(self) -> Tensor:
        """The angle of a tangent."""
    def arctan2(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The angle whose sine goes with x and whose cosine goes with y, in (−π, π]."""
    def arctan2_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The angle whose sine goes with x and whose cosine goes with y, in (−π, π]."""
    def arctan_(self) -> Tensor:
        """The angle of a tangent."""
    def arctanh(self) -> Tensor:
        """The inverse of tanh."""
    def arctanh_(self) -> Tensor:
        """The inverse of tanh."""
    def argmax(self, axis: _int | None = ..., keepdims: _bool = ..., *, dim: _int | None = ..., keepdim: _bool = ...) -> Tensor:
        """Index of the maximum, first of equal elements; NaN is largest. None: in flattened x."""
    def argmax_(self, axis: _int | None = ..., keepdims: _bool = ..., *, dim: _int | None = ..., keepdim: _bool = ...) -> Tensor:
        """Index of the maximum, first of equal elements; NaN is largest. None: in flattened x."""
    def argmin(self, axis: _int | None = ..., keepdims: _bool = ..., *, dim: _int | None = ..., keepdim: _bool = ...) -> Tensor:
        """Index of the minimum, first of equal elements; NaN is smallest. None: in flattened x."""
    def argmin_(self, axis: _int | None = ..., keepdims: _bool = ..., *, dim: _int | None = ..., keepdim: _bool = ...) -> Tensor:
        """Index of the minimum, first of equal elements; NaN is smallest. None: in flattened x."""
    def argsort(self, axis: _int = ..., descending: _bool = ..., *, stable: _bool = ..., dim: _int = ...) -> Tensor:
        """The indices that sort an axis; equal elements keep their order."""
    def argsort_(self, axis: _int = ..., descending: _bool = ..., *, stable: _bool = ..., dim: _int = ...) -> Tensor:
        """The indices that sort an axis; equal elements keep their order."""
    def argwhere(self) -> Tensor:
        """The positions of what is not zero, one row each."""
    def as_strided(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
        """A view of the storage behind a tensor: elements at equal distances along each axis."""
    def as_strided_(self, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor:
        """Change this tensor to a strided view of its storage."""
    def as_strided_scatter(self, src: Tensor, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor:
        """A tensor with other values at equal distances, counted in the flattened tensor."""
    def as_subclass(self, cls: _type[Tensor]) -> Tensor:
        """The tensor, its memory and its gradients, as an object of a class below Tensor."""
    def asin(self) -> Tensor:
        """The angle of a sine."""
    def asin_(self) -> Tensor:
        """The angle of a sine."""
    def asinh(self) -> Tensor:
        """The inverse of sinh."""
    def asinh_(self) -> Tensor:
        """The inverse of sinh."""
    def astype(self, dtype: object, *, copy: _bool = ..., device: object = ...) -> Tensor:
        """The tensor in another dtype, in memory of its own unless copy says otherwise."""
    def atan(self) -> Tensor:
        """The angle of a tangent."""
    def atan2(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The angle whose sine goes with x and whose cosine goes with y, in (−π, π]."""
    def atan2_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The angle whose sine goes with x and whose cosine goes with y, in (−π, π]."""
    def atan_(self) -> Tensor:
        """The angle of a tangent."""
    def atanh(self) -> Tensor:
        """The inverse of tanh."""
    def atanh_(self) -> Tensor:
        """The inverse of tanh."""
    def atleast_1d(self, *more: Tensor) -> Any:
        """x with at least one axis."""
    def atleast_1d_(self, *more: Tensor) -> Tensor:
        """x with at least one axis."""
    def atleast_2d(self, *more: Tensor) -> Any:
        """x with at least two axes."""
    def atleast_2d_(self, *more: Tensor) -> Tensor:
        """x with at least two axes."""
    def atleast_3d(self, *more: Tensor) -> Any:
        """x with at least three axes."""
    def atleast_3d_(self, *more: Tensor) -> Tensor:
        """x with at least three axes."""
    def avg_pool(self, kernel: Sequence[_int], stride: Sequence[_int], padding: tuple[tuple[_int, _int], ...], counted: tuple[tuple[_int, _int], ...], divisor: _int | None = ...) -> Tensor:
        """The mean of each window of x (n, c, ...); `counted` is the padding included in means."""
    def avg_pool1d(self, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ...) -> Tensor:
        """The mean of every window over the last 1 axes."""
    def avg_pool1d_(self, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ...) -> Tensor:
        """The mean of every window over the last 1 axes."""
    def avg_pool2d(self, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ...) -> Tensor:
        """The mean of every window over the last 2 axes."""
    def avg_pool2d_(self, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ...) -> Tensor:
        """The mean of every window over the last 2 axes."""
    def avg_pool3d(self, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ...) -> Tensor:
        """The mean of every window over the last 3 axes."""
    def avg_pool3d_(self, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ...) -> Tensor:
        """The mean of every window over the last 3 axes."""
    def avg_pool_(self, kernel: Sequence[_int], stride: Sequence[_int], padding: tuple[tuple[_int, _int], ...], counted: tuple[tuple[_int, _int], ...], divisor: _int | None = ...) -> Tensor:
        """The mean of each window of x (n, c, ...); `counted` is the padding included in means."""
    def backward(self, gradient: Tensor | None = ..., retain_graph: _bool | None = ..., create_graph: _bool = ..., inputs: Sequence[Tensor] | None = ...) -> None:
        """Gather the gradients of this tensor in the leaves that it depends on."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _bool | _int | _float = ..., alpha: _bool | _int | _float = ...) -> Tensor:
        """beta · x + alpha · (batch1 @ batch2)."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _bool | _int | _float = ..., alpha: _bool | _int | _float = ...) -> Tensor:
        """beta · x + alpha · (batch1 @ batch2)."""
    def batch_norm(self, mean: Tensor, var: Tensor, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
        """Normalize each channel (axis 1) by a given mean and variance, then scale and shift."""
    def batch_norm_(self, mean: Tensor, var: Tensor, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
        """Normalize each channel (axis 1) by a given mean and variance, then scale and shift."""
    def batch_norm_training(self, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> tuple[Tensor, Tensor, Tensor]:
        """batch_norm by the batch's own mean and variance, returned too, the variance unbiased."""
    def batch_norm_training_(self, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
        """batch_norm by the batch's own mean and variance, returned too, the variance unbiased."""
    def bernoulli(self, *, generator: Generator | None = ...) -> Tensor:
        """Ones with the chance given by each element, else zeros."""
    def bernoulli_(self, p: Any = ..., *, generator: Generator | None = ...) -> Tensor:
        """Set the elements to 1 with chance p, else 0; p may be a tensor."""
    def bfloat16(self, memory_format: object = ...) -> Tensor:
        """The tensor as bfloat16."""
    def bilinear(self, y: Tensor = ..., weight: Tensor = ..., bias: Tensor | None = ..., *, other: Tensor = ..., input2: Tensor = ...) -> Tensor:
        """x · weight · y for every output, plus the bias."""
    def bilinear_(self, y: Tensor = ..., weight: Tensor = ..., bias: Tensor | None = ..., *, other: Tensor = ..., input2: Tensor = ...) -> Tensor:
        """x · weight · y for every output, plus the bias."""
    def binary_cross_entropy(self, target: Tensor, weight: Tensor | None = ..., *, reduction: str = ...) -> Tensor:
        """−log of the probability that x gives to a binary target."""
    def binary_cross_entropy_(self, target: Tensor, weight: Tensor | None = ..., *, reduction: str = ...) -> Tensor:
        """−log of the probability that x gives to a binary target."""
    def binary_cross_entropy_with_logits(self, target: Tensor, weight: Tensor | None = ..., *, reduction: str = ..., pos_weight: Tensor | None = ...) -> Tensor:
        """binary_cross_entropy of sigmoid(x), without overflow."""
    def binary_cross_entropy_with_logits_(self, target: Tensor, weight: Tensor | None = ..., *, reduction: str = ..., pos_weight: Tensor | None = ...) -> Tensor:
        """binary_cross_entropy of sigmoid(x), without overflow."""
    def bincount(self, weights: Tensor | None = ..., minlength: _int = ...) -> Tensor:
        """The number of times that each number occurs."""
    def bitwise_and(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The bits set in both."""
    def bitwise_and_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The bits set in both."""
    def bitwise_invert(self) -> Tensor:
        """Invert every bit of x; logical not for booleans."""
    def bitwise_invert_(self) -> Tensor:
        """Invert every bit of x; logical not for booleans."""
    def bitwise_left_shift(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x · 2^y, wrapping."""
    def bitwise_left_shift_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x · 2^y, wrapping."""
    def bitwise_not(self) -> Tensor:
        """Invert every bit of x; logical not for booleans."""
    def bitwise_not_(self) -> Tensor:
        """Invert every bit of x; logical not for booleans."""
    def bitwise_or(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The bits set in one."""
    def bitwise_or_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The bits set in one."""
    def bitwise_right_shift(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x / 2^y rounded down."""
    def bitwise_right_shift_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x / 2^y rounded down."""
    def bitwise_xor(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The bits set in exactly one."""
    def bitwise_xor_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The bits set in exactly one."""
    def bmm(self, y: Tensor = ..., *, other: Tensor = ..., mat2: Tensor = ...) -> Tensor:
        """The products of two batches of matrices."""
    def bmm_(self, y: Tensor = ..., *, other: Tensor = ..., mat2: Tensor = ...) -> Tensor:
        """The products of two batches of matrices."""
    def bool(self, memory_format: object = ...) -> Tensor:
        """The tensor as bool."""
    def broadcast_to(self, shape: _int | Sequence[_int] = ..., *more: _int, size: _int | Sequence[_int] = ...) -> Tensor:
        """Repeat x along axes of size 1 and along new leading axes; -1 keeps a size."""
    def bucketize(self, boundaries: Tensor, *, out_int32: _bool = ..., right: _bool = ...) -> Tensor:
        """The index of the interval between boundaries that contains each element."""
    def bucketize_(self, boundaries: Tensor, *, out_int32: _bool = ..., right: _bool = ...) -> Tensor:
        """The index of the interval between boundaries that contains each element."""
    def byte(self, memory_format: object = ...) -> Tensor:
        """The tensor as uint8."""
    def cauchy_(self, median: _float = ..., sigma: _float = ..., *, generator: Generator | None = ...) -> Tensor:
        """Set the elements to numbers from a Cauchy distribution."""
    def cdist(self, y: Tensor = ..., p: _float = ..., compute_mode: str | None = ..., *, other: Tensor = ..., x2: Tensor = ...) -> Tensor:
        """The p-norm of the difference between every row of x and every row of y."""
    def cdist_(self, y: Tensor = ..., p: _float = ..., compute_mode: str | None = ..., *, other: Tensor = ..., x2: Tensor = ...) -> Tensor:
        """The p-norm of the difference between every row of x and every row of y."""
    def cdouble(self, memory_format: object = ...) -> Tensor:
        """The tensor as complex128."""
    def ceil(self) -> Tensor:
        """The nearest whole number above."""
    def ceil_(self) -> Tensor:
        """The nearest whole number above."""
    def celu(self, alpha: _float = ...) -> Tensor:
        """elu with a continuous derivative for every alpha (Barron 2017, arXiv:1704.07483)."""
    def celu_(self, alpha: _float = ...) -> Tensor:
        """elu with a continuous derivative for every alpha (Barron 2017, arXiv:1704.07483)."""
    def cfloat(self, memory_format: object = ...) -> Tensor:
        """The tensor as complex64."""
    def channel_shuffle(self, groups: _int) -> Tensor:
        """Interleave groups of channels: the first of every group, then the second, ..."""
    def channel_shuffle_(self, groups: _int) -> Tensor:
        """Interleave groups of channels: the first of every group, then the second, ..."""
    def char(self, memory_format: object = ...) -> Tensor:
        """The tensor as int8."""
    def cholesky(self, upper: _bool = ...) -> Tensor:
        """The lower triangle L of L · Lᵀ = x, for x symmetric positive definite; or the upper one, Lᵀ."""
    def cholesky_(self, upper: _bool = ...) -> Tensor:
        """The lower triangle L of L · Lᵀ = x, for x symmetric positive definite; or the upper one, Lᵀ."""
    def cholesky_inverse(self, upper: _bool = ...) -> Tensor:
        """The inverse of x · xᵀ, or of xᵀ · x if upper, by the Cholesky factor x."""
    def cholesky_inverse_(self, upper: _bool = ...) -> Tensor:
        """The inverse of x · xᵀ, or of xᵀ · x if upper, by the Cholesky factor x."""
    def cholesky_solve(self, L: Tensor = ..., upper: _bool = ..., *, input2: Tensor = ...) -> Tensor:
        """Solve A · y = x by the factor L of A = L · Lᵀ, or of A = Lᵀ · L if upper."""
    def cholesky_solve_(self, L: Tensor = ..., upper: _bool = ..., *, input2: Tensor = ...) -> Tensor:
        """Solve A · y = x by the factor L of A = L · Lᵀ, or of A = Lᵀ · L if upper."""
    def chunk(self, chunks: _int, axis: _int = ..., *, dim: _int = ...) -> tuple[Tensor, ...]:
        """Split an axis into at most `chunks` parts of one size; the last may be smaller."""
    def clamp(self, min: Tensor | _bool | _int | _float | None = ..., max: Tensor | _bool | _int | _float | None = ...) -> Tensor:
        """Clamp x to [min, max]; None means no bound."""
    def clamp_(self, min: Tensor | _bool | _int | _float | None = ..., max: Tensor | _bool | _int | _float | None = ...) -> Tensor:
        """Clamp x to [min, max]; None means no bound."""
    def clamp_max(self, max: Tensor | _bool | _int | _float) -> Tensor:
        """Clamp x to at most max."""
    def clamp_max_(self, max: Tensor | _bool | _int | _float) -> Tensor:
        """Clamp x to at most max."""
    def clamp_min(self, min: Tensor | _bool | _int | _float) -> Tensor:
        """Clamp x to at least min."""
    def clamp_min_(self, min: Tensor | _bool | _int | _float) -> Tensor:
        """Clamp x to at least min."""
    def clip(self, min: Tensor | _bool | _int | _float | None = ..., max: Tensor | _bool | _int | _float | None = ...) -> Tensor:
        """Clamp x to [min, max]; None means no bound."""
    def clip_(self, min: Tensor | _bool | _int | _float | None = ..., max: Tensor | _bool | _int | _float | None = ...) -> Tensor:
        """Clamp x to [min, max]; None means no bound."""
    def clone(self, *, memory_format: object = ...) -> Tensor:
        """A differentiable copy; its axes keep their order in memory by default."""
    def col2im(self, output_size: _int | Sequence[_int], kernel_size: _int | Sequence[_int], dilation: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., stride: _int | Sequence[_int] = ...) -> Tensor:
        """Add columns at their windows' places in an image: PyTorch's nn.functional.fold."""
    def col2im_(self, output_size: _int | Sequence[_int], kernel_size: _int | Sequence[_int], dilation: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., stride: _int | Sequence[_int] = ...) -> Tensor:
        """Add columns at their windows' places in an image: PyTorch's nn.functional.fold."""
    def combinations(self, r: _int = ..., with_replacement: _bool = ...) -> Tensor:
        """All choices of r elements of a vector, a row each."""
    def condition_number(self, p: _float | str | None = ...) -> Tensor:
        """The condition number: the norm of x times the norm of its inverse; ∞ if singular."""
    def condition_number_(self, p: _float | str | None = ...) -> Tensor:
        """The condition number: the norm of x times the norm of its inverse; ∞ if singular."""
    def conj(self) -> Tensor:
        """The numbers with the opposite imaginary parts; a real tensor itself."""
    def conj_physical(self) -> Tensor:
        """The numbers with the opposite imaginary parts; a real tensor itself."""
    def conj_physical_(self) -> Tensor:
        """The numbers with the opposite imaginary parts; a real tensor itself."""
    def const_data_ptr(self) -> _int:
        """The address of the first element, in the memory of the storage."""
    def contiguous(self, memory_format: object = ...) -> Tensor:
        """The tensor if its elements are contiguous in the order of its axes, else a contiguous copy."""
    def conv1d(self, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] | str = ..., dilation: _int | Sequence[_int] = ..., groups: _int = ...) -> Tensor:
        """A kernel slid over 1 axes of x: sums over channels and kernel."""
    def conv1d_(self, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] | str = ..., dilation: _int | Sequence[_int] = ..., groups: _int = ...) -> Tensor:
        """A kernel slid over 1 axes of x: sums over channels and kernel."""
    def conv2d(self, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] | str = ..., dilation: _int | Sequence[_int] = ..., groups: _int = ...) -> Tensor:
        """A kernel slid over 2 axes of x: sums over channels and kernel."""
    def conv2d_(self, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] | str = ..., dilation: _int | Sequence[_int] = ..., groups: _int = ...) -> Tensor:
        """A kernel slid over 2 axes of x: sums over channels and kernel."""
    def conv3d(self, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] | str = ..., dilation: _int | Sequence[_int] = ..., groups: _int = ...) -> Tensor:
        """A kernel slid over 3 axes of x: sums over channels and kernel."""
    def conv3d_(self, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] | str = ..., dilation: _int | Sequence[_int] = ..., groups: _int = ...) -> Tensor:
        """A kernel slid over 3 axes of x: sums over channels and kernel."""
    def conv_transpose1d(self, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., output_padding: _int | Sequence[_int] = ..., groups: _int = ..., dilation: _int | Sequence[_int] = ...) -> Tensor:
        """The transpose of a convolution over 1 axes."""
    def conv_transpose1d_(self, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., output_padding: _int | Sequence[_int] = ..., groups: _int = ..., dilation: _int | Sequence[_int] = ...) -> Tensor:
        """The transpose of a convolution over 1 axes."""
    def conv_transpose2d(self, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., output_padding: _int | Sequence[_int] = ..., groups: _int = ..., dilation: _int | Sequence[_int] = ...) -> Tensor:
        """The transpose of a convolution over 2 axes."""
    def conv_transpose2d_(self, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., output_padding: _int | Sequence[_int] = ..., groups: _int = ..., dilation: _int | Sequence[_int] = ...) -> Tensor:
        """The transpose of a convolution over 2 axes."""
    def conv_transpose3d(self, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., output_padding: _int | Sequence[_int] = ..., groups: _int = ..., dilation: _int | Sequence[_int] = ...) -> Tensor:
        """The transpose of a convolution over 3 axes."""
    def conv_transpose3d_(self, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., output_padding: _int | Sequence[_int] = ..., groups: _int = ..., dilation: _int | Sequence[_int] = ...) -> Tensor:
        """The transpose of a convolution over 3 axes."""
    def convolution(self, weight: Tensor, bias: Tensor | None, padding: tuple[tuple[_int, _int], ...], geometry: tuple[Sequence[_int], Sequence[_int], _int]) -> Tensor:
        """Convolution (cross-correlation, as in PyTorch) over all axes after batch and channels."""
    def convolution_(self, weight: Tensor, bias: Tensor | None, padding: tuple[tuple[_int, _int], ...], geometry: tuple[Sequence[_int], Sequence[_int], _int]) -> Tensor:
        """Convolution (cross-correlation, as in PyTorch) over all axes after batch and channels."""
    def copy_(self, other: Any, non_blocking: _bool = ...) -> Tensor:
        """Copy another tensor's values into this one."""
    def copysign(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """|x| with y's sign."""
    def copysign_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """|x| with y's sign."""
    def corrcoef(self) -> Tensor:
        """The correlation matrix of variables, which are the rows of x."""
    def corrcoef_(self) -> Tensor:
        """The correlation matrix of variables, which are the rows of x."""
    def cos(self) -> Tensor:
        """The cosine of an angle in radians."""
    def cos_(self) -> Tensor:
        """The cosine of an angle in radians."""
    def cosh(self) -> Tensor:
        """The hyperbolic cosine."""
    def cosh_(self) -> Tensor:
        """The hyperbolic cosine."""
    def cosine_embedding_loss(self, y: Tensor = ..., target: Tensor = ..., *, margin: _float = ..., reduction: str = ..., other: Tensor = ..., input2: Tensor = ...) -> Tensor:
        """1 − cosine where the target is 1, max(0, cosine − margin) where it is −1."""
    def cosine_embedding_loss_(self, y: Tensor = ..., target: Tensor = ..., *, margin: _float = ..., reduction: str = ..., other: Tensor = ..., input2: Tensor = ...) -> Tensor:
        """1 − cosine where the target is 1, max(0, cosine − margin) where it is −1."""
    def cosine_similarity(self, y: Tensor = ..., axis: _int = ..., eps: _float = ..., *, other: Tensor = ..., x2: Tensor = ..., dim: _int = ...) -> Tensor:
        """The cosine of the angle between x and y along an axis; norms are at least eps."""
    def cosine_similarity_(self, y: Tensor = ..., axis: _int = ..., eps: _float = ..., *, other: Tensor = ..., x2: Tensor = ..., dim: _int = ...) -> Tensor:
        """The cosine of the angle between x and y along an axis; norms are at least eps."""
    def count_nonzero(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The number of nonzero elements over axes."""
    def count_nonzero_(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The number of nonzero elements over axes."""
    def cov(self, *, correction: _int | _float = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
        """The covariance matrix of variables, which are the rows of x."""
    def cov_(self, *, correction: _int | _float = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
        """The covariance matrix of variables, which are the rows of x."""
    def cpu(self) -> Tensor:
        """The tensor in main memory: itself; TraceError where it has no elements."""
    def cross(self, y: Tensor = ..., axis: _int | None = ..., *, other: Tensor = ..., dim: _int | None = ...) -> Tensor:
        """The cross product of vectors along an axis; None takes the first axis of size 3."""
    def cross_(self, y: Tensor = ..., axis: _int | None = ..., *, other: Tensor = ..., dim: _int | None = ...) -> Tensor:
        """The cross product of vectors along an axis; None takes the first axis of size 3."""
    def cross_entropy(self, target: Tensor, weight: Tensor | None = ..., *, ignore_index: _int = ..., reduction: str = ..., label_smoothing: _float = ..., axis: _int | None = ..., dim: _int | None = ...) -> Tensor:
        """−log of the probability that softmax(x) gives to the target class, or the mean over shares."""
    def cross_entropy_(self, target: Tensor, weight: Tensor | None = ..., *, ignore_index: _int = ..., reduction: str = ..., label_smoothing: _float = ..., axis: _int | None = ..., dim: _int | None = ...) -> Tensor:
        """−log of the probability that softmax(x) gives to the target class, or the mean over shares."""
    def cuda(self, device: object = ..., non_blocking: _bool = ...) -> Tensor:
        """The tensor on the card; ArgumentError without one."""
    def cummax(self, axis: _int = ..., *, dim: _int = ...) -> Values:
        """The cumulative maximum, and its index: the last one of equal elements."""
    def cummax_(self, axis: _int = ..., *, dim: _int = ...) -> Tensor:
        """The cumulative maximum, and its index: the last one of equal elements."""
    def cummin(self, axis: _int = ..., *, dim: _int = ...) -> Values:
        """The cumulative minimum, and its index: the last one of equal elements."""
    def cummin_(self, axis: _int = ..., *, dim: _int = ...) -> Tensor:
        """The cumulative minimum, and its index: the last one of equal elements."""
    def cumprod(self, axis: _int = ..., *, dtype: object = ..., dim: _int = ...) -> Tensor:
        """The cumulative product along an axis."""
    def cumprod_(self, axis: _int = ..., *, dtype: object = ..., dim: _int = ...) -> Tensor:
        """The cumulative product along an axis."""
    def cumsum(self, axis: _int = ..., *, dtype: object = ..., dim: _int = ...) -> Tensor:
        """The cumulative sum along an axis."""
    def cumsum_(self, axis: _int = ..., *, dtype: object = ..., dim: _int = ...) -> Tensor:
        """The cumulative sum along an axis."""
    def cumulative_prod(self, axis: _int | None = ..., *, dtype: object = ..., include_initial: _bool = ..., dim: _int | None = ...) -> Tensor:
        """The cumulative product along an axis; include_initial puts a 1 first."""
    def cumulative_prod_(self, axis: _int | None = ..., *, dtype: object = ..., include_initial: _bool = ..., dim: _int | None = ...) -> Tensor:
        """The cumulative product along an axis; include_initial puts a 1 first."""
    def cumulative_sum(self, axis: _int | None = ..., *, dtype: object = ..., include_initial: _bool = ..., dim: _int | None = ...) -> Tensor:
        """The cumulative sum along an axis; include_initial puts a 0 first."""
    def cumulative_sum_(self, axis: _int | None = ..., *, dtype: object = ..., include_initial: _bool = ..., dim: _int | None = ...) -> Tensor:
        """The cumulative sum along an axis; include_initial puts a 0 first."""
    def data_ptr(self) -> _int:
        """The address of the first element, in the memory of the storage."""
    def deg2rad(self) -> Tensor:
        """Convert degrees to radians."""
    def deg2rad_(self) -> Tensor:
        """Convert degrees to radians."""
    def det(self) -> Tensor:
        """The determinant."""
    def det_(self) -> Tensor:
        """The determinant."""
    def detach(self) -> Tensor:
        """A tensor of the same storage through which no gradients flow."""
    def detach_(self) -> Tensor:
        """Cut this tensor off from its history, in place."""
    @property
    def device_mesh(self) -> Any:
        """The mesh over which a tensor is sharded."""
    def diag(self, diagonal: _int = ...) -> Tensor:
        """The diagonal of a matrix, or a matrix with the given vector on its diagonal."""
    def diag_(self, diagonal: _int = ...) -> Tensor:
        """The diagonal of a matrix, or a matrix with the given vector on its diagonal."""
    def diag_embed(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., *, axis1: _int = ...) -> Tensor:
        """Matrices with the last axis of x on a diagonal of two axes, 0 elsewhere."""
    def diag_embed_(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., *, axis1: _int = ...) -> Tensor:
        """Matrices with the last axis of x on a diagonal of two axes, 0 elsewhere."""
    def diagflat(self, offset: _int = ...) -> Tensor:
        """The matrix with all elements of a tensor on its diagonal."""
    def diagonal(self, offset: _int = ..., axis1: _int = ..., axis2: _int = ..., *, dim1: _int = ..., dim2: _int = ...) -> Tensor:
        """The diagonal of two axes, shifted by an offset, as a new last axis."""
    def diagonal_scatter(self, src: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., *, axis1: _int = ...) -> Tensor:
        """A tensor with other values on a diagonal."""
    def diff(self, n: _int = ..., axis: _int = ..., prepend: Tensor | None = ..., append: Tensor | None = ..., *, dim: _int = ...) -> Tensor:
        """The n-th difference along an axis; prepend and append are joined to x first."""
    def diff_(self, n: _int = ..., axis: _int = ..., prepend: Tensor | None = ..., append: Tensor | None = ..., *, dim: _int = ...) -> Tensor:
        """The n-th difference along an axis; prepend and append are joined to x first."""
    def digamma(self) -> Tensor:
        """The derivative of lgamma."""
    def digamma_(self) -> Tensor:
        """The derivative of lgamma."""
    def dim(self) -> _int:
        """Number of axes."""
    def dim_order(self) -> Any:
        ...
    def dist(self, y: Tensor = ..., p: _float = ..., *, other: Tensor = ...) -> Tensor:
        """The p-norm of x − y."""
    def dist_(self, y: Tensor = ..., p: _float = ..., *, other: Tensor = ...) -> Tensor:
        """The p-norm of x − y."""
    def div(self, y: Tensor | _bool | _int | _float = ..., *, rounding_mode: str | None = ..., other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x / y as floats; rounding_mode "floor" or "trunc" rounds the quotient and keeps integers."""
    def div_(self, y: Tensor | _bool | _int | _float = ..., *, rounding_mode: str | None = ..., other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x / y as floats; rounding_mode "floor" or "trunc" rounds the quotient and keeps integers."""
    def divide(self, y: Tensor | _bool | _int | _float = ..., *, rounding_mode: str | None = ..., other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x / y as floats; rounding_mode "floor" or "trunc" rounds the quotient and keeps integers."""
    def divide_(self, y: Tensor | _bool | _int | _float = ..., *, rounding_mode: str | None = ..., other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x / y as floats; rounding_mode "floor" or "trunc" rounds the quotient and keeps integers."""
    def dot(self, y: Tensor = ..., *, other: Tensor = ..., tensor: Tensor = ...) -> Tensor:
        """The dot product of two vectors."""
    def dot_(self, y: Tensor = ..., *, other: Tensor = ..., tensor: Tensor = ...) -> Tensor:
        """The dot product of two vectors."""
    def double(self, memory_format: object = ...) -> Tensor:
        """The tensor as float64."""
    def dropout(self, key: Tensor, p: _float = ...) -> Tensor:
        """Set each element to 0 with probability p, and divide the others by 1 − p."""
    def dropout_(self, key: Tensor, p: _float = ...) -> Tensor:
        """Set each element to 0 with probability p, and divide the others by 1 − p."""
    def dsplit(self, sections: _int | Sequence[_int] = ..., *, indices: _int | Sequence[_int] = ...) -> tuple[Tensor, ...]:
        """Split along axis 2."""
    def element_size(self) -> _int:
        """Bytes of one element."""
    def elu(self, alpha: _float = ...) -> Tensor:
        """x where it is positive, an exponential that tends to −alpha elsewhere."""
    def elu_(self, alpha: _float = ...) -> Tensor:
        """x where it is positive, an exponential that tends to −alpha elsewhere."""
    def empty_like(self, *, dtype: object = ...) -> Tensor:
        """Zeros with the shape and dtype of x."""
    def empty_like_(self, *, dtype: object = ...) -> Tensor:
        """Zeros with the shape and dtype of x."""
    def eq(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x = y."""
    def eq_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x = y."""
    def equal(self, other: Tensor) -> _bool:
        """Whether two tensors have the same shape and elements."""
    def equal_(self, other: Tensor) -> Tensor:
        """Whether two tensors have the same shape and elements."""
    def erf(self) -> Tensor:
        """The error function."""
    def erf_(self) -> Tensor:
        """The error function."""
    def erfc(self) -> Tensor:
        """1 − erf(x), accurate where erf(x) is near 1."""
    def erfc_(self) -> Tensor:
        """1 − erf(x), accurate where erf(x) is near 1."""
    def erfinv(self) -> Tensor:
        """The inverse of erf, by an approximation and three steps of Halley's method."""
    def erfinv_(self) -> Tensor:
        """The inverse of erf, by an approximation and three steps of Halley's method."""
    def exp(self) -> Tensor:
        """e to the power x."""
    def exp2(self) -> Tensor:
        """2 to the power x."""
    def exp2_(self) -> Tensor:
        """2 to the power x."""
    def exp_(self) -> Tensor:
        """e to the power x."""
    def expand(self, shape: _int | Sequence[_int] = ..., *more: _int, size: _int | Sequence[_int] = ...) -> Tensor:
        """Repeat x along axes of size 1 and along new leading axes; -1 keeps a size."""
    def expand_as(self, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
        """Expand x to the shape of y."""
    def expand_dims(self, axis: _int | Sequence[_int] = ..., *, dim: _int | Sequence[_int] = ...) -> Tensor:
        """Insert axes of size 1 at the given positions of the result."""
    def expit(self) -> Tensor:
        """1 / (1 + exp(−x))."""
    def expit_(self) -> Tensor:
        """1 / (1 + exp(−x))."""
    def expm1(self) -> Tensor:
        """exp(x) − 1, exact near 0."""
    def expm1_(self) -> Tensor:
        """exp(x) − 1, exact near 0."""
    def exponential_(self, lambd: _float = ..., *, generator: Generator | None = ...) -> Tensor:
        """Set the elements to numbers from an exponential distribution."""
    def fill_(self, value: Any) -> Tensor:
        """Set all elements to a value."""
    def fill_diagonal_(self, fill_value: _float, wrap: _bool = ...) -> Tensor:
        """Set the elements with equal positions to one value; wrap: repeat below in a tall matrix."""
    def fix(self) -> Tensor:
        """The whole part."""
    def fix_(self) -> Tensor:
        """The whole part."""
    def flatten(self, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
        """Merge a range of axes into one."""
    def flip(self, axis: _int | Sequence[_int] | None = ..., *more: _int, dim: _int | Sequence[_int] | None = ..., dims: _int | Sequence[_int] | None = ...) -> Tensor:
        """Reverse the order of elements along axes."""
    def flip_(self, axis: _int | Sequence[_int] | None = ..., *more: _int, dim: _int | Sequence[_int] | None = ...) -> Tensor:
        """Reverse the order of elements along axes."""
    def fliplr(self) -> Tensor:
        """Reverse the order of elements along the second axis."""
    def fliplr_(self) -> Tensor:
        """Reverse the order of elements along the second axis."""
    def flipud(self) -> Tensor:
        """Reverse the order of elements along the first axis."""
    def flipud_(self) -> Tensor:
        """Reverse the order of elements along the first axis."""
    def float(self, memory_format: object = ...) -> Tensor:
        """The tensor as float32."""
    def float_power(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ..., exponent: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x to the power y in float64."""
    def float_power_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ..., exponent: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x to the power y in float64."""
    def floor(self) -> Tensor:
        """The nearest whole number below."""
    def floor_(self) -> Tensor:
        """The nearest whole number below."""
    def floor_divide(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x / y rounded down."""
    def floor_divide_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x / y rounded down."""
    def fmax(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The larger of x and y, ignoring NaN where the other is a number."""
    def fmax_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The larger of x and y, ignoring NaN where the other is a number."""
    def fmin(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The smaller of x and y, ignoring NaN where the other is a number."""
    def fmin_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The smaller of x and y, ignoring NaN where the other is a number."""
    def fmod(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The remainder of truncated division: it has x's sign."""
    def fmod_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The remainder of truncated division: it has x's sign."""
    def frac(self) -> Tensor:
        """The fractional part of x, with the sign of x."""
    def frac_(self) -> Tensor:
        """The fractional part of x, with the sign of x."""
    def frexp(self) -> tuple[Tensor, Tensor]:
        """The mantissa in [0.5, 1) and the exponent of 2 whose product each element is."""
    def full_like(self, fill_value: _bool | _int | _float, *, dtype: object = ...) -> Tensor:
        """A tensor of one value, with the shape and dtype of x."""
    def full_like_(self, fill_value: _bool | _int | _float, *, dtype: object = ...) -> Tensor:
        """A tensor of one value, with the shape and dtype of x."""
    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = ...) -> Tensor:
        """The global value on each rank; all ranks call it."""
    def gather(self, axis: _int = ..., index: Tensor = ..., *, sparse_grad: _bool = ..., dim: _int = ..., input: Tensor = ..., indices: Tensor = ...) -> Tensor:
        """For each index, the element of x there along an axis, at the same place of other axes."""
    def gather_(self, axis: _int = ..., index: Tensor = ..., *, sparse_grad: _bool = ..., dim: _int = ..., input: Tensor = ..., indices: Tensor = ...) -> Tensor:
        """For each index, the element of x there along an axis, at the same place of other axes."""
    def gaussian_nll_loss(self, target: Tensor, var: Tensor, *, full: _bool = ..., eps: _float = ..., reduction: str = ...) -> Tensor:
        """−log of the normal density with mean x and variance var, at target."""
    def gaussian_nll_loss_(self, target: Tensor, var: Tensor, *, full: _bool = ..., eps: _float = ..., reduction: str = ...) -> Tensor:
        """−log of the normal density with mean x and variance var, at target."""
    def gcd(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The greatest common divisor."""
    def gcd_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The greatest common divisor."""
    def ge(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x ≥ y."""
    def ge_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x ≥ y."""
    def gelu(self, approximate: str = ...) -> Tensor:
        """x times the probability that a standard normal variable is below x."""
    def gelu_(self, approximate: str = ...) -> Tensor:
        """x times the probability that a standard normal variable is below x."""
    def geometric_(self, p: _float, *, generator: Generator | None = ...) -> Tensor:
        """Set the elements to numbers of trials up to the first success, each of chance p."""
    def geqrf(self) -> Reflected:
        """R of QR with the reflections that make Q below it, and their factors."""
    def ger(self, y: Tensor = ..., *, other: Tensor = ..., vec2: Tensor = ...) -> Tensor:
        """The outer product of two vectors."""
    def ger_(self, y: Tensor = ..., *, other: Tensor = ..., vec2: Tensor = ...) -> Tensor:
        """The outer product of two vectors."""
    def get_device(self) -> _int:
        """The number of a tensor's GPU: −1 for main memory."""
    def glu(self, axis: _int = ..., *, dim: _int = ...) -> Tensor:
        """The first half along an axis times the sigmoid of the second half."""
    def glu_(self, axis: _int = ..., *, dim: _int = ...) -> Tensor:
        """The first half along an axis times the sigmoid of the second half."""
    @property
    def grad_fn(self) -> Any:
        """The graph node of the tensor's operation; None for a leaf."""
    def greater(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x > y."""
    def greater_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x > y."""
    def greater_equal(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x ≥ y."""
    def greater_equal_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x ≥ y."""
    def grid_sample(self, grid: Tensor, mode: str = ..., padding_mode: str = ..., align_corners: _bool | None = ...) -> Tensor:
        """Sample x (n, c, h, w) or (n, c, d, h, w) at places in [−1, 1], last coordinate first."""
    def grid_sample_(self, grid: Tensor, mode: str = ..., padding_mode: str = ..., align_corners: _bool | None = ...) -> Tensor:
        """Sample x (n, c, h, w) or (n, c, d, h, w) at places in [−1, 1], last coordinate first."""
    def group_norm(self, num_groups: _int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
        """Normalize each sample over groups of channels (axis 1), then scale and shift per channel."""
    def group_norm_(self, num_groups: _int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
        """Normalize each sample over groups of channels (axis 1), then scale and shift per channel."""
    def grouped_rows(self, mats: Tensor, ends: Tensor) -> Tensor:
        """Multiply each row by the matrix of its group, a run of rows, in the dtype of sums."""
    def grouped_rows_(self, mats: Tensor, ends: Tensor) -> Tensor:
        """Multiply each row by the matrix of its group, a run of rows, in the dtype of sums."""
    def grouped_steps(self, y: Tensor = ..., ends: Tensor = ..., *, other: Tensor = ...) -> Tensor:
        """The product over each group's steps, in the dtype of sums; 0 for an empty group."""
    def grouped_steps_(self, y: Tensor = ..., ends: Tensor = ..., *, other: Tensor = ...) -> Tensor:
        """The product over each group's steps, in the dtype of sums; 0 for an empty group."""
    def gt(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x > y."""
    def gt_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x > y."""
    def half(self, memory_format: object = ...) -> Tensor:
        """The tensor as float16."""
    def hardshrink(self, lambd: _float = ...) -> Tensor:
        """x, but 0 where |x| ≤ lambd."""
    def hardshrink_(self, lambd: _float = ...) -> Tensor:
        """x, but 0 where |x| ≤ lambd."""
    def hardsigmoid(self) -> Tensor:
        """A piecewise linear approximation of the sigmoid."""
    def hardsigmoid_(self) -> Tensor:
        """A piecewise linear approximation of the sigmoid."""
    def hardswish(self) -> Tensor:
        """x times a piecewise linear approximation of its sigmoid."""
    def hardswish_(self) -> Tensor:
        """x times a piecewise linear approximation of its sigmoid."""
    def hardtanh(self, min_val: _float = ..., max_val: _float = ...) -> Tensor:
        """x clamped to [min_val, max_val]; the gradient at the bounds is 0."""
    def hardtanh_(self, min_val: _float = ..., max_val: _float = ...) -> Tensor:
        """x clamped to [min_val, max_val]; the gradient at the bounds is 0."""
    def heaviside(self, values: Tensor | _bool | _int | _float = ..., *, src: Tensor | _bool | _int | _float = ..., source: Tensor | _bool | _int | _float = ...) -> Tensor:
        """0 where x is negative, 1 where it is positive, the given values where it is 0."""
    def heaviside_(self, values: Tensor | _bool | _int | _float = ..., *, src: Tensor | _bool | _int | _float = ..., source: Tensor | _bool | _int | _float = ...) -> Tensor:
        """0 where x is negative, 1 where it is positive, the given values where it is 0."""
    def hinge_embedding_loss(self, target: Tensor, *, margin: _float = ..., reduction: str = ...) -> Tensor:
        """x where the target is 1, max(0, margin − x) where it is −1, their sum elsewhere."""
    def hinge_embedding_loss_(self, target: Tensor, *, margin: _float = ..., reduction: str = ...) -> Tensor:
        """x where the target is 1, max(0, margin − x) where it is −1, their sum elsewhere."""
    def histc(self, bins: _int = ..., min: _float = ..., max: _float = ...) -> Tensor:
        """The number of elements in each of so many equal intervals of [min, max], or of the range."""
    def histogram(self, bins: Any, *, range: Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ...) -> Histogram:
        """The number, weight or density of the elements in each bin, and the ends of bins."""
    def householder_product(self, tau: Tensor = ..., *, input2: Tensor = ...) -> Tensor:
        """The first columns of Π (1 − tau_k v_k v_kᵀ), v_k below the diagonal of x, 1 on it."""
    def householder_product_(self, tau: Tensor = ..., *, input2: Tensor = ...) -> Tensor:
        """The first columns of Π (1 − tau_k v_k v_kᵀ), v_k below the diagonal of x, 1 on it."""
    def hsplit(self, sections: _int | Sequence[_int] = ..., *, indices: _int | Sequence[_int] = ...) -> tuple[Tensor, ...]:
        """Split along axis 1, or vectors along axis 0."""
    def huber_loss(self, target: Tensor, *, reduction: str = ..., delta: _float = ..., weight: Tensor | None = ...) -> Tensor:
        """Half the squared difference, linear beyond delta, times the weight."""
    def huber_loss_(self, target: Tensor, *, reduction: str = ..., delta: _float = ..., weight: Tensor | None = ...) -> Tensor:
        """Half the squared difference, linear beyond delta, times the weight."""
    def hypot(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """sqrt(x² + y²), without overflow."""
    def hypot_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """sqrt(x² + y²), without overflow."""
    def i0(self) -> Tensor:
        """The modified Bessel function of the first kind of order 0."""
    def i0_(self) -> Tensor:
        """The modified Bessel function of the first kind of order 0."""
    def igamma(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The regularized lower incomplete gamma function P(x, y)."""
    def igamma_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The regularized lower incomplete gamma function P(x, y)."""
    def igammac(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The regularized upper incomplete gamma function Q(x, y) = 1 − P(x, y)."""
    def igammac_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The regularized upper incomplete gamma function Q(x, y) = 1 − P(x, y)."""
    def im2col(self, kernel_size: _int | Sequence[_int], dilation: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., stride: _int | Sequence[_int] = ...) -> Tensor:
        """The windows of an image as columns: PyTorch's nn.functional.unfold."""
    def im2col_(self, kernel_size: _int | Sequence[_int], dilation: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., stride: _int | Sequence[_int] = ...) -> Tensor:
        """The windows of an image as columns: PyTorch's nn.functional.unfold."""
    @property
    def imag(self) -> Tensor:
        """The imaginary parts of complex numbers, as a view; DtypeError of real ones."""
    def index_add(self, axis: _int = ..., index: Tensor = ..., values: Tensor = ..., *, alpha: _bool | _int | _float = ..., dim: _int = ..., input: Tensor = ..., indices: Tensor = ..., src: Tensor = ..., source: Tensor = ...) -> Tensor:
        """x plus alpha times each slice of values at its index along an axis."""
    def index_add_(self, axis: _int = ..., index: Tensor = ..., values: Tensor = ..., *, alpha: _bool | _int | _float = ..., dim: _int = ..., input: Tensor = ..., indices: Tensor = ..., src: Tensor = ..., source: Tensor = ...) -> Tensor:
        """x plus alpha times each slice of values at its index along an axis."""
    def index_copy(self, axis: _int = ..., index: Tensor = ..., values: Tensor = ..., *, dim: _int = ..., input: Tensor = ..., indices: Tensor = ..., src: Tensor = ..., source: Tensor = ...) -> Tensor:
        """x with slices replaced at indices along an axis; of repeated indices the last one counts."""
    def index_copy_(self, axis: _int = ..., index: Tensor = ..., values: Tensor = ..., *, dim: _int = ..., input: Tensor = ..., indices: Tensor = ..., src: Tensor = ..., source: Tensor = ...) -> Tensor:
        """x with slices replaced at indices along an axis; of repeated indices the last one counts."""
    def index_fill(self, axis: _int = ..., index: Tensor = ..., value: _bool | _int | _float | Tensor = ..., *, dim: _int = ..., input: Tensor = ..., indices: Tensor = ...) -> Tensor:
        """x with the slices at indices along an axis filled by one value."""
    def index_fill_(self, axis: _int = ..., index: Tensor = ..., value: _bool | _int | _float | Tensor = ..., *, dim: _int = ..., input: Tensor = ..., indices: Tensor = ...) -> Tensor:
        """x with the slices at indices along an axis filled by one value."""
    def index_put(self, indices: Sequence, values: Any = ..., accumulate: _bool = ..., *, src: Any = ..., source: Any = ...) -> Tensor:
        """x with values at positions along its first axes."""
    def index_put_(self, indices: Sequence, values: Any = ..., accumulate: _bool = ..., *, src: Any = ..., source: Any = ...) -> Tensor:
        """Write values at positions along the first axes."""
    def index_reduce(self, dim: _int, index: Tensor = ..., source: Tensor = ..., reduce: str = ..., *, include_self: _bool = ..., indices: Tensor = ...) -> Tensor:
        """Slices of a tensor folded with others: "prod", "mean", "amax" or "amin"."""
    def index_reduce_(self, dim: _int, index: Tensor = ..., source: Tensor = ..., reduce: str = ..., *, include_self: _bool = ..., indices: Tensor = ...) -> Tensor:
        """Slices of a tensor folded with others: "prod", "mean", "amax" or "amin"."""
    def index_select(self, axis: _int = ..., index: Tensor = ..., *, dim: _int = ..., input: Tensor = ..., indices: Tensor = ...) -> Tensor:
        """Slices of x by index along an axis."""
    def index_select_(self, axis: _int = ..., index: Tensor = ..., *, dim: _int = ..., input: Tensor = ..., indices: Tensor = ...) -> Tensor:
        """Slices of x by index along an axis."""
    def inner(self, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
        """The dot products of the last axes of x and y."""
    def inner_(self, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
        """The dot products of the last axes of x and y."""
    def instance_norm(self, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
        """Normalize each channel of each sample, then scale and shift per channel."""
    def instance_norm_(self, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
        """Normalize each channel of each sample, then scale and shift per channel."""
    def int(self, memory_format: object = ...) -> Tensor:
        """The tensor as int32."""
    def int_mm(self, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
        """The product of two int8 or uint8 matrices, summed in int32."""
    def int_mm_(self, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
        """The product of two int8 or uint8 matrices, summed in int32."""
    def interpolate(self, size: _int | Sequence[_int] | None = ..., scale_factor: _float | Sequence[_float] | None = ..., mode: str = ..., align_corners: _bool | None = ..., recompute_scale_factor: _bool | None = ..., antialias: _bool = ...) -> Tensor:
        """Resize x (n, c, ...) along its last axes, to sizes or by factors."""
    def interpolate_(self, size: _int | Sequence[_int] | None = ..., scale_factor: _float | Sequence[_float] | None = ..., mode: str = ..., align_corners: _bool | None = ..., recompute_scale_factor: _bool | None = ..., antialias: _bool = ...) -> Tensor:
        """Resize x (n, c, ...) along its last axes, to sizes or by factors."""
    def inverse(self) -> Tensor:
        """The inverse matrix."""
    def inverse_(self) -> Tensor:
        """The inverse matrix."""
    def is_complex(self) -> _bool:
        """Whether elements are complex numbers."""
    def is_conj(self) -> _bool:
        """Whether a conjugation is pending: False."""
    def is_contiguous(self, memory_format: object = ...) -> _bool:
        """Whether the tensor's elements are contiguous in the order of its axes."""
    @property
    def is_cpu(self) -> Any:
        ...
    @property
    def is_cuda(self) -> Any:
        ...
    def is_distributed(self) -> _bool:
        """Whether a conjugation is pending: False."""
    def is_floating_point(self) -> _bool:
        """Whether elements are floats."""
    def is_inference(self) -> _bool:
        """Whether a conjugation is pending: False."""
    @property
    def is_ipu(self, value: Any = ...) -> Any:
        ...
    @property
    def is_maia(self, value: Any = ...) -> Any:
        ...
    @property
    def is_meta(self) -> Any:
        ...
    @property
    def is_mkldnn(self, value: Any = ...) -> Any:
        ...
    @property
    def is_mps(self, value: Any = ...) -> Any:
        ...
    @property
    def is_mtia(self, value: Any = ...) -> Any:
        ...
    def is_neg(self) -> _bool:
        """Whether a conjugation is pending: False."""
    @property
    def is_nested(self, value: Any = ...) -> Any:
        ...
    def is_nonzero(self) -> _bool:
        """Whether the one element is not zero."""
    def is_pinned(self) -> _int:
        """The address 0: memory is not pinned."""
    @property
    def is_quantized(self, value: Any = ...) -> Any:
        ...
    def is_same_size(self, other: Tensor) -> _bool:
        """Whether two tensors have the same shape."""
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether two tensors view the same elements of the same memory."""
    def is_shared(self) -> _bool:
        """Whether processes that receive this tensor see its memory."""
    def is_signed(self) -> _bool:
        """Whether a tensor's dtype is signed."""
    @property
    def is_sparse(self, value: Any = ...) -> Any:
        ...
    @property
    def is_sparse_csr(self, value: Any = ...) -> Any:
        ...
    @property
    def is_vulkan(self, value: Any = ...) -> Any:
        ...
    @property
    def is_xla(self, value: Any = ...) -> Any:
        ...
    @property
    def is_xpu(self, value: Any = ...) -> Any:
        ...
    def isclose(self, y: Tensor | _bool | _int | _float = ..., rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether |x − y| ≤ atol + rtol · |y|."""
    def isclose_(self, y: Tensor | _bool | _int | _float = ..., rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether |x − y| ≤ atol + rtol · |y|."""
    def isfinite(self) -> Tensor:
        """Whether x is finite."""
    def isfinite_(self) -> Tensor:
        """Whether x is finite."""
    def isin(self, y: Tensor | _bool | _int | _float = ..., *, invert: _bool = ..., other: Tensor | _bool | _int | _float = ..., test_elements: Tensor | _bool | _int | _float = ..., test_element: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether each element of x occurs in y."""
    def isin_(self, y: Tensor | _bool | _int | _float = ..., *, invert: _bool = ..., other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether each element of x occurs in y."""
    def isinf(self) -> Tensor:
        """Whether x is infinite."""
    def isinf_(self) -> Tensor:
        """Whether x is infinite."""
    def isnan(self) -> Tensor:
        """Whether x is not a number."""
    def isnan_(self) -> Tensor:
        """Whether x is not a number."""
    def isneginf(self) -> Tensor:
        """Whether x is −∞."""
    def isneginf_(self) -> Tensor:
        """Whether x is −∞."""
    def isposinf(self) -> Tensor:
        """Whether x is +∞."""
    def isposinf_(self) -> Tensor:
        """Whether x is +∞."""
    def isreal(self) -> Tensor:
        """Whether elements have no imaginary part: all real ones."""
    def istft(self, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., normalized: _bool = ..., onesided: _bool | None = ..., length: _int | None = ..., return_complex: _bool = ...) -> Tensor:
        """The signals whose transforms of windows these are, by least squares."""
    def item(self) -> _bool | _int | _float:
        """The one element, as a Python number."""
    @property
    def itemsize(self) -> Any:
        ...
    def kl_div(self, target: Tensor, *, reduction: str = ..., log_target: _bool = ...) -> Tensor:
        """The Kullback-Leibler divergence target · (log(target) − x), where x holds log-probabilities."""
    def kl_div_(self, target: Tensor, *, reduction: str = ..., log_target: _bool = ...) -> Tensor:
        """The Kullback-Leibler divergence target · (log(target) − x), where x holds log-probabilities."""
    def kron(self, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
        """The Kronecker product: every element of x times y, as a block."""
    def kron_(self, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
        """The Kronecker product: every element of x times y, as a block."""
    def kthvalue(self, k: _int, axis: _int = ..., keepdims: _bool = ..., *, dim: _int = ..., keepdim: _bool = ...) -> Values:
        """The k-th smallest element along an axis, counted from 1, and its index."""
    def kthvalue_(self, k: _int, axis: _int = ..., keepdims: _bool = ..., *, dim: _int = ..., keepdim: _bool = ...) -> Tensor:
        """The k-th smallest element along an axis, counted from 1, and its index."""
    def l1_loss(self, target: Tensor, *, reduction: str = ..., weight: Tensor | None = ...) -> Tensor:
        """The absolute difference times the weight; the mean divides by the sum of weights."""
    def l1_loss_(self, target: Tensor, *, reduction: str = ..., weight: Tensor | None = ...) -> Tensor:
        """The absolute difference times the weight; the mean divides by the sum of weights."""
    def largest(self) -> Tensor:
        """The maximum of each row; the first of equal elements gets the gradient."""
    def largest_(self) -> Tensor:
        """The maximum of each row; the first of equal elements gets the gradient."""
    def layer_norm(self, normalized_shape: _int | Sequence[_int], weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
        """Normalize x to mean 0 and variance 1 over its last axes, then scale and shift."""
    def layer_norm_(self, normalized_shape: _int | Sequence[_int], weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
        """Normalize x to mean 0 and variance 1 over its last axes, then scale and shift."""
    @property
    def layout(self, value: Any = ...) -> Any:
        ...
    def lcm(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The least common multiple."""
    def lcm_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The least common multiple."""
    def ldexp(self, other: Tensor) -> Tensor:
        """input · 2^other."""
    def ldexp_(self, other: Tensor) -> Tensor:
        """input · 2^other."""
    def le(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x ≤ y."""
    def le_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x ≤ y."""
    def leaky_relu(self, negative_slope: _float = ...) -> Tensor:
        """x where it is positive, negative_slope · x elsewhere."""
    def leaky_relu_(self, negative_slope: _float = ...) -> Tensor:
        """x where it is positive, negative_slope · x elsewhere."""
    def lerp(self, end: Tensor, weight: Tensor | _bool | _int | _float) -> Tensor:
        """Linear interpolation from x to end: x + weight · (end − x)."""
    def lerp_(self, end: Tensor, weight: Tensor | _bool | _int | _float) -> Tensor:
        """Linear interpolation from x to end: x + weight · (end − x)."""
    def less(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x < y."""
    def less_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x < y."""
    def less_equal(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x ≤ y."""
    def less_equal_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x ≤ y."""
    def lgamma(self) -> Tensor:
        """log of |gamma(x)|, where gamma(n) is (n − 1)!."""
    def lgamma_(self) -> Tensor:
        """log of |gamma(x)|, where gamma(n) is (n − 1)!."""
    def linear(self, weight: Tensor, bias: Tensor | None = ...) -> Tensor:
        """x · weightᵀ + bias, rounded once."""
    def linear_(self, weight: Tensor, bias: Tensor | None = ...) -> Tensor:
        """x · weightᵀ + bias, rounded once."""
    def linear_cross_entropy(self, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = ..., weight: Tensor | None = ..., reduction: str = ..., ignore_index: _int | None = ..., label_smoothing: _float = ..., z_loss: _float = ..., softcap: _float | None = ..., shift: _int = ..., return_lse: _bool = ..., strategy: str = ..., max_memory: _int | None = ..., most_rows: _int | None = ..., shifts: _int = ...) -> Tensor | tuple[Tensor, Tensor]:
        """cross_entropy(linear(x, linear_weight), target), chunk by chunk to save memory."""
    def linear_cross_entropy_(self, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = ..., weight: Tensor | None = ..., reduction: str = ..., ignore_index: _int | None = ..., label_smoothing: _float = ..., z_loss: _float = ..., softcap: _float | None = ..., shift: _int = ..., return_lse: _bool = ..., strategy: str = ..., max_memory: _int | None = ..., most_rows: _int | None = ..., shifts: _int = ...) -> Tensor:
        """cross_entropy(linear(x, linear_weight), target), chunk by chunk to save memory."""
    def linears(self, weights: Sequence[Tensor], biases: Sequence[Tensor] | None = ...) -> tuple[Tensor, ...]:
        """Several linear layers of the same x as a single product."""
    def linears_(self, weights: Sequence[Tensor], biases: Sequence[Tensor] | None = ...) -> Tensor:
        """Several linear layers of the same x as a single product."""
    def local_response_norm(self, size: _int, alpha: _float = ..., beta: _float = ..., k: _float = ...) -> Tensor:
        """Divide x by a power of the mean square of neighbouring channels (axis 1)."""
    def local_response_norm_(self, size: _int, alpha: _float = ..., beta: _float = ..., k: _float = ...) -> Tensor:
        """Divide x by a power of the mean square of neighbouring channels (axis 1)."""
    def log(self) -> Tensor:
        """The natural logarithm."""
    def log10(self) -> Tensor:
        """The logarithm to base 10."""
    def log10_(self) -> Tensor:
        """The logarithm to base 10."""
    def log1p(self) -> Tensor:
        """log(1 + x), exact near 0."""
    def log1p_(self) -> Tensor:
        """log(1 + x), exact near 0."""
    def log2(self) -> Tensor:
        """The logarithm to base 2."""
    def log2_(self) -> Tensor:
        """The logarithm to base 2."""
    def log_(self) -> Tensor:
        """The natural logarithm."""
    def log_normal_(self, mean: _float = ..., std: _float = ..., *, generator: Generator | None = ...) -> Tensor:
        """Set the elements to e to the power of normally distributed numbers."""
    def log_softmax(self, axis: _int = ..., *, dtype: object = ..., dim: _int = ...) -> Tensor:
        """log(softmax(x)), without underflow."""
    def log_softmax_(self, axis: _int = ..., *, dtype: object = ..., dim: _int = ...) -> Tensor:
        """log(softmax(x)), without underflow."""
    def logaddexp(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """log(exp(x) + exp(y)), without overflow."""
    def logaddexp2(self, other: Tensor) -> Tensor:
        """The logarithm to base 2 of 2^input + 2^other."""
    def logaddexp_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """log(exp(x) + exp(y)), without overflow."""
    def logcumsumexp(self, axis: _int = ..., *, dim: _int = ...) -> Tensor:
        """The logarithm of the cumulative sum of exp(x), without overflow."""
    def logcumsumexp_(self, axis: _int = ..., *, dim: _int = ...) -> Tensor:
        """The logarithm of the cumulative sum of exp(x), without overflow."""
    def logdet(self) -> Tensor:
        """The logarithm of the determinant; NaN if that is negative."""
    def logdet_(self) -> Tensor:
        """The logarithm of the determinant; NaN if that is negative."""
    def logical_and(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether both hold."""
    def logical_and_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether both hold."""
    def logical_not(self) -> Tensor:
        """Whether x is zero or False."""
    def logical_not_(self) -> Tensor:
        """Whether x is zero or False."""
    def logical_or(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether one holds."""
    def logical_or_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether one holds."""
    def logical_xor(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether exactly one holds."""
    def logical_xor_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether exactly one holds."""
    def logit(self, eps: _float | None = ...) -> Tensor:
        """log(x / (1 − x)); with eps, x is first clamped to [eps, 1 − eps]."""
    def logit_(self, eps: _float | None = ...) -> Tensor:
        """log(x / (1 − x)); with eps, x is first clamped to [eps, 1 − eps]."""
    def logsigmoid(self) -> Tensor:
        """log(sigmoid(x))."""
    def logsigmoid_(self) -> Tensor:
        """log(sigmoid(x))."""
    def logsumexp(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """log(sum(exp(x))) over axes, without overflow."""
    def logsumexp_(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """log(sum(exp(x))) over axes, without overflow."""
    def long(self, memory_format: object = ...) -> Tensor:
        """The tensor as int64."""
    def lp_pool1d(self, norm_type: _float, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., ceil_mode: _bool = ...) -> Tensor:
        """The norm of every window over the last 1 axes."""
    def lp_pool1d_(self, norm_type: _float, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., ceil_mode: _bool = ...) -> Tensor:
        """The norm of every window over the last 1 axes."""
    def lp_pool2d(self, norm_type: _float, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., ceil_mode: _bool = ...) -> Tensor:
        """The norm of every window over the last 2 axes."""
    def lp_pool2d_(self, norm_type: _float, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., ceil_mode: _bool = ...) -> Tensor:
        """The norm of every window over the last 2 axes."""
    def lp_pool3d(self, norm_type: _float, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., ceil_mode: _bool = ...) -> Tensor:
        """The norm of every window over the last 3 axes."""
    def lp_pool3d_(self, norm_type: _float, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., ceil_mode: _bool = ...) -> Tensor:
        """The norm of every window over the last 3 axes."""
    def lt(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x < y."""
    def lt_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x < y."""
    def lu(self, pivot: _bool = ..., get_infos: _bool = ...) -> tuple[Tensor, ...]:
        """L and U in one matrix, the row exchanges, and with get_infos the first zero pivot."""
    def lu_decomposition(self, *, pivot: _bool = ...) -> tuple[Tensor, Tensor, Tensor]:
        """P, L and U such that P · L · U = x: a permutation, a unit lower and an upper triangle."""
    def lu_decomposition_(self, *, pivot: _bool = ...) -> Tensor:
        """P, L and U such that P · L · U = x: a permutation, a unit lower and an upper triangle."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """x of A · x = b from the factors of A."""
    @property
    def mH(self) -> Any:
        ...
    @property
    def mT(self) -> Tensor:
        ...
    def map2_(self, x: Tensor = ..., y: Tensor = ..., callable: Callable[[Any, Any, Any], Any] = ..., *, input: Tensor = ..., tensor: Tensor = ..., a: Tensor = ..., other: Tensor = ...) -> Tensor:
        """Set each element to the result of a Python function of those of two tensors."""
    def map_(self, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
        """Set each element to the result of a Python function of it and another tensor's."""
    def margin_ranking_loss(self, y: Tensor = ..., target: Tensor = ..., *, margin: _float = ..., reduction: str = ..., other: Tensor = ..., input2: Tensor = ...) -> Tensor:
        """max(0, margin − target · (x − y)); target 1 means that x should exceed y, −1 that y should."""
    def margin_ranking_loss_(self, y: Tensor = ..., target: Tensor = ..., *, margin: _float = ..., reduction: str = ..., other: Tensor = ..., input2: Tensor = ...) -> Tensor:
        """max(0, margin − target · (x − y)); target 1 means that x should exceed y, −1 that y should."""
    def masked_fill(self, mask: Tensor, value: Tensor | _bool | _int | _float) -> Tensor:
        """x with a value where the mask is True, in x's dtype."""
    def masked_fill_(self, mask: Tensor, value: Tensor | _bool | _int | _float) -> Tensor:
        """x with a value where the mask is True, in x's dtype."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """x with the elements where the mask is True replaced by elements of source, in order."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """x with the elements where the mask is True replaced by elements of source, in order."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where the mask holds, in one axis."""
    def matmul(self, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
        """The matrix product; axes before the last two are batches and broadcast."""
    def matmul_(self, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
        """The matrix product; axes before the last two are batches and broadcast."""
    def matrix_exp(self) -> Tensor:
        """The matrix exponential Σ xᵏ / k!, by scaling and squaring in float64."""
    def matrix_exp_(self) -> Tensor:
        """The matrix exponential Σ xᵏ / k!, by scaling and squaring in float64."""
    def matrix_power(self, n: _int) -> Tensor:
        """The n-th power of a matrix; negative n powers its inverse."""
    def matrix_power_(self, n: _int) -> Tensor:
        """The n-th power of a matrix; negative n powers its inverse."""
    def matrix_transpose(self) -> Tensor:
        """Exchange the last two axes."""
    def max(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Any:
        """The maximum over axes; NaN if any is. Equal elements share the gradient."""
    def max_(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The maximum over axes; NaN if any is. Equal elements share the gradient."""
    def max_pool(self, kernel: Sequence[_int], stride: Sequence[_int], padding: tuple[tuple[_int, _int], ...], dilation: Sequence[_int], return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
        """The maximum of each window of x (n, c, ...), and on request its index in the plane."""
    def max_pool1d(self, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
        """The largest of every window over the last 1 axes."""
    def max_pool1d_(self, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Tensor:
        """The largest of every window over the last 1 axes."""
    def max_pool2d(self, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
        """The largest of every window over the last 2 axes."""
    def max_pool2d_(self, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Tensor:
        """The largest of every window over the last 2 axes."""
    def max_pool3d(self, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
        """The largest of every window over the last 3 axes."""
    def max_pool3d_(self, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Tensor:
        """The largest of every window over the last 3 axes."""
    def max_pool_(self, kernel: Sequence[_int], stride: Sequence[_int], padding: tuple[tuple[_int, _int], ...], dilation: Sequence[_int], return_indices: _bool = ...) -> Tensor:
        """The maximum of each window of x (n, c, ...), and on request its index in the plane."""
    def max_with_positions(self, axis: _int = ..., keepdims: _bool = ..., *, dim: _int = ..., keepdim: _bool = ...) -> tuple[Tensor, Tensor]:
        """The maximum along an axis and its first index; that element gets the gradient."""
    def max_with_positions_(self, axis: _int = ..., keepdims: _bool = ..., *, dim: _int = ..., keepdim: _bool = ...) -> Tensor:
        """The maximum along an axis and its first index; that element gets the gradient."""
    def maximum(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The larger; NaN wins."""
    def maximum_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The larger; NaN wins."""
    def mean(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The mean over axes."""
    def mean_(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The mean over axes."""
    def median(self) -> Any:
        """The median of all elements, the lower of two; NaN if empty."""
    def median_(self) -> Tensor:
        """The median of all elements, the lower of two; NaN if empty."""
    def median_with_positions(self, axis: _int = ..., keepdims: _bool = ..., *, dim: _int = ..., keepdim: _bool = ...) -> tuple[Tensor, Tensor]:
        """The median along an axis, the lower of two, and its index; NaN if a row has one."""
    def median_with_positions_(self, axis: _int = ..., keepdims: _bool = ..., *, dim: _int = ..., keepdim: _bool = ...) -> Tensor:
        """The median along an axis, the lower of two, and its index; NaN if a row has one."""
    def min(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Any:
        """The minimum over axes; NaN if any is. Equal elements share the gradient."""
    def min_(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The minimum over axes; NaN if any is. Equal elements share the gradient."""
    def min_with_positions(self, axis: _int = ..., keepdims: _bool = ..., *, dim: _int = ..., keepdim: _bool = ...) -> tuple[Tensor, Tensor]:
        """The minimum along an axis and its first index; that element gets the gradient."""
    def min_with_positions_(self, axis: _int = ..., keepdims: _bool = ..., *, dim: _int = ..., keepdim: _bool = ...) -> Tensor:
        """The minimum along an axis and its first index; that element gets the gradient."""
    def minimum(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The smaller; NaN wins."""
    def minimum_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The smaller; NaN wins."""
    def mish(self) -> Tensor:
        """x · tanh(softplus(x)) (Misra 2019, arXiv:1908.08681)."""
    def mish_(self) -> Tensor:
        """x · tanh(softplus(x)) (Misra 2019, arXiv:1908.08681)."""
    def mm(self, y: Tensor = ..., *, other: Tensor = ..., mat2: Tensor = ...) -> Tensor:
        """The product of two matrices."""
    def mm_(self, y: Tensor = ..., *, other: Tensor = ..., mat2: Tensor = ...) -> Tensor:
        """The product of two matrices."""
    def mod(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """What floor division leaves: it has y's sign."""
    def mod_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """What floor division leaves: it has y's sign."""
    def mode(self, axis: _int = ..., keepdims: _bool = ..., *, dim: _int = ..., keepdim: _bool = ...) -> Values:
        """The most frequent element along an axis, the smallest of several, and its last index."""
    def mode_(self, axis: _int = ..., keepdims: _bool = ..., *, dim: _int = ..., keepdim: _bool = ...) -> Tensor:
        """The most frequent element along an axis, the smallest of several, and its last index."""
    def moveaxis(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Move axes to other positions; the others keep their order."""
    def movedim(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Move axes to other positions; the others keep their order."""
    def mse_loss(self, target: Tensor, *, reduction: str = ..., weight: Tensor | None = ...) -> Tensor:
        """The squared difference times the weight; the mean divides by the sum of weights."""
    def mse_loss_(self, target: Tensor, *, reduction: str = ..., weight: Tensor | None = ...) -> Tensor:
        """The squared difference times the weight; the mean divides by the sum of weights."""
    def msort(self) -> Tensor:
        """The tensor sorted along its first axis."""
    def mul(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x · y."""
    def mul_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x · y."""
    def multi_margin_loss(self, target: Tensor, *, p: _int = ..., margin: _float = ..., weight: Tensor | None = ..., reduction: str = ...) -> Tensor:
        """max(0, margin − x of the target + x of each other class)^p, averaged over the classes."""
    def multi_margin_loss_(self, target: Tensor, *, p: _int = ..., margin: _float = ..., weight: Tensor | None = ..., reduction: str = ...) -> Tensor:
        """max(0, margin − x of the target + x of each other class)^p, averaged over the classes."""
    def multilabel_margin_loss(self, target: Tensor, *, reduction: str = ...) -> Tensor:
        """max(0, 1 − x of each target + x of each other class) / classes; −1 ends the targets."""
    def multilabel_margin_loss_(self, target: Tensor, *, reduction: str = ...) -> Tensor:
        """max(0, 1 − x of each target + x of each other class) / classes; −1 ends the targets."""
    def multilabel_soft_margin_loss(self, target: Tensor, weight: Tensor | None = ..., *, reduction: str = ...) -> Tensor:
        """binary_cross_entropy_with_logits, averaged over the classes of each row."""
    def multilabel_soft_margin_loss_(self, target: Tensor, weight: Tensor | None = ..., *, reduction: str = ...) -> Tensor:
        """binary_cross_entropy_with_logits, averaged over the classes of each row."""
    def multinomial(self, num_samples: _int, replacement: _bool = ..., *, generator: Generator | None = ...) -> Tensor:
        """Positions along the last axis, drawn with chances in proportion to the elements."""
    def multiply(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x · y."""
    def multiply_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x · y."""
    def mv(self, y: Tensor = ..., *, other: Tensor = ..., vec: Tensor = ...) -> Tensor:
        """The product of a matrix and a vector."""
    def mv_(self, y: Tensor = ..., *, other: Tensor = ..., vec: Tensor = ...) -> Tensor:
        """The product of a matrix and a vector."""
    def mvlgamma(self, p: _int) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension p."""
    def mvlgamma_(self, p: _int) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension p."""
    @property
    def name(self, value: Any = ...) -> Any:
        ...
    @property
    def names(self) -> Any:
        ...
    def nan_to_num(self, nan: _float = ..., posinf: _float | None = ..., neginf: _float | None = ...) -> Tensor:
        """Replace NaN and infinities by finite numbers; None means the dtype's extremes."""
    def nan_to_num_(self, nan: _float = ..., posinf: _float | None = ..., neginf: _float | None = ...) -> Tensor:
        """Replace NaN and infinities by finite numbers; None means the dtype's extremes."""
    def nanmean(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The mean over axes, ignoring NaN."""
    def nanmean_(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The mean over axes, ignoring NaN."""
    def nanmedian(self, dim: _int | None = ..., keepdim: _bool = ...) -> Any:
        """The median of what is not NaN; along an axis with its positions."""
    def nanquantile(self, q: Any, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ...) -> Tensor:
        """The quantile of what is not NaN in every row; NaN, where there is nothing else."""
    def nansum(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The sum over axes, ignoring NaN."""
    def nansum_(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The sum over axes, ignoring NaN."""
    def narrow(self, axis: _int = ..., start: _int | Tensor = ..., length: _int | Tensor = ..., *, dim: _int = ...) -> Tensor:
        """A slice of given length along an axis."""
    def narrow_copy(self, dim: _int, start: _int, length: _int) -> Tensor:
        """A copy of `length` slices of an axis."""
    @property
    def nbytes(self) -> Any:
        ...
    def ndimension(self) -> _int:
        """Number of axes."""
    def ne(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x ≠ y."""
    def ne_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x ≠ y."""
    def neg(self) -> Tensor:
        """−x."""
    def neg_(self) -> Tensor:
        """−x."""
    def negative(self) -> Tensor:
        """−x."""
    def negative_(self) -> Tensor:
        """−x."""
    def nelement(self) -> _int:
        """Number of elements."""
    def new(self, *sizes: Any, device: object = ...) -> Tensor:
        """A tensor of these sizes, or of these values, in this tensor's dtype."""
    def new_empty(self, *size: Any, dtype: object = ..., device: object = ..., requires_grad: _bool = ...) -> Tensor:
        """A tensor whose values do not matter: zeros, of this tensor's dtype."""
    def new_empty_strided(self, size: Any, stride: Any, **options: Any) -> Tensor:
        """An uninitialized tensor of this tensor's dtype."""
    def new_full(self, size: Any, fill_value: Any, dtype: object = ..., device: object = ..., requires_grad: _bool = ...) -> Tensor:
        """A tensor of one value, in this tensor's dtype."""
    def new_ones(self, *size: Any, dtype: object = ..., device: object = ..., requires_grad: _bool = ...) -> Tensor:
        """A tensor of ones, of this tensor's dtype."""
    def new_tensor(self, data: Any, dtype: object = ..., device: object = ..., requires_grad: _bool = ...) -> Tensor:
        """A tensor of values, of this one's dtype."""
    def new_zeros(self, *size: Any, dtype: object = ..., device: object = ..., requires_grad: _bool = ...) -> Tensor:
        """A tensor of zeros, of this tensor's dtype."""
    def nextafter(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The next float after x in the direction of y."""
    def nextafter_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """The next float after x in the direction of y."""
    def nll_loss(self, target: Tensor, weight: Tensor | None = ..., *, ignore_index: _int = ..., reduction: str = ..., axis: _int | None = ..., dim: _int | None = ...) -> Tensor:
        """−x at the target class, where x holds log-probabilities."""
    def nll_loss_(self, target: Tensor, weight: Tensor | None = ..., *, ignore_index: _int = ..., reduction: str = ..., axis: _int | None = ..., dim: _int | None = ...) -> Tensor:
        """−x at the target class, where x holds log-probabilities."""
    def nonzero(self, *, as_tuple: _bool = ...) -> Any:
        """The positions of nonzero elements: one row each, or one tensor per axis."""
    def nonzero_static(self, *, size: _int, fill_value: _int = ...) -> Tensor:
        """The first positions of what is not zero, filled up to a number of rows."""
    def norm(self, p: _float | str = ..., axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The p-norm of x over axes; p="fro" is 2, "nuc" the sum of a matrix's singular values."""
    def norm_(self, p: _float | str = ..., axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The p-norm of x over axes; p="fro" is 2, "nuc" the sum of a matrix's singular values."""
    def normal_(self, mean: _float = ..., std: _float = ..., *, generator: Generator | None = ...) -> Tensor:
        """Set the elements to numbers from a normal distribution."""
    def normalize(self, p: _float = ..., axis: _int | Sequence[_int] | None = ..., eps: _float = ..., *, dim: _int | Sequence[_int] | None = ...) -> Tensor:
        """Divide x by its p-norm along an axis, with norms at least eps."""
    def normalize_(self, p: _float = ..., axis: _int | Sequence[_int] | None = ..., eps: _float = ..., *, dim: _int | Sequence[_int] | None = ...) -> Tensor:
        """Divide x by its p-norm along an axis, with norms at least eps."""
    def not_equal(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x ≠ y."""
    def not_equal_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """Whether x ≠ y."""
    def numel(self) -> _int:
        """Number of elements."""
    def numpy(self, *, force: _bool = ...) -> ndarray:
        """The tensor's memory as a numpy array: a write to it is a write to the tensor."""
    def ones_like(self, *, dtype: object = ...) -> Tensor:
        """Ones with the shape and dtype of x."""
    def ones_like_(self, *, dtype: object = ...) -> Tensor:
        """Ones with the shape and dtype of x."""
    def orgqr(self, tau: Tensor = ..., *, input2: Tensor = ...) -> Tensor:
        """The first columns of Π (1 − tau_k v_k v_kᵀ), v_k below the diagonal of x, 1 on it."""
    def orgqr_(self, tau: Tensor = ..., *, input2: Tensor = ...) -> Tensor:
        """The first columns of Π (1 − tau_k v_k v_kᵀ), v_k below the diagonal of x, 1 on it."""
    def ormqr(self, tau: Tensor, other: Tensor, left: _bool = ..., transpose: _bool = ...) -> Tensor:
        """The product Q · other, or other · Q, with Q from reflections; Qᵀ with transpose."""
    def outer(self, y: Tensor = ..., *, other: Tensor = ..., vec2: Tensor = ...) -> Tensor:
        """The outer product of two vectors."""
    def outer_(self, y: Tensor = ..., *, other: Tensor = ..., vec2: Tensor = ...) -> Tensor:
        """The outer product of two vectors."""
    @property
    def output_nr(self, value: Any = ...) -> Any:
        ...
    def pad(self, pad: Sequence[_int], mode: str = ..., value: _bool | _int | _float | None = ...) -> Tensor:
        """Pad x; pairs (before, after) begin with the last axis."""
    def pad_(self, pad: Sequence[_int], mode: str = ..., value: _bool | _int | _float | None = ...) -> Tensor:
        """Pad x; pairs (before, after) begin with the last axis."""
    def pairwise_distance(self, y: Tensor = ..., p: _float = ..., eps: _float = ..., keepdims: _bool = ..., *, other: Tensor = ..., x2: Tensor = ..., keepdim: _bool = ...) -> Tensor:
        """The p-norm of x − y + eps along the last axis."""
    def pairwise_distance_(self, y: Tensor = ..., p: _float = ..., eps: _float = ..., keepdims: _bool = ..., *, other: Tensor = ..., x2: Tensor = ..., keepdim: _bool = ...) -> Tensor:
        """The p-norm of x − y + eps along the last axis."""
    def permute(self, axes: _int | Sequence[_int] = ..., *more: _int, dims: _int | Sequence[_int] = ...) -> Tensor:
        """Reorder the axes."""
    def permute_dims(self, axes: _int | Sequence[_int] = ..., *more: _int, dims: _int | Sequence[_int] = ...) -> Tensor:
        """Reorder the axes."""
    def pick(self, index: Tensor = ..., axis: _int = ..., *, input: Tensor = ..., indices: Tensor = ..., dim: _int = ...) -> Tensor:
        """One element of each row along an axis, by its index."""
    def pick_(self, index: Tensor = ..., axis: _int = ..., *, input: Tensor = ..., indices: Tensor = ..., dim: _int = ...) -> Tensor:
        """One element of each row along an axis, by its index."""
    def pin_memory(self) -> Tensor:
        """Itself: there is no other memory to copy to."""
    def pinverse(self, rcond: Tensor | _float | None = ..., hermitian: _bool = ..., *, atol: Tensor | _float | None = ..., rtol: Tensor | _float | None = ...) -> Tensor:
        """The pseudoinverse: V · diag(1 / S) · Uᵀ over singular values above max(atol, rtol · largest)."""
    def pinverse_(self, rcond: Tensor | _float | None = ..., hermitian: _bool = ..., *, atol: Tensor | _float | None = ..., rtol: Tensor | _float | None = ...) -> Tensor:
        """The pseudoinverse: V · diag(1 / S) · Uᵀ over singular values above max(atol, rtol · largest)."""
    def pixel_shuffle(self, upscale_factor: _int) -> Tensor:
        """Rearrange groups of channels into blocks of pixels of a finer image."""
    def pixel_shuffle_(self, upscale_factor: _int) -> Tensor:
        """Rearrange groups of channels into blocks of pixels of a finer image."""
    def pixel_unshuffle(self, downscale_factor: _int) -> Tensor:
        """Rearrange blocks of pixels into channels of a coarser image."""
    def pixel_unshuffle_(self, downscale_factor: _int) -> Tensor:
        """Rearrange blocks of pixels into channels of a coarser image."""
    def placed(self, axis: _int = ..., index: Tensor = ..., values: Tensor | _bool | _int | _float = ..., *, dim: _int = ..., input: Tensor = ..., indices: Tensor = ..., src: Tensor | _bool | _int | _float = ..., source: Tensor | _bool | _int | _float = ...) -> Tensor:
        """scatter by a fold that finds which value stays, and a gather that fetches it."""
    def placed_(self, axis: _int = ..., index: Tensor = ..., values: Tensor | _bool | _int | _float = ..., *, dim: _int = ..., input: Tensor = ..., indices: Tensor = ..., src: Tensor | _bool | _int | _float = ..., source: Tensor | _bool | _int | _float = ...) -> Tensor:
        """scatter by a fold that finds which value stays, and a gather that fetches it."""
    @property
    def placements(self) -> tuple[Placement, ...]:
        """The placement along every axis of the tensor's mesh."""
    def poisson_nll_loss(self, target: Tensor, *, log_input: _bool = ..., full: _bool = ..., eps: _float = ..., reduction: str = ...) -> Tensor:
        """−log of the Poisson probability of target, where the mean is exp(x), or x."""
    def poisson_nll_loss_(self, target: Tensor, *, log_input: _bool = ..., full: _bool = ..., eps: _float = ..., reduction: str = ...) -> Tensor:
        """−log of the Poisson probability of target, where the mean is exp(x), or x."""
    def polygamma(self, n: Any) -> Any:
        ...
    def polygamma_(self, n: Any) -> Tensor:
        ...
    def pos(self) -> Tensor:
        """x."""
    def positive(self) -> Tensor:
        """x."""
    def pow(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ..., exponent: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x to the power y."""
    def pow_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ..., exponent: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x to the power y."""
    def prelu(self, weight: Tensor) -> Tensor:
        """leaky_relu with a learned slope: one for all elements, or one per channel (axis 1)."""
    def prelu_(self, weight: Tensor) -> Tensor:
        """leaky_relu with a learned slope: one for all elements, or one per channel (axis 1)."""
    def prod(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The product over axes; booleans and integers are multiplied in 64 bits."""
    def prod_(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The product over axes; booleans and integers are multiplied in 64 bits."""
    def put(self, index: Tensor = ..., source: Tensor = ..., accumulate: _bool = ..., *, indices: Tensor = ...) -> Tensor:
        """A tensor with values at positions, counted in the flattened tensor."""
    def put_(self, index: Tensor = ..., source: Tensor = ..., accumulate: _bool = ..., *, indices: Tensor = ...) -> Tensor:
        """A tensor with values at positions, counted in the flattened tensor."""
    def qr(self, mode: str = ...) -> tuple[Tensor, Tensor]:
        """Q with orthonormal columns and an upper triangle R such that Q · R = x."""
    def qr_(self, mode: str = ...) -> Tensor:
        """Q with orthonormal columns and an upper triangle R such that Q · R = x."""
    def quantile(self, q: _float | Sequence[_float] | Tensor, axis: _int | None = ..., keepdims: _bool = ..., *, interpolation: str = ..., dim: _int | None = ..., keepdim: _bool = ...) -> Tensor:
        """The q-quantile along an axis, or of all elements; several q come along a new first axis."""
    def quantile_(self, q: _float | Sequence[_float] | Tensor, axis: _int | None = ..., keepdims: _bool = ..., *, interpolation: str = ..., dim: _int | None = ..., keepdim: _bool = ...) -> Tensor:
        """The q-quantile along an axis, or of all elements; several q come along a new first axis."""
    def rad2deg(self) -> Tensor:
        """Convert radians to degrees."""
    def rad2deg_(self) -> Tensor:
        """Convert radians to degrees."""
    def random_(self, from_: _int | None = ..., to: Any = ..., *, generator: Generator | None = ...) -> Tensor:
        """Take integers from `from_` up to, not including, `to`; of one number, from 0 up to it."""
    def ravel(self, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
        """Merge a range of axes into one."""
    @property
    def real(self, *args: Any, **kwargs: Any) -> Any:
        """conj of this tensor."""
    def reciprocal(self) -> Tensor:
        """1 / x."""
    def reciprocal_(self) -> Tensor:
        """1 / x."""
    def redistribute(self, device_mesh: Any = ..., placements: Sequence[Placement] | None = ..., *, async_op: _bool = ...) -> Tensor:
        """The value in another layout; all ranks call it, and gradients pass."""
    def register_hook(self, hook: Callable) -> Handle:
        """Call hook(gradient) in every backward pass; a returned value replaces the gradient."""
    def register_post_accumulate_grad_hook(self, hook: Callable) -> Handle:
        """Call hook(tensor) after its gradient was gathered."""
    def relu(self) -> Tensor:
        """The larger of x and 0."""
    def relu6(self) -> Tensor:
        """x clamped to [0, 6]."""
    def relu6_(self) -> Tensor:
        """x clamped to [0, 6]."""
    def relu_(self) -> Tensor:
        """The larger of x and 0."""
    def remainder(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """What floor division leaves: it has y's sign."""
    def remainder_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """What floor division leaves: it has y's sign."""
    def renorm(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """The slices along an axis, those whose p-norm is above maxnorm brought down to it."""
    def renorm_(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """The slices along an axis, those whose p-norm is above maxnorm brought down to it."""
    def reordered(self, order: Tensor, inverse: Tensor) -> Tensor:
        """Reorder the rows of each block; `inverse` says where each row goes."""
    def reordered_(self, order: Tensor, inverse: Tensor) -> Tensor:
        """Reorder the rows of each block; `inverse` says where each row goes."""
    def repeat(self, repetitions: _int | Sequence[_int] = ..., *more: _int, dims: _int | Sequence[_int] = ...) -> Tensor:
        """Tile copies of x along each axis."""
    def repeat_(self, repetitions: _int | Sequence[_int], *more: _int) -> Tensor:
        """Tile copies of x along each axis."""
    def repeat_interleave(self, repeats: _int | Tensor, axis: _int | None = ..., *, dim: _int | None = ...) -> Tensor:
        """Repeat each element along an axis; None repeats those of flattened x."""
    def repeat_interleave_(self, repeats: _int | Tensor, axis: _int | None = ..., *, dim: _int | None = ...) -> Tensor:
        """Repeat each element along an axis; None repeats those of flattened x."""
    def requires_grad_(self, requires_grad: _bool = ...) -> Tensor:
        """Set whether backward passes compute a gradient for this leaf."""
    def reshape(self, shape: _int | Sequence[_int] = ..., *more: _int, size: _int | Sequence[_int] = ...) -> Tensor:
        """Change the shape without changing the elements' order; one size may be -1."""
    def reshape_as(self, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
        """x in the shape of y."""
    def resize_(self, *sizes: Any, memory_format: object = ...) -> Tensor:
        """Change the shape over the same memory; if it is too small, it is copied and zero-padded."""
    def resize_as_(self, other: Tensor, *, memory_format: object = ...) -> Tensor:
        """Change the shape to that of another tensor, and on request its memory format."""
    def resolve_conj(self) -> Tensor:
        """Return the tensor: conjugations and signs are never pending."""
    def resolve_neg(self) -> Tensor:
        """Return the tensor: conjugations and signs are never pending."""
    def retain_grad(self) -> None:
        """Retain the gradient of this tensor although it is no leaf."""
    @property
    def retains_grad(self) -> Any:
        ...
    def rms_norm(self, normalized_shape: _int | Sequence[_int], weight: Tensor | None = ..., eps: _float | None = ...) -> Tensor:
        """Divide x by its root mean square over its last axes, then scale."""
    def rms_norm_(self, normalized_shape: _int | Sequence[_int], weight: Tensor | None = ..., eps: _float | None = ...) -> Tensor:
        """Divide x by its root mean square over its last axes, then scale."""
    def roll(self, shift: _int | Sequence[_int] = ..., axis: _int | Sequence[_int] | None = ..., *, shifts: _int | Sequence[_int] = ..., dim: _int | Sequence[_int] | None = ..., dims: _int | Sequence[_int] | None = ...) -> Tensor:
        """Shift elements along axes; those pushed off the end reappear at the start."""
    def roll_(self, shift: _int | Sequence[_int] = ..., axis: _int | Sequence[_int] | None = ..., *, shifts: _int | Sequence[_int] = ..., dim: _int | Sequence[_int] | None = ...) -> Tensor:
        """Shift elements along axes; those pushed off the end reappear at the start."""
    def rot90(self, k: _int = ..., axes: Sequence[_int] = ...) -> Tensor:
        """Rotate by k quarter turns, from the first of two axes towards the second."""
    def rot90_(self, k: _int = ..., axes: Sequence[_int] = ...) -> Tensor:
        """Rotate by k quarter turns, from the first of two axes towards the second."""
    def round(self, *, decimals: _int = ...) -> Tensor:
        """Round to a number of decimals; halves go to the even digit."""
    def round_(self, *, decimals: _int = ...) -> Tensor:
        """Round to a number of decimals; halves go to the even digit."""
    def routed_mm(self, mats: Tensor, ends: Tensor) -> Tensor:
        """Multiply each row by the matrix of its group; each block's rows are sorted by group."""
    def routed_mm_(self, mats: Tensor, ends: Tensor) -> Tensor:
        """Multiply each row by the matrix of its group; each block's rows are sorted by group."""
    def routed_rows(self, mats: Tensor, ends: Tensor) -> Tensor:
        """routed_mm without its checks, in the dtype of sums."""
    def routed_rows_(self, mats: Tensor, ends: Tensor) -> Tensor:
        """routed_mm without its checks, in the dtype of sums."""
    def routed_steps(self, y: Tensor = ..., ends: Tensor = ..., *, other: Tensor = ...) -> Tensor:
        """The product over each group's steps, in the dtype of sums; 0 for an empty group."""
    def routed_steps_(self, y: Tensor = ..., ends: Tensor = ..., *, other: Tensor = ...) -> Tensor:
        """The product over each group's steps, in the dtype of sums; 0 for an empty group."""
    def rsqrt(self) -> Tensor:
        """One over the square root."""
    def rsqrt_(self) -> Tensor:
        """One over the square root."""
    def scatter(self, axis: _int = ..., index: Tensor = ..., values: Tensor | _bool | _int | _float = ..., *, reduce: str | None = ..., dim: _int = ..., input: Tensor = ..., indices: Tensor = ..., src: Tensor | _bool | _int | _float = ..., source: Tensor | _bool | _int | _float = ..., value: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x with values at indices along an axis; of repeated indices the last one counts."""
    def scatter_(self, axis: _int = ..., index: Tensor = ..., values: Tensor | _bool | _int | _float = ..., *, reduce: str | None = ..., dim: _int = ..., input: Tensor = ..., indices: Tensor = ..., src: Tensor | _bool | _int | _float = ..., source: Tensor | _bool | _int | _float = ..., value: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x with values at indices along an axis; of repeated indices the last one counts."""
    def scatter_add(self, axis: _int = ..., index: Tensor = ..., values: Tensor = ..., *, dim: _int = ..., input: Tensor = ..., indices: Tensor = ..., src: Tensor = ..., source: Tensor = ...) -> Tensor:
        """x plus each value at its index along an axis."""
    def scatter_add_(self, axis: _int = ..., index: Tensor = ..., values: Tensor = ..., *, dim: _int = ..., input: Tensor = ..., indices: Tensor = ..., src: Tensor = ..., source: Tensor = ...) -> Tensor:
        """x plus each value at its index along an axis."""
    def scatter_reduce(self, axis: _int = ..., index: Tensor = ..., values: Tensor | _bool | _int | _float = ..., reduce: str = ..., *, include_self: _bool = ..., dim: _int = ..., input: Tensor = ..., indices: Tensor = ..., src: Tensor | _bool | _int | _float = ..., source: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x reduced with values at indices along an axis: "sum", "prod", "mean", "amax" or "amin"."""
    def scatter_reduce_(self, axis: _int = ..., index: Tensor = ..., values: Tensor | _bool | _int | _float = ..., reduce: str = ..., *, include_self: _bool = ..., dim: _int = ..., input: Tensor = ..., indices: Tensor = ..., src: Tensor | _bool | _int | _float = ..., source: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x reduced with values at indices along an axis: "sum", "prod", "mean", "amax" or "amin"."""
    def select(self, axis: _int = ..., index: _int = ..., *, dim: _int = ..., input: _int = ..., indices: _int = ...) -> Tensor:
        """The slice at an index of an axis, without that axis."""
    def select_scatter(self, src: Tensor, dim: _int, index: _int = ..., *, indices: _int = ...) -> Tensor:
        """A tensor with other values at one place of an axis."""
    def selu(self) -> Tensor:
        """elu scaled so that stacked layers keep mean 0 and variance 1."""
    def selu_(self) -> Tensor:
        """elu scaled so that stacked layers keep mean 0 and variance 1."""
    def set_(self, source: Any = ..., storage_offset: _int = ..., size: Any = ..., stride: Any = ...) -> Tensor:
        """Make this tensor share the memory of a tensor or storage, or a strided part of it."""
    def sgn(self) -> Tensor:
        """-1, 0 or 1, as x is negative, zero or positive."""
    def sgn_(self) -> Tensor:
        """-1, 0 or 1, as x is negative, zero or positive."""
    def share_memory_(self) -> Tensor:
        """Move the memory behind this tensor to shared memory, for processes that receive the tensor."""
    def short(self, memory_format: object = ...) -> Tensor:
        """The tensor as int16."""
    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(−x))."""
    def sigmoid_(self) -> Tensor:
        """1 / (1 + exp(−x))."""
    def sign(self) -> Tensor:
        """-1, 0 or 1, as x is negative, zero or positive."""
    def sign_(self) -> Tensor:
        """-1, 0 or 1, as x is negative, zero or positive."""
    def signbit(self) -> Tensor:
        """Whether the sign bit is set; −0 has it too."""
    def signbit_(self) -> Tensor:
        """Whether the sign bit is set; −0 has it too."""
    def silu(self) -> Tensor:
        """x · sigmoid(x) (Elfwing, Uchibe and Doya 2017, arXiv:1702.03118)."""
    def silu_(self) -> Tensor:
        """x · sigmoid(x) (Elfwing, Uchibe and Doya 2017, arXiv:1702.03118)."""
    def sin(self) -> Tensor:
        """The sine of an angle in radians."""
    def sin_(self) -> Tensor:
        """The sine of an angle in radians."""
    def sinc(self) -> Tensor:
        """sin(πx) / (πx), and 1 at 0."""
    def sinc_(self) -> Tensor:
        """sin(πx) / (πx), and 1 at 0."""
    def sinh(self) -> Tensor:
        """The hyperbolic sine."""
    def sinh_(self) -> Tensor:
        """The hyperbolic sine."""
    @property
    def size(self) -> Count:
        """The number of elements; called, the shape."""
    def slice_scatter(self, src: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ...) -> Tensor:
        """A tensor with other values in a slice of an axis."""
    def slogdet(self) -> tuple[Tensor, Tensor]:
        """The sign of the determinant, and the logarithm of its absolute value."""
    def slogdet_(self) -> Tensor:
        """The sign of the determinant, and the logarithm of its absolute value."""
    def smooth_l1_loss(self, target: Tensor, *, reduction: str = ..., beta: _float = ...) -> Tensor:
        """The absolute difference, quadratic where it is below beta."""
    def smooth_l1_loss_(self, target: Tensor, *, reduction: str = ..., beta: _float = ...) -> Tensor:
        """The absolute difference, quadratic where it is below beta."""
    def soft_margin_loss(self, target: Tensor, *, reduction: str = ...) -> Tensor:
        """log(1 + exp(−target · x)), targets 1 or −1."""
    def soft_margin_loss_(self, target: Tensor, *, reduction: str = ...) -> Tensor:
        """log(1 + exp(−target · x)), targets 1 or −1."""
    def softmax(self, axis: _int = ..., *, dtype: object = ..., dim: _int = ...) -> Tensor:
        """Exponentials along an axis, divided by their sum."""
    def softmax_(self, axis: _int = ..., *, dtype: object = ..., dim: _int = ...) -> Tensor:
        """Exponentials along an axis, divided by their sum."""
    def softmin(self, axis: _int = ..., *, dim: _int = ...) -> Tensor:
        """softmax of −x."""
    def softmin_(self, axis: _int = ..., *, dim: _int = ...) -> Tensor:
        """softmax of −x."""
    def softplus(self, beta: _float = ..., threshold: _float = ...) -> Tensor:
        """log(1 + exp(beta · x)) / beta; x itself where beta · x is above the threshold."""
    def softplus_(self, beta: _float = ..., threshold: _float = ...) -> Tensor:
        """log(1 + exp(beta · x)) / beta; x itself where beta · x is above the threshold."""
    def softshrink(self, lambd: _float = ...) -> Tensor:
        """x moved towards 0 by lambd; 0 where |x| ≤ lambd."""
    def softshrink_(self, lambd: _float = ...) -> Tensor:
        """x moved towards 0 by lambd; 0 where |x| ≤ lambd."""
    def softsign(self) -> Tensor:
        """x / (1 + |x|)."""
    def softsign_(self) -> Tensor:
        """x / (1 + |x|)."""
    def sort(self, axis: _int = ..., descending: _bool = ..., *, stable: _bool = ..., dim: _int = ...) -> Any:
        """Sort an axis, and return the indices too; equal elements keep their order."""
    def sort_(self, axis: _int = ..., descending: _bool = ..., *, stable: _bool = ..., dim: _int = ...) -> Tensor:
        """Sort an axis, and return the indices too; equal elements keep their order."""
    def sparse_mask(self, mask: SparseTensor) -> SparseTensor:
        """The values of a dense tensor at a sparse one's positions."""
    def split(self, split_size: _int | Sequence[_int] = ..., axis: _int = ..., *, split_size_or_sections: _int | Sequence[_int] = ..., split_sizes: _int | Sequence[_int] = ..., dim: _int = ...) -> tuple[Tensor, ...]:
        """Split an axis into parts of one size (the last may be smaller), or of given sizes."""
    def split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = ...) -> tuple:
        """Parts of these sizes."""
    def sqrt(self) -> Tensor:
        """The square root."""
    def sqrt_(self) -> Tensor:
        """The square root."""
    def square(self) -> Tensor:
        """x · x."""
    def square_(self) -> Tensor:
        """x · x."""
    def squeeze(self, axis: _int | Sequence[_int] | None = ..., *, dim: _int | Sequence[_int] | None = ...) -> Tensor:
        """Remove axes of size 1: all of them, or those among the given axes."""
    def squeeze_(self, axis: _int | Sequence[_int] | None = ..., *, dim: _int | Sequence[_int] | None = ...) -> Tensor:
        """Remove axes of size 1: all of them, or those among the given axes."""
    def std(self, axis: _int | Sequence[_int] | None | _bool = ..., unbiased: _bool | None = ..., keepdims: _bool = ..., *, correction: _int | _float | None = ..., dim: _int | Sequence[_int] | None | _bool = ..., keepdim: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
        """The square root of the variance."""
    def std_(self, axis: _int | Sequence[_int] | None | _bool = ..., unbiased: _bool | None = ..., keepdims: _bool = ..., *, correction: _int | _float | None = ..., dim: _int | Sequence[_int] | None | _bool = ..., keepdim: _bool = ...) -> Tensor:
        """The square root of the variance."""
    def std_mean(self, axis: _int | Sequence[_int] | None | _bool = ..., unbiased: _bool | None = ..., keepdims: _bool = ..., *, correction: _int | _float | None = ..., dim: _int | Sequence[_int] | None | _bool = ..., keepdim: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
        """The square root of the variance, and the mean."""
    def std_mean_(self, axis: _int | Sequence[_int] | None | _bool = ..., unbiased: _bool | None = ..., keepdims: _bool = ..., *, correction: _int | _float | None = ..., dim: _int | Sequence[_int] | None | _bool = ..., keepdim: _bool = ...) -> Tensor:
        """The square root of the variance, and the mean."""
    def stft(self, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., pad_mode: str = ..., normalized: _bool = ..., onesided: _bool | None = ..., return_complex: _bool | None = ..., align_to_window: _bool | None = ...) -> Tensor:
        """The transforms of windows along signals: frequencies, then windows."""
    def storage(self) -> TypedStorage:
        """The memory behind this tensor, in elements."""
    def storage_offset(self) -> _int:
        """The position of the first element in its storage."""
    def stride(self, dim: _int | None = ...) -> Any:
        """The number of elements between neighbours along each axis, or along one."""
    def sub(self, y: Tensor | _bool | _int | _float = ..., *, alpha: _bool | _int | _float = ..., other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x − alpha · y."""
    def sub_(self, y: Tensor | _bool | _int | _float = ..., *, alpha: _bool | _int | _float = ..., other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x − alpha · y."""
    def subtract(self, y: Tensor | _bool | _int | _float = ..., *, alpha: _bool | _int | _float = ..., other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x − alpha · y."""
    def subtract_(self, y: Tensor | _bool | _int | _float = ..., *, alpha: _bool | _int | _float = ..., other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x − alpha · y."""
    def sum(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The sum over axes; booleans and integers are summed in 64 bits."""
    def sum_(self, axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The sum over axes; booleans and integers are summed in 64 bits."""
    def sum_to_size(self, *size: Any) -> Tensor:
        """The sum over axes along which a tensor of a size would be broadcast to this one."""
    def surprise(self, target: Tensor) -> Tensor:
        """The negative log-likelihood of a probability, with logarithms clamped to at least −100."""
    def surprise_(self, target: Tensor) -> Tensor:
        """The negative log-likelihood of a probability, with logarithms clamped to at least −100."""
    def svd(self, some: _bool = ..., compute_uv: _bool = ...) -> Svd:
        """U, S and V of U · diag(S) · Vᴴ = input."""
    def swapaxes(self, dim0: _int = ..., dim1: _int = ..., *, axis0: _int = ..., axis1: _int = ...) -> Tensor:
        """Exchange two axes."""
    def swapaxes_(self, dim0: _int = ..., dim1: _int = ..., *, axis0: _int = ..., axis1: _int = ...) -> Tensor:
        """Exchange two axes."""
    def swapdims(self, dim0: _int = ..., dim1: _int = ..., *, axis0: _int = ..., axis1: _int = ...) -> Tensor:
        """Exchange two axes."""
    def swapdims_(self, dim0: _int = ..., dim1: _int = ..., *, axis0: _int = ..., axis1: _int = ...) -> Tensor:
        """Exchange two axes."""
    def swish(self) -> Tensor:
        """x · sigmoid(x) (Elfwing, Uchibe and Doya 2017, arXiv:1702.03118)."""
    def swish_(self) -> Tensor:
        """x · sigmoid(x) (Elfwing, Uchibe and Doya 2017, arXiv:1702.03118)."""
    def t(self) -> Tensor:
        """Transpose a matrix; a vector stays as it is."""
    def t_(self) -> Tensor:
        """Transpose a matrix; a vector stays as it is."""
    def take(self, index: Tensor = ..., axis: _int | None = ..., *, input: Tensor = ..., indices: Tensor = ..., dim: _int | None = ...) -> Tensor:
        """Slices of x by index along an axis, negative ones from the end; None: of flattened x."""
    def take_(self, index: Tensor = ..., axis: _int | None = ..., *, input: Tensor = ..., indices: Tensor = ..., dim: _int | None = ...) -> Tensor:
        """Slices of x by index along an axis, negative ones from the end; None: of flattened x."""
    def take_along_axis(self, index: Tensor = ..., axis: _int = ..., *, input: Tensor = ..., indices: Tensor = ..., dim: _int = ...) -> Tensor:
        """gather with broadcasting of the other axes, and negative indices from the end."""
    def take_along_axis_(self, index: Tensor = ..., axis: _int = ..., *, input: Tensor = ..., indices: Tensor = ..., dim: _int = ...) -> Tensor:
        """gather with broadcasting of the other axes, and negative indices from the end."""
    def take_along_dim(self, index: Tensor = ..., axis: _int | None = ..., *, input: Tensor = ..., indices: Tensor = ..., dim: _int | None = ...) -> Tensor:
        """take_along_axis; without an axis, of both flattened."""
    def take_along_dim_(self, index: Tensor = ..., axis: _int | None = ..., *, input: Tensor = ..., indices: Tensor = ..., dim: _int | None = ...) -> Tensor:
        """take_along_axis; without an axis, of both flattened."""
    def tan(self) -> Tensor:
        """The tangent of an angle in radians."""
    def tan_(self) -> Tensor:
        """The tangent of an angle in radians."""
    def tanh(self) -> Tensor:
        """The hyperbolic tangent."""
    def tanh_(self) -> Tensor:
        """The hyperbolic tangent."""
    def tanhshrink(self) -> Tensor:
        """x − tanh(x)."""
    def tanhshrink_(self) -> Tensor:
        """x − tanh(x)."""
    def tensor_split(self, sections: _int | Sequence[_int] | Tensor = ..., axis: _int = ..., *, indices: _int | Sequence[_int] | Tensor = ..., indices_or_sections: _int | Sequence[_int] | Tensor = ..., dim: _int = ...) -> tuple[Tensor, ...]:
        """Split x into a number of parts of nearly equal size, or at the given positions."""
    def tensordot(self, y: Tensor = ..., axes: _int | Sequence[Sequence[_int]] = ..., *, other: Tensor = ..., b: Tensor = ..., dims: _int | Sequence[Sequence[_int]] = ...) -> Tensor:
        """The sum of products over the last axes of x and the first of y, or over the given pairs."""
    def tensordot_(self, y: Tensor = ..., axes: _int | Sequence[Sequence[_int]] = ..., *, other: Tensor = ..., b: Tensor = ...) -> Tensor:
        """The sum of products over the last axes of x and the first of y, or over the given pairs."""
    def threshold(self, threshold: _float, value: _float) -> Tensor:
        """x where it is above the threshold, the value elsewhere."""
    def threshold_(self, threshold: _float, value: _float) -> Tensor:
        """x where it is above the threshold, the value elsewhere."""
    def tile(self, repetitions: _int | Sequence[_int] = ..., *more: _int, dims: _int | Sequence[_int] = ..., repeats: _int | Sequence[_int] = ...) -> Tensor:
        """Tile copies of x along each axis."""
    def tile_(self, repetitions: _int | Sequence[_int] = ..., *more: _int, repeats: _int | Sequence[_int] = ...) -> Tensor:
        """Tile copies of x along each axis."""
    def to(self, *args: Any, copy: _bool = ..., **named: Any) -> Tensor:
        """The tensor in another dtype or on another device; itself if nothing changes."""
    def to_dense(self, dtype: object = ..., *, masked_grad: _bool | None = ...) -> Tensor:
        """The tensor, cast if a dtype is asked for: every tensor is dense."""
    def to_device(self, device: object, *, stream: object = ...) -> Tensor:
        """The tensor on another device."""
    def to_local(self, *, grad_placements: Sequence[Placement] | None = ...) -> Tensor:
        """The rank's own part, as the same memory; its gradient gets the tensor's layout, or another."""
    def to_sparse(self, sparse_dim: Any = ..., **form: Any) -> Any:
        """The values that are not zero, with their positions along the first axes, or all."""
    def to_sparse_coo(self, sparse_dim: Any = ..., **form: Any) -> Any:
        """The values that are not zero, with their positions along the first axes, or all."""
    def to_sparse_csr(self, dense_dim: _int | None = ...) -> SparseTensor:
        """The values of a matrix that are not zero, row by row."""
    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
    def topk(self, k: _int, axis: _int = ..., largest: _bool = ..., sorted: _bool = ..., *, dim: _int = ...) -> Values:
        """The k largest elements along an axis, in descending order, and their indices."""
    def topk_(self, k: _int, axis: _int = ..., largest: _bool = ..., sorted: _bool = ..., *, dim: _int = ...) -> Tensor:
        """The k largest elements along an axis, in descending order, and their indices."""
    def trace(self) -> Tensor:
        """The sum of the diagonal of a matrix."""
    def trace_(self) -> Tensor:
        """The sum of the diagonal of a matrix."""
    def transpose(self, dim0: _int = ..., dim1: _int = ..., *, axis0: _int = ..., axis1: _int = ...) -> Tensor:
        """Exchange two axes."""
    def transpose_(self, dim0: _int = ..., dim1: _int = ..., *, axis0: _int = ..., axis1: _int = ...) -> Tensor:
        """Exchange two axes."""
    def transposed_convolution(self, weight: Tensor, bias: Tensor | None, padding: tuple[tuple[_int, _int], ...], size: tuple[_int, ...], geometry: tuple[Sequence[_int], Sequence[_int], _int]) -> Tensor:
        """Transposed convolution: the gradient of a convolution with respect to its input."""
    def transposed_convolution_(self, weight: Tensor, bias: Tensor | None, padding: tuple[tuple[_int, _int], ...], size: tuple[_int, ...], geometry: tuple[Sequence[_int], Sequence[_int], _int]) -> Tensor:
        """Transposed convolution: the gradient of a convolution with respect to its input."""
    def triangular_solve(self, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ...) -> Solved:
        """x of A · x = b, where A is a triangle, and A."""
    def tril(self, k: _int = ..., *, diagonal: _int = ...) -> Tensor:
        """x on and below the k-th diagonal, 0 above."""
    def tril_(self, k: _int = ..., *, diagonal: _int = ...) -> Tensor:
        """x on and below the k-th diagonal, 0 above."""
    def triu(self, k: _int = ..., *, diagonal: _int = ...) -> Tensor:
        """x on and above the k-th diagonal, 0 below."""
    def triu_(self, k: _int = ..., *, diagonal: _int = ...) -> Tensor:
        """x on and above the k-th diagonal, 0 below."""
    def true_divide(self, y: Tensor | _bool | _int | _float = ..., *, rounding_mode: str | None = ..., other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x / y as floats; rounding_mode "floor" or "trunc" rounds the quotient and keeps integers."""
    def true_divide_(self, y: Tensor | _bool | _int | _float = ..., *, rounding_mode: str | None = ..., other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x / y as floats; rounding_mode "floor" or "trunc" rounds the quotient and keeps integers."""
    def trunc(self) -> Tensor:
        """The whole part."""
    def trunc_(self) -> Tensor:
        """The whole part."""
    def type(self, dtype: object = ...) -> Any:
        """The tensor in another dtype; without one, the name of its dtype's tensor class."""
    def type_as(self, other: Tensor) -> Tensor:
        """The tensor in another's dtype."""
    def unbind(self, axis: _int = ..., *, dim: _int = ...) -> tuple[Tensor, ...]:
        """The slices at all indices of an axis, without that axis."""
    def unflatten(self, axis: _int = ..., shape: Sequence[_int] = ..., *, dim: _int = ..., size: Sequence[_int] = ..., sizes: Sequence[_int] = ...) -> Tensor:
        """Split one axis into several; one size may be -1."""
    def unfold(self, axis: _int = ..., size: _int = ..., step: _int = ..., *, dim: _int = ..., dimension: _int = ...) -> Tensor:
        """Overlapping windows along an axis, with their elements as a new last axis."""
    def uniform_(self, from_: _float = ..., to: _float = ..., *, generator: Generator | None = ...) -> Tensor:
        """Set the elements to uniformly distributed numbers in [from, to)."""
    def unique(self, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
        """The distinct elements, in order; and where each one went, and how often it occurs."""
    def unique_consecutive(self, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
        """The elements, or slices along an axis, that differ from the one before."""
    def unsafe_chunk(self, chunks: _int, axis: _int = ..., *, dim: _int = ...) -> tuple[Tensor, ...]:
        """Split an axis into at most `chunks` parts of one size; the last may be smaller."""
    def unsafe_split(self, split_size: _int | Sequence[_int] = ..., axis: _int = ..., *, split_size_or_sections: _int | Sequence[_int] = ..., split_sizes: _int | Sequence[_int] = ..., dim: _int = ...) -> tuple[Tensor, ...]:
        """Split an axis into parts of one size (the last may be smaller), or of given sizes."""
    def unsafe_split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = ...) -> tuple:
        """Parts of these sizes."""
    def unsqueeze(self, axis: _int = ..., *, dim: _int = ...) -> Tensor:
        """Insert an axis of size 1 at a position of the result."""
    def unsqueeze_(self, axis: _int = ..., *, dim: _int = ...) -> Tensor:
        """Insert an axis of size 1 at a position of the result."""
    def unstack(self, axis: _int = ..., *, dim: _int = ...) -> tuple[Tensor, ...]:
        """The slices at all indices of an axis, without that axis."""
    def untyped_storage(self) -> UntypedStorage:
        """The memory behind this tensor, in bytes."""
    def vander(self, n: _int | None = ..., increasing: _bool = ..., *, N: _int | None = ...) -> Tensor:
        """The powers of a vector's elements as columns, the highest first unless increasing."""
    def vander_(self, n: _int | None = ..., increasing: _bool = ..., *, N: _int | None = ...) -> Tensor:
        """The powers of a vector's elements as columns, the highest first unless increasing."""
    def var(self, axis: _int | Sequence[_int] | None | _bool = ..., unbiased: _bool | None = ..., keepdims: _bool = ..., *, correction: _int | _float | None = ..., dim: _int | Sequence[_int] | None | _bool = ..., keepdim: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
        """The mean square distance from the mean; the count is lowered by the correction."""
    def var_(self, axis: _int | Sequence[_int] | None | _bool = ..., unbiased: _bool | None = ..., keepdims: _bool = ..., *, correction: _int | _float | None = ..., dim: _int | Sequence[_int] | None | _bool = ..., keepdim: _bool = ...) -> Tensor:
        """The mean square distance from the mean; the count is lowered by the correction."""
    def var_mean(self, axis: _int | Sequence[_int] | None | _bool = ..., unbiased: _bool | None = ..., keepdims: _bool = ..., *, correction: _int | _float | None = ..., dim: _int | Sequence[_int] | None | _bool = ..., keepdim: _bool = ...) -> Tensor | tuple[Tensor, Tensor]:
        """The variance and the mean."""
    def var_mean_(self, axis: _int | Sequence[_int] | None | _bool = ..., unbiased: _bool | None = ..., keepdims: _bool = ..., *, correction: _int | _float | None = ..., dim: _int | Sequence[_int] | None | _bool = ..., keepdim: _bool = ...) -> Tensor:
        """The variance and the mean."""
    def vdot(self, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
        """The dot product of two vectors, with complex elements of the first conjugated."""
    def vdot_(self, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
        """The dot product of two vectors, with complex elements of the first conjugated."""
    def vecdot(self, y: Tensor = ..., axis: _int = ..., *, other: Tensor = ..., dim: _int = ...) -> Tensor:
        """The dot products along an axis."""
    def vecdot_(self, y: Tensor = ..., axis: _int = ..., *, other: Tensor = ..., dim: _int = ...) -> Tensor:
        """The dot products along an axis."""
    def vector_norm(self, ord: _float = ..., axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The norm of vectors over axes: the ord-th root of the sum of |x|^ord."""
    def vector_norm_(self, ord: _float = ..., axis: _int | Sequence[_int] | None = ..., keepdims: _bool = ..., *, dtype: object = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The norm of vectors over axes: the ord-th root of the sum of |x|^ord."""
    def view(self, *shape: Any, dtype: object = ..., size: Any = ...) -> Tensor:
        """A view of the memory in another shape, or of its bytes under another dtype."""
    def view_as(self, y: Tensor = ..., *, other: Tensor = ...) -> Tensor:
        """x in the shape of y."""
    def vsplit(self, sections: _int | Sequence[_int] = ..., *, indices: _int | Sequence[_int] = ...) -> tuple[Tensor, ...]:
        """Split along axis 0."""
    def where(self, condition: Any, other: Any) -> Any:
        ...
    def xlogy(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x · log(y), and 0 where x is 0."""
    def xlogy_(self, y: Tensor | _bool | _int | _float = ..., *, other: Tensor | _bool | _int | _float = ...) -> Tensor:
        """x · log(y), and 0 where x is 0."""
    def zero_(self) -> Tensor:
        """Set all elements to 0."""
    def zeros_like(self, *, dtype: object = ...) -> Tensor:
        """Zeros with the shape and dtype of x."""
    def zeros_like_(self, *, dtype: object = ...) -> Tensor:
        """Zeros with the shape and dtype of x."""
class Paired:
    _pair: Any
    plain: _type[Paired]

    def __init__(self, parts: Sequence[Tensor]) -> None:
        ...

    def _dense_parts(self) -> tuple[tuple[Tensor, ...], Callable]:
        ...
def single(value: Any) -> Any:
    ...
def pair_of(tensor: Any) -> Any:
    ...
def pairs_of(tensors: Iterable | None) -> list | None:
    ...
def method(function: Callable) -> Callable:
    ...
def rare(tensor: Tensor) -> Rare:
    ...
def set_gradient(tensor: Tensor, value: Tensor | None) -> None:
    ...
def wrap(node: Node, tracked: _bool=False, whole: _bool=False) -> Tensor:
    ...
def alias(tensor: Tensor, chain: Chain, detached: _bool=False, unchecked: _bool=False) -> Tensor:
    ...
def from_buffer(buffer: DeviceBuffer, shape: Sequence[_int], dtype: DType) -> Tensor:
    ...
def from_array(array: np.ndarray, place: Allocator=memory) -> Tensor:
    ...
def source(storage: Storage) -> Node:
    ...
def raw(tensor: Tensor) -> Node:
    ...
def node_of(tensor: Tensor) -> Node:
    ...
def node_of_view(tensor: Tensor) -> Node:
    ...
def detached(node: Node) -> Node:
    ...
def leaf_node(tensor: Tensor) -> Node:
    ...
def value_of(tensor: Tensor) -> DeviceBuffer:
    ...
def array_of(tensor: Tensor) -> np.ndarray:
    ...
