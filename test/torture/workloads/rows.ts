import { FrameClient } from '../frame-client.js'
import { askWell, numbers, numbersIn, scanNumbers, type Workload } from './workload.js'

const RELATION = 'rows'
const INDEX = 'rows by key'
const COLUMNS = ['key', 'n'].map((name) => ({ name, type: 'u32', nullable: false }))
/** Changes take turns at these keys. */
const KEYS = 7

interface Row {
  readonly number: number
  readonly key: number
  readonly n: number
}

/** Rows that are appended, counted up and deleted, and an index over them. */
export class Rows implements Workload {
  acknowledged = 0
  /** As of what was acknowledged, and the number of the next row. */
  #rows: readonly Row[] = []
  #next = 0

  /** Relation and index hold what the changes that were acknowledged have made of them, or one more. */
  async check(client: FrameClient): Promise<void> {
    const create = { id: client.nextId(), op: 'createRelation', relation: RELATION, columns: COLUMNS }
    await askWell(client, { ...create, ifNotExists: true })
    const index = { relation: RELATION, index: INDEX, columns: ['key'], ifNotExists: true }
    await askWell(client, { id: client.nextId(), op: 'createRelationIndex', ...index })
    const read = { id: client.nextId(), op: 'readRelation', relation: RELATION, limit: 100_000 }
    const reply = await askWell(client, read)
    if (reply === undefined) throw new Error('the relation cannot be read')
    const ns = numbersIn(reply.sections, '1.values')
    const rows = numbersIn(reply.sections, '0.values').map((key, i) => [key, ns[i]])
    const entries = await scanNumbers(client, { index: INDEX })
    const found = JSON.stringify({ rows, entries })
    const next = changed(this.#rows, this.#next, this.acknowledged + 1)
    const possible = [this.#rows, next.rows].map((rows) => {
      const entries = rows.map(({ key, number }) => [key, number] as const)
      const byKey = entries.sort((a, b) => a[0] - b[0] || a[1] - b[1])
      return JSON.stringify({ rows: rows.map(({ key, n }) => [key, n]), entries: byKey })
    })
    if (possible.includes(found)) return
    throw new Error(
      `after ${this.acknowledged} changes of rows there is ${found}, not ${possible.join(' or ')}`,
    )
  }

  async work(url: string): Promise<void> {
    const client = await FrameClient.connect(url, 'rows')
    for (;;) {
      const id = this.acknowledged + 1
      const { header, sections } = requestOf(id)
      const reply = await askWell(client, { ...header, id, relation: RELATION, writeId: id }, sections)
      if (reply === undefined) return
      const { rows, next } = changed(this.#rows, this.#next, id)
      this.#rows = rows
      this.#next = next
      this.acknowledged = id
    }
  }
}

const column = (name: string) => ({ column: name })

/** Two appends, then an update, then a deletion of what was updated thrice. */
function requestOf(change: number) {
  const key = change % KEYS
  if (change % 4 < 2) {
    const header = { op: 'append', rows: 1, columns: ['key', 'n'] }
    return { header, sections: { '0.values': numbers(key), '1.values': numbers(0) } }
  }
  const isKey = { op: '=', args: [column('key'), { value: key }] }
  const more = { op: '+', args: [column('n'), { value: 1 }] }
  if (change % 4 === 2) {
    const set = { n: { op: 'cast', args: [more], type: 'u32' } }
    return { header: { op: 'changeRows', where: isKey, set }, sections: {} }
  }
  const isOld = { op: '>', args: [column('n'), { value: 2 }] }
  return { header: { op: 'changeRows', where: { op: 'and', args: [isKey, isOld] } }, sections: {} }
}

function changed(rows: readonly Row[], next: number, change: number): { readonly rows: Row[]; next: number } {
  const key = change % KEYS
  if (change % 4 < 2) return { rows: [...rows, { number: next, key, n: 0 }], next: next + 1 }
  if (change % 4 === 3) return { rows: rows.filter((row) => row.key !== key || row.n <= 2), next }
  const updated = rows.filter((row) => row.key === key)
  const moved = updated.map(({ n }, i) => ({ number: next + i, key, n: n + 1 }))
  return { rows: [...rows.filter((row) => row.key !== key), ...moved], next: next + updated.length }
}
