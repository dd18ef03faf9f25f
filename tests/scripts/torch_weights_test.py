"""Weights go to PyTorch and back. A model from `wellspring train` loads strictly into the network of
scripts/torch-weights, torchvision or timm; changed weights return in a file that `wellspring eval` accepts. Networks of
torchvision and timm, if installed, have the same results here: scripts/torch-weights converts their files, and files of
the safetensors library are read directly, also in half precision. Skipped (77) without PyTorch.

Usage: torch_weights_test.py [--full] SOURCE_FOLDER WELLSPRING
--full also exchanges networks of the libraries at full width and depth; it needs torchvision, timm and 3 GB of memory.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from support import load_script

try:
    import numpy as np
    import torch
except ImportError:
    print("needs PyTorch")
    sys.exit(77)

try:
    from safetensors.torch import save_file
except ImportError:
    save_file = None

CONFIG = """
name: exchange
device: cpu
threads: 1
data: {size: 16, sources: [{name: a, kind: generator, generator: shapes, params: {classes: 4}}]}
eval: {samples: 16, sources: [{of: a}]}
model: {name: resnet18, stem: cifar}
train: {batch: 4, steps: 2, log_every: 1, checkpoint_every: 2}
"""


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
    return result.stdout


def evaluate(wellspring, folder, *arguments):
    """Returns loss, accuracy and probabilities [n, class] of the first head on the only source, and standard error."""
    command = (wellspring, "eval", *arguments, "--json", "--predictions", folder / "predictions.npz")
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert result.returncode == 0, f"{arguments}: {result.stdout}{result.stderr}"
    source, = json.loads(result.stdout)["results"]
    arrays = np.load(folder / "predictions.npz")
    several = "scores_a" in arrays  # then the first head is compared
    loss = source["heads"][0]["loss"] if several else source["loss"]
    return loss, source["accuracy"], arrays["scores_a" if several else "scores"], result.stderr


def held_out(wellspring, config, folder, *settings):
    """Returns held-out images [n, channel, height, width] and labels, as the network receives them."""
    run(wellspring, "export", config, *settings, "--split", "eval", "--out", folder / "held.npz")
    arrays = np.load(folder / "held.npz")
    return torch.from_numpy(arrays["x"]).permute(0, 3, 1, 2).float(), torch.from_numpy(arrays["label"]).long()


def expect_equal(network, samples, found, what):
    """`wellspring eval` must give PyTorch's results on the same samples."""
    images, labels = samples
    with torch.no_grad():
        logits = network.double().eval()(images.double())
    loss = torch.nn.functional.cross_entropy(logits, labels).item()
    accuracy = (logits.argmax(1) == labels).double().mean().item()
    # Rounding errors of single precision: bound_of in tests/train/network/published_weights.h, relative to the largest
    # logit. An error of e in each logit changes the loss by at most 2 e.
    fans = [tensor[0].numel() for tensor in network.state_dict().values() if tensor.dim() > 1]
    bound = 2 * 8 * (max(fans) * len(fans)) ** 0.5 * 2**-24 * max(1, logits.abs().max().item())
    assert abs(found[0] - loss) < bound and found[1] == accuracy, f"{what}: {found}, PyTorch {loss}, {accuracy}"
    # Ratios of probabilities are differences of logits, which have at most twice the error. Subnormal probabilities
    # have fewer digits.
    scores = torch.from_numpy(found[2]).double()
    top = scores.argmax(1, keepdim=True)
    ratios = (scores / scores.gather(1, top)).log()
    errors = (ratios - logits + logits.gather(1, top))[scores >= np.finfo(np.float32).tiny].abs()
    assert errors.max() < bound, f"{what}: logits differ by {errors.max()}, bound {bound}"


