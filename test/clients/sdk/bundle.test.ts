import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import ts from 'typescript'
import { COMPILED, ROOT } from '../../compiled.js'

/**
 * A bundle for browsers may have 40 KiB, gzipped. No bundler is needed here: they shorten names and leave out what is not used, which takes a third off
 * what is counted below (esbuild 0.28 makes 34.8 KiB of 53.1). What is imported when it is asked for is loaded apart.
 */
const MOST_BYTES = 60 * 1024

interface Manifest {
  readonly browser: Readonly<Record<string, string>>
}

const { browser } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest
const inBrowsers = new Map(
  Object.entries(browser).map(([from, to]) => [compiled(from), compiled(to)] as const),
)

/** Where a module of the package lies before it is built. */
function compiled(path: string): string {
  return join(COMPILED, path.replace('./dist/', ''))
}

/** The modules that a page loads with a module of the client, without comments, and the packages that they name. */
function load(path: string, modules: Map<string, string>, packages: Set<string>): void {
  const file = inBrowsers.get(path) ?? path
  if (modules.has(file)) return
  const options = { removeComments: true, target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext }
  const text = ts.transpileModule(readFileSync(file, 'utf8'), { compilerOptions: options }).outputText
  modules.set(file, text)
  for (const { fileName, pos } of ts.preProcessFile(text).importedFiles) {
    if (/import\($/.test(text.slice(0, pos)) && fileName.startsWith('.')) continue
    if (fileName.startsWith('.')) load(join(dirname(file), fileName), modules, packages)
    else packages.add(fileName)
  }
}

t.test('what a browser loads of the client is small', async (t) => {
  const modules = new Map<string, string>()
  const packages = new Set<string>()
  load(join(COMPILED, 'clients/sdk/index.js'), modules, packages)
  t.strictSame([...packages], ['apache-arrow'], 'no package is needed')
  const all = [...modules.values()].join('')
  t.match(all, /await import\('apache-arrow'\)/, 'Arrow is loaded when it is asked for')
  t.notMatch(all, /from 'apache-arrow'/)
  const { length } = gzipSync(all.replace(/^\s+/gm, ''), { level: 9 })
  t.comment(`${modules.size} modules, ${length} bytes`)
  t.ok(length <= MOST_BYTES, `${length} bytes are ${MOST_BYTES} at most`)
})
