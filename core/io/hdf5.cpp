// Longer than 500 lines: writer and reader share the session and the handles of the library.
#include "core/io/hdf5.h"

#include "core/error.h"
#include "core/io/file_kind.h"
#include "core/io/hdf5_chunks.h"
#include "core/text/plural.h"
#include "core/text/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#define H5_USE_110_API  // later versions also provide it
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <hdf5.h>
#include <mutex>
#include <stdexcept>
#include <sys/stat.h>
#include <system_error>

namespace wellspring {
namespace {

static_assert(std::is_same_v<hid_t, std::int64_t>, "HDF5 1.10 or later has 64-bit identifiers");

/// Holds the library's lock for one or more calls, and silences its messages.
class Session {
 public:
  Session() : lock_(mutex()) {
    // Must come first: disables the flush at exit, where it could only fail.
    static const bool prepared = H5dont_atexit() >= 0 && H5open() >= 0 &&
                                 H5PLset_loading_state(0) >= 0 &&  // no plugins
                                 register_hdf5_codecs();
    if (!prepared) fail(ErrorKind::runtime, {"cannot initialise the HDF5 library"});
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // per thread in thread-safe builds
    errno = 0;                                    // later values are from this session
  }

 private:
  /// Recursive, because handles are closed within sessions.
  static std::recursive_mutex& mutex() {
    static std::recursive_mutex mutex;
    return mutex;
  }
  std::lock_guard<std::recursive_mutex> lock_;
};

/// Reason of the library's last failure: the system's message, or the innermost entry of its stack.
std::string last_reason() {
  const int code = errno;
  std::string reason;
  const auto take = [](unsigned depth, const H5E_error2_t* error, void* out) -> herr_t {
    if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(out) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take, &reason);
  H5Eclear2(H5E_DEFAULT);
  constexpr std::string_view kSystem = "error message = '";
  if (const std::size_t at = reason.find(kSystem); at != std::string::npos) {
    const std::size_t begin = at + kSystem.size();
    return reason.substr(begin, reason.find('\'', begin) - begin);
  }
  if (reason.find("fwrite") != std::string::npos || reason.find("fflush") != std::string::npos)
    if (code != 0) return std::generic_category().message(code);  // not reported by the driver
  return reason.empty() ? "the HDF5 library gives no reason" : reason;
}

/// Number type in written files and in memory.
hid_t stored_type(ElementType type) {
  switch (type) {
    case ElementType::u8:
      return H5T_STD_U8LE;
    case ElementType::i32:
      return H5T_STD_I32LE;
    case ElementType::i64:
      return H5T_STD_I64LE;
    case ElementType::f32:
      return H5T_IEEE_F32LE;
    case ElementType::f64:
      return H5T_IEEE_F64LE;
    default:  // F16 and BF16
      break;
  }
  throw std::logic_error("HDF5 does not have this number type");
}

std::vector<hsize_t> extents_of(const std::vector<std::int64_t>& shape) {
  return {shape.begin(), shape.end()};
}

/// Selects rows [first, first + count) of an array of this shape for a transfer.
struct Selection {
  detail::Hdf5Handle memory, file;

