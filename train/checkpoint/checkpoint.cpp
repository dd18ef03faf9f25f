#include "train/checkpoint/checkpoint.h"

#include "core/io/atomic_folder.h"
#include "core/io/safetensors.h"
#include "core/io/sha256.h"
#include "core/text/parse.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "core/version.h"
#include "generators/own/stored_source.h"
#include "train/checkpoint/same_run.h"
#include "train/checkpoint/tensor_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <set>

namespace wellspring {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kStateFile = "state.safetensors";
constexpr const char* kPrefix = "step-";
constexpr const char* kBestLink = "best";
constexpr const char* kStateFormat = "wellspring state 2";

// ---------------------------------------------------------------------------------------------
// Writing

/// The tensors of one arena array in file order, kept alive for write_safetensors.
class TensorList {
 public:
  void add(const ParameterArena& parameters, const ArenaArray& array,
           const std::vector<float>& values, const std::string& prefix) {
    for (const ParameterTensor& tensor : parameters.tensors()) {
      if (!array.holds(tensor)) continue;
      held_.push_back(to_file_order(tensor, values.data() + tensor.offset));
      tensors_.push_back({prefix + tensor.name, ElementType::f32, tensor.file_shape(), {}});
    }
  }
  void add(const std::string& name, std::vector<std::uint8_t> bytes) {
    const auto n = static_cast<std::int64_t>(bytes.size());
    held_bytes_.push_back(std::move(bytes));
    blocks_.push_back({name, ElementType::u8, {n}, {}});
  }
  std::vector<TensorData> tensors() const {
    std::vector<TensorData> all = tensors_;
    for (std::size_t i = 0; i < all.size(); ++i) all[i].data = bytes_of(held_[i]);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      all.push_back(blocks_[i]);
      all.back().data = bytes_of(held_bytes_[i]);
    }
    return all;
  }

 private:
  std::vector<std::vector<float>> held_;
  std::vector<TensorData> tensors_, blocks_;
  std::vector<std::vector<std::uint8_t>> held_bytes_;
};

/// Writes to a file and computes the digest.
class HashingSink : public ByteSink {
 public:
  explicit HashingSink(OutputFile file) : file_(std::move(file)) {}
  using ByteSink::write;
  void write(Bytes bytes) override {
    file_.write(bytes);
    hash_.update(bytes);
  }
  void finish() { file_.finish(); }
  Json description() const { return {{"bytes", file_.written()}, {"sha256", hash_.hex()}}; }
  std::uint64_t bytes() const { return file_.written(); }

 private:
  OutputFile file_;
  Sha256 hash_;
};

// ---------------------------------------------------------------------------------------------
// Reading

/// Differences between a model file's tensors and the network's.
std::vector<std::string> network_differences(const SafetensorsFile& file,
                                             const ParameterArena& parameters) {
  std::vector<std::string> differences;
  std::set<std::string> known;
  for (const ParameterTensor& tensor : parameters.tensors()) {
    known.insert(tensor.name);
    const TensorInfo* info = file.find(tensor.name);
    if (info == nullptr)
      differences.push_back(fmt::format("{} is missing from the file", tensor.name));
    else if (info->shape != tensor.file_shape() || !holds_floats(*info))
      differences.push_back(fmt::format("{} is {} {} in the file, F32 {} in this network",
                                        info->name, element_name(info->type),
                                        shape_text(info->shape), shape_text(tensor.file_shape())));
  }
  for (const TensorInfo& info : file.tensors())
    if (!known.contains(info.name) && !is_batch_count(info))
      differences.push_back(fmt::format("this network has no {}", info.name));
  return differences;
}

void check_network(const SafetensorsFile& file, const ParameterArena& parameters) {
  const std::vector<std::string> differences = network_differences(file, parameters);
  if (differences.empty()) return;
  fail(
      ErrorKind::config,
      {fmt::format("{} contains a different network", file.path().string()), listed(differences),
       "use the model section that it was trained with, or start from its weights with init.from"});
}

