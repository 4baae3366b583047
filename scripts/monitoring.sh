#!/usr/bin/env bash
# The alert rules, their tests and the dashboard of samples/CachingService/Deploy, with a real Prometheus that scrapes the service: every
# expression can be evaluated, every metric and label in it exists, a healthy service raises no alert, and a killed one does.
# Ends with "N passed, N failed".
#
#   scripts/monitoring.sh [--no-build]
#
# Needs the .NET SDK, io_uring, curl, python3, prometheus and promtool; as root on Debian it installs the last four. Everything listens on
# loopback, on free ports, and is stopped at the end; files are in a temporary directory that is removed.
set -uo pipefail
export LC_ALL=C

# These exist only with Cache:Cluster:Nats.
readonly OPTIONAL_METRICS=(cache_cluster_state cache_cluster_lag cache_cluster_unsent cache_cluster_nodes cache_cluster_applied_total)
REPOSITORY="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly REPOSITORY
readonly DEPLOY="$REPOSITORY/samples/CachingService/Deploy"
# shellcheck source=checks.sh
source "$REPOSITORY/scripts/checks.sh"

builds=1
pids=()

clean_up() {
    [[ ${#pids[@]} -eq 0 ]] || kill -KILL "${pids[@]}" 2> /dev/null
    wait 2> /dev/null
    rm -rf "$work"
}

# check_run NAME COMMAND...: its status decides; of its output the last line is shown, or all of it after a failure.
check_run() {
    local name="$1" status=0
    shift
    "$@" > "$work/run.log" 2>&1 || status=$?
    check "$name" "$(sed 's/^ *//' "$work/run.log" | grep . | tail -n 1 || echo "no output")" test $status -eq 0
    [[ $status -eq 0 ]] || cat "$work/run.log"
}

check_rules() {
    check_run "promtool accepts the rules" promtool check rules "$DEPLOY/alerts.yml"
    check_run "the rules do what their tests say" promtool test rules "$DEPLOY/alerts-tests.yml"
    check "every alert has a test in which it fires and one in which it does not" "$(untested_alerts "$DEPLOY" | wc -l) have none" \
        test -z "$(untested_alerts "$DEPLOY")"

    mkdir "$work/wrong" && cp "$DEPLOY/alerts-tests.yml" "$work/wrong"
    sed 's/> 0\.01$/> 0.5/; s/- alert: CachingServiceDown$/- alert: CachingServiceLost/' "$DEPLOY/alerts.yml" > "$work/wrong/alerts.yml"
    promtool test rules "$work/wrong/alerts-tests.yml" > "$work/wrong/tests.log" 2>&1
    check "a wrong threshold fails a test" "refusals at 50 % instead of 1 %" grep -q 'alertname: CachingServiceRefuses' "$work/wrong/tests.log"
    check "an alert without tests is found" "$(untested_alerts "$work/wrong")" test "$(untested_alerts "$work/wrong")" == CachingServiceLost
}

# untested_alerts DIRECTORY: the alerts of its rules that its tests do not expect to fire, or not to be silent.
untested_alerts() {
    local alert
    awk '/alertname:/ { name = $NF } /exp_alerts: \[\]$/ { print name, "silent" } /exp_alerts:$/ { print name, "fires" }' \
        "$1/alerts-tests.yml" > "$work/tested"
    for alert in $(sed -n 's/^ *- alert: //p' "$1/alerts.yml"); do
        { grep -qx "$alert fires" "$work/tested" && grep -qx "$alert silent" "$work/tested"; } || echo "$alert"
    done
}

# Late loops are no fault here, for other programs may use the machine. Cache:DiskPath, MaxBusyConnectionsPerLoop and AccessLog:Path add metrics.
start_service() {
    port="$(free_port)" admin_port="$(free_port)"
    dotnet "$REPOSITORY/samples/CachingService/bin/Release/net10.0/CachingService.dll" --urls "http://127.0.0.1:$port" \
        "--Admin:Url=http://127.0.0.1:$admin_port" "--Cache:DiskPath=$work/disk" \
        --Cache:OverloadDelay=10s --MaxBusyConnectionsPerLoop=500 "--AccessLog:Path=$work/access.log" > "$work/service.log" 2>&1 &
    pids=("$!")
    wait_until 30 curl --silent --fail --output /dev/null "http://127.0.0.1:$admin_port/ready" \
        || { cat "$work/service.log"; give_up "the caching service did not start"; }
}

# Each object is a miss and then a hit; curl's range in brackets is one request after the other on one connection.
send_requests() {
    for _ in misses hits; do
        curl --silent --fail --output /dev/null "http://127.0.0.1:$port/object/[1-150]?size=10000&ttl=60s" || give_up "requests fail"
    done
    curl --silent --output /dev/null --data x "http://127.0.0.1:$port/object/1"
}

start_prometheus() {
    prometheus="http://127.0.0.1:$(free_port)"
    cat > "$work/prometheus.yml" << END
global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: ["$DEPLOY/alerts.yml"]
scrape_configs: [{ job_name: caching-service, static_configs: [{ targets: ["127.0.0.1:$admin_port"] }] }]
END
    prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/series" --web.listen-address="${prometheus#*//}" \
        --log.level=warn > "$work/prometheus.log" 2>&1 &
    pids+=("$!")
    wait_until 60 has_series 'count_over_time(up{job="caching-service"}[1m]) >= 2 and up == 1' \
        || { cat "$work/prometheus.log"; give_up "Prometheus did not scrape the service twice"; }
}

# has_series EXPRESSION: Prometheus answers with one series or more.
has_series() {
    curl --silent --get --data-urlencode "query=$1" "$prometheus/api/v1/query" | grep -q '"metric":'
}

show_alerts() {
    curl --silent --get --data-urlencode 'query=ALERTS' "$prometheus/api/v1/query" | grep -o '"alertname":"[^"]*"' | cut -d '"' -f 4 | paste -sd ' ' | grep . \
        || echo none
}

check_expressions() {
    local mistake program=(python3 "$REPOSITORY/scripts/monitoring/expressions.py" "$prometheus")
    curl --silent "http://127.0.0.1:$admin_port/metrics" > "$work/metrics"
    check "/metrics has metrics" "$(grep -c '^# TYPE' "$work/metrics")" grep -q '^cache_' "$work/metrics"
    check_run "promtool finds nothing to improve in them" promtool check metrics < "$work/metrics"
    check_run "every expression has an answer, and every metric and label exists" \
        "${program[@]}" "$DEPLOY/dashboard.json" "${OPTIONAL_METRICS[@]}"
    check "the source has the metrics of options" "${OPTIONAL_METRICS[*]}" have_instruments "${OPTIONAL_METRICS[@]}"

    sed -e 's/cache_sent_bytes/cache_send_bytes/' -e 's/by (reason)/by (raeson)/' -e 's/"expr": "histogram_quantile(/&(/' \
        "$DEPLOY/dashboard.json" > "$work/wrong/dashboard.json"
    "${program[@]}" "$work/wrong/dashboard.json" "${OPTIONAL_METRICS[@]}" cache_objects > "$work/mistakes"
    for mistake in 'metric cache_send_bytes' 'empty sum(rate(cache_send_bytes' 'label raeson' 'query histogram_quantile((' 'needless '; do
        check "a mistake in the dashboard is found" "$mistake" grep -q "^$mistake" "$work/mistakes"
    done
}

# have_instruments METRIC...: each is in the source. Prometheus has _ for the dots of a name, and adds unit and _total.
have_instruments() {
    local metric
    for metric in "$@"; do
        grep -Eqr --include='*.cs' "(Gauge|Count)\(\"$(sed -E 's/(_bytes)?(_total)?$//; s/_/[._]/g' <<< "$metric")\"" "$REPOSITORY/src" || return
    done
}

# A scrape that takes longer than its second has the service look down for that long.
check_alerts() {
    check "a healthy service raises no alert" "at first: $(show_alerts)" wait_until 20 has_series 'count(up == 1) unless count(ALERTS)'
    kill -KILL "${pids[0]}"
    wait "${pids[0]}" 2> /dev/null
    pids=("${pids[1]}")
    check "a killed one does" "CachingServiceDown is pending" wait_until 20 has_series 'ALERTS{alertname="CachingServiceDown"}'
}

case "${1:-}" in
    --no-build) builds=0 ;;
    --help) show_help ;;
    ?*) give_up "$1: unknown option; see --help" ;;
esac
"$REPOSITORY/scripts/require-tools.sh" curl python3 prometheus promtool || give_up "a tool is missing"
work="$(mktemp -d)"
clean_up_at_the_end

check_rules
[[ $builds -eq 0 ]] || build_service
start_service
send_requests
start_prometheus
check_expressions
check_alerts
finish
