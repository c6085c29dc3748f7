"""Modules with PyTorch's names, arguments, initial values and state_dict keys."""

from gnomon.lazy import modules_below
from gnomon.nn import functional, init, parallel, utils
from gnomon.nn.activations import *  # noqa: F403 - rows of tables
from gnomon.nn.activations import NLLLoss as NLLLoss2d
from gnomon.nn.activations import ReducedLoss as _Loss
from gnomon.nn.activations import WeightedLoss as _WeightedLoss
from gnomon.nn.adaptive_softmax import AdaptiveLogSoftmaxWithLoss
from gnomon.nn.attention import MultiheadAttention
from gnomon.nn.containers import (
    ModuleDict,
    ModuleList,
    ParameterDict,
    ParameterList,
    Sequential,
)
from gnomon.nn.convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from gnomon.nn.convolution import Convolution as _ConvNd
from gnomon.nn.convolution import TransposedConvolution as _ConvTransposeNd
from gnomon.nn.convolution import pair as _pair
from gnomon.nn.convolution import single as _single
from gnomon.nn.convolution import triple as _triple
from gnomon.nn.embedding import Embedding, EmbeddingBag
from gnomon.nn.functional import LinearCrossEntropyOptions
from gnomon.nn.hooked import (
    register_module_backward_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from gnomon.nn.lazy_layers import (
    LazyBatchNorm1d,
    LazyBatchNorm2d,
    LazyBatchNorm3d,
    LazyConv1d,
    LazyConv2d,
    LazyConv3d,
    LazyConvTranspose1d,
    LazyConvTranspose2d,
    LazyConvTranspose3d,
    LazyInstanceNorm1d,
    LazyInstanceNorm2d,
    LazyInstanceNorm3d,
    LazyLinear,
)
from gnomon.nn.linear import Bilinear, Identity, Linear, Unflatten
from gnomon.nn.linear_cross_entropy import LinearCrossEntropyLoss
from gnomon.nn.module import Module
from gnomon.nn.normalization import BatchNorm as _BatchNorm
from gnomon.nn.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    CrossMapLRN2d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    LocalResponseNorm,
    RMSNorm,
)
from gnomon.nn.normalization import InstanceNorm as _InstanceNorm
from gnomon.nn.normalization import Running as _NormBase
from gnomon.nn.parallel import DataParallel
from gnomon.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from gnomon.nn.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from gnomon.nn.recurrent import Cell as RNNCellBase
from gnomon.nn.recurrent import Layers as RNNBase
from gnomon.nn.states import EXTRA as _EXTRA_STATE_KEY_SUFFIX
from gnomon.nn.states import consume_prefix_in_state_dict_if_present
from gnomon.nn.synchronized import SyncBatchNorm
from gnomon.nn.table_batched import RowOptimizer, TableBatchedEmbeddingBags, TableSpec
from gnomon.nn.transformer import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)

__getattr__ = modules_below(__name__)
