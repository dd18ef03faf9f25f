// Samples in order, whatever makes them: what export, preview and digest read. A generator's stand
// here, those of a configuration in train/run_samples.h. Host only.
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

/// One of those that the samples come from.
struct SampleOrigin {
  std::string name;        ///< of the source, or of the generator where there is no configuration
  SampleInfo info;         ///< of a data set: layout, classes and the names of its latents
  bool has_range = false;  ///< whether low and high of `info` are known
  AugmentationPlan augmentation;  ///< whose normalisation a picture undoes
  std::string parameters;         ///< of a generator: all of them, as YAML; "" of a data set
};

/// What stands over a picture of samples.
struct SampleHeading {
  std::string title, remark, line;
};

/// Samples that are made once, in order, a batch at a time.
class SampleReader {
 public:
  virtual ~SampleReader() = default;
  /// How many samples there will be.
  virtual std::uint64_t count() const = 0;
  /// What each is: the columns of any origin.
  virtual SampleLayout layout() const = 0;
  /// By Slot::source.
  virtual const std::vector<SampleOrigin>& origins() const = 0;
  /// Where a sample that is stored lies: "photos/cat/1.jpg", "x.npy: row 17"; "" of one that is
  /// made.
  virtual std::string location(const Slot& /*slot*/) const { return ""; }
  /// The bytes of the longest; 0 where none is stored.
  virtual std::size_t longest_location() const { return 0; }
  /// Reserves memory for a batch, reads what must be resident, makes every sample and hands them
  /// on; what is handed on is overwritten by the next batch. At most once.
  virtual void make(const std::function<void(const HostSamples&)>& take) = 0;
  /// What did not fit into the rows of a set, of all samples made so far.
  virtual SetOverflow overflow() const = 0;
  /// After make(): what the user should know, a line each.
  virtual std::vector<std::string> notes() const { return {}; }
  virtual SampleHeading heading() const = 0;
  /// "20 samples of shapes (version 3)".
  virtual std::string summary() const = 0;
  /// All it takes to make the same samples again: parameters, versions, seeds, which samples. What
  /// is configured stands in it as values, not as YAML.
  virtual nlohmann::ordered_json identity() const = 0;
  /// How they are made, which changes none of them.
  virtual nlohmann::ordered_json making() const = 0;
};

/// Samples of a generator, which is the feed's alone while that lives.
class GeneratorReader final : public SampleReader {
 public:
  /// Error (config): a plane of truth where there is none.
  GeneratorReader(Generator& generator, const SampleRange& range, const SampleMaking& making = {});
  /// The same, and keeps the generator.
  GeneratorReader(std::unique_ptr<Generator> generator, const SampleRange& range,
                  const SampleMaking& making = {});

  std::uint64_t count() const override { return range_.count; }
  SampleLayout layout() const override { return SampleMaker::layout(generator_, making_.dense); }
  const std::vector<SampleOrigin>& origins() const override { return origins_; }
  void make(const std::function<void(const HostSamples&)>& take) override;
  SetOverflow overflow() const override { return maker_ ? maker_->overflow() : SetOverflow{}; }
  std::vector<std::string> notes() const override { return generator_.notes(); }
  SampleHeading heading() const override;
  std::string summary() const override;
  nlohmann::ordered_json identity() const override;
  nlohmann::ordered_json making() const override;

 private:
  std::unique_ptr<Generator> kept_;
  Generator& generator_;
  SampleRange range_;
  SampleMaking making_;
  std::vector<SampleOrigin> origins_;
  std::optional<SampleMaker> maker_;
};

/// Adds the generator's version to what identifies samples, and the versions of those it uses.
void add_versions(nlohmann::ordered_json& identity, const SampleInfo& info);

/// "a: 1   b: 2" of YAML lines.
std::string one_line(const std::string& yaml);

}  // namespace wellspring
