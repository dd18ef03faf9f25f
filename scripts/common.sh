# Shared by quickstart, test and .ci/run; sourced from the root of the repository.
# shellcheck shell=bash disable=SC2034

if [[ -t 1 && -z "${NO_COLOR:-}" ]]; then
  bold=$'\e[1m' red=$'\e[31m' green=$'\e[32m' plain=$'\e[0m'
else
  bold='' red='' green='' plain=''
fi

# step TEXT: a heading, with the seconds since the script began.
step() { printf '%s==> [%3d s] %s%s\n' "$bold" "$SECONDS" "$*" "$plain"; }
die() { printf '%serror:%s %s\n' "$red" "$plain" "$*" >&2; exit "${exit_code:-1}"; }

# Puts the CUDA compiler on PATH where it stands in its usual place. False where there is none.
find_cuda_compiler() {
  command -v nvcc >/dev/null && return 0
  if [[ -x "${CUDACXX:-}" ]]; then
    PATH="$(dirname "$CUDACXX"):$PATH"
  elif [[ -x /usr/local/cuda/bin/nvcc ]]; then
    PATH="/usr/local/cuda/bin:$PATH"
  else
    return 1
  fi
  export PATH
}

# True where a driver answers and shows at least one GPU.
has_gpu() {
  [[ "${WELLSPRING_DISABLE_CUDA:-0}" != 1 ]] && command -v nvidia-smi >/dev/null &&
    nvidia-smi -L 2>/dev/null | grep -q '^GPU '
}

# True where build folder $1 is configured with WELLSPRING_CUDA=$2.
configured_with_cuda() {
  [[ -f "$1/CMakeCache.txt" ]] && grep -q "^WELLSPRING_CUDA:[A-Z]*=$2\$" "$1/CMakeCache.txt"
}

# run_quietly LOG COMMAND...: output goes to LOG; on failure its end is shown.
run_quietly() {
  local log="$1"
  shift
  mkdir -p "$(dirname "$log")"
  if ! "$@" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    die "'$*' failed; the whole log is $log"
  fi
}
