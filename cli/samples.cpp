#include "cli/samples.h"

#include "cli/options.h"
#include "core/error.h"
#include "core/signals.h"
#include "core/text/plural.h"
#include "core/text/progress.h"
#include "core/text/text.h"
#include "generators/given_latents.h"
#include "generators/own/own_generator.h"
#include "sources/dataset_reader.h"
#include "sources/files/array_input.h"
#include "train/config/files_read.h"
#include "train/run_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace wellspring::cli {
namespace {

constexpr int kDefaultSize = 64;  ///< pixels

/// Refuses the spellings of settings from older versions and other programs.
void refuse_old_spellings(CLI::App& app) {
  for (const char* name : {"--param", "--set"}) {
    app.add_option_function<std::string>(
           name,
           [name](const std::string& setting) {
             fail(ErrorKind::config, {fmt::format("command line: unknown option {}", name),
                                      "settings follow the name, as in train",
                                      fmt::format("write {} without {}", setting, name)});
           })
        ->group("");  // not in the help
  }
}

[[noreturn]] void refuse(const std::string& option, const std::string& why,
                         const std::string& advice) {
  fail(ErrorKind::config,
       {fmt::format("command line: {} cannot be used with {}", option, why), "", advice});
}

std::vector<std::string> generator_names() {
  std::vector<std::string> names;
  for (const GeneratorEntry& entry : generator_registry()) names.push_back(entry.name);
  return names;
}

bool is_generator(const std::string& name) {
  if (is_own_generator(name)) return true;
  const std::vector<std::string> names = generator_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The folder of a run contains pictures, but is not a data set.
void refuse_run_folder(const std::string& name) {
  const std::filesystem::path configuration = std::filesystem::path(name) / "config.resolved.yaml";
  std::error_code unreadable;  // an unreadable folder is not a run
  if (std::filesystem::is_regular_file(configuration, unreadable))
    fail(ErrorKind::config,
         {fmt::format("command line: '{}' is the folder of a run", printable(name)), "",
          "for the samples of the run, give its configuration: " + configuration.string()});
}

bool is_configuration(const std::string& name) {
  std::error_code unreadable;  // an unreadable path is not a regular file
  return has_yaml_name(name) || std::filesystem::is_regular_file(name, unreadable);
}

[[noreturn]] void refuse_name(const std::string& name) {
  fail(
      ErrorKind::config,
      {fmt::format("command line: '{}' is neither a generator nor a file", name),
       "samples come from a generator, a configuration or a data set",
       name_advice(name, generator_names()) + "; or name a configuration file: configs/NAME.yaml"});
}

/// Reads the latents, one row per sample, from a NumPy file: the array in a .npy, or `latents` in
/// an .npz. The number of rows is the number of samples.
void read_latents(const std::string& file, const SampleInfo& info,
                  const std::optional<std::uint64_t>& count, SampleRange& range) {
  const std::filesystem::path path = file;
  const bool archive = path.extension() == ".npz";
  const auto input = archive ? open_npz_input(path) : open_npy_input(path);
  const NumberArray array = input->array(archive ? "latents" : path.filename().string());
  if (array.shape().size() != 2 || array.rows() == 0)
    input->refuse(array, "latents have the shape [samples, latents]", "write such an array");
  const std::int64_t width = array.shape()[1];
  if (count && *count != static_cast<std::uint64_t>(array.rows()))
    fail(ErrorKind::config, {fmt::format("command line: --count {}, but {} has {}", *count,
                                         printable(file), counted(array.rows(), "row")),
                             "one sample is made per row", "leave --count out"});
  std::vector<float> values(static_cast<std::size_t>(array.rows() * width));
  array.read(0, array.rows(), values.data());
  range.count = static_cast<std::uint64_t>(array.rows());
  range.latents = given_latents(info, values, width, printable(file));
}

constexpr const char* kExample = "classes=3";

DenseLabels dense_of(const SampleOptions& options) {
  return options.plane ? DenseLabels::plane : DenseLabels::none;
}

std::unique_ptr<SampleReader> open_generator(
    const SampleOptions& options, const std::function<std::uint64_t(SampleKind)>& count) {
  const std::string generator = fmt::format("the generator '{}'", options.what);
  if (options.split)
    refuse("--split", generator, "its samples are not split; select the first one with --first");
  if (options.step)
    refuse("--step", generator, "it has no steps; select the first sample with --first");
  const GeneratorEntry& entry = find_generator(options.what, {"command line"});
  if (options.size && entry.kind != SampleKind::image &&
      std::ranges::count(entry.parameters, std::string("pixels"), &ParamRow::name) > 0)
    refuse("--size", generator, "its images have the size of its parameter: pixels=N");
  if (options.size && entry.kind != SampleKind::image)
    refuse("--size", generator, "its samples are not images; leave it out");
  std::vector<ParamSetting> settings;
  for (const std::string& text : options.settings)
    settings.push_back(parse_setting(text, kExample));
  auto made =
      make_generator(options.what, options.size.value_or(kDefaultSize), settings, {"command line"});
  SampleMaking making;
  making.device = Device::parse(options.device.value_or("cpu"));
  making.batch = options.batch.value_or(making.batch);
  making.threads = options.threads.value_or(making.threads);
  making.dense = dense_of(options);
  SampleRange range{options.seed.value_or(0), options.first.value_or(0),
                    options.count ? *options.count : count(made->layout().kind)};
  if (options.latents) require_not_an_input(options.out, {*options.latents});
  if (options.latents) read_latents(*options.latents, made->info(), options.count, range);
  if (range.count == 0)
    fail(ErrorKind::config, {"command line: --count is missing", "a generator has no last sample",
                             "give the number of samples: --count 1000"});
  constexpr std::uint64_t kIds = std::uint64_t{1} << 63;
  if (range.count > kIds - range.first)
    fail(ErrorKind::config,
         {fmt::format("command line: --first {} --count {} goes beyond the last sample",
                      range.first, range.count),
          fmt::format("the largest sample id is {}", kIds - 1), "use a smaller --first"});
  return std::make_unique<GeneratorReader>(std::move(made), range, making);
}

/// Opens a data set by its path; the settings are keys of its format.
std::unique_ptr<SampleReader> open_rows(const SampleOptions& options,
                                        const std::function<std::uint64_t(SampleKind)>& count) {
  const std::string data = "the data set " + printable(options.what);
  const auto refuse_if = [&](bool given, const char* option, const char* advice) {
    if (given) refuse(option, data, advice);
  };
  refuse_if(options.seed.has_value(), "--seed", "its rows are stored; leave it out");
  refuse_if(options.size.has_value(), "--size", "write resize=N or resize=[H,W] for image files");
  refuse_if(options.batch.has_value(), "--batch", "leave it out");
  refuse_if(options.device.has_value(), "--device", "leave it out");
  refuse_if(options.latents.has_value(), "--latents", "name a generator");
  refuse_if(options.plane, "--plane", "it has no dense labels");
  refuse_if(options.split.has_value(), "--split", "write split=NAME for folders of images");
  refuse_if(options.step.has_value(), "--step", "select the first row with --first");
  require_not_an_input(options.out, {options.what});
  std::vector<ParamSetting> settings;
  for (const std::string& text : options.settings)
    settings.push_back(parse_setting(text, "resize=64"));
  DatasetRequest request = dataset_request(options.what, settings, {"command line"});
  request.threads = options.threads.value_or(0);
  request.finite = options.finite;
  auto rows = std::make_unique<DatasetReader>(request, options.first.value_or(0), options.count);
  const std::uint64_t most = options.count ? 0 : count(rows->layout().kind);
  if (most > 0) rows->limit(most);
  return rows;
}

/// Refuses generator options; a configuration has keys for them.
void refuse_options_of_generators(const SampleOptions& options) {
  const std::string configuration = "a configuration";
  const auto instead = [](const std::string& key, const auto& value) {
    return fmt::format("write {}={} after its name", key, value);
  };
  if (options.first) refuse("--first", configuration, "select the first step with --step");
  if (options.seed) refuse("--seed", configuration, instead("seed", *options.seed));
  if (options.size)
    refuse("--size", configuration, instead("data.size", options.size->to_string()));
  if (options.device) refuse("--device", configuration, instead("device", *options.device));
  if (options.latents) refuse("--latents", configuration, "name a generator");
  if (options.threads) refuse("--threads", configuration, instead("threads", *options.threads));
  if (options.batch)
    refuse("--batch", configuration,
           "its samples come in the run's batches; set train.batch instead (in a mixture, this "
           "changes the order of the samples)");
}

std::unique_ptr<SampleReader> open_configuration(
    const SampleOptions& options, const std::function<std::uint64_t(SampleKind)>& count) {
  refuse_options_of_generators(options);
  RunSampleRange range;
  if (options.split == "eval") range.split = RunSampleRange::Split::evaluation;
  if (options.step && range.split == RunSampleRange::Split::evaluation)
    refuse("--step", "--split eval", "held-out samples are the same at every step; leave it out");
  range.step = options.step.value_or(0);
  range.count = options.count;
  range.dense = dense_of(options);
  std::vector<std::string> overrides = options.settings;
  bool names_device = false;
  for (const std::string& text : overrides)
    names_device |= parse_setting(text, kExample).name == "device";
  if (!names_device) overrides.emplace_back("device=cpu");  // samples are the same on every device
  const RunConfig config = RunConfig::load(options.what, overrides);
  std::vector<std::filesystem::path> inputs = files_read(config);
  inputs.emplace_back(options.what);
  require_not_an_input(options.out, inputs);
  auto feed = std::make_unique<RunSamples>(config, range);
  if (options.count) return feed;
  const std::uint64_t most = count(feed->layout().kind);
  if (most > 0) {
    feed->limit(most);
  } else if (range.split == RunSampleRange::Split::train) {
    fail(ErrorKind::config,
         {"command line: --count is missing",
          "the whole run has " + counted(feed->count(), "sample"),
          "give the number: --count 1000; or use --split eval for the held-out samples"});
  }
  return feed;
}

}  // namespace

void add_sample_options(CLI::App& app, SampleOptions& options, const std::string& count_help) {
  app.add_option("what", options.what,
                 "a generator from 'wellspring list generators'; a configuration (NAME.yaml), "
                 "whose samples are mixed and augmented as in training; or a data set (a folder, "
                 "NAME.npz, ...), whose rows are read as stored")
      ->required();
  app.add_option("settings", options.settings,
                 "key=value: parameters of the generator, overrides of the configuration (whose "
                 "device defaults to cpu here), or keys of the data set's format");
  add_optional_whole(app, "--count", options.count, 1, kAnyWhole, count_help);
  app.add_flag("--plane", options.plane,
               "add the dense labels of images: one number per pixel, an object index or a depth; "
               "see `wellspring describe NAME`");
  add_optional_whole(app, "--first", options.first, 0, kAnyWhole,
                     "(generators and data sets) id of the first sample (default: 0)");
  add_optional_whole(
      app, "--seed", options.seed, 0, kAnyWhole,
      "(generators only) seed; sample i is a function of seed, parameters and i (default: 0)");
  add_size_option(app, "--size", options.size, kLargestImageSide,
                  fmt::format("(image generators only) side of square images in pixels, or "
                              "HEIGHT,WIDTH (default: {})",
                              kDefaultSize));
  add_optional_whole(
      app, "--batch", options.batch, 1, 1 << 20,
      fmt::format("(generators only) samples per launch; does not change the samples (default: {})",
                  SampleMaking{}.batch));
  app.add_option(
      "--device", options.device,
      "(generators only) cpu, cuda, cuda:N or auto; does not change the samples (default: cpu)");
  add_optional_whole(
      app, "--threads", options.threads, 0, 1024,
      "(generators and data sets) CPU threads (0: as shown by `wellspring doctor`); does not "
      "change the samples (default: 0)");
  app.add_option("--split", options.split,
                 "(configurations only) train: the samples of the run's steps; eval: the held-out "
                 "samples (default: train)")
      ->check(CLI::IsMember({"train", "eval"}));
  add_optional_whole(app, "--step", options.step, 0, kAnyWhole,
                     "(configurations only) first training step (default: 0)");
  refuse_old_spellings(app);
}

bool names_configuration(const SampleOptions& options) {
  return has_yaml_name(options.what) ||
         (!is_generator(options.what) && !names_dataset(options.what));
}

std::unique_ptr<SampleReader> open_samples(const SampleOptions& options,
                                           const std::function<std::uint64_t(SampleKind)>& count) {
  const bool configuration = names_configuration(options);
  if (!configuration && is_generator(options.what)) return open_generator(options, count);
  refuse_run_folder(options.what);
  if (!configuration) return open_rows(options, count);
  if (!is_configuration(options.what)) refuse_name(options.what);
  return open_configuration(options, count);
}

bool watch(const std::string& title, SampleReader& feed,
           const std::function<void(const std::function<void(std::uint64_t)>&)>& make,
           const std::string& kept) {
  {
    const std::string stopping = "\nwellspring: stopping; " + kept + "\n";
    const SignalGuard signals({.stopping = stopping.c_str(), .ended = "\nwellspring: aborted\n"});
    Progress::Options options;
    options.title = title;
    options.total = feed.count();
    Progress progress(options);
    try {
      std::optional<std::uint64_t> first;  // an earlier process may have made the first samples
      std::chrono::steady_clock::time_point begin;
      make([&](std::uint64_t done) {
        const auto now = std::chrono::steady_clock::now();
        if (!first) {
          first = done;
          begin = now;
        }
        const std::chrono::duration<double> passed = now - begin;
        std::string rate;
        if (done > *first)
          rate = human_count(static_cast<double>(done - *first) / passed.count()) + "/s";
        progress.update(done, {rate});
        stop_if_interrupted();
      });
    } catch (const Interrupted&) {
      progress.say("interrupted: " + kept);
      return false;
    }
  }
  print_notes(feed.notes());  // below the bar
  return true;
}

}  // namespace wellspring::cli
