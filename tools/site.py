"""MkDocs calls these functions when it builds the site: they add the API reference.

`mkdocs build --strict` builds the site (`pip install -e '.[docs]'`); `mkdocs serve` shows it.
"""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from reference import NAMESPACES, page, path_of


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the reference to the menu."""
    config.nav.append({"API reference": [{name: path_of(name)} for name in NAMESPACES]})
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages of the reference."""
    for name in NAMESPACES:
        files.append(File.generated(config, path_of(name), content=page(name)))
    return files
