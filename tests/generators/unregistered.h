// Unregistered generators: a set with more items than its rows hold, and images from a table.
// Called by tests; host and device.
#pragma once

#include "generators/functor_generator.h"

#include <cstring>
#include <string>
#include <vector>

namespace wellspring::test {

/// Sets of up to `most` items in rows with room for `room` items.
struct Handful {
  static constexpr int kLatents = 1;
  static constexpr forms::Events kForm = {};
  struct Params {
    int room = 6;
    int most = 9;
  };
  static const ParamTable<Params>& table() {
    static const auto rows = ParamTable<Params>("handful")
                                 .integer("room", &Params::room, {1, 100}, "", "items of a row")
                                 .integer("most", &Params::most, {0, 100}, "", "items of a sample");
    return rows;
  }
  static SampleInfo describe(const Params& params) {
    SampleInfo info;
    info.name = "handful";
    info.version = 3;
    info.classes = {"even", "odd"};
    info.features = {{"number", ""}, {"height", "m"}};
    info.globals = {{"items", ""}};
    info.latents = {{"items", "how many there are", "", 0, static_cast<float>(params.most)}};
    info.high = 100;
    return info;
  }

  explicit Handful(const Params& params) : params_(params) {}
  SampleLayout layout() const {
    SampleLayout layout = SampleLayout::set(params_.room, 2);
    layout.globals = 1;
    return layout;
  }
  template <class Run>
  WS_INLINE void make(Run& run) const {
    run.each([&](int lane, auto& row, auto& truth) {
      const SampleRng rng = run.rng(lane);
      const auto items = static_cast<int>(below(rng.block(Purpose::scene, 0).word[0],
                                                static_cast<std::uint32_t>(params_.most + 1)));
      for (int i = 0; i < items; ++i) {
        row.set(i, 0, static_cast<float>(i));
        row.set(i, 1,
                unit_float(rng.block(Purpose::texture, static_cast<std::uint32_t>(i)).word[0]));
      }
      row.set_count(items);
      row.set_global(0, static_cast<float>(items));
      truth.label = items % 2;
      truth.latents[0] = static_cast<float>(items);
    });
  }

 private:
  Params params_;
};

/// Images of one colour each, from a table in device memory.
struct Swatches {
  static constexpr int kLatents = 0;
  static constexpr forms::Pixels kForm = {};
  static constexpr GeneratorHooks kHooks = {.tables = true};
  struct Params {
    int colours = 5;
  };
  static const ParamTable<Params>& table() {
    static const auto rows =
        ParamTable<Params>("swatches")
            .integer("colours", &Params::colours, {1, 100}, "", "length of the table");
    return rows;
  }
  static SampleInfo describe(const Params&) {
    SampleInfo info;
    info.name = "swatches";
    info.classes = {"colour"};
    return info;
  }

  class Tables {
   public:
    explicit Tables(const Params& params) : params_(params) {}
    std::vector<std::string> prepare(TableCache& cache) {
      values_ = cache.get({"swatches", 1, "colours", table().to_yaml(params_)}, [&] {
        ++computed;
        std::vector<std::byte> bytes(static_cast<std::size_t>(params_.colours) * sizeof(float));
        for (int i = 0; i < params_.colours; ++i) {
          const float value = static_cast<float>(i) / static_cast<float>(params_.colours);
          std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof value, &value,
                      sizeof value);
        }
        return bytes;
      });
      return cache.notes();
    }
    void plan(MemoryPlan& memory) {
      device_ = memory.reserve<float>("swatches", "colours", values_.size() / sizeof(float));
    }
    void load(Stream& stream) {
      stream.copy(device_.data(), values_.data(), values_.size(), CopyDirection::on_device,
                  "colours");
      stream.synchronize();
    }
    void bind(Swatches& functor) const { functor.colours_ = device_.data(); }

    static inline int computed = 0;

   private:
    Params params_;
    std::vector<std::byte> values_;
    Planned<float> device_;
  };

  struct Scene {
    float value;
  };
  explicit Swatches(const Params& params) : params_(params) {}
  WS_INLINE Scene draw(const SampleKey& key, Truth<0>&) const {
    return {colours_[key.rng.sample % static_cast<std::uint64_t>(params_.colours)]};
  }
  WS_INLINE Rgb at(const Scene& scene, PixelCoordinate) const {
    return {scene.value, scene.value, scene.value};
  }

 private:
  Params params_;
  const float* colours_ = nullptr;
};

}  // namespace wellspring::test
