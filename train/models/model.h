// Models: pages that record a network, and the registry that makes them from their parameters. Used
// by the learner, the command line and tests; host only.
//
// A model is one file in train/models/ and one line in its CMakeLists.txt.
#pragma once

#include "core/config/params.h"
#include "kernels/batch/batch.h"
#include "train/network/network.h"
#include "train/network/tape.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {

/// A network as configured, before it knows its input.
class Model {
 public:
  virtual ~Model() = default;
  virtual const std::string& name() const = 0;
  /// The parameters in force, as YAML lines "name: value", in table order.
  virtual std::string parameters_yaml() const = 0;
  /// The network for samples of `input` and `outputs` values a sample, all heads together. Errors
  /// (config) when the input does not fit.
  virtual Tape record(const SampleLayout& input, int outputs) const = 0;
};

/// How the registry knows a model before it has parameters.
struct ModelEntry {
  std::string name;
  std::string summary;
  std::string reference;
  std::vector<ParamRow> parameters;
  std::unique_ptr<Model> (*make)(const std::vector<ParamSetting>& settings);
  SampleLayout example;  ///< of samples, for its description
};

/// All models, by name.
const std::vector<ModelEntry>& model_registry();
/// Error (config) with the nearest known name when there is none called `name`.
std::unique_ptr<Model> make_model(const std::string& name,
                                  const std::vector<ParamSetting>& settings = {},
                                  const ConfigLocation& place = {});

/// What a model's page gives the registry. `Params` is the struct of its parameters:
///
///     struct Mlp {
///       static constexpr const char* kName = "mlp";
///       static constexpr const char* kSummary = "...", *kReference = "";
///       static SampleLayout example();   // samples to describe it with
///       static const ParamTable<Mlp>& table();
///       void check() const;              // errors (config) of parameters that contradict
///       void record(Tape& tape) const;   // the page
///       ... parameters, with their defaults
///     };
template <class Params>
class ModelOf : public Model {
 public:
  explicit ModelOf(const std::vector<ParamSetting>& settings)
      : params_(Params::table().read(settings)) {
    params_.check();
  }
  const std::string& name() const override { return name_; }
  std::string parameters_yaml() const override { return Params::table().to_yaml(params_); }
  Tape record(const SampleLayout& input, int outputs) const override {
    Tape tape(name_, input, outputs);
    params_.record(tape);
    return tape;
  }
  static ModelEntry entry() {
    return {Params::kName,
            Params::kSummary,
            Params::kReference,
            Params::table().rows(),
            [](const std::vector<ParamSetting>& settings) -> std::unique_ptr<Model> {
              return std::make_unique<ModelOf>(settings);
            },
            Params::example()};
  }

 private:
  std::string name_ = Params::kName;
  Params params_;
};

}  // namespace wellspring
