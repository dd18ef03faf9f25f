// Runs with several ranks, which are threads of this process.
#pragma once

#include "core/io/safetensors.h"
#include "export/export.h"
#include "tests/support/dataset_fixtures.h"
#include "tests/support/plain_safetensors.h"
#include "tests/support/rank_group.h"
#include "tests/train/linear_bound.h"
#include "tests/train/training_testing.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace wellspring::test {

namespace fs = std::filesystem;

/// Mixed images of a generator and of files, repeated; an average of the weights.
inline constexpr const char* kPictures = R"(name: pictures
seed: 7
device: cpu
threads: 1
data:
  size: 8
  augment: [flip_x: 0.5]
  mix: {{mixup: 0.8, cutmix: 1, probability: 0.8}}
  sources:
    - {{name: shapes, kind: generator, generator: shapes, params: {{classes: 4}}, weight: 3, repeats: 2}}
    - {{name: photos, kind: files, path: {0}/photos, storage: streamed, ahead: 2, repeats: 3}}
eval: {{samples: 20, every: 6, sources: [{{of: shapes}}, {{of: photos, path: {0}/held}}]}}
model: {{name: cnn, widths: [4, 8], blocks: [0, 1], pool: [0, 1], norm: group, group_width: 4}}
optimizer: {{kind: adamw, lr: 0.01, weight_decay: 0.01}}
train: {{batch: 12, steps: 14, log_every: 4, checkpoint_every: 6, keep: 9, ema: 0.9}}
)";

/// A classification and a regression of images.
inline constexpr const char* kSpectra = R"(name: spectra
seed: 7
device: cpu
threads: 1
data:
  size: 8
  sources:
    - {{name: ising, kind: generator, generator: ising, repeats: 2, augment: [flip_x: 0.5]}}
eval: {{samples: 20, every: 6, sources: [{{of: ising}}]}}
model: {{name: cnn, widths: [4, 8], blocks: [0, 1], pool: [0, 1], norm: group, group_width: 4}}
heads:
  - {{name: ising, loss: class}}
  - {{name: temperature, loss: regression, targets: [temperature]}}
train: {{batch: 12, steps: 14, log_every: 4, checkpoint_every: 6, keep: 9}}
)";

/// Sets from a file and a generator, with a class and a regression. Some jets have too many items.
inline constexpr const char* kSets = R"(name: sets
seed: 7
device: cpu
threads: 1
data:
  sources:
    - {{name: full, kind: files, path: {0}/jets.npz, head: jets, storage: streamed, ahead: 2}}
    - {{name: jets, kind: generator, generator: ginkgo, params: {{items: 12}}}}
eval: {{samples: 40, every: 6, sources: [{{of: jets}}]}}
model: {{name: deepset, item_widths: [8], widths: [8], pooling: sum}}
heads:
  - {{name: jets, loss: class}}
  - {{name: parts, loss: regression, targets: [constituents, first_fraction]}}
train: {{batch: 12, steps: 14, log_every: 4, checkpoint_every: 6, keep: 9}}
)";

/// A class per set and an energy per item. Parts of the network are frozen up to steps 4 and 9.
inline constexpr const char* kItems = R"(name: items
seed: 7
device: cpu
threads: 1
data:
  normalise: auto
  sources:
    - {{name: full, kind: files, path: {0}/jets.npz, head: jets}}
    - {{name: jets, kind: generator, generator: ginkgo, params: {{items: 12}}}}
eval: {{samples: 40, every: 6, sources: [{{of: jets}}]}}
model: {{name: transformer, width: 8, depth: 1, heads: 2, widths: [8]}}
heads:
  - {{name: jets, loss: class}}
  - {{name: energies, loss: item_regression, targets: [E]}}
optimizer:
  parameters:
    - {{match: "*", unfreeze_at: 4}}
    - {{match: "embed.*", unfreeze_at: 9}}
    - {{match: "*head.*", frozen: false}}
train: {{batch: 12, steps: 14, log_every: 4, checkpoint_every: 6, keep: 9}}
)";

inline constexpr std::array kRuns = {kPictures, kSpectra, kSets, kItems};

struct Ranks : ::testing::Test {
  Ranks() {
    write_as_folder(folder / "photos", labelled_noise(4, 7, 8));
    write_as_folder(folder / "held", labelled_noise(4, 5, 8));
    GeneratorReader feed(make_generator("ginkgo", 1, {{"items", "12"}}), {3, 0, 50});
    export_samples(feed, folder / "jets.npz", {});
  }
  RunConfig config(const char* text, const Settings& settings = {},
                   const std::string& out = "unused") const {
    Settings all = {"out=" + (folder / out).string()};
    all.insert(all.end(), settings.begin(), settings.end());
    return RunConfig::parse(fmt::format(fmt::runtime(text), folder.path().string()), "ranks.yaml",
                            all);
  }

  TemporaryFolder folder;
};

inline void run_ranks(int ranks, const std::function<void(Communicator&)>& body) {
  if (ranks == 1)
    body(single_rank());
  else
    RankGroup(ranks).run(body);
}

/// Reports of each rank's trainer, and its stored state at the end.
struct RankEnds {
  explicit RankEnds(int ranks)
      : listeners(static_cast<std::size_t>(ranks)),
        finishes(listeners.size()),
        states(listeners.size()) {}
  std::vector<Listener> listeners;
  std::vector<FinishReport> finishes;
  std::vector<std::vector<std::uint8_t>> states;
};

inline RankEnds train(const RunConfig& given_config, int ranks,
                      const TrainerOptions& given = in_memory()) {
  RankEnds ends(ranks);
  run_ranks(ranks, [&](Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    RunConfig config = given_config;
    config.node = {config.out, communicator.rank(), ranks};
    TrainerOptions options = given;
    options.ranks = &communicator;
    Trainer trainer(config, ends.listeners[rank], options);
    ends.finishes[rank] = trainer.run();
    ends.states[rank] = trainer.state_bytes();
  });
  return ends;
}

/// All parameters and buffers of a checkpoint.
inline std::vector<float> weights_of(const fs::path& checkpoint) {
  std::vector<float> all;
  for (const PlainTensor& tensor :
       read_tensors(SafetensorsFile(checkpoint / "model.safetensors"))) {
    const std::size_t before = all.size();
    all.resize(before + tensor.data.size() / sizeof(float));
    std::memcpy(all.data() + before, tensor.data.data(), tensor.data.size());
  }
  return all;
}

}  // namespace wellspring::test
