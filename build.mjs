// `npm run build`: makes dist/ and says what it does. With `--start` only what a server needs, without a check of types, which takes most of the time
// and which `npm run typecheck` does. With `--packages` what packages are put together from, in dist/packages/all/: the same, with declarations.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { assemble } from './assemble.mjs'

const packages = process.argv.includes('--packages')
const start = packages || process.argv.includes('--start')
const out = packages ? join('dist', 'packages', 'all') : 'dist'

async function step(what, work) {
  // Not on standard output, which belongs to what is built and run.
  console.error(`${(performance.now() / 1000).toFixed(1).padStart(5)} s  ${what}`)
  await work()
}

/** Copies files of these kinds to where the compiled modules look for them. */
function copy(folder, kinds) {
  for (const name of readdirSync(folder, { recursive: true })) {
    if (kinds.test(name)) cpSync(join(folder, name), join(out, folder, name))
  }
}

await step('compiling TypeScript', () => {
  const compiler = join('node_modules', 'typescript', 'bin', 'tsc')
  const project = start ? 'tsconfig.start.json' : 'tsconfig.build.json'
  const flags = packages ? ['--declaration', '--outDir', out] : []
  const { status } = spawnSync(process.execPath, [compiler, '-p', project, ...flags], { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
})
await step('assembling WebAssembly', () => assemble('persistence', join(out, 'persistence')))
await step('copying kernels and the status page', () => {
  copy('gpu', /\.wesl$/)
  if (!start) copy('bench', /\.wesl$/)
  copy(join('src', 'http', 'page'), /\.(html|css|svg)$/)
  // npm does this only once.
  chmodSync(join(out, 'clients', 'cli', 'main.js'), 0o755)
})
await step('built', () => {})