  Selection(const std::vector<std::int64_t>& shape, std::int64_t first, std::int64_t count) {
    const std::vector<hsize_t> all = extents_of(shape);
    std::vector<hsize_t> start(all.size(), 0), part = all;
    start[0] = static_cast<hsize_t>(first);
    part[0] = static_cast<hsize_t>(count);
    const int rank = static_cast<int>(all.size());
    memory = detail::Hdf5Handle(H5Screate_simple(rank, part.data(), nullptr));
    file = detail::Hdf5Handle(H5Screate_simple(rank, all.data(), nullptr));
    if (file) {
      H5Sselect_hyperslab(file.id(), H5S_SELECT_SET, start.data(), nullptr, part.data(), nullptr);
    }
  }
};

/// Disables file locks, which fail on some network file systems. Locks are not needed: others
/// cannot see new files, and a file that is being read is only ever replaced as a whole.
detail::Hdf5Handle file_access() {
  detail::Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_file_locking(access.id(), false, true);
  return access;
}

/// Current size in bytes of the file that holds an array; 0 if unknown.
std::uint64_t size_now(hid_t dataset) {
  const detail::Hdf5Handle file(H5Iget_file_id(dataset));
  void* handle = nullptr;  // the driver's: a file descriptor
  struct stat status {};
  if (!file || H5Fget_vfd_handle(file.id(), H5P_DEFAULT, &handle) < 0 || handle == nullptr ||
      ::fstat(*static_cast<const int*>(handle), &status) != 0)
    return 0;
  return static_cast<std::uint64_t>(status.st_size);
}

/// UTF-8 text of `size` bytes (at least one) or of variable size (H5T_VARIABLE).
detail::Hdf5Handle text_type(std::size_t size) {
  detail::Hdf5Handle type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.id(), std::max<std::size_t>(1, size));
  if (size != H5T_VARIABLE) H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  return type;
}

bool write_attribute(hid_t object, const std::string& name, const Hdf5Writer::Value& value) {
  const detail::Hdf5Handle scalar(H5Screate(H5S_SCALAR));
  const auto write = [&](hid_t stored, hid_t memory, const void* data) {
    const detail::Hdf5Handle attribute(
        H5Acreate2(object, name.c_str(), stored, scalar.id(), H5P_DEFAULT, H5P_DEFAULT));
    return attribute && H5Awrite(attribute.id(), memory, data) >= 0;
  };
  if (const auto* whole = std::get_if<std::int64_t>(&value))
    return write(H5T_STD_I64LE, H5T_NATIVE_INT64, whole);
  if (const auto* real = std::get_if<double>(&value))
    return write(H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, real);
  const std::string& text = std::get<std::string>(value);
  if (text.size() > kLongestHdf5Attribute) throw std::logic_error("an attribute is too long");
  const detail::Hdf5Handle type = text_type(H5T_VARIABLE);  // h5py reads it as str
  const char* const characters = text.c_str();
  return write(type.id(), type.id(), &characters);
}

/// The text of an attribute (H5Aread) or data set; empty if not a string or longer than `most`.
template <class Read>
std::optional<std::string> read_text_with(hid_t type, hid_t space, std::uint64_t most, Read read) {
  if (H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_npoints(space) != 1)
    return std::nullopt;
  if (H5Tis_variable_str(type) > 0) {
    const detail::Hdf5Handle memory(H5Tcopy(H5T_C_S1));
    H5Tset_size(memory.id(), H5T_VARIABLE);
    H5Tset_cset(memory.id(), H5Tget_cset(type));
    char* text = nullptr;
    if (read(memory.id(), static_cast<void*>(&text)) < 0 || text == nullptr) return std::nullopt;
    std::string copy(text);
    H5free_memory(text);
    return copy;
  }
  const std::size_t size = H5Tget_size(type);
  if (size == 0 || size > most) return std::nullopt;
  std::string text(size, '\0');
  if (read(type, static_cast<void*>(text.data())) < 0) return std::nullopt;
  return text.substr(0, text.find('\0'));
}

}  // namespace

bool detail::Hdf5Handle::close() noexcept {
  if (id_ < 0) return true;
  try {
    const Session session;
    return H5Idec_ref(std::exchange(id_, -1)) >= 0;
  } catch (...) {
    return false;
  }
}

// --- Writing

void require_hdf5(const std::filesystem::path& /*path*/) {}

struct Hdf5Writer::Open {
  ArraySpec spec;  ///< for a growing array: rows so far
  bool grows = false;
  std::int64_t filled = 0;  ///< rows
  std::uint64_t row_bytes = 0;
  Hdf5Chunks chunks;
  detail::Hdf5Handle dataset;
};

Hdf5Writer::Hdf5Writer(const std::filesystem::path& path, const Compression& compression)
    : file_(path), path_(path), compression_(compression) {
  const Session session;
  const detail::Hdf5Handle access = file_access();
  // The default driver needs a file name, and this file has none.
  H5Pset_fapl_stdio(access.id());
  hdf5_ = detail::Hdf5Handle(
      H5Fcreate(file_.file().reopen_path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id()));
  if (!hdf5_) refuse("create");
}

Hdf5Writer::~Hdf5Writer() = default;

void Hdf5Writer::refuse(const std::string& doing) const {
  fail(ErrorKind::runtime, {fmt::format("{}: cannot {}", path_.string(), doing), last_reason(),
                            "free some space or use another folder"});
}

Hdf5Writer::Open& Hdf5Writer::opened(Array array) {
  if (array >= arrays_.size()) throw std::logic_error("no such open array");
  return *arrays_[array];
}

