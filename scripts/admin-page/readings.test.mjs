// What the admin page makes of readings of /metrics. Run by scripts/admin-page.sh.
import assert from "node:assert/strict";
import test from "node:test";
import { parse, percentile, since } from "../../src/IoUringCache.Caching/Admin/Page/readings.js";

const reading = (text, milliseconds = 0) => parse(text, milliseconds);

test("values are added up over labels, and comments are none", () => {
  const values = reading('# HELP a_total x 5\na_total{origin="http://x"} 2\na_total{origin="http://y"} 3\nb 1.5e3\n');
  assert.deepEqual([...values], [["a_total", 5], ["b", 1500]]);
});

test("bounds of a histogram stay apart", () => {
  const values = reading('h_bucket{le="1"} 2\nh_bucket{kind="x",le="+Inf"} 7\nh_bucket{kind="y",le="+Inf"} 1\n');
  assert.deepEqual([...values], [["h_bucket 1", 2], ["h_bucket +Inf", 8]]);
});

test("what was added is that between two readings, what is new included", () => {
  const delta = since(reading("a_total 5\n", 1000), reading("a_total 12\nb_total 3\n", 3000));
  assert.deepEqual([delta.get("a_total"), delta.get("b_total"), delta.seconds], [7, 3, 2]);
});

test("a service that has begun anew has added nothing that could be told", () => {
  assert.equal(since(reading("a_total 5\n"), reading("a_total 1\n", 1000)), undefined);
  assert.equal(since(reading("gauge 5\n"), reading("gauge 1\n", 1000)).get("gauge"), -4);
});

test("a percentile is the bound of its bucket", () => {
  const delta = reading('h_bucket{le="1"} 50\nh_bucket{le="10"} 98\nh_bucket{le="100"} 99\nh_bucket{le="+Inf"} 100\n');
  assert.deepEqual([0.5, 0.51, 0.98, 0.99, 1].map((share) => percentile(delta, "h", share)), [1, 10, 10, 100, 100]);
});

test("without anything counted there is no percentile", () => {
  assert.equal(percentile(reading('h_bucket{le="1"} 0\nh_bucket{le="+Inf"} 0\n'), "h", 0.5), undefined);
  assert.equal(percentile(reading(""), "h", 0.5), undefined);
});
