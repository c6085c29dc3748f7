"""`gnomon serve`: serve a model by OpenAI's protocol."""

from __future__ import annotations

from pathlib import Path

from gnomon.lazy import Lazy
from gnomon.train.opening import Activations, ModelPlace, opened_writer
from gnomon.train.sampling_flags import UNSET, SamplingFlags
from gnomon.train.server import LIMITS, ModelServer, ServerLimits, lacking

uvicorn = Lazy("uvicorn")

__all__ = ["serve"]

GRACE = 5
"""Seconds that running requests have to finish after an interrupt."""


def serve(
    model: ModelPlace = None,
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    name: str | None = None,
    limits: ServerLimits = LIMITS,
    activations: Activations = "",
    sampling: SamplingFlags = UNSET,
) -> int:
    """Serve a model to clients of OpenAI's protocol: chat/completions, completions, models.

    Sampling flags serve requests that don't set them; without a flag, the model's files decide.

    Parameters
    ----------
    model
        A GGUF file, a program file (.gnp), a Hugging Face folder, or a run's folder or name.
    host
        The address to listen on; 127.0.0.1 is reachable from this machine only.
    port
        The port to listen on.
    name
        The model's name in requests; the file's or folder's name by default.
    limits
        The most that the server takes.
    activations
        The type to which layers round their inputs.
    sampling
        How texts are drawn.
    """
    sampling.checked()
    language_model, texts = opened_writer(model, activations)
    server = ModelServer(name or Path(texts.place).name, language_model, texts, limits, sampling)
    application = server.application()
    try:
        run = uvicorn.run
    except ModuleNotFoundError as missing:
        raise lacking(missing) from missing
    run(application, host=host, port=port, timeout_graceful_shutdown=GRACE)
    return 0