Hdf5Writer::Array Hdf5Writer::open_array(const std::string& name, ArraySpec spec, bool grows) {
  const Session session;
  auto open = std::make_unique<Open>();
  open->grows = grows;
  if (grows) spec.shape.at(0) = 0;
  open->row_bytes = element_size(spec.type);
  for (std::size_t i = 1; i < spec.shape.size(); ++i)
    open->row_bytes *= static_cast<std::uint64_t>(spec.shape[i]);
  const std::vector<hsize_t> extents = extents_of(spec.shape);
  std::vector<hsize_t> most = extents;
  const int rank = static_cast<int>(extents.size());
  const detail::Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_obj_track_times(creation.id(), false);
  const bool packed = compression_.on() && open->row_bytes > 0 && (grows || extents[0] > 0);
  if (grows || packed) {
    constexpr std::uint64_t kChunkBytes = 64 << 10;  // upper bound of unused space
    std::vector<hsize_t> chunk = extents;
    chunk[0] = std::max<hsize_t>(1, kChunkBytes / std::max<std::uint64_t>(1, open->row_bytes));
    if (!grows) chunk[0] = std::min(chunk[0], extents[0]);
    H5Pset_chunk(creation.id(), rank, chunk.data());
  }
  if (packed) compress_chunks(creation.id(), compression_);
  open->chunks = Hdf5Chunks(creation.id(), rank, element_size(spec.type));
  if (grows) {
    most[0] = H5S_UNLIMITED;
  } else {
    H5Pset_fill_time(creation.id(), H5D_FILL_TIME_NEVER);  // every row is written
  }
  const detail::Hdf5Handle space(H5Screate_simple(rank, extents.data(), most.data()));
  open->dataset =
      detail::Hdf5Handle(H5Dcreate2(hdf5_.id(), name.c_str(), stored_type(spec.type), space.id(),
                                    H5P_DEFAULT, creation.id(), H5P_DEFAULT));
  if (!open->dataset) refuse("write");
  open->spec = std::move(spec);
  arrays_.push_back(std::move(open));
  return arrays_.size() - 1;
}

Hdf5Writer::Array Hdf5Writer::open(const std::string& name, const ArraySpec& spec) {
  return open_array(name, spec, false);
}

Hdf5Writer::Array Hdf5Writer::open_growing(const std::string& name, const ArraySpec& spec) {
  return open_array(name, spec, true);
}

void Hdf5Writer::append(Array array, Bytes rows) {
  Open& open = opened(array);
  if (rows.empty()) return;
  if (open.row_bytes == 0 || rows.size() % open.row_bytes != 0)
    throw std::logic_error("the bytes are not whole rows");
  const auto count = static_cast<std::int64_t>(rows.size() / open.row_bytes);
  const Session session;
  const ExpectedChunk chunk(open.chunks.bytes());  // an incomplete chunk may be read again
  if (open.grows) {
    open.spec.shape[0] = open.filled + count;
    const std::vector<hsize_t> extents = extents_of(open.spec.shape);
    if (H5Dset_extent(open.dataset.id(), extents.data()) < 0) refuse("write");
  }
  if (open.filled + count > open.spec.shape[0])
    throw std::logic_error("too many rows for the array");
  const Selection selection(open.spec.shape, open.filled, count);
  if (H5Dwrite(open.dataset.id(), stored_type(open.spec.type), selection.memory.id(),
               selection.file.id(), H5P_DEFAULT, rows.data()) < 0) {
    refuse("write");
  }
  open.filled += count;
}

void Hdf5Writer::set(Array array, const std::string& name, const Value& value) {
  const Session session;
  if (!write_attribute(opened(array).dataset.id(), name, value)) refuse("write");
}

void Hdf5Writer::set(const std::string& name, const Value& value) {
  const Session session;
  if (!write_attribute(hdf5_.id(), name, value)) refuse("write");
}

void Hdf5Writer::add_text(const std::string& name, std::string_view utf8) {
  const Session session;
  std::string text(utf8);
  text.resize(std::max<std::size_t>(1, text.size()));
  const detail::Hdf5Handle type = text_type(text.size());
  const detail::Hdf5Handle scalar(H5Screate(H5S_SCALAR));
  const detail::Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_obj_track_times(creation.id(), false);
  const detail::Hdf5Handle dataset(H5Dcreate2(hdf5_.id(), name.c_str(), type.id(), scalar.id(),
                                              H5P_DEFAULT, creation.id(), H5P_DEFAULT));
  if (!dataset ||
      H5Dwrite(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()) < 0) {
    refuse("write");
  }
}

