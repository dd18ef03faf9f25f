// Networks: what one is to the trainer, and the registry that makes one from its parameters. Called
// by the trainer, the command line and tests; host only.
#pragma once

#include "core/params.h"
#include "generators/generator.h"  // defines: ParamSetting
#include "kernels/emission/batch.h"
#include "kernels/stream.h"
#include "train/network.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

/// A network that has been planned for one batch size; runs after MemoryPlan::commit.
class Network {
 public:
  virtual ~Network() = default;
  /// Enqueues the forward pass of x [batch, shape], in the compute type.
  virtual void forward(Stream& stream, const void* x) = 0;
  /// [batch, outputs] f32, after forward().
  virtual const float* logits() const = 0;
  /// Where the loss writes its gradient: [batch, outputs] in the compute type.
  virtual void* logits_gradient() const = 0;
  /// Enqueues the backward pass; writes every parameter's gradient.
  virtual void backward(Stream& stream, const void* x) = 0;
};

/// A network as configured, before it knows its input.
class Model {
 public:
  virtual ~Model() = default;
  virtual const std::string& name() const = 0;
  /// The parameters in force, as YAML lines "name: value", in table order.
  virtual std::string parameters_yaml() const = 0;
  /// Registers parameters and memory for samples of `in` and `outputs` logits, then what layers
  /// share. `context` must outlive the network. Errors (config) when the input does not fit.
  virtual std::unique_ptr<Network> plan(NetworkContext& context, const SampleShape& in,
                                        int outputs) const = 0;
};

/// How the registry knows a model before it has parameters.
struct ModelEntry {
  std::string name;
  std::string summary;
  std::string reference;
  std::vector<ParamRow> parameters;
  std::unique_ptr<Model> (*make)(const std::vector<ParamSetting>& settings);
};

/// All models, by name.
const std::vector<ModelEntry>& model_registry();
/// Error (config) with the nearest known name when there is none called `name`.
std::unique_ptr<Model> make_model(const std::string& name,
                                  const std::vector<ParamSetting>& settings = {},
                                  const Place& place = {});

// One entry a model, defined in its own file.
ModelEntry mlp_entry();
ModelEntry cnn_entry();

/// Weights of the layer that makes the logits begin with this name; a head that is reset is found
/// by it.
inline constexpr const char* kHeadName = "head";

}  // namespace wellspring
