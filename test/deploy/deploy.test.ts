import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { OPTIONAL_PACKAGES } from '../../protocol/optional-packages.js'
import { ENGINE_EVENTS } from '../../src/observe/meter.js'
import { OUTCOMES, STAGES } from '../../src/observe/meters.js'
import { cliOf, serve } from '../clients/cli/run-cli.js'

const FOLDER = 'deploy'
const ALERTS = join(FOLDER, 'prometheus/alerts.yaml')
const BALANCE = join(FOLDER, 'warpdex-balance.service')
const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).map((name) => join(FOLDER, name))
const read = (path: string) => readFileSync(path, 'utf8')

/** All values of a document that are texts, by the name of what they are the value of. */
function texts(value: unknown, name = ''): (readonly [name: string, text: string])[] {
  if (typeof value === 'string') return [[name, value]]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => texts(inner, key))
}

/** What alerts, their tests and the dashboard ask Prometheus for. */
function expressions(): string[] {
  const alerts = texts(parseAllDocuments(read(ALERTS)).map((document) => document.toJS()))
  const examples = texts(
    parseAllDocuments(read(join(FOLDER, 'prometheus/alerts.test.yaml'))).map((document) => document.toJS()),
  )
  const dashboard = texts(JSON.parse(read(join(FOLDER, 'grafana/dashboard.json'))))
  return [...alerts, ...examples, ...dashboard]
    .filter(([name, text]) => ['expr', 'series'].includes(name) || text.startsWith('label_values('))
    .map(([, text]) => text)
}

t.test('every file is sound in its form', async (t) => {
  const parsed = files.filter((path) => /\.(ya?ml|json)$/.test(path))
  for (const path of parsed.filter((path) => path.endsWith('.json')))
    t.doesNotThrow(() => JSON.parse(read(path)), path)
  for (const path of parsed.filter((path) => !path.endsWith('.json'))) {
    for (const { errors, warnings } of parseAllDocuments(read(path), { uniqueKeys: true })) {
      t.same([...errors, ...warnings], [], path)
    }
  }
  t.ok(parsed.length >= 12, `${parsed.length} files`)
})

t.test('alerts and the dashboard ask for metrics that a server has', async (t) => {
  const { url, stop } = await serve(t, t.testdir())
  const text = await (await fetch(`${url.replace('ws', 'http')}/metrics`)).text()
  await stop('SIGTERM')
  const known = new Set<string>()
  for (const [, name, type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    const parts = type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
    for (const part of parts) known.add(`${name}${part}`)
  }
  const labels: Readonly<Record<string, readonly string[]>> = {
    code: OUTCOMES,
    event: ENGINE_EVENTS,
    stage: STAGES,
  }
  const asked = new Set<string>()
  for (const expression of expressions()) {
    for (const [name] of expression.matchAll(/\b(warpdex|process|nodejs)_\w+/g)) asked.add(name)
    for (const [, label, value] of expression.matchAll(/(\w+)!?="([^"]*)"/g)) {
      if (labels[label!] !== undefined) t.ok(labels[label!]!.includes(value!), `${label} ${value}`)
    }
  }
  for (const name of asked) t.ok(known.has(name), name)
  t.ok(asked.size > 30, `${asked.size} metrics`)
})