void Hdf5Writer::commit() {
  const Session session;
  for (const auto& open : arrays_) {
    if (open->filled != open->spec.shape[0] && open->row_bytes > 0)
      throw std::logic_error("an array has too few rows");
    if (!open->dataset.close()) refuse("write");
  }
  // Flush first: closing reports failures in less detail.
  if (H5Fflush(hdf5_.id(), H5F_SCOPE_LOCAL) < 0 || !hdf5_.close()) refuse("write");
  file_.commit();
}

// --- Reading

std::int64_t Hdf5Array::row_elements() const {
  std::int64_t count = 1;
  for (std::size_t i = 1; i < shape_.size(); ++i) count *= shape_[i];
  return count;
}

void Hdf5Array::read_as(std::int64_t type, std::int64_t first, std::int64_t count,
                        void* out) const {
  const Selection selection(shape_, first, count);
  const ExpectedChunk chunk(chunks_.bytes());
  const bool whole = chunks_.check(dataset_.id(), shape_, first, count);
  if (!whole || H5Dread(dataset_.id(), type, selection.memory.id(), selection.file.id(),
                        H5P_DEFAULT, out) < 0) {
    fail(ErrorKind::data, {fmt::format("{}: '{}': cannot read {} from row {}", path_.string(),
                                       name_, counted(count, "row"), first),
                           whole ? last_reason() : "the stored size of a chunk is wrong",
                           "the file is damaged; recreate it or copy it again"});
  }
  // The library reads zeros beyond the end of a truncated file.
  if (const std::uint64_t size = size_now(dataset_.id()); size < file_size_) {
    fail(ErrorKind::data,
         {fmt::format("{}: the file is too short", path_.string()),
          fmt::format("its size is {}, but was {} when it was opened", counted(size, "byte"),
                      file_size_),
          "another program changed it during the run; recreate it or copy it again"});
  }
}

template <class T>
void Hdf5Array::read(std::int64_t first, std::int64_t count, T* out) const {
  const Session session;
  if constexpr (std::is_same_v<T, std::uint8_t>) read_as(H5T_NATIVE_UINT8, first, count, out);
  if constexpr (std::is_same_v<T, std::int64_t>) read_as(H5T_NATIVE_INT64, first, count, out);
  if constexpr (std::is_same_v<T, float>) read_as(H5T_NATIVE_FLOAT, first, count, out);
  if constexpr (std::is_same_v<T, double>) read_as(H5T_NATIVE_DOUBLE, first, count, out);
}

template void Hdf5Array::read(std::int64_t, std::int64_t, std::uint8_t*) const;
template void Hdf5Array::read(std::int64_t, std::int64_t, std::int64_t*) const;
template void Hdf5Array::read(std::int64_t, std::int64_t, float*) const;
template void Hdf5Array::read(std::int64_t, std::int64_t, double*) const;

std::optional<std::string> Hdf5Array::text_attribute(const std::string& name) const {
  const Session session;
  if (H5Aexists(dataset_.id(), name.c_str()) <= 0) return std::nullopt;
  const detail::Hdf5Handle attribute(H5Aopen(dataset_.id(), name.c_str(), H5P_DEFAULT));
  if (!attribute) return std::nullopt;
  const detail::Hdf5Handle type(H5Aget_type(attribute.id())), space(H5Aget_space(attribute.id()));
  return read_text_with(type.id(), space.id(), kLongestHdf5Attribute,
                        [&](hid_t as, void* out) { return H5Aread(attribute.id(), as, out); });
}

namespace {

/// Type of the link at `path`; nullopt unless it exists and hard links lead to it.
std::optional<H5L_type_t> link_type(hid_t file, const std::string& path) {
  H5L_info_t link;
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    if (part.empty() || part.front() == '/' || part.back() == '/') return std::nullopt;
    if (H5Lexists(file, part.c_str(), H5P_DEFAULT) <= 0 ||
        H5Lget_info(file, part.c_str(), &link, H5P_DEFAULT) < 0)
      return std::nullopt;
    if (end == std::string::npos) return link.type;
    if (link.type != H5L_TYPE_HARD) return std::nullopt;
    const detail::Hdf5Handle group(H5Oopen(file, part.c_str(), H5P_DEFAULT));
    if (!group || H5Iget_type(group.id()) != H5I_GROUP) return std::nullopt;
  }
  return std::nullopt;
}