def disturb(network):
    """Randomises weights and statistics, so that each of them matters."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, tensor in network.state_dict().items():
            if tensor.dim() == 1 or name.endswith(("_token", "pos_embed")):
                about = 1 if name.endswith(("weight", "running_var")) else 0
                tensor.copy_(about + 0.5 * torch.rand(tensor.shape, generator=generator) - 0.25)
    return network


def check_exchange(script, wellspring, folder, network, settings, what):
    """Trains here, loads the weights into `network`, changes them there, and evaluates them here."""
    module = load_script("torch-weights")
    config = folder / "config.yaml"
    out = folder / what.replace(" ", "-")
    run(wellspring, "train", config, *settings, f"out={out}")
    model = out / "checkpoints/step-2/model.safetensors"
    run(sys.executable, script, "to-torch", model, folder / "weights.pt")

    metadata, tensors = module.read_safetensors(model)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    network.load_state_dict(torch.load(folder / "weights.pt"))  # strict, so no name may be missing
    for name, tensor in network.state_dict().items():
        assert not name.endswith(("running_mean", "fc.weight", "head.weight")) or not torch.equal(
            tensor, before[name]), f"{name} was not loaded"
    torch.save(network.state_dict(), folder / "again.pt")
    run(sys.executable, script, "from-torch", folder / "again.pt", model, folder / "back.safetensors")
    assert module.read_safetensors(folder / "back.safetensors") == (metadata, tensors)

    samples = held_out(wellspring, config, folder, *settings)
    expect_equal(network, samples, evaluate(wellspring, folder, out), f"{what}, trained here")
    disturb(network.float())
    torch.save(network.state_dict(), folder / "changed.pt")
    run(sys.executable, script, "from-torch", folder / "changed.pt", model, folder / "changed.safetensors")
    found = evaluate(wellspring, folder, folder / "changed.safetensors")
    assert "another program" not in found[3], found[3]
    expect_equal(network, samples, found, f"{what}, changed weights")
    print(f"exchanged in both directions: {what}")


def full_size():
    """Networks of the libraries at full width and depth, for few classes and small images."""
    import timm
    import torchvision

    found = {}
    for name in ("resnet18", "resnet34", "wide_resnet50_2"):
        network = getattr(torchvision.models, name)(num_classes=4)
        found[f"torchvision {name}"] = network, [f"model={{name: {name}}}", "data.size=32"]
    # A patch of 16 pixels, as published, gives 16 tokens.
    vit, heads = "model={name: vit, preset: tiny%s}", exchanged_heads()
    for name, settings in {
            "vit_tiny_patch16_224": [vit % "", "data.size=64"],
            "deit_tiny_distilled_patch16_224": [vit % ", distilled: true", "data.size=64", heads]}.items():
        found[f"timm {name}"] = timm.create_model(name, num_classes=4, img_size=64), settings
    found["timm convnext_tiny"] = timm.create_model("convnext_tiny", num_classes=4), [
        "model={name: convnext}", "data.size=64"]
    return found


def exchanged_heads():
    """The heads of both tokens of a distilled network."""
    return "heads=[{name: a, average_with: teacher}, {name: teacher, output: distilled, sources: [a]}]"


def exchanged():
    """Networks of the installed libraries with few layers, and the settings of the same networks here."""
    found = {}
    try:
        from torchvision.models import resnet50
        found["torchvision resnet50"] = resnet50(num_classes=4), ["model={name: resnet50}", "data.size=32"]
    except ImportError:
        print("no torchvision: resnet50 is not exchanged")
    try:
        from timm.models.convnext import ConvNeXt
        from timm.models.deit import VisionTransformerDistilled
        from timm.models.vision_transformer import VisionTransformer
    except ImportError:
        print("no timm: vit, deit and convnext are not exchanged")
        return found
    shape = {"img_size": 16, "patch_size": 4, "embed_dim": 48, "depth": 2, "num_heads": 3, "num_classes": 4}
    vit = "name: vit, patch: 4, width: 48, depth: 2, heads: 3"
    found["timm vit"] = VisionTransformer(**shape), [f"model={{{vit}}}"]
    found["timm deit distilled"] = VisionTransformerDistilled(**shape), [
        f"model={{{vit}, distilled: true}}", exchanged_heads()]
    found["timm convnext"] = ConvNeXt(num_classes=4, depths=(1, 1, 2, 1), dims=(16, 32, 48, 64)), [
        "model={name: convnext, widths: [16, 32, 48, 64], depths: [1, 1, 2, 1]}", "data.size=32"]
    return found


def check_exchanges(script, wellspring, folder, full):
    check_exchange(script, wellspring, folder, load_script("torch-weights").ResNet18("cifar", 4), [], "resnet18")
    for what, (network, settings) in (exchanged() | (full_size() if full else {})).items():
        check_exchange(script, wellspring, folder, network, settings, what)


def networks():
    """resnet18 from the installed libraries, or else from the script."""
    found = {}
    for library in ("torchvision", "timm"):
        try:
            if library == "torchvision":
                from torchvision.models import resnet18
            else:
                from timm.models.resnet import resnet18
            found[library] = resnet18(num_classes=4)
        except ImportError:
            print(f"no {library}: its resnet18 is not compared")
    return found


def check_libraries(script, wellspring, folder):
    imagenet = (folder / "config.yaml", "model.stem=imagenet", "data.size=64")
    samples = held_out(wellspring, imagenet[0], folder, *imagenet[1:])
    found = networks() or {"script": load_script("torch-weights").ResNet18("imagenet", 4)}
    for library, network in found.items():
        disturb(network)
        torch.save({"state_dict": network.state_dict()}, folder / "weights.pth")
        run(sys.executable, script, "from-torch", folder / "weights.pth", folder / "weights.safetensors")
        result = evaluate(wellspring, folder, folder / "weights.safetensors", *imagenet)
        assert "written by another program, without a digest" in result[3], result[3]
        expect_equal(network, samples, result, library)
        if save_file is None:
            print("no safetensors: its files are not compared")
            continue
        for kind in (torch.float32, torch.float16, torch.bfloat16):
            network.to(kind)
            save_file({name: tensor.contiguous() for name, tensor in network.state_dict().items()},
                      folder / "direct.safetensors", metadata={"format": "pt"})
            result = evaluate(wellspring, folder, folder / "direct.safetensors", *imagenet)
            expect_equal(network, samples, result, f"{library}, {kind}")
            network.float()
    started = run(wellspring, "train", *imagenet, f"out={folder}/tuned", "train.steps=1", "eval.samples=4",
                  f"init.from={folder}/weights.safetensors", "init.head=keep")
    assert "written by another program, without a digest; loaded 102 tensors" in started, started


def main(*arguments):
    full = "--full" in arguments
    source, wellspring = (argument for argument in arguments if argument != "--full")
    script = pathlib.Path(source) / "scripts" / "torch-weights"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "config.yaml").write_text(CONFIG)
        check_exchanges(script, wellspring, folder, full)
        check_libraries(script, wellspring, folder)


main(*sys.argv[1:])
