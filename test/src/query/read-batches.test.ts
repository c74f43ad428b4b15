import t from 'tap'
import { DeviceWork } from '../../../gpu/relational/query/device-work.js'
import { QueryKernels } from '../../../gpu/relational/query/query-kernels.js'
import { Table } from '../../../gpu/relational/query/table.js'
import { LIMITS } from '../../../protocol/limits.js'
import { encodeBatch } from '../../../protocol/query/batch-section.js'
import { batchBytes, type ResultBatch } from '../../../protocol/query/result.js'
import { utf8Bytes } from '../../../protocol/utf8.js'
import { batchRows, readBatch } from '../../../src/query/read-batches.js'
import { openDevice } from '../../gpu/open-device.js'
import { Random, seedOfRun } from '../../random.js'
import { type Cell, hostRelation, rowsOf, schemaOf, uploadRelation } from './host-relation.js'
import { QueryBed } from './query-bed.js'

const ROWS = 300
const LONG = 'é'.repeat(900)

t.test('batches of long strings stay within their bytes', async (t) => {
  const { queryBatchBytes } = LIMITS
  t.teardown(() => Object.assign(LIMITS, { queryBatchBytes }))
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const cells = (make: (row: number) => Cell) => Array.from({ length: ROWS }, (_, row) => make(row))
  const relation = hostRelation('r', [
    { name: 'k', type: 'u64', nullable: false, cells: cells((row) => BigInt(row)) },
    { name: 'n', type: 'u32', nullable: true, cells: cells((row) => (random.chance(0.3) ? null : row)) },
    {
      name: 's',
      type: 'string',
      nullable: true,
      cells: cells((row) => (random.chance(0.2) ? null : `${row}${random.chance(0.9) ? LONG : ''}`)),
    },
  ])
  const device = await openDevice(t)
  const kernels = await QueryKernels.create(device)
  const columns = schemaOf(relation)
  const { rows, columns: uploaded } = await uploadRelation(device, relation)
  const dense = Table.ofColumns(rows, [...uploaded.values()])
  const wanted = Array.from({ length: rows }, (_, row) => relation.columns.map(({ cells }) => cells[row]!))

  for (const bytes of [1, 5000, 100_000, queryBatchBytes]) {
    for (const isDense of [true, false]) {
      Object.assign(LIMITS, { queryBatchBytes: bytes })
      const scratch = device.scratch(() => {})
      const work = new DeviceWork(device, kernels, scratch)
      const table = isDense ? dense : dense.slice(work, 1, rows - 1)
      const batches: ResultBatch[] = []
      for (let first = 0; first < table.rows; first += batches.at(-1)!.rows) {
        const most = Math.min(Math.max(ROWS, batchRows(columns)), table.rows - first)
        const batch = await readBatch(work, table, columns, first, most)
        t.ok(batch.rows >= 1 && (batch.rows < 32 || batch.rows % 32 === 0 || batch.rows === most))
        t.ok(batch.rows === 1 || batchBytes(batch) <= bytes + Math.ceil(batch.rows / 8) * 2)
        // Places in a section are multiples of 8.
        const { byteLength } = encodeBatch(batch).data
        t.ok(byteLength >= batchBytes(batch) && byteLength < batchBytes(batch) + 40)
        batches.push(batch)
      }
      scratch.release()
      t.strictSame(rowsOf(batches), wanted.slice(isDense ? 0 : 1), `${bytes} bytes, dense: ${isDense}`)
      if (bytes === queryBatchBytes) t.equal(batches.length, 1)
    }
  }
})

t.test('bytes of strings in UTF-8', async (t) => {
  for (const text of ['', 'a', 'é', '€', '\u{1f600}', '\ud83d', '\ude00a', 'a\ud83d\ud83d\ude00'])
    t.equal(utf8Bytes(text), new TextEncoder().encode(text).byteLength)
})

t.test('results of long strings are read to their end', async (t) => {
  const { queryBatchBytes } = LIMITS
  t.teardown(() => Object.assign(LIMITS, { queryBatchBytes }))
  Object.assign(LIMITS, { queryBatchBytes: 50_000 })
  const cells = Array.from({ length: 1000 }, (_, row) => `${row % 500 < 100 ? LONG : ''}${row}`)
  const bed = await QueryBed.open(t, [
    hostRelation('r', [{ name: 's', type: 'string', nullable: false, cells }]),
  ])
  const batches = await bed.batches({ op: 'scan', relation: 'r' })
  t.strictSame(
    rowsOf(batches),
    cells.map((cell) => [cell]),
  )
  t.ok(batches.length > 8 && batches.every((batch) => batchBytes(batch) <= 50_000))
})
