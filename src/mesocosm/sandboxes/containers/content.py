"""The content of a folder as a digest."""

import hashlib
from pathlib import Path


def folder_digest(folder: Path) -> str:
    """Return a digest of the names, the execution rights and the content of all files below `folder`."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if "__pycache__" in path.parts:
            continue
        if path.is_symlink():
            found.update(f"link\0{name}\0{path.readlink()}\0".encode())
        elif path.is_file():
            data = path.read_bytes()
            found.update(f"file\0{name}\0{path.stat().st_mode & 0o111:o}\0{len(data)}\0".encode())
            found.update(data)
    return found.hexdigest()
