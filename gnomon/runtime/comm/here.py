"""The mesh axes of this rank: under each name, its end of the group along that axis.

Ranks that are threads have each their own, since a context belongs to its thread; a process that is
one rank has one for all its threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar

from gnomon.errors import CollectiveError
from gnomon.runtime.comm.base import Link
from gnomon.settings import holding

__all__ = ["add", "along", "link_along", "links", "remove", "settle"]

_own: ContextVar[dict[str, Link] | None] = ContextVar("links", default=None)
_of_process: dict[str, Link] = {}


def links() -> dict[str, Link]:
    """The groups of this rank by mesh axis."""
    own = _own.get()
    return _of_process if own is None else own


def link_along(mesh: str) -> Link:
    """The group along a mesh axis, as this rank has it."""
    found = links().get(mesh)
    if found is None:
        raise CollectiveError(
            f"collective: no mesh axis {mesh!r} here: there is {', '.join(links()) or 'none'}. "
            "Make one by gn.distributed.init_device_mesh."
        )
    return found


def along(own: Mapping[str, Link]) -> holding[dict[str, Link] | None]:
    """Use these groups in this thread's context within a `with` block."""
    return holding(_own, dict(own))


def settle(found: Mapping[str, Link]) -> None:
    """Use these groups in the whole process, beside those that it has."""
    _of_process.update(found)


def add(link: Link) -> None:
    """Add a group to those of this rank, under its name."""
    links()[link.name] = link


def remove(name: str) -> None:
    """Use a group no more."""
    links().pop(name, None)
