import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { drawAll } from './charts.js'
import { drawDiagrams } from './diagrams.js'
import { fill } from './documents.js'
import { FLOORS } from './floors.js'
import { JOINS } from './joins.js'
import { QUERIES } from './queries.js'
import { RELATIONAL } from './relational.js'
import { SELECTIONS } from './selections.js'
import { SERVER } from './server.js'
import { SPECULATION } from './speculation.js'

// Fills the tables of the documents, and draws their charts, from the figures that benchmarks have kept, and draws diagrams: `npm run figures`. With `--check` it only says which differ.
const TABLES = [...FLOORS, ...JOINS, ...QUERIES, ...RELATIONAL, ...SELECTIONS, ...SERVER, ...SPECULATION]
const FOLDER = join('bench', 'results')

const check = process.argv.includes('--check')
const documents = [
  'README.md',
  ...['docs', FOLDER].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  ),
]
const wrong: string[] = []
const used = new Set<string>()
for (const path of documents.filter((path) => path.endsWith('.md'))) {
  const before = readFileSync(path, 'utf8')
  try {
    const { text, tables, changed } = fill(before, TABLES, FOLDER)
    for (const name of tables) used.add(name)
    if (check) wrong.push(...changed.map((name) => `${path}: ${name} is not what the kept figures say`))
    else if (text !== before) {
      writeFileSync(path, text)
      console.log(`${path}: ${changed.join(', ')}`)
    }
  } catch (error) {
    wrong.push(`${path}: ${error instanceof Error ? error.message : error}`)
  }
}
const charts = drawAll(FOLDER).map((chart) => ({ ...chart, path: join(FOLDER, chart.path) }))
for (const { path, from, picture } of [...charts, ...(await drawDiagrams(join('docs', 'images')))]) {
  if (existsSync(path) && readFileSync(path, 'utf8') === picture) continue
  if (check) wrong.push(`${path} is not what ${from} says`)
  else {
    writeFileSync(path, picture)
    console.log(path)
  }
}
for (const { name } of TABLES) if (!used.has(name)) wrong.push(`no document has the table ${name}`)
for (const line of wrong) console.error(line)
if (wrong.length > 0) {
  if (check) console.error('npm run figures fills the tables in, and draws the charts')
  process.exitCode = 1
}
