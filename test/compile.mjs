// Makes JavaScript of all TypeScript here, without a check of types, in the folder build/: types become blanks, so that what runs has the lines and columns
// of its source. Tests run from there, and start the command from there. A source is compiled when it has changed.
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { assemble } from '../assemble.mjs'

export const ROOT = dirname(import.meta.dirname)
const COMPILED = join(ROOT, 'build')
const FOLDERS = ['bench', 'clients', 'gpu', 'persistence', 'protocol', 'src', 'test']
/** Files that modules read; tests may read any. */
const READ = /\.(wesl|json|html|css|svg|mjs)$/

/** Where the module of a source lies. */
export function compiledPath(source) {
  return join(COMPILED, source.slice(ROOT.length + 1).replace(/\.ts$/, '.js'))
}

function isCurrent(source, target) {
  const compiled = statSync(target, { throwIfNoEntry: false })
  // A millisecond is what a file's time may lose on its way.
  return compiled !== undefined && Math.abs(compiled.mtimeMs - statSync(source).mtimeMs) <= 1
}

/** Puts a file in place as a whole, since other processes read and write the folder too. */
function put(source, content) {
  const target = compiledPath(source)
  const aside = `${target}.${process.pid}`
  const { atime, mtime } = statSync(source)
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(aside, content)
  utimesSync(aside, atime, mtime)
  renameSync(aside, target)
}

function refuse(source, text, position) {
  const line = text.slice(0, position).split('\n').length
  throw new Error(`${source}:${line}: this is more than a type, and cannot be left out`)
}

export async function compile() {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter(
        (entry) =>
          entry.isFile() && (entry.name.endsWith('.ts') || READ.test(entry.name) || folder === 'test'),
      )
      .map((entry) => join(entry.parentPath, entry.name)),
  )
  const sources = [...files, join(ROOT, 'package.json')]
  const stale = sources.filter((source) => !isCurrent(source, compiledPath(source)))
  const { default: blanked } = stale.length > 0 ? await import('ts-blank-space') : {}
  for (const source of stale) {
    if (!source.endsWith('.ts')) {
      put(source, readFileSync(source))
      continue
    }
    const text = readFileSync(source, 'utf8')
    const code = blanked(text, ({ pos }) => refuse(source, text, pos))
    // Where a process runs several files, each has a test of its own; see several.mjs.
    const root = relative(dirname(source), join(ROOT, 'test/root.mjs'))
    put(source, code.replace(/^(import t\b.*) from 'tap'/m, `$1 from './${root}'`))
  }
  const persistence = join(ROOT, 'persistence')
  await assemble(persistence)
  await assemble(persistence, join(COMPILED, 'persistence'))
}
