#include "train/metrics/metrics_log.h"

#include "core/error.h"
#include "core/measure/ceiling_json.h"
#include "core/text/json_reason.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <limits>
#include <string>
#include <utility>

namespace wellspring {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kFileName = "metrics.jsonl";

/// Seconds since 1970, for TensorBoard's time axis.
double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// null for a missing value.
Json to_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json to_json(const ClassifierReport& report) {
  Json object;
  for (const ClassReport& one : report.classes)
    object["classes"].push_back({{"name", one.name},
                                 {"samples", one.samples},
                                 {"precision", to_json(one.precision)},
                                 {"recall", to_json(one.recall)},
                                 {"f1", to_json(one.f1)},
                                 {"area", to_json(one.area)}});
  if (!report.confusion.empty()) object["confusion"] = report.confusion;
  if (!report.calibration.empty()) object["calibration"] = Json::array();
  for (const CalibrationBin& bin : report.calibration)
    object["calibration"].push_back({bin.share, bin.confidence, bin.accuracy});
  if (!report.roc_curve.empty()) object["roc_curve"] = report.roc_curve;
  return object;
}

Json to_json(const std::vector<HeadReport>& heads) {
  Json list = Json::array();
  for (const HeadReport& head : heads) {
    Json scores = Json::array();
    for (const Score& score : head.scores) {
      scores.push_back({{"what", score.what}, {"value", score.value}, {"unit", score.unit}});
      if (score.error) scores.back()["error"] = *score.error;
      if (score.best) scores.back()["best"] = *score.best;
      if (score.detail) scores.back()["detail"] = true;
      if (!score.signal.empty()) scores.back()["signal"] = score.signal;
    }
    list.push_back({{"head", head.head}, {"loss", head.loss}, {"scores", std::move(scores)}});
    if (head.classifier) list.back().update(to_json(*head.classifier));
  }
  return list;
}

/// A number of a result. JSON has neither infinity nor NaN; both are written as null.
double result_of(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

/// Returns nullopt if there is no such key, or a null.
std::optional<double> number_from(const Json& object, const char* key) {
  if (!object.contains(key) || object[key].is_null()) return std::nullopt;
  return object[key].get<double>();
}

ClassifierReport classifier_from(const Json& object) {
  ClassifierReport report;
  for (const Json& one : object.at("classes"))
    report.classes.push_back({one.at("name"), result_of(one.at("samples")),
                              number_from(one, "precision"), number_from(one, "recall"),
                              number_from(one, "f1"), number_from(one, "area")});
  if (object.contains("confusion"))
    for (const Json& samples : object["confusion"]) report.confusion.push_back(result_of(samples));
  if (object.contains("calibration"))
    for (const Json& bin : object["calibration"])
      report.calibration.push_back(
          {result_of(bin.at(0)), result_of(bin.at(1)), result_of(bin.at(2))});
  if (object.contains("roc_curve"))
    for (const Json& point : object["roc_curve"])
      report.roc_curve.emplace_back(result_of(point.at(0)), result_of(point.at(1)));
  return report;
}

std::vector<HeadReport> heads_from(const Json& list) {
  std::vector<HeadReport> heads;
  for (const Json& entry : list) {
    HeadReport head{entry.at("head"), result_of(entry.at("loss")), {}};
    for (const Json& score : entry.at("scores"))
      head.scores.push_back({score.at("what"), result_of(score.at("value")), score.at("unit"),
                             number_from(score, "error"), number_from(score, "best"),
                             score.value("detail", false), score.value("signal", "")});
    if (entry.contains("classes")) head.classifier = classifier_from(entry);
    heads.push_back(std::move(head));
  }
  return heads;
}

/// Regressions have no accuracy.
void add_accuracy(Json& object, const std::optional<double>& accuracy) {
  if (accuracy) object["accuracy"] = *accuracy;
}
std::optional<double> accuracy_from(const Json& object) {
  return number_from(object, "accuracy");
}

Json to_json(const SourceReport& source) {
  Json object = {{"name", source.name},
                 {"samples", source.samples},
                 {"wanted_share", source.wanted_share},
                 {"achieved_share", source.achieved_share},
                 {"loss", source.loss},
                 {"heads", to_json(source.heads)}};
  add_accuracy(object, source.accuracy);
  return object;
}

Json to_json(const StepReport& report) {
  Json sources = Json::array();
  for (const SourceReport& source : report.sources) sources.push_back(to_json(source));
  Json object = {{"kind", "step"},
                 {"step", report.step},
                 {"steps", report.steps},
                 {"window", report.window},
                 {"loss", report.loss},
                 {"gradient_norm", report.gradient_norm},
                 {"learning_rate", report.learning_rate},
                 {"sources", sources},
                 {"samples_per_second", report.samples_per_second},
                 {"clean", report.clean}};
  if (report.wait) object["wait"] = *report.wait;
  if (report.overflow.samples > 0)
    object["overflow"] = {{"samples", report.overflow.samples}, {"items", report.overflow.items}};
  add_accuracy(object, report.accuracy);
  return object;
}

Json to_json(const EvaluationReport& report) {
  Json results = Json::array();
  for (const EvaluationResult& result : report.results) {
    results.push_back({{"name", result.name},
                       {"head", result.head},
                       {"samples", result.samples},
                       {"trained_on", result.trained_on ? Json(*result.trained_on) : Json()},
                       {"distinct", result.distinct > 0 ? Json(result.distinct) : Json()},
                       {"loss", result.loss},
                       {"heads", to_json(result.heads)}});
    add_accuracy(results.back(), result.accuracy);
    if (result.best_accuracy) results.back()["best_accuracy"] = *result.best_accuracy;
  }
  return {{"kind", "evaluation"},
          {"step", report.step},
          {"results", results},
          {"seconds", report.seconds}};
}

Json to_json(const RunRecord& record) {
  return {{"kind", "run"},
          {"step", record.step},
          {"time", record.time},
          {"host", record.host},
          {"version", record.version},
          {"commit", record.commit},
          {"build", record.build},
          {"device", record.device},
          {"precision", record.precision},
          {"graph", record.graph},
          {"model", record.model},
          {"parameters", record.parameters},
          {"batch", record.batch},
          {"last_step", record.last_step},
          {"instruction_set", record.instruction_set}};
}

RunRecord run_from(const Json& line) {
  RunRecord record;
  record.step = line.at("step");
  record.time = line.at("time");
  record.host = line.at("host");
  record.version = line.at("version");
  record.commit = line.at("commit");
  record.build = line.at("build");
  record.device = line.at("device");
  record.precision = line.at("precision");
  record.graph = line.at("graph");
  record.model = line.at("model");
  record.parameters = line.at("parameters");
  record.batch = line.at("batch");
  record.last_step = line.at("last_step");
  record.instruction_set = line.value("instruction_set", "");  // absent in old runs
  return record;
}

/// The numbers of a RunTime, by key.
constexpr std::pair<const char*, double RunTime::*> kTimes[] = {
    {"total", &RunTime::total},
    {"training", &RunTime::training},
    {"start", &RunTime::start},
    {"evaluations", &RunTime::evaluations},
    {"checkpoints", &RunTime::checkpoints},
    {"pictures", &RunTime::pictures},
    {"metrics", &RunTime::metrics},
    {"first_steps", &RunTime::first_steps}};

Json to_json(const RunTime& time) {
  Json object;
  for (const auto& [key, seconds] : kTimes) object[key] = time.*seconds;
  return object;
}

RunTime time_from(const Json& line) {
  RunTime time;
  for (const auto& [key, seconds] : kTimes) time.*seconds = line.at("seconds").at(key);
  time.clocks = line.at("host_clock_over_marks");
  return time;
}

Json to_json(const InputVerdict& input) {
  return {{"text", input.text}, {"wait", input.wait}, {"interval", to_json(input.interval)}};
}

Json to_json(const FinishReport& report) {
  const Throughput& rate = report.throughput;
  return {{"kind", "rate"},
          {"step", report.step},
          {"samples_per_second", rate.windows > 0 ? Json(rate.samples_per_second) : Json()},
          {"interval", to_json(rate.interval)},
          {"windows", rate.windows},
          {"processors", to_json(report.load)},
          {"host_clock_over_marks", report.time.clocks},
          {"seconds", to_json(report.time)},
          {"input", to_json(report.input)}};
}

StepReport step_from(const Json& line) {
  StepReport report;
  report.step = line.at("step");
  report.steps = line.at("steps");
  report.window = line.at("window");
  report.loss = result_of(line.at("loss"));
  report.accuracy = accuracy_from(line);
  report.gradient_norm = static_cast<float>(result_of(line.at("gradient_norm")));
  report.learning_rate = line.at("learning_rate");
  report.samples_per_second = result_of(line.at("samples_per_second"));
  report.clean = line.at("clean");
  report.wait = number_from(line, "wait");
  if (line.contains("overflow"))
    report.overflow = {line["overflow"].at("samples"), line["overflow"].at("items")};
  for (const Json& source : line.at("sources"))
    report.sources.push_back({source.at("name"), source.at("samples"), source.at("wanted_share"),
                              source.at("achieved_share"), result_of(source.at("loss")),
                              accuracy_from(source), heads_from(source.at("heads"))});
  return report;
}

EvaluationReport evaluation_from(const Json& line) {
  EvaluationReport report;
  report.step = line.at("step");
  report.seconds = line.at("seconds");
  for (const Json& entry : line.at("results")) {
    EvaluationResult result;
    result.name = entry.at("name");
    result.head = entry.at("head");
    result.samples = entry.at("samples");
    if (!entry.at("trained_on").is_null()) result.trained_on = entry.at("trained_on");
    if (entry.contains("distinct") && !entry.at("distinct").is_null())  // absent in old runs
      result.distinct = entry.at("distinct");
    result.loss = result_of(entry.at("loss"));
    result.accuracy = accuracy_from(entry);
    result.heads = heads_from(entry.at("heads"));
    result.best_accuracy = number_from(entry, "best_accuracy");
    report.results.push_back(std::move(result));
  }
  return report;
}

/// Calls add(tag, value) for every score; the tag contains the head's name if there are several
/// heads.
template <class Add>
void for_each_score(const std::vector<HeadReport>& heads, Add add) {
  for (const HeadReport& head : heads)
    for (const Score& score : head.scores)
      add(heads.size() > 1 ? head.head + "/" + score.what : score.what, score.value);
}

/// True if a line is kept when a process continues at `step`.
bool stays(const Json& line, std::uint64_t step) {
  if (!line.is_object()) return false;
  const auto of = line.value("step", UINT64_MAX);
  // Drop the record of a process that began at `step`: all its steps are removed.
  return line.value("kind", "") == "run" ? of < step : of <= step;
}

/// Removes the lines after `step` and an incomplete last line.
void cut_back(const fs::path& path, std::uint64_t step) {
  if (!fs::exists(path)) return;
  const std::string text = read_text(path);
  std::string kept;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = text.substr(begin, end - begin);
    const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (stays(object, step)) kept += line + "\n";
  }
  if (kept != text) write_file(path, kept);
}

}  // namespace

