// Reads samples in order from any source. The reader here reads from a generator;
// train/run_samples.h reads from a configuration. Called by export, preview and digest; host only.
#pragma once

#include "export/samples.h"
#include "generators/generator.h"
#include "kernels/augment/augmentation.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// A source of samples.
struct SampleOrigin {
  std::string name;        ///< name of the source, or of the generator if there is no configuration
  SampleInfo info;         ///< for a data set: layout, classes and latent names only
  bool has_range = false;  ///< true if low and high in `info` are known
  AugmentationPlan augmentation;  ///< pictures undo its normalisation
  std::string parameters;         ///< all parameters of a generator, as YAML; "" for a data set
};

/// Heading of a picture of samples.
struct SampleHeading {
  std::string title, remark, line;
};

/// Samples that are made once, in order, one batch at a time.
class SampleReader {
 public:
  virtual ~SampleReader() = default;
  /// Total number of samples.
  virtual std::uint64_t count() const = 0;
  /// Columns of a sample, the same for all origins.
  virtual SampleLayout layout() const = 0;
  /// Indexed by Slot::source.
  virtual const std::vector<SampleOrigin>& origins() const = 0;
  /// Location of a stored sample: "photos/cat/1.jpg", "x.npy: row 17"; "" for a generated one.
  virtual std::string location(const Slot& /*slot*/) const { return ""; }
  /// Length of the longest location in bytes; 0 if there are no stored samples.
  virtual std::size_t longest_location() const { return 0; }
  /// Tells make() that the first `samples` samples are not needed. Returns how many of them it will
  /// leave out, possibly none; count() and identity() do not change. Call it before make().
  virtual std::uint64_t skip(std::uint64_t /*samples*/) { return 0; }
  /// Reserves memory for a batch, loads resident data, makes all samples and passes them to `take`
  /// batch by batch; each batch overwrites the previous one. Call it at most once.
  virtual void make(const std::function<void(const HostSamples&)>& take) = 0;
  /// True if the samples are image files whose pixels are neither resized nor converted. Then
  /// make_files() can replace make(): its batches hold the files instead of x.
  virtual bool has_files() const { return false; }
  virtual void make_files(const std::function<void(const HostSamples&)>& take);
  /// Items left out so far because they did not fit into the row of their set.
  virtual SetOverflow overflow() const = 0;
  /// Notes for the user after make(), one per line.
  virtual std::vector<std::string> notes() const { return {}; }
  virtual SampleHeading heading() const = 0;
  /// "20 samples of shapes (version 3)".
  virtual std::string summary() const = 0;
  /// Everything needed to make the same samples again: parameters, versions, seeds, ids. Settings
  /// are JSON values, not YAML text.
  virtual nlohmann::ordered_json identity() const = 0;
  /// How the samples are made (device, batch size); does not affect their values.
  virtual nlohmann::ordered_json making() const = 0;
  /// Names of the generators of these samples, possibly repeated; headers by their paths.
  virtual std::vector<std::string> generators() const { return {}; }
};

/// Reads samples of a generator, which nothing else may use while the reader exists.
class GeneratorReader final : public SampleReader {
 public:
  /// Throws a config error if dense labels are requested but the generator has none.
  GeneratorReader(Generator& generator, const SampleRange& range, const SampleMaking& making = {});
  /// The same, but owns the generator.
  GeneratorReader(std::unique_ptr<Generator> generator, const SampleRange& range,
                  const SampleMaking& making = {});

  std::uint64_t count() const override { return range_.count; }
  SampleLayout layout() const override { return SampleMaker::layout(generator_, making_.dense); }
  const std::vector<SampleOrigin>& origins() const override { return origins_; }
  std::uint64_t skip(std::uint64_t samples) override { return skipped_ = samples; }
  void make(const std::function<void(const HostSamples&)>& take) override;
  SetOverflow overflow() const override { return maker_ ? maker_->overflow() : SetOverflow{}; }
  std::vector<std::string> notes() const override { return generator_.notes(); }
  SampleHeading heading() const override;
  std::string summary() const override;
  nlohmann::ordered_json identity() const override;
  std::vector<std::string> generators() const override;
  nlohmann::ordered_json making() const override;

 private:
  std::unique_ptr<Generator> kept_;
  Generator& generator_;
  SampleRange range_;
  std::uint64_t skipped_ = 0;
  SampleMaking making_;
  std::vector<SampleOrigin> origins_;
  std::optional<SampleMaker> maker_;
};

/// Adds to an identity the versions of the generator and of all generators that it uses.
void add_versions(nlohmann::ordered_json& identity, const SampleInfo& info);

/// Joins YAML lines into one: "a: 1   b: 2".
std::string one_line(const std::string& yaml);

}  // namespace wellspring
