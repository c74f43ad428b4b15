import { Device } from '../../../gpu/device/device.js'
import { asBytes } from '../../../protocol/columns.js'
import { packBatch } from '../../../protocol/relation-values.js'
import { WriteOp } from '../../../protocol/types.js'
import type { AtomicBatch } from '../../../src/engine/atomic-batch.js'
import { Engine } from '../../../src/engine/index.js'
import { modelStructures } from '../../model-structure.js'

/** What the batches are written to: two indexes, and a relation with an index over its column. */
const NAMES = ['a', 'b']
const ROWS = { name: 'rows', columns: [{ name: 'n', type: 'u32', nullable: false }] } as const
const UNDER_WAY = 3

const u32 = (...values: number[]) => ({ bytes: asBytes(Uint32Array.from(values)), width: 4 })

/** Batch number n, from 1 on: all that it is written to gets an entry more. */
export function batchNumber(engine: Engine, n: number): AtomicBatch {
  const writes = NAMES.map((name) => ({
    index: engine.index(name),
    columns: { ops: WriteOp.insert, keys: u32(n, 0), payloads: u32(n, n) },
  }))
  const appends = [{ relation: engine.relation('rows'), rows: packBatch({ n: [n] }, ROWS) }]
  return { writes, appends, conditions: [] }
}

export async function openBatches(directory: string): Promise<Engine> {
  const engine = await Engine.open({
    directory,
    structures: modelStructures,
    openDevice: () => Device.open('software'),
    onWarning: () => {},
  })
  for (const name of NAMES) {
    const definition = { name, keyType: 'u32', payloadKind: 'u32', unique: false } as const
    await engine.createIndex(definition, { ifNotExists: true })
  }
  await engine.createRelation(ROWS, { ifNotExists: true })
  await engine.createRelationIndex({ name: 'by n', relation: 'rows', columns: ['n'] }, { ifNotExists: true })
  return engine
}

/** Writes batches until it is killed, several at a time, and prints the number of each that was acknowledged. */
async function main(directory: string): Promise<void> {
  const engine = await openBatches(directory)
  const { total } = await engine.relation('rows').read({ columns: [], from: 0, limit: 1 })
  let next = total + 1
  const writeForever = async () => {
    for (;;) {
      const n = next++
      await engine.writeBatch(batchNumber(engine, n), { client: 'c', number: n })
      process.stdout.write(`${n}\n`)
      if (n % 40 === 0) await engine.snapshots()
    }
  }
  await Promise.all(Array.from({ length: UNDER_WAY }, writeForever))
}

const [, program, directory] = process.argv
if (program?.includes('batch-forever') && directory !== undefined) await main(directory)
