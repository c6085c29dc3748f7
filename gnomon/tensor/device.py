"""Device objects: "cpu" is the one there is."""

from __future__ import annotations

from gnomon.errors import ArgumentError


class Device:
    """A place for tensors.

    >>> Device("cpu").type
    'cpu'
    """

    __slots__ = ("index", "type")

    def __init__(self, type: str | Device = "cpu", index: int | None = None) -> None:
        name, _, number = str(type).partition(":")
        if name != "cpu":
            raise ArgumentError(f"device: this build computes on the CPU: got {str(type)!r}.")
        self.type = name
        self.index = int(number) if number else index

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type={self.type!r})"

    def __eq__(self, other: object) -> bool:
        return str(other).partition(":")[0] == self.type

    def __hash__(self) -> int:
        return hash(self.type)


CPU = Device("cpu")


def check_device(device: object) -> None:
    """Refuse a device that is not there."""
    if device is not None and device is not CPU:
        Device(device)
