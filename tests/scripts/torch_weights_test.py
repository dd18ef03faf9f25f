"""Weights of resnet18 go to PyTorch and back. A model from `wellspring train` loads strictly into the network of
scripts/torch-weights and returns, equal to the bit, in a file that `wellspring eval` takes. Skipped (77) without
PyTorch.

Usage: torch_weights_test.py SOURCE_FOLDER WELLSPRING
"""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError:
    print("needs PyTorch")
    sys.exit(77)

CONFIG = """
name: exchange
device: cpu
data: {size: 16, sources: [{name: a, kind: generator, generator: shapes}]}
eval: {samples: 16, sources: [{of: a}]}
model: {name: resnet18, stem: cifar}
train: {batch: 4, steps: 2, log_every: 1, checkpoint_every: 2}
"""


def load_script(path):
    loader = importlib.machinery.SourceFileLoader("torch_weights", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("torch_weights", loader))
    loader.exec_module(module)
    return module


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
    return result.stdout


def main(source, wellspring):
    script = pathlib.Path(source) / "scripts" / "torch-weights"
    module = load_script(script)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "config.yaml").write_text(CONFIG)
        run(wellspring, "train", folder / "config.yaml", f"out={folder}/run")
        model = folder / "run/checkpoints/step-2/model.safetensors"
        run(sys.executable, script, "to-torch", model, folder / "weights.pt")

        metadata, tensors = module.read_safetensors(model)
        network = module.ResNet18("cifar", tensors["fc.bias"][0][0])
        network.load_state_dict(torch.load(folder / "weights.pt"))  # strict: no name is missing
        assert not torch.equal(network.bn1.running_mean, torch.zeros(64)), "the statistics were not loaded"
        torch.save(network.state_dict(), folder / "again.pt")

        run(sys.executable, script, "from-torch", folder / "again.pt", model, folder / "back.safetensors")
        assert module.read_safetensors(folder / "back.safetensors") == (metadata, tensors)
        run(wellspring, "eval", folder / "back.safetensors")


main(*sys.argv[1:])
