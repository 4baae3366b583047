// One moving chart: a line for each series, newest at the right, and the newest values below.

const POINTS = 120;
const WIDTH = 480;
const HEIGHT = 140;
const SVG = "http://www.w3.org/2000/svg";

const UNITS = {
  count: { steps: [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]], least: 1 },
  share: { steps: [[0.01, " %"]], least: 1 },
  bytes: { steps: [[2 ** 30, " GiB"], [2 ** 20, " MiB"], [2 ** 10, " KiB"], [1, " B"]], least: 1024 },
  seconds: { steps: [[1, " s"], [1e-3, " ms"], [1e-6, " µs"]], least: 1e-5 },
};

export class Chart {
  // series: name to a function of the newest reading and of what was added since the one before; undefined leaves a gap.
  constructor(title, unit, series) {
    this.unit = UNITS[unit];
    this.series = Object.entries(series).map(([name, read], index) => ({ name, read, values: [], ...makeSeries(name, index) }));
    this.top = makeText(0, 10);
    this.element = document.createElement("section");
    const heading = document.createElement("h2");
    heading.textContent = title;
    const drawing = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": title });
    drawing.append(make("line", { x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }), make("line", { x1: 0, x2: WIDTH, y1: 14, y2: 14 }), this.top);
    const legend = document.createElement("dl");
    for (const each of this.series) {
      drawing.append(each.path);
      legend.append(each.entry);
    }

    this.element.append(heading, drawing, legend);
  }

  add(now, delta) {
    this.#push((each) => each.read(now, delta));
  }

  skip() {
    this.#push(() => undefined);
  }

  #push(valueOf) {
    for (const each of this.series) {
      each.values.push(valueOf(each));
      each.values.splice(0, each.values.length - POINTS);
    }

    const largest = Math.max(this.unit.least, ...this.series.flatMap(({ values }) => values.filter((value) => value !== undefined)));
    const [size] = this.#stepOf(largest);
    const top = niceAbove(largest / size) * size;
    this.top.textContent = this.#format(top);
    for (const { values, path, output } of this.series) {
      path.setAttribute("d", lineOf(values, top));
      output.textContent = this.#format(values.at(-1));
    }
  }

  #stepOf(value) {
    return this.unit.steps.find(([size]) => value >= size) ?? this.unit.steps.at(-1);
  }

  #format(value) {
    if (value === undefined) {
      return "–";
    }

    const [size, suffix] = this.#stepOf(value);
    const scaled = value / size;
    return scaled.toFixed(scaled >= 100 || Number.isInteger(scaled) ? 0 : scaled >= 10 ? 1 : 2) + suffix;
  }
}

function makeSeries(name, index) {
  const color = `var(--series-${index})`;
  const entry = document.createElement("div");
  const term = document.createElement("dt");
  const output = document.createElement("dd");
  term.textContent = name;
  term.style.setProperty("--color", color);
  output.textContent = "–";
  output.dataset.series = name;
  entry.append(term, output);
  const path = make("path", {});
  path.style.stroke = color;
  return { entry, output, path };
}

function lineOf(values, top) {
  let line = "";
  let isDown = false;
  values.forEach((value, index) => {
    if (value !== undefined) {
      const x = WIDTH - ((values.length - 1 - index) * WIDTH) / (POINTS - 1);
      const y = HEIGHT - (value / top) * (HEIGHT - 14);
      line += `${isDown ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    }

    isDown = value !== undefined;
  });
  return line;
}

// 1, 2 or 5 times a power of ten, so that the scale does not change with each reading.
function niceAbove(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((nice) => nice >= value * 0.9999);
}

function make(name, attributes) {
  const element = document.createElementNS(SVG, name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  return element;
}

function makeText(x, y) {
  return make("text", { x, y });
}