/// Appends names in a group and its subgroups, each with `prefix`. False if the group is damaged.
bool list_names(hid_t group, const std::string& prefix, int depth,
                std::vector<std::string>& names) {
  constexpr int kDeepest = 8;  // links may form a cycle
  std::vector<std::string> own;
  const auto take = [](hid_t, const char* name, const H5L_info_t*, void* out) -> herr_t {
    auto& all = *static_cast<std::vector<std::string>*>(out);
    all.emplace_back(name);
    return all.size() < kMostHdf5Names ? 0 : 1;  // 1: end
  };
  hsize_t from = 0;
  if (H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &from, take, &own) < 0) return false;
  for (const std::string& name : own) {
    if (names.size() >= kMostHdf5Names) return true;
    names.push_back(prefix + name);
    H5L_info_t link;
    if (depth == kDeepest || H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT) < 0 ||
        link.type != H5L_TYPE_HARD)
      continue;
    const detail::Hdf5Handle inner(H5Oopen(group, name.c_str(), H5P_DEFAULT));
    if (inner && H5Iget_type(inner.id()) == H5I_GROUP)
      list_names(inner.id(), prefix + name + "/", depth + 1, names);
  }
  return true;
}

}  // namespace

void Hdf5File::refuse(const std::string& name, const std::string& problem, const std::string& why,
                      const std::string& advice) const {
  fail(ErrorKind::data, {fmt::format("{}: '{}' {}", path_.string(), name, problem), why, advice});
}

Hdf5File::Hdf5File(const std::filesystem::path& path) : path_(path) {
  size_ = InputFile(path).size();
  const Session session;
  const auto damaged = [&](const std::string& problem) {
    fail(ErrorKind::data, {fmt::format("{}: {}", path.string(), problem), last_reason(),
                           "the file is truncated or damaged; recreate it or copy it again"});
  };
  const htri_t is_hdf5 = H5Fis_hdf5(path.c_str());
  if (is_hdf5 == 0) {
    refuse_other_kinds(InputFile(path), {FileKind::hdf5}, "an HDF5 file");
    fail(ErrorKind::data,
         {path.string() + ": not an HDF5 file", "its first bytes are not the HDF5 signature",
          "correct path:, or set format:"});
  }
  const detail::Hdf5Handle access = file_access();
  H5Pset_fapl_sec2(access.id());  // size_now expects this driver's handle
  hdf5_ = detail::Hdf5Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()));
  if (is_hdf5 < 0 || !hdf5_) damaged("cannot open the HDF5 file");
  if (!list_names(hdf5_.id(), "", 0, names_)) damaged("cannot list the contents of the HDF5 file");
  std::ranges::sort(names_);
}

bool Hdf5File::has(const std::string& name) const {
  const Session session;
  return link_type(hdf5_.id(), name).has_value();
}

void Hdf5File::refuse_damaged(const std::string& name) const {
  refuse(name, "cannot be read", last_reason(),
         "the file is damaged; recreate it or copy it again");
}

detail::Hdf5Handle Hdf5File::open_dataset(const std::string& name) const {
  const std::optional<H5L_type_t> link = link_type(hdf5_.id(), name);
  if (!link) {
    fail(ErrorKind::data, {fmt::format("{}: '{}' is not in the file", path_.string(), name), "",
                           name_advice(name, names_)});
  }
  if (*link != H5L_TYPE_HARD)
    refuse(name, "is a link", "links are not followed", "copy the target into this file");
  detail::Hdf5Handle object(H5Oopen(hdf5_.id(), name.c_str(), H5P_DEFAULT));
  if (!object) refuse_damaged(name);
  if (H5Iget_type(object.id()) != H5I_DATASET)
    refuse(name, "is not an array", "it is a group or a type",
           "name an array; those in groups have names like group/x");
  return object;
}

