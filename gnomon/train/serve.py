"""`gnomon serve`: a model behind OpenAI's protocol."""

from __future__ import annotations

from pathlib import Path

from gnomon.lazy import Lazy
from gnomon.train.chat import opened_model
from gnomon.train.server import ModelServer, RequestLimits, lacking

uvicorn = Lazy("uvicorn")

__all__ = ["serve"]

GRACE = 5
"""Seconds in which texts may end after an interrupt."""


def serve(
    model: str | None = None,
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    name: str | None = None,
    max_body: int = RequestLimits.body,
    max_waiting: int = RequestLimits.waiting,
) -> int:
    """Serve a model to clients of OpenAI's protocol: chat/completions, completions, models.

    Parameters
    ----------
    model
        A GGUF file, a folder of Hugging Face's, or a run's folder or name; the latest run if none
        is named.
    host
        The address that is listened to; only this machine reaches 127.0.0.1.
    port
        The port.
    name
        The model's name in requests; otherwise its file's or folder's.
    max_body
        The most bytes of a request; a longer one gets status 413.
    max_waiting
        How many requests may wait; a further one gets status 503, and may come again.
    """
    language_model, texts = opened_model(model)
    limits = RequestLimits(max_body, max_waiting)
    server = ModelServer(name or Path(texts.place).name, language_model, texts, limits)
    application = server.application()
    try:
        run = uvicorn.run
    except ModuleNotFoundError as missing:
        raise lacking(missing) from missing
    run(application, host=host, port=port, timeout_graceful_shutdown=GRACE)
    return 0
