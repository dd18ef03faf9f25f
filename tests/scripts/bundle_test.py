"""A bundle must run from another folder with an empty environment, using its own libraries.

usage: bundle_test.py CMAKE SOURCE_DIR BUILD_DIR LIBRARY_DIR
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from support import output

# Libraries of the target machine: the C library and, for a bundle without them, NVIDIA's libraries.
SYSTEM = re.compile(
    r"^(linux-vdso|ld-linux[-\w]*|libc|libm|libmvec|libdl|librt|libpthread|libresolv|libcudnn\w*)"
    r"\.so"
)


def main():
    cmake, source, build, library_dir = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / "made"
        output(
            cmake, f"-DBUILD_DIR={build}", f"-DBUNDLE_DIR={made}", f"-DLIBRARY_DIR={library_dir}",
            "-DWITH_CUDA_LIBS=OFF", "-DWITH_TESTS=OFF", f"-DGENERATORS={source}/examples/generators/grating.h", "-P", f"{source}/cmake/bundle.cmake",
        )  # fmt: skip
        bundle = made.rename(pathlib.Path(folder) / "moved elsewhere")

        check = pathlib.Path(__file__).with_name("library_paths_test.py")
        output(sys.executable, check, "readelf", bundle / "bin")

        program = bundle / "bin/wellspring"
        listing = output("env", "-i", program, "list", "generators", cwd="/")
        assert "shapes" in listing, listing
        has_configs = (bundle / "share/wellspring/configs").is_dir()
        assert has_configs == (pathlib.Path(source) / "configs").is_dir()
        for script in ("gpu-check", "wellspring-env"):
            assert (bundle / "bin" / script).stat().st_mode & 0o111, script
        assert "--part" in output("env", "-i", sys.executable, bundle / "bin/gpu-check", "--help")

        # The bundle's header needs no compiler unless its object has changed.
        shutil.copy(f"{source}/examples/generators/grating.h", folder)
        digest = ("env", "-i", "WELLSPRING_CXX=/nonexistent", program, "digest", "./grating.h", "--count", "2")
        assert "sha256" in output(*digest, cwd=folder)
        (stored,) = (bundle / "share/wellspring/generators").glob("*.so")
        stored.write_bytes(stored.read_bytes() + b"damage")
        refused = subprocess.run(digest, cwd=folder, capture_output=True, text=True, check=False)
        assert refused.returncode == 2 and "no C++ compiler" in refused.stderr, refused

        for line in output("env", "-i", "ldd", program).splitlines():
            name, _, place = (part.strip() for part in line.partition("=>"))
            assert "libcuda.so" not in name, "the program must start without a driver"
            assert SYSTEM.match(pathlib.Path(name.split()[0]).name) or place.startswith(
                str(bundle)
            ), f"this library is not from the bundle: {line}"


if __name__ == "__main__":
    main()
