"""`gnomon serve`: a model behind OpenAI's protocol."""

from __future__ import annotations

from pathlib import Path

from gnomon.lazy import Lazy
from gnomon.train.chat import opened_model
from gnomon.train.server import ModelServer, lacking

uvicorn = Lazy("uvicorn")

__all__ = ["serve"]


def serve(
    model: str | None = None,
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    name: str | None = None,
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
    """
    language_model, texts = opened_model(model)
    server = ModelServer(name or Path(texts.place).name, language_model, texts)
    application = server.application()
    try:
        run = uvicorn.run
    except ModuleNotFoundError as missing:
        raise lacking(missing) from missing
    run(application, host=host, port=port)
    return 0
