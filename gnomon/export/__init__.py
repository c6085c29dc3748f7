"""Graphs of functions for other programs, by the names of torch.export."""

from gnomon.export.dynamic import Dim, dims
from gnomon.export.exported_program import ExportedProgram, load, save
from gnomon.export.exporting import export
from gnomon.export.graph_signature import ExportGraphSignature

__all__ = ["Dim", "ExportGraphSignature", "ExportedProgram", "dims", "export", "load", "save"]
