"""Packs a directory: zip.py ARCHIVE DIRECTORY SECONDS. All files get this time, and the order is always the same."""

import pathlib
import sys
import time
import zipfile

archive, directory, seconds = sys.argv[1:]
directory = pathlib.Path(directory)
with zipfile.ZipFile(archive, "w") as packed:
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        name = path.relative_to(directory.parent).as_posix()
        entry = zipfile.ZipInfo(name, time.gmtime(int(seconds))[:6])
        entry.external_attr = 0o644 << 16
        packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
