import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { OPTIONAL_PACKAGES } from '../../protocol/optional-packages.js'
import { VERSION } from '../../src/version.js'
import { ROOT } from '../compiled.js'
import { temporaryDirectory } from '../persistence/store-helpers.js'
import { npm } from './npm.js'

const PACKED = join(ROOT, 'dist/packages')
const NAMES = ['@warpdex/client', 'warpdex-level', '@warpdex/loadtest', 'warpdex'] as const
/** The most that a package may take with all that it depends on, in MiB. Of a server four fifths are Dawn, for five platforms. */
const MOST_MIB: Readonly<Record<string, number>> = { '@warpdex/client': 3, warpdex: 170 }

interface Manifest {
  readonly name: string
  readonly version: string
  readonly browser?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional: boolean }>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
const packed = (name: string) => join(PACKED, name.replace(/^@.*\//, ''))
const tarball = (name: string) => join(PACKED, `${name.replace('@', '').replace('/', '-')}-${VERSION}.tgz`)

/** Folders of a package and of all that it depends on, as they were installed. */
function closure(folder: string, name: string, found = new Set<string>()): ReadonlySet<string> {
  let at = folder
  while (!existsSync(join(at, 'node_modules', name))) {
    // Packages of other platforms are left out.
    if (at === dirname(at)) return found
    at = dirname(at)
  }
  const home = join(at, 'node_modules', name)
  if (found.has(home)) return found
  found.add(home)
  const { dependencies, optionalDependencies } = manifestOf(home)
  for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) closure(home, needed, found)
  return found
}

function bytesOf(folder: string): number {
  const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => name !== 'node_modules')
  return entries.reduce((sum, entry) => {
    const path = join(folder, entry.name)
    return sum + (entry.isDirectory() ? bytesOf(path) : statSync(path).size)
  }, 0)
}

