// `npm run lines`: how much code the product is. Lines of TypeScript and of kernels that are neither blank nor comment, by folder; what answers
// queries is counted apart.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const FOLDERS = ['src', 'gpu', 'persistence', 'protocol', 'clients']
const QUERIES = /^(gpu\/relational|src\/query|src\/sql|protocol\/query)\//
/** Where the index side should be. */
const GOAL = 33_000

function codeLines(path) {
  let comment = false
  let lines = 0
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    let code = line.trim()
    if (comment && !code.includes('*/')) continue
    if (comment) code = code.slice(code.indexOf('*/') + 2).trim()
    comment = false
    if (code.startsWith('/*')) {
      comment = !code.includes('*/', 2)
      code = comment ? '' : code.slice(code.indexOf('*/', 2) + 2).trim()
    }
    if (code !== '' && !code.startsWith('//')) lines++
  }
  return lines
}

const counts = new Map()
for (const folder of FOLDERS) {
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!/\.(ts|wesl)$/.test(name)) continue
    const path = join(folder, name).replaceAll('\\', '/')
    const at = QUERIES.test(path) ? 'queries' : dirname(path).split('/').slice(0, 2).join('/')
    counts.set(at, (counts.get(at) ?? 0) + codeLines(path))
  }
}
const queries = counts.get('queries') ?? 0
counts.delete('queries')
for (const [folder, lines] of [...counts].sort(([a], [b]) => (a < b ? -1 : 1))) {
  console.log(`${String(lines).padStart(7)}  ${folder}`)
}
const total = [...counts.values()].reduce((sum, lines) => sum + lines, 0)
console.log(
  `${String(total).padStart(7)}  in all, at most ${GOAL} wanted; queries, which do not count, have ${queries}`,
)
