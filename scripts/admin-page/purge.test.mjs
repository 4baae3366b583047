// What the admin page asks of /purge, and what it says of the answer. Run by scripts/admin-page.sh.
import assert from "node:assert/strict";
import test from "node:test";
import { describe, queryOf } from "../../src/IoUringCache.Caching/Admin/Page/purge.js";

test("each kind is one parameter, with its name as it is", () => {
  assert.equal(queryOf("key", "a b?c=d&e#f+%", false), "key=a%20b%3Fc%3Dd%26e%23f%2B%25");
  assert.equal(queryOf("prefix", "shop.test/news/", true), "prefix=shop.test%2Fnews%2F&soft");
  assert.equal(queryOf("tag", "café", false), "tag=caf%C3%A9");
  assert.equal(queryOf("all", "", true), "all&soft");
});

test("a host is a prefix", () => {
  assert.equal(queryOf("host", "shop.test", false), "prefix=shop.test%2F");
  assert.equal(queryOf("host", "shop.test/", false), "prefix=shop.test%2F");
});

test("the answer is told with what it counts", () => {
  assert.equal(describe({ objects: 3, fills: 1 }), "3 objects in memory, 1 fetches");
  assert.equal(describe({ objects: 3, diskObjects: 2, fills: 0 }), "3 objects in memory, 2 on the disk, 0 fetches");
});
