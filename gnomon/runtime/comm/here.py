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
    """The group ends of this rank, by the names of mesh axes."""
    own = _own.get()
    return _of_process if own is None else own


def link_along(mesh: str) -> Link:
    """The group end of this rank along a mesh axis; CollectiveError without one."""
    found = links().get(mesh)
    if found is None:
        raise CollectiveError(
            f"collective: no mesh axis {mesh!r} here: there is {', '.join(links()) or 'none'}. "
            "Make one by gn.distributed.init_device_mesh."
        )
    return found


def along(own: Mapping[str, Link]) -> holding[dict[str, Link] | None]:
    """Use these groups in this thread inside a `with` block."""
    return holding(_own, dict(own))


def settle(found: Mapping[str, Link]) -> None:
    """Add these groups to those of the process, which threads without their own use."""
    _of_process.update(found)


def add(link: Link) -> None:
    """Add a group to those of this rank, under its name."""
    links()[link.name] = link


def remove(name: str) -> None:
    """Forget the group of this name."""
    links().pop(name, None)
