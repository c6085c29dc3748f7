"""`gnomon serve`: a server for a model, by OpenAI's protocol."""

from __future__ import annotations

from pathlib import Path

from gnomon.lazy import Lazy
from gnomon.train.opening import ModelPlace, opened_model
from gnomon.train.server import ModelServer, ServerLimits, lacking

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
    max_body: int = ServerLimits.body,
    max_waiting: int = ServerLimits.waiting,
    max_rows: int = ServerLimits.rows,
) -> int:
    """Serve a model to clients of OpenAI's protocol: chat/completions, completions, models.

    Parameters
    ----------
    model
        A GGUF file, a Hugging Face folder, or a run's folder or name.
    host
        The address to listen on; 127.0.0.1 is reachable from this machine only.
    port
        The port to listen on.
    name
        The model's name in requests; the file's or folder's name by default.
    max_body
        Maximum bytes of a request; a longer one gets status 413.
    max_waiting
        Maximum number of waiting requests; a further one gets status 503 and may be retried.
    max_rows
        Maximum batch size: texts that are generated at once.
    """
    language_model, texts = opened_model(model)
    limits = ServerLimits(max_body, max_waiting, max_rows)
    server = ModelServer(name or Path(texts.place).name, language_model, texts, limits)
    application = server.application()
    try:
        run = uvicorn.run
    except ModuleNotFoundError as missing:
        raise lacking(missing) from missing
    run(application, host=host, port=port, timeout_graceful_shutdown=GRACE)
    return 0