/** What a compiler finds wrong in a program, and in the declarations of packages that it uses. */
function findings(program: string, options: ts.CompilerOptions): string[] {
  const found = ts.createProgram([program], {
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    // Only TypeScript's own declarations are not looked at.
    skipDefaultLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.esnext.d.ts', 'lib.dom.d.ts'],
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    ...options,
  })
  return ts.getPreEmitDiagnostics(found).map(({ file, messageText }) => {
    return `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  })
}

const USES = `
import { type Client, connect } from '@warpdex/client'
import { WarpdexLevel } from 'warpdex-level'
import { connect as connectToo } from 'warpdex'
import { Engine, type EngineOptions } from 'warpdex/engine'
export const client: Promise<Client> = connect('ws://127.0.0.1:7070')
export const other = connectToo('ws://127.0.0.1:7070')
export const level = new WarpdexLevel('ws://127.0.0.1:7070', 'people', { valueEncoding: 'json' })
export const open = (options: EngineOptions): Promise<Engine> => Engine.open(options)
`

const USES_CLIENT = `
import { connect } from '@warpdex/client'
const client = await connect('ws://127.0.0.1:7070')
const prices = await client.createIndex({ name: 'prices', keyType: 'u64', payloadKind: 'u32', unique: true })
export const found: boolean = (await prices.getMany([1n])).has(0)
await client.close()
`

execFileSync(process.execPath, ['pack.mjs'], { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] })

t.test('packages have provenance, and nothing of tests and benchmarks', async (t) => {
  const { devDependencies = {} } = manifestOf(ROOT)
  for (const name of NAMES) {
    const manifest = manifestOf(packed(name))
    const filled = { license: 'MIT', author: /./, repository: { url: /^git\+https:/ }, homepage: /^https:/ }
    t.match(manifest, { name, version: VERSION, ...filled, bugs: /^https:/, keywords: [/./] })
    const files = readdirSync(packed(name), { recursive: true, encoding: 'utf8' })
    t.same(
      files.filter((path) => /(^|\/)(test|bench)\/|\.map$|(?<!\.d)\.ts$/.test(path)),
      [],
      name,
    )
    t.ok(['README.md', 'LICENSE'].every((path) => files.includes(path)))
    for (const [peer, version] of Object.entries(manifest.peerDependencies ?? {})) {
      t.equal(version, OPTIONAL_PACKAGES[peer as keyof typeof OPTIONAL_PACKAGES], `${name}: ${peer}`)
      t.ok(
        manifest.peerDependenciesMeta?.[peer]?.optional && devDependencies[peer]?.startsWith(version),
        peer,
      )
    }
  }
  const client = manifestOf(packed('@warpdex/client'))
  t.same(Object.keys(client.dependencies ?? {}), ['ws'])
  t.same(client.browser, manifestOf(packed('warpdex')).browser)
  t.same(Object.keys(manifestOf(packed('warpdex')).peerDependencies ?? {}), Object.keys(OPTIONAL_PACKAGES))
})

t.test('packages that are installed in an empty folder', async (t) => {
  const folder = temporaryDirectory(t)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const uses = join(folder, 'uses.ts')
  writeFileSync(uses, USES)
  const usesClient = join(folder, 'uses-client.ts')
  writeFileSync(usesClient, USES_CLIENT)
  cpSync(join(ROOT, 'test/packages/smoke.mjs'), join(folder, 'smoke.mjs'))
  if (!npm(t, folder, ['install', ...NAMES.map(tarball)])) return

  t.test('are small, and bring nothing that few want', async (t) => {
    for (const [name, most] of Object.entries(MOST_MIB)) {
      const bytes = [...closure(folder, name)].reduce((sum, home) => sum + bytesOf(home), 0)
      const mib = bytes / 2 ** 20
      t.comment(`${name}: ${mib.toFixed(1)} MiB`)
      t.ok(mib <= most, `${name}: ${mib} MiB`)
    }
    for (const name of Object.keys(OPTIONAL_PACKAGES)) t.notOk(existsSync(join(folder, 'node_modules', name)))
  })

  t.test('have types that compile, whatever resolves modules', async (t) => {
    const { ModuleKind: module, ModuleResolutionKind: by } = ts
    t.same(findings(uses, { module: module.Node16, moduleResolution: by.Node16 }), [])
    t.same(findings(uses, { module: module.NodeNext, moduleResolution: by.NodeNext }), [])
    t.same(findings(uses, { module: module.ESNext, moduleResolution: by.Bundler }), [])
  })

  t.test('of the client, without the types of Node and browsers too', async (t) => {
    const bare = { lib: ['lib.es2022.d.ts'], types: [], typeRoots: [] }
    t.same(findings(usesClient, { module: ts.ModuleKind.NodeNext, ...bare }), [])
  })

  t.test('have programs, which say what to install for what they lack', async (t) => {
    const run = (name: string, ...args: readonly string[]) =>
      spawnSync(join(folder, 'node_modules/.bin', name), args, { encoding: 'utf8' })
    t.match(run('warpdex', '--version'), { status: 0, stdout: `${VERSION}\n` })
    t.match(run('warpdex-loadtest', '--version'), { status: 0, stdout: `${VERSION}\n` })
    t.match(run('warpdex', 'serve', '--port', '0', '--adapter', 'software'), {
      status: 2,
      stderr: /npm install @sparticuz\/chromium@\d/,
    })
  })

  t.test('serve, keep and answer, but for what needs DuckDB', async (t) => {
    symlinkSync(join(ROOT, 'node_modules/@sparticuz'), join(folder, 'node_modules/@sparticuz'))
    const program = 'node_modules/warpdex/dist/clients/cli/main.js'
    const smoke = ['smoke.mjs', '@warpdex/client', program, 'lacking']
    const { stdout, stderr } = spawnSync(process.execPath, smoke, { cwd: folder, encoding: 'utf8' })
    t.equal(stdout, `Node ${process.versions.node}\n`, stderr)
    const level = `import('warpdex-level').then(({ WarpdexLevel }) => console.log(new WarpdexLevel('ws://x', 'i').status))`
    t.match(spawnSync(process.execPath, ['--eval', level], { cwd: folder, encoding: 'utf8' }), {
      stdout: 'opening\n',
    })
  })
})
