// Training runs, and the weights of their checkpoints.
#include "core/error.h"
#include "core/signals.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/model_file.h"
#include "train/metrics/metrics_log.h"
#include "train/trainer.h"

#include <nlohmann/json.hpp>

#include "python/bindings.h"
#include "python/configuration.h"
#include "python/process.h"
#include <exception>
#include <memory>
#include <mutex>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <utility>

namespace nb = nanobind;

namespace wellspring::python {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const CheckpointReport& report) {
  return {{"kind", "checkpoint"}, {"step", report.step}, {"path", report.path.string()}};
}

const char* name_of(RunStatus status) {
  switch (status) {
    case RunStatus::finished:
      return "finished";
    case RunStatus::interrupted:
      return "interrupted";
    case RunStatus::out_of_time:
      return "out_of_time";
    case RunStatus::out_of_patience:
      return "out_of_patience";
    case RunStatus::already_finished:
      return "already_finished";
  }
  return "";
}

Json to_json(const FinishReport& report) {
  Json object = {{"kind", "finish"},
                 {"status", name_of(report.status)},
                 {"step", report.step},
                 {"seconds", report.time.total},
                 {"folder", report.folder.string()}};
  if (report.throughput.windows > 0)
    object["samples_per_second"] = report.throughput.samples_per_second;
  object["input"] = report.input.text;
  if (report.checkpoint) object["checkpoint"] = report.checkpoint->path.string();
  if (report.evaluation) object["evaluation"] = Json::parse(to_line(*report.evaluation));
  return object;
}

/// Passes reports to a Python function as JSON. If it returns "checkpoint", the run writes one after
/// the current step. If it returns False or throws, the run ends after that step, with a checkpoint.
class CallbackObserver final : public TrainObserver {
 public:
  explicit CallbackObserver(nb::object callback) : callback_(std::move(callback)) {}
  ~CallbackObserver() override {
    const nb::gil_scoped_acquire acquire;
    callback_.reset();
    thrown_ = nullptr;
  }
  CallbackObserver(const CallbackObserver&) = delete;
  CallbackObserver& operator=(const CallbackObserver&) = delete;

  void on_plan(const PlanReport& report) override {
    send(Json{{"kind", "plan"},
              {"name", report.name},
              {"folder", report.folder.string()},
              {"device", report.device},
              {"model", report.model},
              {"parameters", report.parameters},
              {"batch", report.batch},
              {"steps", report.steps},
              {"first_step", report.first_step},
              {"notes", report.notes}}
             .dump());
  }
  void on_step_metrics(const StepReport& report) override { send(to_line(report)); }
  void on_evaluation(const EvaluationReport& report) override { send(to_line(report)); }
  void on_checkpoint(const CheckpointReport& report) override { send(to_json(report).dump()); }
  void on_finish(const FinishReport& report) override { send(to_json(report).dump()); }

  bool wants_checkpoint() override { return std::exchange(checkpoint_wanted_, false); }

  /// Rethrows the exception of the function, if there is one.
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  void send(const std::string& report) {
    if (thrown_) return;
    const nb::gil_scoped_acquire acquire;
    try {
      if (callback_.is_none()) return;
      const nb::object result = callback_(report);
      if (nb::isinstance<nb::str>(result)) checkpoint_wanted_ = true;  // _run.py checks the text
      const std::string type = nb::type_name(result.type()).c_str();
      const bool is_bool = type == "bool" || type == "numpy.bool" || type == "numpy.bool_";
      if (is_bool && PyObject_IsTrue(result.ptr()) == 0) request_interrupt();
    } catch (const nb::python_error&) {
      thrown_ = std::current_exception();
      request_interrupt();
    }
  }

  nb::object callback_;
  std::exception_ptr thrown_;
  bool checkpoint_wanted_ = false;
};

FinishReport run_training(RunConfig config, CallbackObserver& observer,
                          const TrainerOptions& options) {
  static std::mutex one_run;  // a callback stops a run through the process's interrupt flag
  const std::unique_lock lock(one_run, std::try_to_lock);
  if (!lock)
    fail(ErrorKind::runtime, {"another run trains in this process", "", "wait for its end"});
  const InterruptBridge interrupts;
  try {
    Trainer trainer(std::move(config), observer, options);
    return trainer.run();
  } catch (const Interrupted&) {  // while reading the data
    observer.rethrow();
    FinishReport report;
    report.status = RunStatus::interrupted;
    return report;
  }
}

std::string train(const std::string& file, const std::optional<std::string>& text,
                  const std::vector<std::string>& overrides, const std::string& resume,
                  nb::object callback) {
  CallbackObserver observer(std::move(callback));
  std::string report;
  {
    const nb::gil_scoped_release release;
    expect_own_threads();
    TrainerOptions options;
    options.resume = ResumeChoice::parse(resume);
    report = to_json(run_training(read_config(file, text, overrides), observer, options)).dump();
    observer.rethrow();
  }
  if (PyErr_CheckSignals() != 0) throw nb::python_error();  // KeyboardInterrupt
  return report;
}

nb::dlpack::dtype array_type(ElementType type) {
  using nb::dlpack::dtype_code;
  switch (type) {
    case ElementType::u8:
      return nb::dtype<std::uint8_t>();
    case ElementType::i32:
      return nb::dtype<std::int32_t>();
    case ElementType::i64:
      return nb::dtype<std::int64_t>();
    case ElementType::f16:
      return {static_cast<std::uint8_t>(dtype_code::Float), 16, 1};
    case ElementType::bf16:  // NumPy has no such type
    case ElementType::f32:
      return nb::dtype<float>();
    case ElementType::f64:
      return nb::dtype<double>();
  }
  return nb::dtype<float>();
}

/// bf16 values as f32, which holds them exactly.
void widen(std::byte* values, std::int64_t count) {
  for (std::int64_t i = count; i-- > 0;)
    reinterpret_cast<float*>(values)[i] = static_cast<float>(reinterpret_cast<bf16*>(values)[i]);
}

nb::object read_array(const SafetensorsFile& file, const TensorInfo& tensor) {
  const std::size_t factor = tensor.type == ElementType::bf16 ? 2 : 1;
  auto values = std::make_unique<std::byte[]>(std::max<std::size_t>(1, tensor.bytes * factor));
  file.read(tensor, {values.get(), tensor.bytes});
  if (factor == 2) widen(values.get(), static_cast<std::int64_t>(tensor.bytes / 2));
  std::byte* const data = values.release();
  const nb::capsule owner(data,
                          [](void* kept) noexcept { delete[] static_cast<std::byte*>(kept); });
  const std::vector<std::size_t> shape(tensor.shape.begin(), tensor.shape.end());
  return nb::cast(nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, nullptr,
                                         array_type(tensor.type)));
}

nb::dict load_weights_of(const std::string& where) {
  const ModelFile model(find_model_file(where));
  nb::dict arrays;
  for (const TensorInfo& tensor : model.tensors().tensors())
    arrays[tensor.name.c_str()] = read_array(model.tensors(), tensor);
  return arrays;
}

}  // namespace

void bind_training(nb::module_& module) {
  module.def("train", train, nb::arg("file"), nb::arg("text").none(), nb::arg("overrides"),
             nb::arg("resume"), nb::arg("callback").none());
  module.def("load", load_weights_of);
}

}  // namespace wellspring::python
