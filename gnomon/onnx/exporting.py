"""torch.onnx.export: a module or function is captured, and its graph written as an ONNX model."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.dtypes import bfloat16
from gnomon.errors import ArgumentError, GnomonError
from gnomon.export.captured import CapturedGraph, captured_graph
from gnomon.export.dynamic import axes_of, sizes_of
from gnomon.lazy import Lazy
from gnomon.nn.module import Module
from gnomon.onnx.model import OPSETS, model_of
from gnomon.onnx.writer import type_of
from gnomon.runtime.files import publish
from gnomon.settings import holding
from gnomon.tensor.pytree import flatten
from gnomon.tensor.tensor import Tensor, array_of, from_array

__all__ = ["ONNXProgram", "OnnxExporterError", "TrainingMode", "export", "is_in_onnx_export"]

external, reference = Lazy("onnx.external_data_helper"), Lazy("onnx.reference")
onnxruntime = Lazy("onnxruntime")

ALIGNED = 64
"""Bytes between the starts of weights in a file of their own."""
LARGEST = 2**31 - 2**20
"""Bytes of a model in one file: protobuf's limit, with room for the graph."""
UNUSED = {
    "custom_opsets": None,
    "custom_translation_table": None,
    "dump_exported_program": False,
    "export_modules_as_functions": False,
    "profile": False,
    "report": False,
}
"""Arguments of PyTorch's export that are refused unless they have their default."""
IDLE = frozenset(
    {"artifacts_dir", "autograd_inlining", "do_constant_folding", "operator_export_type"}
    | {"optimize", "verbose"}
)
"""Arguments of PyTorch's export that change no result of a model."""


class OnnxExporterError(GnomonError, RuntimeError):
    """The error of a model whose results aren't those of the module."""


class TrainingMode(IntEnum):
    """The mode in which a module is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


def is_in_onnx_export() -> bool:
    """Whether a function is called by an export, which runs it as a compiled function does.

    >>> is_in_onnx_export()
    False
    """
    return exporting.get()


exporting: ContextVar[bool] = ContextVar("exporting", default=False)


class ONNXProgram:
    """An ONNX model of a module.

    >>> import gnomon as gn
    >>> made = gn.onnx.export(gn.nn.Linear(2, 3), (gn.ones(1, 2),))
    >>> [x.name for x in made.model_proto.graph.input]
    ['input']
    """

    def __init__(self, model_proto: Any, captured: CapturedGraph) -> None:
        self.model_proto = model_proto
        self._captured = captured
        self._session: Any = None

    def __repr__(self) -> str:
        nodes = len(self.model_proto.graph.node)
        return f"ONNXProgram({self._captured.name}, {nodes} nodes)"

    def __call__(self, *args: Any, **kwargs: Any) -> list[Tensor]:
        """The results of the model by onnxruntime.

        Errors: ArgumentError for bfloat16, which its Python interface does not take.
        """
        values = [x.type.tensor_type.elem_type for x in self.model_proto.graph.input]
        values += [x.type.tensor_type.elem_type for x in self.model_proto.graph.output]
        if type_of(bfloat16) in values:
            raise ArgumentError(
                "ONNXProgram: onnxruntime takes and gives no bfloat16 in Python. Cast to float32 "
                "inside of the function that is exported."
            )
        if self._session is None:
            self.initialize_inference_session()
        return [from_array(x) for x in self._session.run(None, self._inputs(args, kwargs))]

    def call_reference(self, *args: Any, **kwargs: Any) -> list[Tensor]:
        """The results of the model by the onnx package's own, slow definition of each operator."""
        session = reference.ReferenceEvaluator(self.model_proto)
        return [from_array(np.asarray(x)) for x in session.run(None, self._inputs(args, kwargs))]

    def _inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, np.ndarray]:
        """Arrays by the names of the model's inputs."""
        given: list[Tensor] = []
        flatten((args, kwargs), given)
        names = [x.name for x in self.model_proto.graph.input]
        if len(given) != len(names):
            raise ArgumentError(
                f"ONNXProgram: the model has {len(names)} inputs, {', '.join(names)}: "
                f"got {len(given)} tensors."
            )
        return {name: array_of(x) for name, x in zip(names, given, strict=True)}

    def initialize_inference_session(self, initializer: Callable[..., Any] | None = None) -> None:
        """Load the model into onnxruntime, or by a function of its bytes."""
        text = self.model_proto.SerializeToString()
        self._session = (initializer or plain_session)(text)

    def release(self) -> None:
        """Release the session that `initialize_inference_session` has loaded."""
        self._session = None

    def save(self, destination: Any, *, external_data: bool | None = None) -> None:
        """Write the model to a path or an open file, whole or not at all.

        external_data: weights go to a file of their own beside it, by default where the model has
        more than 2 GB.
        """
        if not isinstance(destination, (str, os.PathLike)):
            destination.write(self.model_proto.SerializeToString())
            return
        path = Path(destination)
        if external_data is None:
            external_data = self.model_proto.ByteSize() > LARGEST
        model = self.model_proto
        if external_data:
            model = type(model)()
            model.CopyFrom(self.model_proto)
            beside = f"{path.name}.data"
            publish(path.with_name(beside), moved_out(model, beside))
        publish(path, model.SerializeToString())


