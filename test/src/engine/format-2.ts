import type { RelationDefinition } from '../../../protocol/relation.js'
import { packBatch } from '../../../protocol/relation-values.js'
import { type IndexDefinition, WriteOp } from '../../../protocol/types.js'
import type { Engine } from '../../../src/engine/index.js'
import { writeTo } from '../../writes.js'
import { blobs, u32 } from './open-engine.js'

export const INDEXES: readonly IndexDefinition[] = [
  { name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: true, structure: 'css' },
  { name: 'texts', keyType: 'string', payloadKind: 'bytes', unique: false },
  { name: 'dates', keyType: 'i64', payloadKind: 'fixed(6)', unique: false, structure: 'css' },
]

export const RELATION: RelationDefinition = {
  name: 'orders',
  columns: [
    { name: 'id', type: 'u32', nullable: false },
    { name: 'price', type: 'i64', nullable: true },
    { name: 'city', type: 'string', nullable: true },
  ],
}

const BATCHES = 8
const ITEMS = 120
/** The batch after which snapshots are taken. */
const SNAPSHOT_AFTER = 5
const OPS = [
  WriteOp.insert,
  WriteOp.insert,
  WriteOp.insert,
  WriteOp.replace,
  WriteOp.deleteKey,
  WriteOp.deletePair,
]

/**
 * Writes what the data directory `format-2/` beside this holds, which was made once and is never made anew: all kinds of writes, a snapshot of
 * everything in the midst of them, and log behind it.
 * @returns the codes of all writes of clients, whose numbers are those of the batches
 */
export async function fill(engine: Engine): Promise<Uint8Array[]> {
  const codes: Uint8Array[] = []
  for (const definition of INDEXES) await engine.createIndex(definition)
  await engine.createRelation(RELATION)
  for (let batch = 0; batch < BATCHES; batch++) {
    for (const { name } of INDEXES) {
      codes.push(await writeTo(engine.index(name), itemsOf(name, batch), { client: name, number: batch }))
    }
    await engine.relation(RELATION.name).append(rowsOf(batch))
    if (batch === SNAPSHOT_AFTER) await engine.snapshot()
  }
  return codes
}

/** The items of a batch, by arithmetic alone. */
export function itemsOf(name: string, batch: number) {
  const numbers = Array.from({ length: ITEMS }, (_, i) => (batch * 61 + i * i * 7) % 90)
  const ops = Uint8Array.from(numbers, (_, i) => OPS[(i + batch) % OPS.length])
  const texts = numbers.map((number, i) => `${number}/${(batch + i) % 3}`)
  if (name === 'texts') {
    const { bytes, offsets } = blobs(...numbers.map((number) => `key ${'é'.repeat(number % 5)}${number}`))
    return { ops, keys: bytes, keyOffsets: offsets, payloads: blobs(...texts) }
  }
  if (name === 'numbers')
    return {
      ops,
      keys: u32(...numbers),
      payloads: u32(...numbers.map((_, i) => batch * ITEMS + i)),
    }
  const keys = BigInt64Array.from(numbers, (number) => BigInt(number - 45) * 1_000_000_007n)
  const payloads = Buffer.concat(texts.map((text) => Buffer.from(text.padEnd(6, '.'))))
  return {
    ops,
    keys: new Uint8Array(keys.buffer),
    payloads: new Uint8Array(payloads),
  }
}

function rowsOf(batch: number) {
  const numbers = Array.from({ length: 20 + batch }, (_, i) => batch * 100 + i)
  const rows = {
    id: numbers,
    price: numbers.map((number) => (number % 7 === 0 ? null : BigInt(number) * -3n)),
    city: numbers.map((number) => (number % 5 === 0 ? null : `city ${number % 11}`)),
  }
  return packBatch(rows, RELATION)
}
