// Readings of /metrics (Prometheus text format 0.0.4): name to value, added up over labels, but for the bounds of histograms.

export function parse(text, milliseconds) {
  const values = new Map();
  for (const line of text.split("\n")) {
    const [, name, labels, value] = line.match(/^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$/i) ?? [];
    if (name) {
      const bound = labels?.match(/(?:^|,)le="([^"]+)"/)?.[1];
      const key = bound === undefined ? name : `${name} ${bound}`;
      values.set(key, (values.get(key) ?? 0) + Number(value));
    }
  }

  values.milliseconds = milliseconds;
  return values;
}

// What was added between two readings; nothing if the service has begun anew meanwhile.
export function since(before, now) {
  const delta = new Map();
  for (const [key, value] of now) {
    delta.set(key, value - (before.get(key) ?? 0));
    if (delta.get(key) < 0 && /_total$|_count$/.test(key)) {
      return undefined;
    }
  }

  delta.seconds = (now.milliseconds - before.milliseconds) / 1000;
  return delta;
}

// The upper bound of the bucket in which the percentile lies; nothing where nothing was counted.
export function percentile(delta, name, share) {
  const prefix = `${name}_bucket `;
  const buckets = [...delta]
    .filter(([key]) => key.startsWith(prefix))
    .map(([key, count]) => ({ bound: key.endsWith("+Inf") ? Infinity : Number(key.slice(prefix.length)), count }))
    .sort((one, other) => one.bound - other.bound);
  const all = buckets.at(-1)?.count ?? 0;
  if (all === 0) {
    return undefined;
  }

  const found = buckets.find(({ count }) => count >= share * all);
  return Number.isFinite(found.bound) ? found.bound : buckets.at(-2)?.bound;
}