MetricsLog::MetricsLog(const fs::path& folder, std::uint64_t step)
    : path_(folder / kFileName),
      file_((cut_back(path_, step), cut_back_events(folder, step), path_),
            OutputFile::Mode::append),
      events_(folder / TensorBoardWriter::file_name(wall_time()), wall_time()) {}

void MetricsLog::write(const RunRecord& record) {
  file_.write_patiently(bytes_of(to_json(record).dump() + "\n"));
}

void MetricsLog::write(const FinishReport& report) {
  file_.write_patiently(bytes_of(to_json(report).dump() + "\n"));
}

std::string to_line(const StepReport& report) {
  return to_json(report).dump() + "\n";
}

void MetricsLog::write(const StepReport& report) {
  file_.write_patiently(bytes_of(to_line(report)));
  const double now = wall_time();
  const auto step = static_cast<std::int64_t>(report.step);
  const auto add = [&](const std::string& tag, double value) {
    events_.add_scalar(tag, step, now, static_cast<float>(value));
  };
  add("train/loss", report.loss);
  if (report.accuracy) add("train/accuracy", *report.accuracy);
  add("train/gradient_norm", report.gradient_norm);
  add("train/learning_rate", report.learning_rate);
  if (report.clean) add("throughput/samples_per_second", report.samples_per_second);
  for (const SourceReport& source : report.sources) {
    if (source.samples == 0) continue;
    add("source/" + source.name + "/loss", source.loss);
    for_each_score(source.heads, [&](const std::string& tag, double value) {
      add("source/" + source.name + "/" + tag, value);
    });
    add("source/" + source.name + "/share", source.achieved_share);
  }
}

