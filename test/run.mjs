// `npm test`: runs test files, each in a process of its own, and prints their TAP as one. Arguments are files or folders; without any all are run.
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { compile, compiledPath, ROOT } from './compile.mjs'

/** Some tests wait for timers and for other processes, so that there is room for one more. */
const JOBS = availableParallelism() + 1
/** Of a file, and of each test in it. */
const TIMEOUT_SECONDS = 300

/** All test files, those of benchmarks and of torture first: some take long, and would be waited for in the end. */
function testFiles() {
  const names = readdirSync(join(ROOT, 'test'), { recursive: true }).sort().reverse()
  names.sort((one, other) => Number(other.startsWith('bench')) - Number(one.startsWith('bench')))
  return names.filter((name) => name.endsWith('.test.ts')).map((name) => join('test', name))
}

/** Runs a file. @returns its TAP, and whether all is well */
function run(file) {
  const env = { ...process.env, TAP: '1', TAP_TIMEOUT: String(TIMEOUT_SECONDS) }
  const child = spawn(process.execPath, [compiledPath(join(ROOT, file))], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_SECONDS * 1000)
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (piece) => {
    output += piece
  })
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      if (signal !== null) output += `not ok - ended by ${signal}\n`
      resolve({ output, passed: code === 0 })
    })
  })
}

const wanted = process.argv.slice(2).map((path) => relative(ROOT, path))
const files = testFiles().filter(
  (file) => wanted.length === 0 || wanted.some((path) => file === path || file.startsWith(`${path}/`)),
)
if (files.length === 0) throw new Error(`there are no tests in ${wanted.join(', ')}`)
await compile()
console.log('TAP version 14')
const start = performance.now()
const waiting = [...files]
const failed = []
let done = 0

async function lane() {
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    const since = performance.now()
    const { output, passed } = await run(file)
    if (!passed) failed.push(file)
    console.log(`# Subtest: ${file}`)
    console.log(output.trimEnd().replaceAll(/^(?=.)/gm, '    '))
    const seconds = ((performance.now() - since) / 1000).toFixed(1)
    console.log(`${passed ? 'ok' : 'not ok'} ${++done} - ${file} # ${seconds} s\n`)
  }
}
await Promise.all(Array.from({ length: JOBS }, lane))
console.log(`1..${done}`)
const seconds = ((performance.now() - start) / 1000).toFixed(0)
console.log(`# ${done - failed.length} of ${done} files passed in ${seconds} s`)
for (const file of failed) console.log(`# failed: ${file}`)
process.exitCode = failed.length === 0 ? 0 : 1
