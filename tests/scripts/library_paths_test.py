"""No program may search the current folder for libraries.

An empty entry in RPATH or RUNPATH means the current folder (ld.so(8)), and a relative entry starts there: the loader
would load a file called libz.so.1 from this folder.

usage: library_paths_test.py READELF FOLDER...
"""

import pathlib
import re
import subprocess
import sys

ENTRY = re.compile(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]")


def programs_below(folder):
    """Linked executables, except for CMake's trial programs and third-party libraries."""
    for path in sorted(pathlib.Path(folder).rglob("*")):
        ours = "CMakeFiles" not in path.parts and ".so" not in path.name
        if not ours or path.is_symlink() or not path.is_file():
            continue
        if path.stat().st_mode & 0o111 and path.open("rb").read(4) == b"\x7fELF":
            yield path


def bad_entries(text):
    """Library path entries that are empty or relative, from the output of `readelf -d`."""
    paths = ENTRY.findall(text)
    return [
        entry
        for path in paths
        for entry in path.split(":")
        if not entry.startswith(("/", "$ORIGIN", "${ORIGIN}"))
    ]


def main():
    # Known cases, which the check must classify correctly.
    assert bad_entries(" 0x0f (RPATH)  Library rpath: [::]") == ["", "", ""]
    assert bad_entries(" 0x1d (RUNPATH)  Library runpath: [/a:lib:$ORIGIN/../lib]") == ["lib"]
    assert bad_entries(" 0x0f (RPATH)  Library rpath: [$ORIGIN/../lib:/opt/lib]") == []
    readelf, *folders = sys.argv[1:]
    checked, failed = 0, []
    for program in (path for folder in folders for path in programs_below(folder)):
        text = subprocess.run(
            [readelf, "-d", str(program)], capture_output=True, text=True, check=True
        ).stdout
        checked += 1
        failed += [f"{program}: '{entry}'" for entry in sorted(set(bad_entries(text)))]
    assert checked, f"no programs in {folders}"
    if failed:
        sys.exit("empty or relative library paths:\n" + "\n".join(failed))
    print(f"{checked} programs")


if __name__ == "__main__":
    main()
