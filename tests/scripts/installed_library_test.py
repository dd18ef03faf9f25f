"""A separate project must be able to use the installed library, and get the same samples as the program.

usage: installed_library_test.py CMAKE SOURCE_DIR BUILD_DIR PROGRAM
"""

import json
import os
import pathlib
import shlex
import sys
import tempfile
from unittest import mock

from support import output


def by_pkg_config(source, prefix, program):
    """Compiles the same program with the flags of wellspring.pc."""
    file, = prefix.glob("**/wellspring.pc")
    with mock.patch.dict(os.environ, PKG_CONFIG_PATH=str(file.parent)):
        flags = shlex.split(output("pkg-config", "--cflags", "--libs", "wellspring"))
    main_file = pathlib.Path(source) / "tests/scripts/installed_library/main.cpp"
    output(os.environ.get("CXX", "c++"), "-O1", main_file, "-o", program, *flags)


def main():
    cmake, source, build, program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        prefix, consumer = pathlib.Path(folder) / "prefix", pathlib.Path(folder) / "build"
        output(cmake, "--install", build, "--prefix", prefix, "--component", "library")
        output(cmake, "-S", pathlib.Path(source) / "tests/scripts/installed_library", "-B", consumer, "-G", "Ninja",
               f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")  # fmt: skip
        output(cmake, "--build", consumer)
        found = output(consumer / "consumer").strip()
        by_pkg_config(source, prefix, consumer / "by_pkg_config")
        if output(consumer / "by_pkg_config").strip() != found:
            sys.exit("the program that was built with the flags of pkg-config makes other samples")
    expected = json.loads(output(program, "digest", "shapes", "--count", 8, "--seed", 7, "--size", 32))["sha256"]
    if found != expected:
        sys.exit(f"the installed library's samples have the digest {found}, the program's {expected}")


if __name__ == "__main__":
    main()
