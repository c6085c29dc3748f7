"""Models in the ONNX format, by the names of torch.onnx: `pip install 'gnomon[onnx]'`."""

from gnomon.onnx.exporting import (
    OnnxExporterError,
    ONNXProgram,
    TrainingMode,
    export,
    is_in_onnx_export,
)

__all__ = ["ONNXProgram", "OnnxExporterError", "TrainingMode", "export", "is_in_onnx_export"]
