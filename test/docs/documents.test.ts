import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { LIMITS } from '../../protocol/limits.js'
import { flagName, SETTINGS } from '../../src/config/settings.js'

const results = readdirSync('bench/results', { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => join('bench/results', name))
const documents = [
  '.',
  'clients/load-test',
  'bench/papers',
  'bench/results',
  'clients/level',
  'clients/python',
  'clients/sdk',
  'docs',
  'docs/papers',
  'examples',
  'gpu',
  'gpu/relational',
  'persistence',
  'protocol/golden',
  ...results,
]
  .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
  .filter((path) => path.endsWith('.md'))
const texts = new Map(documents.map((path) => [path, readFileSync(path, 'utf8')]))

/** What is no code: lines that begin with # are comments there. */
function prose(path: string): string {
  return (texts.get(path) ?? readFileSync(path, 'utf8')).replace(/^```[\s\S]*?^```/gm, '')
}

/** Anchors of a document's headings, as they are made from them. */
function anchors(path: string): string[] {
  return [...prose(path).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/ /g, '-'),
  )
}

t.test('links lead to files and headings that are there', async (t) => {
  let links = 0
  for (const path of documents) {
    for (const [, link] of prose(path).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(link!)) continue
      links++
      const [file, anchor] = link!.split('#')
      const target = file === '' ? path : normalize(join(dirname(path), file!))
      if (!existsSync(target)) t.fail(`${path}: there is no ${link}`)
      else if (anchor !== undefined) t.ok(anchors(target).includes(anchor), `${path}: ${link}`)
    }
  }
  t.ok(links > 100)
})

t.test('every limit is in its document, every setting in that of operations', async (t) => {
  const limits = texts.get('docs/limits.md')!
  const operations = texts.get('docs/operations.md')!
  for (const name of Object.keys(LIMITS)) t.ok(limits.includes(`\`${name}\``), name)
  for (const name of Object.keys(SETTINGS)) t.ok(operations.includes(`\`--${flagName(name)}\``), name)
})

t.test('documents stay short', async (t) => {
  const words = (path: string) => texts.get(path)!.trim().split(/\s+/).length
  t.ok(words('README.md') <= 900)
  t.ok(words('ARCHITECTURE.md') <= 3500)
  const inAll = documents
    .filter((path) => path.startsWith('docs/'))
    .reduce((sum, path) => sum + words(path), 0)
  t.ok(inAll <= 22_000, `${inAll} words`)
})
