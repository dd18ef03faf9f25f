# Shared by quickstart, test and .ci/run; sourced from the root of the repository.
# shellcheck shell=bash disable=SC2034

if [[ -t 1 && -z "${NO_COLOR:-}" ]]; then
  bold=$'\e[1m' red=$'\e[31m' green=$'\e[32m' plain=$'\e[0m'
else
  bold='' red='' green='' plain=''
fi

# step TEXT: prints a heading with the seconds since the script began.
step() { printf '%s==> [%3d s] %s%s\n' "$bold" "$SECONDS" "$*" "$plain"; }
die() { printf '%serror:%s %s\n' "$red" "$plain" "$*" >&2; exit "${exit_code:-1}"; }

# Puts the CUDA compiler in its usual place on PATH. Returns false if there is no compiler.
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

# True if the driver reports at least one GPU.
has_gpu() {
  [[ "${WELLSPRING_DISABLE_CUDA:-0}" != 1 ]] && command -v nvidia-smi >/dev/null &&
    nvidia-smi -L 2>/dev/null | grep -q '^GPU '
}

# True if build folder $1 is configured with WELLSPRING_CUDA=$2.
configured_with_cuda() {
  [[ -f "$1/CMakeCache.txt" ]] && grep -q "^WELLSPRING_CUDA:[A-Z]*=$2\$" "$1/CMakeCache.txt"
}

# place_in LOG: prints the progress that LOG records: the last "12/345" in it (ninja, ctest) as "  3% 12/345",
# otherwise the last line.
place_in() {
  local counts
  counts="$(tail -c 4000 "$1" | tr '\r' '\n' |
    sed -nE 's,^(\[| *)([0-9]+)/([0-9]+)(\]| ).*,\2 \3,p' | tail -n 1)"
  if [[ -n "$counts" && "${counts#* }" -gt 0 ]]; then
    printf '%3d%% %d/%d' $((100 * ${counts% *} / ${counts#* })) "${counts% *}" "${counts#* }"
  else
    counts="$(tail -c 1000 "$1" | tr '\r\t' '\n ' | sed -n '/[^ ]/p' | tail -n 1)"
    printf '%s' "${counts//[^[:print:]]/?}"
  fi
}

# True on a terminal that can redraw a line.
redraws() { [[ -t 1 && "${TERM:-dumb}" != dumb ]]; }

# watch_log LOG: shows the progress until the caller kills it. On a terminal it redraws one line, cut to the width;
# otherwise it prints a line every $progress_seconds if the progress has changed. It polls every $progress_tick.
progress_seconds=30 progress_tick=1
watch_log() {
  local shown='' text columns=80 size idle begin=$SECONDS told=$SECONDS
  exec {idle}<> <(:)  # nothing writes to this pipe, so a read from it sleeps without starting a process
  while kill -0 "$$" 2>/dev/null; do
    read -r -t "$progress_tick" -u "$idle" || true
    if redraws; then
      size="$(stty size <&1 2>/dev/null)" || size=''  # each time, because the width may change
      [[ "${size#* }" -le 1 ]] || columns="${size#* }"
      text="    $(place_in "$1")  $((SECONDS - begin)) s"
      printf '\r\e[2K%s' "${text:0:columns-1}"
    elif [[ $((SECONDS - told)) -ge $progress_seconds ]]; then
      told=$SECONDS
      text="$(place_in "$1")"
      [[ -z "$text" || "$text" == "$shown" ]] || printf '    %s  %d s\n' "$text" $((SECONDS - begin))
      shown="$text"
    fi
  done
}

# with_progress LOG COMMAND...: sends the command's output to LOG, shows the progress, returns the exit status.
with_progress() {
  local log="$1" status=0 watcher
  shift
  mkdir -p "$(dirname "$log")"
  : >"$log"
  watch_log "$log" &
  watcher=$!
  "$@" >>"$log" 2>&1 || status=$?
  kill "$watcher" 2>/dev/null || true
  wait "$watcher" 2>/dev/null || true
  ! redraws || printf '\r\e[2K'
  return "$status"
}

# run_quietly LOG COMMAND...: sends the command's output to LOG; shows the end of LOG on failure.
run_quietly() {
  local log="$1"
  if ! with_progress "$@"; then
    shift
    tail -n 40 "$log" >&2
    die "'$*' failed; the whole log is $log"
  fi
}