/// The arena array that a state block holds; null if it holds none.
const ArenaArray* array_of(const std::vector<ArenaArray>& arrays, const StateBlock& block) {
  for (const ArenaArray& array : arrays)
    if (array.data == block.data) return &array;
  return nullptr;
}

/// True if the model file holds the array: the average if the run exports it, otherwise the
/// weights.
bool is_exported(const RunConfig& config, const ArenaArray& array) {
  return array.prefix == (config.train.exports_average() ? "average." : "");
}
/// Prefix of the array's tensor names in its file.
std::string prefix_of(const RunConfig& config, const ArenaArray& array) {
  if (is_exported(config, array)) return "";
  return array.prefix.empty() ? "trained." : array.prefix;
}

std::vector<std::uint8_t> download(Stream& stream, const StateBlock& block) {
  std::vector<std::uint8_t> bytes(block.bytes);
  stream.copy(bytes.data(), block.data, block.bytes, CopyDirection::device_to_host, "state");
  stream.synchronize();
  return bytes;
}

/// Restores the blocks of the state file that are not arena arrays. Returns the names of blocks
/// left unchanged.
std::vector<std::string> restore_blocks(const SafetensorsFile& file, const RunConfig& config,
                                        const ParameterArena& parameters,
                                        const std::vector<StateBlock>& state,
                                        const std::vector<std::string>& may_begin_anew,
                                        Stream& stream) {
  const std::vector<ArenaArray> arrays = parameters.arrays();
  std::vector<std::string> differences, begun_anew;
  std::set<std::string> known;
  for (const ArenaArray& array : arrays)
    for (const ParameterTensor& tensor : parameters.tensors())
      if (array.holds(tensor)) known.insert(prefix_of(config, array) + tensor.name);
  for (const StateBlock& block : state) {
    if (block.persistence != Persistence::stored || array_of(arrays, block) != nullptr) continue;
    known.insert(block.name);
    const TensorInfo* info = file.find(block.name);
    if (info != nullptr && info->bytes == block.bytes) {
      std::vector<std::byte> bytes(block.bytes);
      file.read(*info, bytes);
      stream.copy(block.data, bytes.data(), block.bytes, CopyDirection::host_to_device, "state");
      stream.synchronize();
    } else if (std::ranges::count(may_begin_anew, block.name) > 0) {
      begun_anew.push_back(block.name);
    } else {
      differences.push_back(info == nullptr
                                ? fmt::format("{} is missing from the file", block.name)
                                : fmt::format("{} has {} in the file, {} in this run", block.name,
                                              counted(info->bytes, "byte"), block.bytes));
    }
  }
  for (const TensorInfo& info : file.tensors())
    if (!known.contains(info.name))
      differences.push_back(fmt::format("this run has no {}", info.name));
  if (!differences.empty())
    fail(ErrorKind::config,
         {fmt::format("{} holds the state of a different kind of run", file.path().string()),
          listed(differences),
          "start a new run with these weights: set another out=FOLDER and init.from"});
  return begun_anew;
}

/// Reads all tensors of one arena array.
void restore_array(const SafetensorsFile& file, const ParameterArena& parameters,
                   const std::string& prefix, const ArenaArray& array, Stream& stream) {
  std::vector<float> values(static_cast<std::size_t>(array.length), 0.0f);
  for (const ParameterTensor& tensor : parameters.tensors())
    if (array.holds(tensor))
      from_file_order(tensor, read_floats(file, file.tensor(prefix + tensor.name)),
                      values.data() + tensor.offset);
  ParameterArena::upload(stream, values, array);
}

/// The step in the name of a checkpoint folder; nullopt for other names.
std::optional<std::uint64_t> step_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(kPrefix)) return std::nullopt;
  return parse_number<std::uint64_t>(name.substr(std::string_view(kPrefix).size()));
}

}  // namespace

// ---------------------------------------------------------------------------------------------
// CheckpointStore

CheckpointStore::CheckpointStore(const fs::path& run_folder)
    : folder_(run_folder / "checkpoints") {}

