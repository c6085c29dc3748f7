"""torch.export's names: export graphs of functions, and program files that run without Gnomon."""

from gnomon.export.dynamic import Dim, dims
from gnomon.export.exported_program import ExportedProgram, load, save
from gnomon.export.exporting import export
from gnomon.export.graph_signature import ExportGraphSignature
from gnomon.export.program_capture import save_programs
from gnomon.runtime.program_file import ProgramFileError, load_program

__all__ = [
    "Dim",
    "ExportGraphSignature",
    "ExportedProgram",
    "ProgramFileError",
    "dims",
    "export",
    "load",
    "load_program",
    "save",
    "save_programs",
]
