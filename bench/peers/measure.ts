import type { DataSet } from '../../clients/load-test/data-set.js'
import type { PayloadRows } from '../../clients/load-test/target.js'
import type { Batch, Peer } from './peer.js'

/** Calls that are under way: of single keys more, as those of many users are. */
export function depthOf(batch: number): number {
  return batch === 1 ? 64 : 8
}

/**
 * Makes calls for a while, or until there are no more.
 * @param depth callers, each of which waits for its answer
 * @param call makes call number i of a caller, and says how many items that were
 * @returns items a second
 */
export async function timed(
  calls: number,
  depth: number,
  milliseconds: number,
  call: (i: number, caller: number) => number | Promise<number>,
): Promise<number> {
  let next = 0
  let items = 0
  const start = performance.now()
  const end = start + milliseconds
  const lane = async (_: unknown, caller: number) => {
    while (next < calls && performance.now() < end) {
      const done = call(next++, caller)
      // Those who answer at once are not made to wait for a turn. The sum must not be read before what is waited for is there.
      const count = typeof done === 'number' ? done : await done
      items += count
    }
  }
  await Promise.all(Array.from({ length: depth }, lane))
  return (1000 * items) / (performance.now() - start)
}

/** Lookups a second. One payload of each call is looked at. */
export function timeReads(peer: Peer, batches: readonly Batch[], milliseconds: number): Promise<number> {
  const depth = depthOf(batches[0]!.count)
  return timed(batches.length, depth, milliseconds, (i) => {
    const batch = batches[i]!
    const place = i % batch.count
    const answer = peer.read(batch)
    if (!(answer instanceof Promise)) return taken(answer.row(place), batch.count)
    return answer.then((arrived) => taken(arrived.row(place), batch.count))
  })
}

function taken(row: Uint8Array | undefined, count: number): number {
  if (row === undefined || row.length === 0) throw new Error('a key was not found')
  return count
}

/** Scans a second. */
export function timeScans(
  scan: NonNullable<Peer['scan']>,
  batches: readonly Batch[],
  limit: number,
  milliseconds: number,
): Promise<number> {
  return timed(batches.length, depthOf(batches[0]!.count), milliseconds, async (i) => {
    const batch = batches[i]!
    const entries = await scan(batch, limit)
    // Only the few scans at the end of the index are shorter.
    if (entries < 0.9 * limit * batch.count) throw new Error(`${batch.count} scans had ${entries} entries`)
    return batch.count
  })
}

/** Keys a second. */
export function timeInserts(
  insert: NonNullable<Peer['insert']>,
  batches: readonly (readonly [Batch, PayloadRows])[],
  milliseconds: number,
): Promise<number> {
  return timed(batches.length, 4, milliseconds, async (i) => {
    const [keys, payloads] = batches[i]!
    await insert(keys, payloads)
    return keys.count
  })
}

/** Asks for some batches and compares every payload, so that no side is fast by being wrong. */
export async function checkReads(peer: Peer, batches: readonly Batch[], data: DataSet): Promise<void> {
  for (const batch of batches) {
    const answer = await peer.read(batch)
    for (let i = 0; i < batch.count; i++) {
      const row = answer.row(i)
      if (row !== undefined && data.payloads.version(row, data.keys.hash(batch.words, i)) === 0) continue
      throw new Error(`${peer.name} has a wrong answer`)
    }
  }
}
