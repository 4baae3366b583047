// Draws how the counters of /metrics move. They are cumulative, so rates, ratios and percentiles are those of the time between two readings.
import { Chart } from "./chart.js";
import { NodeTable } from "./nodes.js";
import { PurgeForm } from "./purge.js";
import { parse, percentile, since } from "./readings.js";

const INTERVAL_MS = 1000;
const PATIENCE_MS = 5000;

const OUTCOMES = {
  hits: ["cache_hits_total", "cache_hits_stale_total"],
  joins: ["cache_joins_total"],
  misses: ["cache_misses_total"],
  passes: ["cache_passes_total"],
};
const BATCH = "iouring_batch_size";
const DURATION = "cache_request_duration_seconds";

const charts = [
  new Chart("Requests per second", "count", {
    hits: (_, delta) => rateOf(delta, OUTCOMES.hits),
    joins: (_, delta) => rateOf(delta, OUTCOMES.joins),
    misses: (_, delta) => rateOf(delta, OUTCOMES.misses),
    passes: (_, delta) => rateOf(delta, OUTCOMES.passes),
  }),
  new Chart("Answered without a request to the origin", "share", {
    "from the store": (_, delta) => shareOf(delta, OUTCOMES.hits),
    "and fills in flight": (_, delta) => shareOf(delta, [...OUTCOMES.hits, ...OUTCOMES.joins]),
  }),
  new Chart("Readers per fill", "count", {
    readers: (now) => ratio(now.get("cache_readers"), now.get("cache_fills_active")),
  }),
  new Chart("Memory", "bytes", {
    stored: (now) => now.get("cache_stored_bytes"),
    "in flight": (now) => now.get("cache_in_flight_bytes"),
    "kept by readers": (now) => now.get("cache_pinned_bytes"),
  }),
  new Chart("Completions taken per turn of a ring", "count", {
    mean: (_, delta) => ratio(delta.get(`${BATCH}_sum`), delta.get(`${BATCH}_count`)),
    p99: (_, delta) => percentile(delta, BATCH, 0.99),
  }),
  new Chart("Time to the end of a response", "seconds", {
    p50: (_, delta) => percentile(delta, DURATION, 0.5),
    p99: (_, delta) => percentile(delta, DURATION, 0.99),
    "p99.9": (_, delta) => percentile(delta, DURATION, 0.999),
  }),
];

// Shown where there are other nodes.
const nodes = new NodeTable();

function sumOf(values, names) {
  return names.reduce((sum, name) => sum + (values.get(name) ?? 0), 0);
}

function rateOf(delta, names) {
  return sumOf(delta, names) / delta.seconds;
}

function shareOf(delta, names) {
  return ratio(sumOf(delta, names), sumOf(delta, Object.values(OUTCOMES).flat()));
}

// Nothing, and not a number, where there was nothing to divide.
function ratio(value, by) {
  return by > 0 ? value / by : undefined;
}

const state = document.getElementById("state");
let last;
let answeredAt;

async function ask(path) {
  const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
  if (!answer.ok) {
    throw new Error(`status ${answer.status}`);
  }

  return answer;
}

async function read() {
  try {
    const now = parse(await (await ask("metrics")).text(), performance.now());
    draw(now);
    if (now.has("cache_cluster_state")) {
      nodes.show(await (await ask("cluster")).json());
      document.getElementById("charts").append(nodes.element);
    }

    answeredAt = new Date().toLocaleTimeString();
    tell(`read at ${answeredAt}`, false);
  } catch (error) {
    // What was drawn stays. Behind the gap, rates begin anew.
    last = undefined;
    charts.forEach((chart) => chart.skip());
    tell(`no answer${answeredAt ? ` since ${answeredAt}` : ""}: ${error.message}`, true);
  }

  setTimeout(read, INTERVAL_MS);
}

function draw(now) {
  const delta = last && since(last, now);
  last = now;
  charts.forEach((chart) => (delta ? chart.add(now, delta) : chart.skip()));
}

function tell(text, isLost) {
  state.classList.toggle("lost", isLost);
  state.textContent = text;
}

new PurgeForm(document.getElementById("purge"));
document.getElementById("charts").append(...charts.map((chart) => chart.element));
read();
