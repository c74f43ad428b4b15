import type { IndexStructure } from '../../gpu/index-structure.js'
import type { IndexUpkeep } from './index-upkeep.js'
import type { IndexWriter, PendingWrite } from './index-writer.js'
import type { PagedIndex } from './paged-index.js'
import type { Followers } from './request-queue.js'

/**
 * Batches that overlap each other before the index gives up its place on the device, should others need it; the last of them waits for its
 * log with nothing beside it. They are some tens of millions of rows: chunks of loads, or groups of other writes, which are smaller.
 */
const IN_A_ROW = { load: 16, write: 64 }

/**
 * Answers a batch of writes, and those that come behind it while it is being made durable.
 *
 * @param current what `structure` holds on the device
 * @returns whether the structure holds what the log holds; if not, it must be rebuilt
 */
export async function runWrites(
  { writer, upkeep, structure }: { writer: IndexWriter; upkeep: IndexUpkeep; structure: PagedIndex },
  current: IndexStructure,
  writes: readonly PendingWrite[],
  followers: Followers<PendingWrite>,
): Promise<boolean> {
  const isLoad = writes[0].load !== undefined
  const most = IN_A_ROW[isLoad ? 'load' : 'write']
  let sound = true
  let group = writes
  for (let batches = 1; sound && group.length > 0; batches++) {
    const goesOn = isLoad || batches > 1 || upkeep.isStreaming
    sound = await writer.run(structure, group, { arrival: followers.arrival(), goesOn })
    group = sound && batches < most ? followers.take() : []
    const follows = group.length > 0
    if (sound) await (isLoad ? upkeep.afterLoad(current, follows) : upkeep.afterWrites(current, follows))
  }
  return (await writer.settled()) && sound
}