def moved_out(model: Any, location: str) -> Iterator[bytes]:
    """The bytes of a model's weights, which are taken out of it, and aligned for readers."""
    place = 0
    for tensor in model.graph.initializer:
        content, gap = tensor.raw_data, -place % ALIGNED
        yield bytes(gap)
        yield content
        external.set_external_data(tensor, location, place + gap, len(content))
        tensor.ClearField("raw_data")
        place += gap + len(content)


def plain_session(text: bytes) -> Any:
    """A session of onnxruntime on processors, which says nothing but errors."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(text, options, providers=["CPUExecutionProvider"])


@contextmanager
def in_mode(model: Any, training: int) -> Generator[None]:
    """A module in the mode of an export, and back."""
    modules = [*model.modules()] if isinstance(model, Module) else []
    before = [x.training for x in modules]
    if training != TrainingMode.PRESERVE:
        for x in modules:
            x.training = training == TrainingMode.TRAINING
    try:
        with holding(exporting, True):
            yield
    finally:
        for x, mode in zip(modules, before, strict=True):
            x.training = mode


def export(
    model: Any,
    args: Sequence[Any] | Tensor = (),
    f: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamic_axes: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    dynamo: bool = True,
    external_data: bool | None = None,
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    training: int = TrainingMode.EVAL,
    verify: bool = False,
    **others: Any,
) -> ONNXProgram | None:
    """Capture a module or function for an example of its arguments, and give its ONNX model.

    Written to `f`, a path or an open file, if there is one. Parameters have the names of the state
    dict, and every node tells the line of user code that it comes from. dynamic_shapes (`Dim`s by
    argument and axis) or dynamic_axes (names by input and axis) say which sizes may differ.

    Errors: TraceError where the function does more than compute results of its arguments, or has
    no counterpart in ONNX; ArgumentError for options that have no meaning here.

    >>> import gnomon as gn
    >>> made = gn.onnx.export(lambda x: x * 2, (gn.ones(3),), input_names=["x"])
    >>> made.call_reference(gn.ones(3))
    [Tensor([2., 2., 2.])]
    """
    refuse(others, opset_version)
    args, named = call_of(args, kwargs)
    with in_mode(model, training):
        sizes = sizes_of(model, args, named, dynamic_shapes)
        sizes += axes_of(model, args, named, dynamic_axes, input_names or ())
        captured = captured_graph(model, args, named, sizes)
    proto = model_of(
        captured,
        input_names or (),
        output_names or (),
        opset_version or OPSETS[0],
        export_params,
        keep_initializers_as_inputs,
    )
    made = ONNXProgram(proto, captured)
    if verify:
        check_results(made, model, args, named, training)
    if f is not None:
        made.save(f, external_data=external_data)
    return made if dynamo else None


def call_of(
    args: Sequence[Any] | Tensor, kwargs: Mapping[str, Any] | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments by position and by name; a dict at the end holds those by name, as in PyTorch."""
    given = (args,) if isinstance(args, Tensor) else tuple(args)
    if kwargs is None and given and isinstance(given[-1], dict):
        return given[:-1], given[-1]
    return given, dict(kwargs or {})


def refuse(others: Mapping[str, Any], opset: int | None) -> None:
    """Refuse options without a meaning."""
    for name, value in others.items():
        if name not in UNUSED and name not in IDLE:
            raise ArgumentError(f"onnx.export: there is no option {name!r}.")
        if name in UNUSED and value != UNUSED[name]:
            raise ArgumentError(f"onnx.export: {name} isn't done here: got {value!r}. Leave it.")
    if opset is not None and opset not in OPSETS:
        raise ArgumentError(
            f"onnx.export: opset_version is one of {OPSETS[0]} to {OPSETS[-1]}: got {opset}."
        )


def check_results(
    made: ONNXProgram, model: Any, args: tuple[Any, ...], named: dict[str, Any], training: int
) -> None:
    """Refuse a model whose results by onnxruntime differ from the module's."""
    with in_mode(model, training):
        wanted: list[Tensor] = []
        flatten(model(*args, **named), wanted)
    for k, (got, want) in enumerate(zip(made(*args, **named), wanted, strict=True)):
        a, b = array_of(got), array_of(want)
        if not np.allclose(a, b, rtol=1e-3, atol=1e-5, equal_nan=True):
            far = np.abs(a.astype(np.float64) - b).max()
            raise OnnxExporterError(
                f"onnx.export: result {k} differs by up to {far:.3g} between onnxruntime and the "
                "module. Report this with the module."
            )
