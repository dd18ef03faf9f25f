#!/usr/bin/env python3
"""Device headers must be self-contained: each compiles by itself with a plain C++ compiler as freestanding code. It
includes only other device headers and standard headers that need no library.

    device_headers_test.py COMPILER
"""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Headers that a functor's code may include. Any compiler must accept them, including run-time compilers. Host headers,
# which launch kernels (launch.h), read parameters or plan memory, are not listed.
DEVICE_HEADERS = """
core/expect.h
generators/events/integrate.h
generators/events/ode_systems.h
generators/events/plummer.h
kernels/runtime/dtype.h
kernels/augment/augment_rng.h
kernels/augment/augmentation.h
kernels/batch/batch.h
kernels/random/beta.h
kernels/augment/colour.h
kernels/augment/emit_call.h
kernels/emission/fields.h
kernels/augment/homography.h
kernels/runtime/simd.h
kernels/augment/latent_map.h
kernels/augment/operation.h
kernels/augment/pixel_noise.h
kernels/augment/whole_image_operation.h
kernels/batch/pixel_run.h
kernels/batch/sample.h
kernels/batch/set_count.h
kernels/emission/tiles.h
kernels/random/gamma.h
kernels/runtime/kernel_handle.h
kernels/runtime/launch_bound.h
kernels/runtime/macros.h
kernels/runtime/pack.h
kernels/random/math.h
kernels/ops/channel_loop.h
kernels/ops/channel_sums.h
kernels/ops/team_loop.h
kernels/random/philox.h
kernels/random/philox_run.h
kernels/runtime/reduce.h
kernels/runtime/team.h
kernels/runtime/team_loop.h
""".split()
DEVICE_HEADERS += [str(path.relative_to(ROOT)) for path in sorted((ROOT / "kernels/augment/operations").glob("*.h"))]
# Headers of freestanding C++20 ([compliance]): only types, constants and code that the compiler inlines. The intrinsics
# are the compiler's own; only hosts with AVX2 include them.
FREESTANDING = {"immintrin.h", "atomic", "bit", "compare", "concepts", "cstddef", "cstdint", "limits", "type_traits"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)")', re.MULTILINE)

compiler = "c++"


class DeviceHeaders(unittest.TestCase):
    def test_include_only_device_and_freestanding_headers(self):
        for header in DEVICE_HEADERS:
            with self.subTest(header):
                for system, own in INCLUDE.findall((ROOT / header).read_text()):
                    if system:
                        self.assertIn(system, FREESTANDING)
                    else:
                        self.assertIn(own, DEVICE_HEADERS)

    def test_compile_alone(self):
        for header in DEVICE_HEADERS:
            with self.subTest(header):
                done = subprocess.run(
                    [compiler, "-std=c++20", "-ffreestanding", "-fsyntax-only", "-Wall", "-Wextra",
                     "-Werror", "-fopenmp-simd", "-I", ROOT, "-x", "c++", "-"],
                    input=f'#include "{header}"\n', text=True, capture_output=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        compiler = sys.argv.pop(1)
    unittest.main()
