import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Store } from '../../persistence/store.js'
import type { Random } from '../random.js'

const RECORDS = 3000
const ITEMS = 60

/**
 * Writes to a store and lets go what is old, while readers begin to read the log and the payloads and leave it at that. The data
 * file must not grow for ever.
 *
 * @throws Error when it does
 */
export async function overwrite(directory: string, random: Random, records = RECORDS): Promise<string> {
  const store = await Store.open(directory)
  const { id } = await store.createIndex({ name: 'a', keyType: 'u64', payloadKind: 'bytes', unique: false })
  const sizes: number[] = []
  const abandoned: AsyncIterator<unknown>[] = []
  for (let i = 1; i <= records; i++) {
    const firstRow = store.payloads.nextRow(id)
    const offsets = Uint32Array.from({ length: ITEMS + 1 }, (_, item) => item * 40)
    const segment = { firstRow, offsets, bytes: random.bytes(ITEMS * 40) }
    await store.log.append(id, { ops: 0, keys: { bytes: random.bytes(ITEMS * 8), width: 8 }, segment })
    if (i % 20 !== 0) continue
    const reader = store.log.read(id, store.log.first(id) - 1)[Symbol.asyncIterator]()
    await reader.next()
    abandoned.push(reader)
    await store.snapshots.write(id, i, {}, [])
    await store.snapshots.trimLog(id)
    await store.payloads.compact(id, (row) => row > firstRow - 20 * ITEMS)
    sizes.push(statSync(join(directory, 'data.mdb')).size)
  }
  await store.close()
  const early = sizes[Math.floor(sizes.length / 3)]
  const late = sizes.at(-1) ?? 0
  if (late > early * 1.25) throw new Error(`the data file grew from ${early} to ${late} bytes`)
  return `${records} records, ${abandoned.length} readers left off, the data file has ${late} bytes (${early} after a third)`
}
