// `npm run pack`: packs dist/packages/*.tgz. A package has its manifest, README and licence, and of the project, which is compiled once, the files that its
// entries reach.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import ts from 'typescript'

const PACKED = join('dist', 'packages')
const COMPILED = join(PACKED, 'all')
/** What the repository needs, and users of a package do not. */
const OURS = ['private', 'workspaces', 'scripts', 'devDependencies', 'overrides', 'allowScripts']
const { peerDependencies: OPTIONAL } = JSON.parse(readFileSync('package.json', 'utf8'))
/** A package that depends on the client names it, and has no copy. */
const CLIENT = '@warpdex/client'
const CLIENT_ENTRY = /^clients\/sdk\/index\.(js|d\.ts)$/

/** By the folder of its manifest: modules that are started by their paths, folders with files that modules read, and what else a package has. */
const PACKAGES = {
  '.': {
    programs: [
      'src/server/threads/listener-thread.js',
      'src/sql/plan-program.js',
      'src/http/page/main.js',
      'persistence/check/check-program.js',
      'persistence/snapshots/snapshot-program.js',
    ],
    data: ['gpu', 'persistence', 'src/http/page'],
    others: ['CHANGELOG.md', 'deploy'],
  },
  'clients/sdk': {},
  'clients/level': {},
  'clients/load-test': { programs: ['clients/load-test/child.js'] },
}

/** Modules and declarations that a manifest names. */
function entries({ exports = {}, browser = {}, bin = {} }) {
  const paths = [
    ...Object.values(exports).flatMap(Object.values),
    ...Object.values(browser),
    ...Object.values(bin),
  ]
  return paths.map((path) => path.replace(/^(\.\/)?dist\//, ''))
}

/** Adds a module or a declaration, with all that it imports, to files by their paths. */
function reach(path, files, manifest) {
  if (files.has(path)) return
  const declares = path.endsWith('.d.ts')
  let text = readFileSync(join(COMPILED, path), 'utf8')
  files.set(path, text)
  for (const { fileName } of ts.preProcessFile(text).importedFiles) {
    if (!fileName.startsWith('.')) {
      requireNamed(fileName, path, manifest)
      continue
    }
    const target = join(dirname(path), declares ? fileName.replace(/\.js$/, '.d.ts') : fileName)
    if (CLIENT in manifest.dependencies && CLIENT_ENTRY.test(target))
      text = text.replaceAll(`'${fileName}'`, `'${CLIENT}'`)
    else reach(target, files, manifest)
  }
  // Compilers before TypeScript 5.7 know one kind of Uint8Array.
  if (declares) text = text.replaceAll('Uint8Array<ArrayBuffer>', 'Uint8Array')
  files.set(path, text)
}

/** In the repository all packages are installed, so that nothing else would tell. Optional ones are loaded by those who have them. */
function requireNamed(specifier, path, { name, dependencies }) {
  const [wanted] = /^(@[^/]+\/)?[^/]+/.exec(specifier)
  if (specifier.startsWith('node:') || wanted in { ...dependencies, ...OPTIONAL }) return
  throw new Error(`${path} imports ${wanted}, which ${name} does not depend on`)
}

/** Puts a package together. @returns its folder */
function putTogether(home, { programs = [], data = [], others = [] }) {
  const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
  for (const field of OURS) delete manifest[field]
  const folder = join(PACKED, basename(manifest.name))
  const files = new Map()
  for (const path of [...entries(manifest), ...programs]) reach(path, files, manifest)
  for (const path of data.flatMap((name) => dataFiles(name)))
    files.set(path, readFileSync(join(COMPILED, path)))
  files.forEach((content, path) => {
    mkdirSync(join(folder, 'dist', dirname(path)), { recursive: true })
    writeFileSync(join(folder, 'dist', path), content)
  })
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  cpSync('LICENSE', join(folder, 'LICENSE'))
  for (const name of ['README.md', ...others])
    cpSync(join(home, name), join(folder, name), { recursive: true })
  return folder
}

/** Files that are no modules. */
function dataFiles(folder) {
  const names = readdirSync(join(COMPILED, folder), { recursive: true })
  return names.filter((name) => /\.(wesl|wasm|html|css|svg)$/.test(name)).map((name) => join(folder, name))
}

rmSync(PACKED, { recursive: true, force: true })
execFileSync(process.execPath, ['build.mjs', '--packages'], { stdio: 'inherit' })
const folders = Object.entries(PACKAGES).map(([home, parts]) => `./${putTogether(home, parts)}`)
execFileSync('npm', ['pack', '--pack-destination', PACKED, ...folders], {
  stdio: ['ignore', 'inherit', 'ignore'],
})