t.test(
  'each rule has an example that fires it, and promtool finds all sound where it is installed',
  async (t) => {
    const names = (path: string, key: string) =>
      texts(parseAllDocuments(read(path)).map((document) => document.toJS()))
        .filter(([name]) => name === key)
        .map(([, text]) => text)
    const rules = names(ALERTS, 'alert')
    t.ok(rules.length > 10)
    t.same(names(join(FOLDER, 'prometheus/alerts.test.yaml'), 'alertname').sort(), rules.sort())
    const checks = [
      ['check', 'rules', ALERTS],
      ['check', 'config', '--syntax-only', join(FOLDER, 'prometheus/prometheus.yml')],
      ['test', 'rules', join(FOLDER, 'prometheus/alerts.test.yaml')],
    ]
    for (const args of checks) {
      const { error, status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' })
      if (error !== undefined) return t.comment('promtool is not installed: its checks are left out')
      t.equal(status, 0, `${stdout}${stderr}`)
    }
  },
)

t.test('flags and variables are those of the server', async (t) => {
  const { out: help } = await cliOf({})(['serve', '--help'])
  const used = { flags: new Set<string>(), variables: new Set<string>() }
  const isOfServer = (path: string) => /(Dockerfile|service|conf|ya?ml)$/.test(path) && path !== BALANCE
  for (const path of files.filter(isOfServer)) {
    for (const [, flag] of read(path).matchAll(/ serve ((?:--[a-z-]+ \S+ ?)+)/g)) {
      for (const [name] of flag!.matchAll(/--[a-z-]+/g)) used.flags.add(name)
    }
    for (const [name] of read(path).matchAll(/WARPDEX_[A-Z_]+/g)) used.variables.add(name)
  }
  for (const name of used.flags) t.match(help, new RegExp(`^ +${name} `, 'm'), name)
  for (const name of used.variables) t.match(help, new RegExp(`\\$${name}\\b`), name)
  t.ok(used.flags.size >= 2 && used.variables.size >= 5)
})

t.test('what balances a cluster takes its flags and variables', async (t) => {
  const { out: help } = await cliOf({})(['cluster', 'balance', '--help'])
  const [, flags = ''] = / cluster balance (.*)/.exec(read(BALANCE)) ?? []
  for (const [name] of flags.matchAll(/--[a-z-]+/g)) t.match(help, new RegExp(`^ +${name} `, 'm'), name)
  for (const [name] of read(BALANCE).matchAll(/WARPDEX_[A-Z_]+/g))
    t.match(help, new RegExp(`\\$${name}\\b`), name)
})

t.test('what the image is made of is there, and is left in by .dockerignore', async (t) => {
  const kept = new Set([...read('.dockerignore').matchAll(/^!(.*)$/gm)].map(([, path]) => path))
  const copies = [...read(join(FOLDER, 'Dockerfile')).matchAll(/^COPY (?!--from)(.*) \S+$/gm)]
  const sources = copies.flatMap(([, paths]) => paths!.split(' '))
  for (const path of sources) t.ok(existsSync(path) && kept.has(path), path)
  t.same([...kept].sort(), [...sources].sort(), 'and nothing else')
  const { version, devDependencies } = JSON.parse(read('package.json')) as {
    version: string
    devDependencies: Record<string, string>
  }
  const added = [...read(join(FOLDER, 'Dockerfile')).matchAll(/(@[^\s@]+)@(\d\S*)/g)]
  t.same(
    added.map(([, name]) => name),
    Object.keys(OPTIONAL_PACKAGES).filter((name) => name !== 'apache-arrow'),
    'optional packages',
  )
  for (const [, name, of] of added) t.equal(of, devDependencies[name!], name)
  for (const path of files.filter((path) => /Dockerfile$|\.yaml$/.test(path))) {
    for (const [, tag] of read(path).matchAll(/warpdex:(\d\S*)/g)) t.equal(tag, version, path)
  }
})

t.test('files that others name are there', async (t) => {
  const compose = read(join(FOLDER, 'compose.yaml'))
  const mounted = [...compose.matchAll(/- \.\/([^:\s]+):/g)].map(([, path]) => path!)
  t.ok(mounted.length >= 3)
  for (const path of mounted) t.ok(existsSync(join(FOLDER, path)), path)
  for (const folder of ['base', 'gpu', 'tls'].map((name) => join(FOLDER, 'kubernetes', name))) {
    const listed = [...read(join(folder, 'kustomization.yaml')).matchAll(/[\w./-]+\.yaml/g)].map(
      ([path]) => path,
    )
    for (const path of listed) t.ok(existsSync(join(folder, path)), path)
    t.same(listed.length, readdirSync(folder).length - 1)
  }
})
