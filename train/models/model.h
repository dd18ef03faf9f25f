// Models, which record networks on a tape, and the registry that makes them from their parameters.
// Called by training, the command line and tests; host only.
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

/// A network as configured, before its input is known.
class Model {
 public:
  virtual ~Model() = default;
  virtual const std::string& name() const = 0;
  /// The effective parameters as YAML lines "name: value", in table order.
  virtual std::string parameters_yaml() const = 0;
  /// The network for samples of `input`. Errors (config): the input does not fit; the model does
  /// not offer one of the outputs.
  virtual Tape record(const SampleLayout& input, const std::vector<OutputSpec>& outputs) const = 0;
  /// The same with one output of `width` values per sample.
  Tape record(const SampleLayout& input, int width) const {
    return record(input, {OutputSpec{kSampleOutput, width}});
  }
};

/// Registry entry of a model.
struct ModelEntry {
  std::string name;
  std::string summary;
  std::string reference;
  std::vector<ParamRow> parameters;
  std::unique_ptr<Model> (*make)(const std::vector<ParamSetting>& settings);
  SampleLayout example;              ///< input layout used to describe it
  std::vector<std::string> outputs;  ///< names of the outputs that the model offers
};

/// All models, by name.
const std::vector<ModelEntry>& model_registry();
/// Error (config): unknown `name`; the message suggests the nearest known one.
std::unique_ptr<Model> make_model(const std::string& name,
                                  const std::vector<ParamSetting>& settings = {},
                                  const ConfigLocation& place = {});

/// Dense layers "NAME0", "NAME1"... of these widths with ReLU. Each layer ends a block.
Tensor perceptron(Tape& tape, Tensor x, const std::string& name, const std::vector<int>& widths);

/// Makes a registry entry from `Params`, the struct of a model's parameters:
///
///     struct Mlp {
///       static constexpr const char* kName = "mlp";
///       static constexpr const char* kSummary = "...", *kReference = "";
///       static SampleLayout example();     // input layout used to describe it
///       static std::vector<std::string> outputs();   // only if not just kSampleOutput
///       static const ParamTable<Mlp>& table();
///       void check() const;              // error (config): contradictory parameters
///       void record(Tape& tape) const;   // records the network
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
  using Model::record;
  Tape record(const SampleLayout& input, const std::vector<OutputSpec>& outputs) const override {
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
            Params::example(),
            outputs()};
  }

 private:
  static std::vector<std::string> outputs() {
    if constexpr (requires { Params::outputs(); }) return Params::outputs();
    return {kSampleOutput};
  }

  std::string name_ = Params::kName;
  Params params_;
};

}  // namespace wellspring