std::vector<std::uint64_t> CheckpointStore::steps() const {
  std::vector<std::uint64_t> steps;
  std::error_code missing;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, missing)) {
    const std::optional<std::uint64_t> step = step_of(entry.path());
    if (step && fs::exists(entry.path() / kCheckpointHeaderFile, missing)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::vector<fs::path> CheckpointStore::incomplete() const {
  std::vector<fs::path> folders;
  std::error_code missing;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, missing)) {
    const bool ours = step_of(entry.path()).has_value();
    if (ours && !fs::exists(entry.path() / kCheckpointHeaderFile, missing))
      folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

fs::path CheckpointStore::path_of(std::uint64_t step) const {
  return folder_ / (kPrefix + std::to_string(step));
}

std::optional<fs::path> CheckpointStore::newest() const {
  const std::vector<std::uint64_t> all = steps();
  if (all.empty()) return std::nullopt;
  return path_of(all.back());
}

fs::path CheckpointStore::best() const {
  return folder_ / kBestLink;
}

void CheckpointStore::clean(std::uint64_t step, const std::optional<BestReport>& best,
                            std::int64_t keep) const {
  if (!fs::is_directory(folder_)) return;  // write() reports anything else at this path
  remove_stale_temporaries(folder_);
  mark_best(best);
  remove_all_but(step, keep);
}

/// Removes the mark if this folder has no best checkpoint (the run was resumed from elsewhere).
void CheckpointStore::mark_best(const std::optional<BestReport>& best) const {
  std::error_code error;
  if (best && fs::exists(path_of(best->step) / kCheckpointHeaderFile, error))
    replace_link(this->best(), path_of(best->step).filename());
  else if (read_link(this->best()))
    fs::remove(this->best());
}

/// Removes incomplete checkpoints. Among the complete ones up to `step`, keeps only the newest
/// `keep` and the best.
void CheckpointStore::remove_all_but(std::uint64_t step, std::int64_t keep) const {
  const std::optional<fs::path> marked = read_link(best());
  std::vector<fs::path> rest = incomplete();
  std::vector<std::uint64_t> all = steps();
  std::erase_if(all, [step](std::uint64_t other) { return other > step; });
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < all.size(); ++i)
    if (path_of(all[i]).filename() != marked) rest.push_back(path_of(all[i]));
  for (const fs::path& path : rest) remove_folder(path);
}

CheckpointReport CheckpointStore::write(const CheckpointContent& content, Stream& stream,
                                        CheckpointWriting writing) const {
  const auto begin = std::chrono::steady_clock::now();
  const ParameterArena& parameters = content.parameters;
  const std::vector<ArenaArray> arrays = parameters.arrays();
  TensorList model, rest;
  for (const StateBlock& block : content.state) {
    if (block.persistence != Persistence::stored) continue;
    if (const ArenaArray* array = array_of(arrays, block))
      (is_exported(content.config, *array) ? model : rest)
          .add(parameters, *array, ParameterArena::download(stream, *array),
               prefix_of(content.config, *array));
    else
      rest.add(block.name, download(stream, block));
  }

  make_folders(folder_);
  CheckpointReport report;
  report.step = content.step;
  report.path = path_of(content.step);
  AtomicFolder folder(report.path);
  Json header = {{"format", kCheckpointFormat}, {"version", kVersion},
                 {"step", content.step},        {"identity", content.config.identity_yaml()},
                 {"samples", Json::object()},   {"digests", Json::object()},
                 {"files", Json::object()}};
  for (const auto& [source, data] : content.data) {
    header["samples"][source] = data.samples;
    if (!data.digest.empty()) header["digests"][source] = data.digest;
  }
  if (content.config.train.store_headers)
    header[kStoredHeaders] = stored_headers(content.config.generators());
  if (content.progress != RunProgress()) header["progress"] = to_json(content.progress);
  const auto write_tensors = [&](const char* name, const TensorList& tensors,
                                 const TensorMetadata& metadata) {
    HashingSink sink(folder.create(name));
    write_safetensors(sink, tensors.tensors(), metadata);
    sink.finish();
    header["files"][name] = sink.description();
    report.bytes += sink.bytes();
  };
  TensorMetadata metadata = to_metadata({.step = content.step,
                                         .config_yaml = content.config.portable_yaml(),
                                         .heads = content.heads,
                                         .input = content.input});
  metadata["version"] = kVersion;
  const std::optional<BestReport>& best = content.progress.best;
  if (best && best->step == content.step) metadata["best"] = best->to_string();
  write_tensors(kModelFile, model, metadata);
  write_tensors(kStateFile, rest, {{"format", kStateFormat}, {"version", kVersion}});
  OutputFile header_file = folder.create(kCheckpointHeaderFile);
  header_file.write(header.dump(2) + "\n");
  header_file.finish();
  if (writing == CheckpointWriting::rehearse) return report;  // the destructor removes the folder
  folder.commit();
  mark_best(content.progress.best);

  // Later checkpoints are leftovers: the run was resumed from an earlier step.
  for (const std::uint64_t step : steps())
    if (step > content.step) remove_folder(path_of(step));
  remove_all_but(content.step, content.config.train.keep);
  // Cleaning up may fail, for example if no file descriptor is free. This checkpoint is complete
  // in any case.
  try {
    remove_stale_temporaries(folder_);
  } catch (const Error&) {
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

// ---------------------------------------------------------------------------------------------
// Reading back

ResumeReport resume_checkpoint(const fs::path& checkpoint, const RunConfig& config,
                               ParameterArena& parameters, const std::vector<StateBlock>& state,
                               const std::vector<std::string>& may_begin_anew, Stream& stream) {
  const CheckpointHeader header = read_checkpoint_header(checkpoint);
  check_digest(checkpoint / kModelFile, header);
  check_digest(checkpoint / kStateFile, header);
  const SafetensorsFile model(checkpoint / kModelFile);
  const SafetensorsFile rest(checkpoint / kStateFile);
  check_network(model, parameters);
  ResumeReport report;
  report.steps = expect_same_run(checkpoint, header, config);

  for (const ArenaArray& array : parameters.arrays())
    restore_array(is_exported(config, array) ? model : rest, parameters, prefix_of(config, array),
                  array, stream);
  parameters.refresh_working(stream);
  report.begun_anew = restore_blocks(rest, config, parameters, state, may_begin_anew, stream);
  stream.synchronize();
  report.step = header.step;
  report.data = header.data;
  report.progress = header.progress;
  return report;
}

namespace {

/// Follows a link file `best` (on file systems without symbolic links); other paths are unchanged.
fs::path followed(const fs::path& where) {
  std::error_code unreadable;  // reported when the file is opened
  if (!fs::is_regular_file(where, unreadable)) return where;
  const std::optional<fs::path> named = read_link(where);
  return named && step_of(*named) ? where.parent_path() / *named : where;
}

}  // namespace

fs::path find_checkpoint(const fs::path& path) {
  const fs::path where = followed(path);
  std::error_code unreadable;  // ignored: require_folder reports it
  if (fs::exists(where / kCheckpointHeaderFile, unreadable)) return where;
  if (const auto newest = CheckpointStore(where).newest()) return *newest;
  require_folder(where);
  fail(ErrorKind::data, {fmt::format("{}: no checkpoint found", where.string()), "",
                         "give a run folder with checkpoints, or a checkpoint folder"});
}

fs::path find_model_file(const fs::path& path) {
  const fs::path where = followed(path);
  std::error_code unreadable;  // ignored: find_checkpoint reports it
  if (fs::is_regular_file(where, unreadable)) return where;
  if (fs::exists(where / kModelFile, unreadable)) return where / kModelFile;
  return find_checkpoint(where) / kModelFile;
}

void load_weights(const ModelFile& model, ParameterArena& parameters, Stream& stream) {
  check_network(model.tensors(), parameters);
  restore_array(model.tensors(), parameters, "", parameters.weights(), stream);
  parameters.refresh_working(stream);
  stream.synchronize();
}

}  // namespace wellspring