Hdf5Array Hdf5File::array(const std::string& name) const {
  const Session session;
  const detail::Hdf5Handle found = open_dataset(name);
  detail::Hdf5Handle type(H5Dget_type(found.id())), space(H5Dget_space(found.id())),
      creation(H5Dget_create_plist(found.id()));
  // h5py writes booleans as enumerations.
  if (type && H5Tget_class(type.id()) == H5T_ENUM)
    type = detail::Hdf5Handle(H5Tget_super(type.id()));
  if (!type || !space || !creation) refuse_damaged(name);
  const H5T_class_t kind = H5Tget_class(type.id());
  const std::size_t element = H5Tget_size(type.id());
  if (kind == H5T_STRING)
    refuse(name, "contains strings", "arrays must hold integers or floats", kStringsAdvice);
  if ((kind != H5T_INTEGER && kind != H5T_FLOAT) || element == 0 || element > 8)
    refuse(name, "does not contain numbers",
           "arrays must hold integers or floats of at most 64 bits", "store numbers");
  Hdf5Array array;
  array.path_ = path_;
  array.name_ = name;
  array.file_size_ = size_;
  array.numbers_ = kind == H5T_INTEGER ? Hdf5Array::Numbers::whole : Hdf5Array::Numbers::real;
  array.bits_ = static_cast<int>(8 * element);
  array.signed_ = kind == H5T_FLOAT || H5Tget_sign(type.id()) != H5T_SGN_NONE;
  const int rank = H5Sget_simple_extent_ndims(space.id());
  if (rank < 0) refuse_damaged(name);
  if (rank == 0 || H5Sget_simple_extent_type(space.id()) != H5S_SIMPLE)
    refuse(name, "is a scalar", "an array must have at least one dimension", "store [rows, ...]");
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank)), largest = extents;
  if (H5Sget_simple_extent_dims(space.id(), extents.data(), largest.data()) < 0)
    refuse_damaged(name);

  if (H5Pget_layout(creation.id()) == H5D_VIRTUAL || H5Pget_external_count(creation.id()) > 0)
    refuse(name, "is stored in other files", "only the file itself is read",
           "copy the array into this file");
  const int filters = H5Pget_nfilters(creation.id());
  if (filters < 0) refuse_damaged(name);
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0, config = 0;
    std::size_t values = 0;
    char text[64] = "";
    const H5Z_filter_t filter = H5Pget_filter2(creation.id(), static_cast<unsigned>(i), &flags,
                                               &values, nullptr, sizeof text, text, &config);
    if (filter < 0) refuse_damaged(name);
    if (H5Zfilter_avail(filter) > 0) continue;
    refuse(name, fmt::format("is compressed by filter {} ({})", filter, printable(text)),
           "the HDF5 library in use lacks this filter, and plugins are not loaded",
           "store it with zstd, lz4 or gzip, or uncompressed: h5repack -f GZIP=4 OLD NEW");
  }

  // Larger arrays cannot be in the file; refuse them before memory is allocated.
  array.chunks_ = Hdf5Chunks(creation.id(), rank, element);
  if (!array.chunks_.fit({largest.begin(), largest.end()})) refuse_damaged(name);
  const double most = array.chunks_.most_expansion() * static_cast<double>(size_);
  double bytes = static_cast<double>(element);
  for (const hsize_t extent : extents) {
    bytes *= static_cast<double>(extent);
    array.shape_.push_back(static_cast<std::int64_t>(extent));
  }
  if (bytes > most || std::ranges::any_of(array.shape_, [](std::int64_t n) { return n < 0; }))
    refuse(name, fmt::format("claims extents [{}]", fmt::join(extents, ", ")),
           fmt::format("a file of {} cannot contain them", counted(size_, "byte")),
           "the file is damaged; recreate it or copy it again");

  const detail::Hdf5Handle access(H5Pcreate(H5P_DATASET_ACCESS));
  constexpr std::size_t kSlots = 12421;  // a prime; about a hundred per chunk of a row
  H5Pset_chunk_cache(access.id(), kSlots, array.chunks_.cache_bytes(array.shape_), 1.0);
  array.dataset_ = detail::Hdf5Handle(H5Dopen2(hdf5_.id(), name.c_str(), access.id()));
  if (!array.dataset_) refuse_damaged(name);
  return array;
}

bool Hdf5File::is_text(const std::string& name) const {
  const Session session;
  if (link_type(hdf5_.id(), name) != H5L_TYPE_HARD) return false;
  const detail::Hdf5Handle object(H5Oopen(hdf5_.id(), name.c_str(), H5P_DEFAULT));
  if (!object) refuse_damaged(name);
  if (H5Iget_type(object.id()) != H5I_DATASET) return false;
  const detail::Hdf5Handle type(H5Dget_type(object.id())), space(H5Dget_space(object.id()));
  return H5Tget_class(type.id()) == H5T_STRING &&
         H5Sget_simple_extent_type(space.id()) == H5S_SCALAR;
}

std::string Hdf5File::text(const std::string& name) const {
  const Session session;
  const detail::Hdf5Handle dataset = open_dataset(name);
  const detail::Hdf5Handle type(H5Dget_type(dataset.id())), space(H5Dget_space(dataset.id()));
  const auto text = read_text_with(type.id(), space.id(), size_, [&](hid_t as, void* out) {
    return H5Dread(dataset.id(), as, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
  });
  if (!text) refuse(name, "is not a readable string", last_reason(), "store a single UTF-8 string");
  return *text;
}

}  // namespace wellspring