std::string to_line(const EvaluationReport& report) {
  return to_json(report).dump() + "\n";
}

void MetricsLog::write(const EvaluationReport& report) {
  file_.write_patiently(bytes_of(to_line(report)));
  const double now = wall_time();
  for (const EvaluationResult& result : report.results) {
    const auto step = static_cast<std::int64_t>(report.step);
    for_each_score(result.heads, [&](const std::string& tag, double value) {
      events_.add_scalar("held_out/" + result.name + "/" + tag, step, now,
                         static_cast<float>(value));
    });
    events_.add_scalar("held_out/" + result.name + "/loss", step, now,
                       static_cast<float>(result.loss));
  }
}

void MetricsLog::sync() {
  file_.finish();
  file_ = OutputFile(path_, OutputFile::Mode::append);
}

MetricsHistory read_metrics(const fs::path& folder, std::uint64_t last_step) {
  MetricsHistory history;
  const fs::path path = folder / kFileName;
  if (!fs::exists(path)) return history;
  const std::string text = read_text(path);
  std::size_t begin = 0;
  int number = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    ++number;
    try {
      const Json line = Json::parse(text.substr(begin, end - begin));
      if (line.at("step").get_ref<const Json::number_unsigned_t&>() > last_step) continue;
      if (line.at("kind") == "run") history.runs.push_back(run_from(line));
      if (line.at("kind") == "step") history.steps.push_back(step_from(line));
      // Absent from old runs.
      if (line.at("kind") == "rate" && line.contains("seconds"))
        history.times.push_back(time_from(line));
      if (line.at("kind") == "evaluation") history.evaluations.push_back(evaluation_from(line));
    } catch (const Json::exception& error) {
      fail(ErrorKind::data, {fmt::format("{}:{}: malformed metrics", path.string(), number),
                             json_reason(error.what()), "remove the line"});
    }
  }
  return history;
}

std::string instruction_set_before(const fs::path& folder, std::uint64_t step) {
  try {
    std::string found;
    for (const RunRecord& record : read_metrics(folder, step).runs)
      if (record.step < step) found = record.instruction_set;
    return found;
  } catch (const Error&) {
    return "";
  }
}

}  // namespace wellspring
