// Turns TypeScript into JavaScript for the tests, without a check of types, and keeps what it made: every test file is a process
// of its own, which would else transpile all that it imports again, and take seconds over it. `typescript-hooks.mjs` calls it.
const { createHash, randomUUID } = require('node:crypto')
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs')
const { dirname, join } = require('node:path')
const { pathToFileURL } = require('node:url')

const ROOT = dirname(__dirname)
const CONFIG = join(ROOT, 'tsconfig.json')
const CACHE = join(ROOT, 'node_modules/.cache/warpdex-tests')

/** What the result depends on, beside the source and its name. */
const CIRCUMSTANCES = [
  require('typescript/package.json').version,
  readFileSync(CONFIG, 'utf8'),
  readFileSync(__filename, 'utf8'),
]

function hash(...parts) {
  const sum = createHash('sha256')
  for (const part of parts) sum.update(part).update('\0')
  return sum.digest('hex')
}

/** What was kept for this content, or undefined: a source has one entry, so that the folder does not grow with each change. */
function kept(file, content) {
  try {
    const entry = JSON.parse(readFileSync(file, 'utf8'))
    return entry.content === content ? entry : undefined
  } catch {
    return undefined
  }
}

/**
 * Puts an entry in place as a whole, since other processes and threads read and write the folder too. Some tests run as a user who may not write
 * there.
 */
function keep(file, entry) {
  const aside = `${file}.${randomUUID()}`
  try {
    writeFileSync(aside, JSON.stringify(entry))
    renameSync(aside, file)
  } catch (error) {
    if (error.code !== 'EACCES') throw error
  }
}

let compiler

/** TypeScript with the project's options, loaded once it is needed, because that takes longer than to read what was kept. */
function loadCompiler() {
  const ts = require('typescript')
  const { compilerOptions } = ts.readConfigFile(CONFIG, ts.sys.readFile).config
  // Sources are modules, all of them; `nodenext` would look that up, which it cannot for a source alone.
  const module = { module: 'esnext', moduleResolution: 'bundler' }
  const given = { ...compilerOptions, ...module, sourceMap: true, inlineSources: true }
  const { options } = ts.convertCompilerOptionsFromJson(given, ROOT)
  return { ts, options }
}

/** @returns `outputText` and `sourceMapText`, and `diagnostics` where the syntax is wrong */
function transpile(source, { fileName }) {
  const file = join(CACHE, hash(fileName))
  const content = hash(...CIRCUMSTANCES, source)
  const found = kept(file, content)
  if (found !== undefined) return found
  compiler ??= loadCompiler()
  const { ts, options } = compiler
  const result = ts.transpileModule(source, { fileName, compilerOptions: options, reportDiagnostics: true })
  const { outputText, diagnostics } = result
  // Named in full, since what is made of it lies nowhere.
  const map = { ...JSON.parse(result.sourceMapText), sources: [pathToFileURL(fileName).href] }
  const sourceMapText = JSON.stringify(map)
  if (diagnostics.length === 0) keep(file, { content, outputText, sourceMapText })
  return { outputText, sourceMapText, diagnostics }
}

mkdirSync(CACHE, { recursive: true })

exports.transpile = transpile
