// Runs the suite against the service and compares its verdicts with the list of deviations.
//   node run.mjs SUITE_DIRECTORY SERVICE_DLL ORIGIN_PORT SERVICE_PORT [ID]
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const [suite, service, originPort, servicePort, onlyId] = process.argv.slice(2)
const load = file => import(pathToFileURL(path.join(suite, file)))
const { default: groups } = await load('tests/index.mjs')
const { makeCacheTest, testResults } = await load('client/test.mjs')
const config = await load('client/config.mjs')
const { default: fetch } = await import(pathToFileURL(path.join(suite, '../node-fetch/lib/index.mjs')))

// As many at a time as the suite's own runner takes.
const AT_ONCE = 100
const PATIENCE_MS = 20_000
const SERVICE_OPTIONS = [
  '--Admin:Url=', `--Cache:Origin=http://127.0.0.1:${originPort}`,

  // Off unless asked for, but then by the book.
  '--Cache:MaxHeuristicTtl=30d',
  '--Cache:StaleIfError=1h',
  '--Cache:Cookies=Share',

  // The suite wants references as its server has sent them, which knows nothing of /object/.
  '--Cache:RewriteLocations=false',

  // Lifetimes that the book does not know.
  '--Cache:ErrorTtl=0s',

  // Clients are believed.
  '--Cache:RequestDirectives=Honour',

  // By the first of these the suite's origin knows which answer it has to give, the others are what its answers name in Vary. A fetch that
  // left them out would be followed by another one, and the suite takes that for a client of its own that tries again.
  '--Cache:FetchFields=Req-Num,Test-ID,Test-Name,Accept,Accept-Language,User-Agent,Foo,Bar,Baz,Abc',

  // It answers so for everybody.
  '--Cache:NegativeStatuses=400,403,404,405,410,414,451,499'
]

const tests = groups.flatMap(group => group.tests).filter(test => !test.browser_only && (onlyId === undefined || test.id === onlyId))
const byId = Object.fromEntries(tests.map(test => [test.id, test]))
if (tests.length === 0) {
  console.log(`FAILED  ${onlyId}: no such test\n0 passed, 1 failed`)
  process.exit(1)
}

const children = []
try {
  await start('node', ['server/server.mjs'], originPort, {
    cwd: suite,
    env: {
      ...process.env,
      npm_package_config_protocol: 'http',
      npm_package_config_port: originPort,
      npm_package_config_pidfile: path.join(suite, 'server.pid')
    }
  })
  await start('dotnet', [service, '--urls', `http://127.0.0.1:${servicePort}`, ...SERVICE_OPTIONS], servicePort, {})
  config.setFetch(fetch)
  config.setBaseUrl(`http://127.0.0.1:${servicePort}/object`)
  process.exitCode = onlyId === undefined ? await compare() : await show()
} finally {
  children.forEach(child => child.kill('SIGKILL'))
}

/** Starts a server and waits until it takes connections. */
async function start (command, args, port, options) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options })
  children.push(child)
  let output = ''
  child.stdout.on('data', text => { output += text })
  child.stderr.on('data', text => { output += text })
  const deadline = Date.now() + PATIENCE_MS
  while (true) {
    try {
      await fetch(`http://127.0.0.1:${port}/`)
      return
    } catch {
      if (child.exitCode !== null || Date.now() > deadline) {
        console.log(`${output}\nFAILED  ${command} ${args[0]} did not start\n0 passed, 1 failed`)
        process.exit(1)
      }
      await pause(50)
    }
  }
}

async function run (some) {
  some.forEach(test => { delete testResults[test.id] })
  for (let first = 0; first < some.length; first += AT_ONCE) {
    await Promise.all(some.slice(first, first + AT_ONCE).map(makeCacheTest))
  }
}

/** What a result means: a test counts only if those that it builds on hold. */
function verdictOn (test) {
  const result = testResults[test.id]
  if ((test.depends_on ?? []).some(id => byId[id] && testResults[id] !== true)) {
    return 'not applicable'
  }
  return result === true ? 'passed' : result[1]
}

/** Ids by reason: a line with `#` gives the reason of those below it. */
function readDeviations () {
  const deviations = new Map()
  let reason = ''
  for (const line of fs.readFileSync(new URL('deviations.txt', import.meta.url), 'utf8').split('\n')) {
    if (line.startsWith('#')) {
      reason = line.slice(1).trim()
    } else if (line.trim() !== '') {
      deviations.set(line.trim(), reason)
    }
  }
  return deviations
}

async function compare () {
  const deviations = readDeviations()
  const counted = tests.filter(test => test.kind !== 'check')
  const isAsListed = test => (verdictOn(test) === 'passed') !== deviations.has(test.id) || verdictOn(test) === 'not applicable'
  await run(tests)

  // A test that waits for seconds to pass may meet a busy machine once.
  const doubtful = counted.filter(test => !isAsListed(test))
  if (doubtful.length > 0) {
    await run(doubtful)
  }

  const wrong = counted.filter(test => !isAsListed(test))
  for (const test of wrong) {
    const verdict = verdictOn(test)
    console.log(`FAILED  ${test.id}: ${verdict === 'passed' ? 'passes, but is listed as a deviation' : verdict} (${test.name})`)
  }
  for (const id of deviations.keys()) {
    if (byId[id] === undefined) {
      console.log(`FAILED  ${id}: listed as a deviation, but there is no such test`)
      wrong.push({ id })
    }
  }

  const count = verdict => counted.filter(test => verdictOn(test) === verdict).length
  console.log(`${counted.length} tests: ${deviations.size} deviations with a reason, ${count('not applicable')} that build on one of them`)
  console.log(`${count('passed')} passed, ${wrong.length} failed`)
  return wrong.length === 0 ? 0 : 1
}

async function show () {
  tests[0].dump = true
  await run(tests)
  const isPassed = testResults[onlyId] === true
  console.log(isPassed ? `ok      ${onlyId}` : `FAILED  ${onlyId}: ${testResults[onlyId][1]}`)
  console.log(isPassed ? '1 passed, 0 failed' : '0 passed, 1 failed')
  return isPassed ? 0 : 1
}
