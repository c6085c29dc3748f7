"""`gnomon serve`: a model behind OpenAI's protocol."""

from __future__ import annotations

from pathlib import Path

from gnomon.lazy import Lazy
from gnomon.train.opening import ModelPlace, opened_model
from gnomon.train.server import ModelServer, ServerLimits, lacking

uvicorn = Lazy("uvicorn")

__all__ = ["serve"]

GRACE = 5
"""Seconds in which texts may end after an interrupt."""


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
        The model's place, as `ModelPlace` says.
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
    max_rows
        How many texts are written at once.
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
