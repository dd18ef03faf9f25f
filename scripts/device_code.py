"""The device code of a configured build, from its compile commands. Used by kernel-report and issue-slots."""
import json
import pathlib
import shlex


def cuda_commands(build):
    """(source, folder, arguments) of each .cu file. FileNotFoundError if the build is not configured."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if entry["file"].endswith(".cu"):
            yield pathlib.Path(entry["file"]), entry["directory"], shlex.split(entry["command"])


def cubin_command(arguments, arch, output, *more):
    """The command that compiles the device code for one architecture."""
    kept, skip = [], False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in ("-o", "-MF", "-MT"):
            skip = True
        elif argument not in ("-MD", "-c") and not argument.startswith(
                ("--generate-code", "-arch", "-gencode")):
            kept.append(argument)
    return kept + [
        "-cubin", f"--generate-code=arch=compute_{arch},code=[sm_{arch}]", *more, "-o", str(output)
    ]
