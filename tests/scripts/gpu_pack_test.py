"""Unpacks the archive of scripts/gpu-pack in an empty root with only the C library, a shell, Python's standard library
and NVIDIA's libraries. Programs and tests must start, and gpu-check must report that there is no GPU.

usage: gpu_pack_test.py SOURCE_DIR BUILD_DIR         exit code 77: skipped, with the reason
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from support import output

SKIPPED = 77
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
# Runs a command in another root. The loader finds a program's location through /proc, which is unmounted together with
# the command's mount namespace.
ELSEWHERE = 'mount --bind /proc "$0/proc" && exec chroot "$0" /usr/bin/env -i -C /unpacked "$@"'
LIMIT = 40 << 20
# Commands that bin/wellspring-env and the shell scripts in the archive may call.
PROGRAMS = ("bash", "env", "awk", "dirname", "tr")
NVIDIA = re.compile(r"lib(cudnn|cublasLt|curand|nvrtc|cupti)[\w.-]*\.so")


def libraries_of(program):
    """Returns {name: path} of the files that the loader opens for a program on this machine."""
    found = re.findall(r"^\s*(\S+)(?: =>)?(?: (/\S+))? \(0x", output("ldd", program), re.MULTILINE)
    paths = {name: path or name for name, path in found}
    return {name: path for name, path in paths.items() if path.startswith("/")}


class Root:
    """An empty root directory that a test fills with what it needs."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        for name in ("usr/bin", "tmp", "proc", "dev", "unpacked"):
            (folder / name).mkdir(parents=True)
        (folder / "bin").symlink_to("usr/bin")
        (folder / "dev/null").touch()

    def place(self, path, at):
        target = self.folder / str(at).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)  # the target of a link

    def add_program(self, path, name):
        self.place(path, f"/usr/bin/{name}")
        for library in libraries_of(path).values():
            self.place(library, library)

    def add_c_library(self):
        """Copies all parts of the C library to the same paths."""
        folder = pathlib.Path(libraries_of(os.path.realpath(shutil.which("bash")))["libc.so.6"]).parent
        for name in ("libc.so.6", "libm.so.6", "libmvec.so.1", "libdl.so.2", "librt.so.1", "libpthread.so.0"):
            self.place(folder / name, folder / name)

    def add_python(self):
        """Copies this Python and its standard library to the same paths."""
        self.add_program(os.path.realpath(sys.executable), "python3")
        library = pathlib.Path(sysconfig.get_path("stdlib"))
        kept_out = shutil.ignore_patterns("site-packages", "dist-packages", "test", "tests", "__pycache__",
                                          "idlelib", "ensurepip", "config-*", "*.a")  # fmt: skip
        shutil.copytree(library, self.folder / str(library).lstrip("/"), ignore=kept_out)
        for extension in (self.folder / str(library).lstrip("/")).glob("lib-dynload/*.so"):
            for path in libraries_of(extension).values():
                self.place(path, path)
        self.environment["PYTHONHOME"] = sys.base_prefix

    def add_nvidia(self, programs):
        """Installs the NVIDIA libraries that the programs need, laid out as in a Python environment."""
        for program in programs:
            for name, path in libraries_of(program).items():
                if NVIDIA.match(name):
                    self.place(path, pathlib.Path(sysconfig.get_path("stdlib")) / f"nvidia/all/lib/{name}")

    def run(self, *command):
        """Returns (exit code, output)."""
        settings = [f"{name}={value}" for name, value in self.environment.items()]
        result = subprocess.run(
            ["unshare", "--mount", "sh", "-c", ELSEWHERE, self.folder, *settings, *map(str, command)],
            capture_output=True, text=True, check=False, env={"PATH": PATH},
        )  # fmt: skip
        return result.returncode, result.stdout + result.stderr

    def expect(self, code, words, *command):
        seen, text = self.run(*command)
        assert seen == code and words in text, f"{' '.join(map(str, command))}: exit code {seen}\n{text}"
        return text


def main():
    source, build = (pathlib.Path(path) for path in sys.argv[1:])
    allowed = subprocess.run(["unshare", "--mount", "true"], env={"PATH": PATH}, check=False).returncode == 0
    if os.geteuid() != 0 or not allowed:
        print("skipped: a separate root needs root privileges and a mount namespace")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as name:
        archive = pathlib.Path(name) / "pack.tar.xz"
        output(source / "scripts/gpu-pack", "--build", build, "--out", archive)
        size = archive.stat().st_size
        assert size <= LIMIT, size

        root = Root(pathlib.Path(name) / "root")
        for program in PROGRAMS:
            root.add_program(os.path.realpath(shutil.which(program)), program)
        root.add_c_library()
        root.add_python()
        root.place(archive, "/unpacked/pack.tar.xz")
        root.expect(0, "", "python3", "-m", "tarfile", "-e", "pack.tar.xz", ".")

        # Without NVIDIA's libraries, it must say what to do.
        bundle = root.folder / "unpacked/wellspring"
        root.expect(1, "If the bundle has no NVIDIA libraries, run", "wellspring/bin/wellspring-env", "gpu-check")
        root.add_nvidia([bundle / "bin/wellspring", *(bundle / "libexec/wellspring").glob("test_*")])

        def start(*command):
            return ["wellspring/bin/wellspring-env", *command]

        root.expect(0, "shapes", *start("wellspring", "list", "generators"))
        tests = sorted((bundle / "libexec/wellspring").glob("test_*"))
        for test in tests:
            root.expect(0, "\n  ", *start(f"wellspring/libexec/wellspring/{test.name}", "--gtest_list_tests"))
        tools = sorted(path.name for path in (bundle / "libexec/wellspring/tools").glob("*"))
        assert "conv_plans" in tools, tools
        config = "wellspring/share/wellspring/configs/quickstart.yaml"
        root.expect(4, "not usable", *start("wellspring/libexec/wellspring/tools/conv_plans", config))
        for part in "ABCD":
            root.expect(4, "no usable GPU", *start("gpu-check", "--part", part, "--quick"))
        print(f"{size / (1 << 20):.1f} MiB, {len(tests)} tests, tools: {', '.join(tools)}")


if __name__ == "__main__":
    main()
