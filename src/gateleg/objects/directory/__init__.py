"""Objects in a folder of this machine."""

from gateleg.objects.directory.store import DirectoryObjects

__all__ = ["DirectoryObjects"]
