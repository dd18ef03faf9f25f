"""The compiler's listings of the device code, and programs that run them on the stand-in for a GPU.

Used by issue-slots and listing-tests. Takes the device code out of the objects of a build that is configured with CUDA
for compute capability 9.0. Needs cuobjdump and nvdisasm, which PyPI has.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import device_code

ROOT = pathlib.Path(__file__).resolve().parent.parent
ARCH = "90"
SECTION = re.compile(r"\.section\s+\.text\.(\w+),")


def stop(message, code=2):
    print(f"{pathlib.Path(sys.argv[0]).name}: {message}", file=sys.stderr)
    sys.exit(code)


def run(command, **more):
    """The command's output; stops if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        stop(f"{command[0]} failed:\n{done.stderr or done.stdout}", 1)
    return done.stdout


def tool(name, nvcc):
    """The path of one of CUDA's binary utilities: from the environment, PATH, next to nvcc, or .venv."""
    places = [os.environ.get(name.upper()), shutil.which(name), pathlib.Path(nvcc).parent / name,
              *ROOT.glob(f".venv/lib/python3*/site-packages/nvidia/cu*/bin/{name}")]
    found = next((place for place in places if place and pathlib.Path(place).exists()), None)
    return found or stop(f"{name} not found: run .venv/bin/python -m pip install nvidia-cuda-{name}, or set "
                         f"{name.upper()} to its path")


def disassemble(job):
    """Writes the listing of the kernels in an object of nvcc."""
    compiled, nvcc, listing = job
    with tempfile.TemporaryDirectory() as folder:
        run([tool("cuobjdump", nvcc), "-xelf", "all", str(compiled)], cwd=folder)
        cubins = sorted(pathlib.Path(folder).glob("*.cubin"))
        wanted = [cubin for cubin in cubins if f".sm_{ARCH}." in cubin.name]
        if cubins and not wanted:
            stop(f"{compiled} has no code for compute capability 9.0, only {', '.join(c.name for c in cubins)}")
        listing.write_text("".join(run([tool("nvdisasm", nvcc), "-c", str(cubin)]) for cubin in wanted))


def make(build, listings):
    """Writes the listings of all kernels of a build; returns the path of nvcc."""
    listings.mkdir(parents=True, exist_ok=True)
    for old in listings.glob("*.sass"):
        old.unlink()
    if not (build / "compile_commands.json").exists():
        stop(f"{build} is not configured. Run: ./test")
    jobs = []
    for source, folder, arguments in device_code.cuda_commands(build):
        nvcc = next(a for a in arguments if not a.endswith("ccache"))
        compiled = pathlib.Path(folder) / arguments[arguments.index("-o") + 1]
        if not compiled.exists():
            stop(f"{compiled} does not exist: build the program and its tests first")
        jobs.append((compiled, nvcc, listings / f"{source.parent.name}_{source.stem}.sass"))
    if not jobs:
        stop(f"no CUDA sources in {build}: is it a build with CUDA?")
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(disassemble, jobs))
    return jobs[0][1]


def kernels(listings):
    """Mangled names of all kernels in the listings."""
    return {name for file in listings.glob("*.sass") for name in SECTION.findall(file.read_text())}


def build_programs(place, *targets):
    """Builds programs with the stand-in, in a folder that may be configured already."""
    if not (place / "CMakeCache.txt").exists():
        run(["cmake", "-S", str(ROOT), "-B", str(place), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
             "-DWELLSPRING_UNITY=ON", "-DWELLSPRING_CUDA_STAND_IN=ON"])
    run(["ninja", "-C", str(place), *targets])
