// `npm test`: runs test files, each in a process of its own or with its neighbours in one, and prints their TAP as one. Arguments are files or folders;
// without any all are run.
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { compile, compiledPath, ROOT } from './compile.mjs'

/** Some tests wait for timers and for other processes, so that there is room for one more. */
const JOBS = availableParallelism() + 1
/** Of a file, and of each test in it. */
const TIMEOUT_SECONDS = 300

/** SwiftShader's compiler takes and frees memory all the time; a tenth of its time goes if glibc gives that back to the system. */
const MALLOC = {
  MALLOC_TRIM_THRESHOLD_: '1073741824',
  MALLOC_MMAP_THRESHOLD_: '268435456',
  MALLOC_TOP_PAD_: '16777216',
}
const ONE_DEVICE = join(import.meta.dirname, 'one-device.mjs')
const SEVERAL = compiledPath(join(import.meta.dirname, 'several.mjs'))
/** Folders whose tests have a device each and start no server: some of their files share a process, and what is compiled in it. */
const TOGETHER = ['test/gpu', 'test/src/engine', 'test/src/query', 'test/src/sql', 'test/bench/papers']
const MOST_TOGETHER = 8

/** All test files, those of benchmarks and of torture first: some take long, and would be waited for in the end. */
function testFiles() {
  const names = readdirSync(join(ROOT, 'test'), { recursive: true }).sort().reverse()
  names.sort((one, other) => Number(other.startsWith('bench')) - Number(one.startsWith('bench')))
  return names.filter((name) => name.endsWith('.test.ts')).map((name) => join('test', name))
}

/** Files by the process that runs them. */
function groupsOf(files) {
  const groups = []
  for (const file of files) {
    const folder = TOGETHER.find((folder) => file.startsWith(`${folder}/`))
    const last = groups.at(-1)
    if (folder !== undefined && last?.folder === folder && last.files.length < MOST_TOGETHER)
      last.files.push(file)
    else groups.push({ folder, files: [file] })
  }
  return groups.map(({ files }) => files)
}

/** Runs files in a process. @returns its TAP, and whether all is well */
function run(files) {
  const seconds = files.length * TIMEOUT_SECONDS
  const compiled = files.map((file) => compiledPath(join(ROOT, file)))
  const own = { ...MALLOC, TAP: '1', TAP_TIMEOUT: String(seconds), TEST_FILES: compiled.join('\n') }
  const program = files.length > 1 ? SEVERAL : compiled[0]
  const child = spawn(process.execPath, ['--import', ONE_DEVICE, program], {
    cwd: ROOT,
    env: { ...process.env, ...own },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), seconds * 1000)
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
const waiting = groupsOf(files)
const failed = []
let done = 0

async function lane() {
  for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) {
    const since = performance.now()
    const { output, passed } = await run(group)
    if (!passed) failed.push(...group)
    const name = group.join(' ')
    console.log(`# Subtest: ${name}`)
    console.log(output.trimEnd().replaceAll(/^(?=.)/gm, '    '))
    const seconds = ((performance.now() - since) / 1000).toFixed(1)
    console.log(`${passed ? 'ok' : 'not ok'} ${++done} - ${name} # ${seconds} s\n`)
  }
}
await Promise.all(Array.from({ length: JOBS }, lane))
console.log(`1..${done}`)
const seconds = ((performance.now() - start) / 1000).toFixed(0)
console.log(`# ${files.length - failed.length} of ${files.length} files passed in ${seconds} s`)
for (const file of failed) console.log(`# failed, or ran with one that did: ${file}`)
process.exitCode = failed.length === 0 ? 0 : 1
