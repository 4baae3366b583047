// Watches the admin page in a browser while the service answers, purges, and ends. Run by scripts/admin-page.sh, which has started the
// service and its load.
//
//   Admin__Token=TOKEN node browse.mjs PLAYWRIGHT BROWSER ADMIN_URL PID SCREENSHOT
import { createRequire } from "node:module";
import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const [playwright, executablePath, url, pid, screenshot] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(playwright);
const PATIENCE_MS = 30_000;

let passed = 0;
let failed = 0;
const complaints = [];

async function check(name, look) {
  try {
    const seen = await look();
    passed++;
    console.log(`ok      ${name} (${seen})`);
  } catch (error) {
    failed++;
    console.log(`FAILED  ${name} (${error.message.split("\n")[0]})`);
  }
}

// The page's own clock is real, so what moves is waited for.
async function text(page, selector, pattern) {
  const found = page.locator(selector).filter({ hasText: pattern }).first();
  await found.waitFor({ timeout: PATIENCE_MS });
  return found.textContent();
}

// Fills the form, and answers the question that comes.
async function purge(page, what, name, token, isSure) {
  await page.getByLabel("what").selectOption(what);
  if (what !== "all") {
    await page.getByLabel("name").fill(name);
  }

  await page.getByLabel("token").fill(token);
  const asked = page.waitForEvent("dialog", { timeout: PATIENCE_MS }).then(async (dialog) => {
    await (isSure ? dialog.accept() : dialog.dismiss());
    return dialog.message();
  });
  await page.getByRole("button", { name: "Purge" }).click();
  return asked;
}

const browser = await chromium.launch({
  executablePath,
  // As root it needs the first; the others keep it from asking anything of the network.
  args: ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 580 }, colorScheme: "light" });
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => new URL(request.url()).origin !== new URL(url).origin && complaints.push(`asked for ${request.url()}`));
  await page.goto(url);

  await check("the page reads the counters", () => text(page, "#state", /^read at /));
  for (const [series, pattern] of [
    ["hits", /[1-9]/],
    ["misses", /[1-9]/],
    ["from the store", /[1-9].* %/],
    ["readers", /[1-9]/],
    ["stored", /[1-9].*iB/],
    ["in flight", /[1-9].*B/],
    ["mean", /[1-9]/],
    ["p50", /[1-9].*s/],
  ]) {
    await check(`'${series}' has a value`, () => text(page, `[data-series="${series}"]`, pattern));
  }

  await check("there is a row for this node", () => text(page, "tbody tr", /^watchedfollowing0[1-9].* %[1-9]/));
  await check("and one for the other", () => text(page, "tbody tr", /^otherfollowing0/));
  await check("lines move", async () => {
    const line = () => page.locator("svg path").first().getAttribute("d");
    const before = await line();
    await page.waitForFunction((old) => document.querySelector("svg path").getAttribute("d") !== old, before, { timeout: PATIENCE_MS });
    return `${(await line()).length} characters`;
  });
  const token = process.env.Admin__Token;
  await check("a purge that is not confirmed is none", async () => {
    const question = await purge(page, "all", "", token, false);
    await pause(500);
    if (question !== "Purge: everything?" || (await page.locator("output").textContent()) !== "") {
      throw new Error(`asked '${question}' and purged`);
    }

    return question;
  });
  for (const [what, name, pattern] of [
    ["key", "nowhere", /^purged: 0 objects in memory, 0 fetches$/],
    ["prefix", "none/", /^purged: 0 /],
    ["host", "none.test", /^purged: 0 /],
    ["tag", "none", /^purged: 0 objects/],
    ["all", "", /^purged: [1-9]\d* objects in memory, \d+ fetches$/],
  ]) {
    await check(`a purge by ${what} says what it has hit`, async () => {
      await purge(page, what, name, token, true);
      return text(page, "output", pattern);
    });
  }

  await check("a wrong name is told", async () => {
    await purge(page, "prefix", "none", token, true);
    return text(page, "output.wrong", /^not purged: parameter 'prefix'/);
  });
  await check("a wrong token is told", async () => {
    await purge(page, "key", "a", "wrong", true);
    return text(page, "output.wrong", /^not purged: needs /);
  });

  // The browser itself complains of these two answers.
  complaints.splice(0, complaints.length, ...complaints.filter((complaint) => !/status of 40[01]/.test(complaint)));
  await check("nothing went wrong, and nothing was asked of others", async () => {
    if (complaints.length > 0) {
      throw new Error(complaints.join("; "));
    }

    return "no complaint";
  });
  if (screenshot) {
    await page.reload();
    await pause(125_000);
    await page.screenshot({ path: screenshot, fullPage: true });
  }

  process.kill(Number(pid), "SIGTERM");
  while (existsSync(`/proc/${pid}`)) {
    await pause(50);
  }

  await check("a service that is gone is told", () => text(page, "#state.lost", /^no answer since /));
} finally {
  await browser.close();
}

console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
