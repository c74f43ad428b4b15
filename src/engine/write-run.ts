import type { IndexStructure } from '../../gpu/index-structure.js'
import type { IndexUpkeep } from './index-upkeep.js'
import type { IndexWriter, PendingWrite } from './index-writer.js'
import type { PagedStructure } from './paged-structure.js'

/** Chunks of a load that overlap each other before the index gives up its place on the device, should others need it. */
const CHUNKS_IN_A_ROW = 16

/**
 * Answers a batch of writes or, of a load, the chunks that come one after the other.
 *
 * @param current what `structure` holds on the device
 * @param more takes the next chunk that waits
 * @returns whether the structure holds what the log holds; if not, it must be rebuilt
 */
export async function runWrites(
  { writer, upkeep, structure }: { writer: IndexWriter; upkeep: IndexUpkeep; structure: PagedStructure },
  current: IndexStructure,
  writes: readonly PendingWrite[],
  more: () => readonly PendingWrite[],
): Promise<boolean> {
  const isLoad = writes[0].load !== undefined
  let sound = true
  let group = writes
  for (let chunks = 1; sound && group.length > 0; chunks++) {
    sound = await writer.run(structure, group)
    group = sound && isLoad && chunks < CHUNKS_IN_A_ROW ? more() : []
    if (sound) await (isLoad ? upkeep.afterLoad(current, group.length > 0) : upkeep.afterWrites(current))
  }
  return (await writer.settled()) && sound
}
