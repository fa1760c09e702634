#!/usr/bin/env bash
# Runs the cluster of compose.yaml as processes of this host, with Prometheus if it is installed:
#   deploy/compose/local.sh [--workers N] [--check]
# The script ends the processes and removes their files when it ends. With --check it runs a job,
# checks that Prometheus sees every target and the job, and ends. SUPERSTEP is the path of the
# binary (default: build it). PROMETHEUS_PORT is Prometheus's port (default 9090).
# shellcheck disable=SC2317 # functions are called by others
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
workers=3 check=
while [ $# -gt 0 ]; do
  case $1 in
  --workers)
    workers=${2:?--workers N}
    shift 2
    ;;
  --check)
    check=1
    shift
    ;;
  *)
    sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
  esac
done

work=$(mktemp -d)
chmod 700 "$work"
pids=()
leave() {
  local status=$? p
  trap - EXIT INT TERM
  for p in "${pids[@]}"; do kill -TERM "$p" 2>/dev/null || true; done
  for p in "${pids[@]}"; do wait "$p" 2>/dev/null || true; done
  if [ "$status" != 0 ] && [ "$status" -lt 128 ]; then tail -n 5 "$work"/*.log >&2 || true; fi
  rm -rf "$work"
  exit "$status"
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

binary=${SUPERSTEP:-}
if [ -z "$binary" ]; then
  binary=$work/superstep
  (cd "$here/../.." && CGO_ENABLED=0 go build -o "$binary" ./cmd/superstep)
fi
secret() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
for name in token metrics-token gossip-key; do secret >"$work/$name"; done
flags=(--token-file "$work/token" --metrics-token-file "$work/metrics-token" --gossip-key-file "$work/gossip-key" --log-format json)

# until_so WHAT COMMAND... waits until the command succeeds.
until_so() {
  local what=$1 i
  shift
  for i in $(seq 300); do
    if "$@"; then return; fi
    sleep 0.2
  done
  echo "waited a minute for $what" >&2
  return 1
}

"$binary" master --listen 127.0.0.1:0 --gossip-listen 127.0.0.1:0 "${flags[@]}" >"$work/master.out" 2>"$work/master.log" &
pids+=($!)
until_so "the master" test -s "$work/master.out"
master=$(sed -n 's/^master at \([^;]*\);.*/\1/p' "$work/master.out")
for i in $(seq "$workers"); do
  "$binary" worker --master "$master" --name "worker$i" --threads 1 --gossip-listen 127.0.0.1:0 "${flags[@]}" >"$work/worker$i.log" 2>&1 &
  pids+=($!)
done
export SUPERSTEP_MASTER=$master SUPERSTEP_TOKEN_FILE=$work/token
registered() { [ "$("$binary" status --json | grep -c '"attached": true')" = "$workers" ]; }
until_so "$workers workers" registered
echo "master at $master, $workers workers; SUPERSTEP_MASTER=$SUPERSTEP_MASTER SUPERSTEP_TOKEN_FILE=$SUPERSTEP_TOKEN_FILE"

if ! command -v prometheus >/dev/null; then
  if [ -n "$check" ]; then
    echo "there is no prometheus: apt-get install prometheus" >&2
    exit 1
  fi
  echo "there is no prometheus here: go on without"
else
  port=${PROMETHEUS_PORT:-9090}
  mkdir "$work/prometheus"
  cp -R "$here/../prometheus/rules" "$work/prometheus"
  cp "$work/metrics-token" "$work/prometheus"
  sed -e "s/master:7700/$master/" -e 's/_interval: [0-9]*s/_interval: 1s/' "$here/../prometheus/prometheus.yml" >"$work/prometheus/prometheus.yml"
  prometheus --config.file="$work/prometheus/prometheus.yml" --storage.tsdb.path="$work/prometheus/data" \
    --web.listen-address="127.0.0.1:$port" --log.level=warn >"$work/prometheus.log" 2>&1 &
  pids+=($!)
  # ask EXPRESSION prints the value of a query, or nothing if the result is empty.
  ask() {
    curl -fsS --get --data-urlencode "query=$1" "http://127.0.0.1:$port/api/v1/query" 2>/dev/null |
      sed -n 's/.*"value":\[[^,]*,"\([^"]*\)"\].*/\1/p'
  }
  is() { [ "$(ask "$1")" = "$2" ]; }
  until_so "Prometheus to see the master and $workers workers" is 'sum(up)' "$((workers + 1))"
  echo "Prometheus at http://127.0.0.1:$port sees the master and $workers workers"
fi

if [ -n "$check" ]; then
  "$binary" run wcc --master "$master" --graph kronecker:scale=12
  until_so "the job" is 'sum(superstep_jobs_total{state="done"})' 1
  until_so "the workers' part of it" is "count(superstep_edges_walked_total > 0)" "$workers"
  echo "ok: Prometheus sees the job, and that $workers workers did it"
  exit 0
fi
echo "an interrupt ends it"
wait -n "${pids[@]}"
echo "a process has ended" >&2
exit 1
