import type { Recorder } from '../../device/recorder.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import type { ArenaContent, SortedRoom } from '../arena.js'
import type { TreeTotals } from '../totals.js'

/** A batch that is settled but not applied. Its scratch buffers live until it is applied or discarded. */
export interface PreparedBatch {
  readonly codes: Uint8Array
  /** By how much it changes the tree's totals. */
  readonly change: TreeTotals
  /** Changes the tree; reads submitted later see the whole batch. */
  apply(): void
  discard(): void
}

/**
 * A batch that has been settled.
 * @param scratch given back once it is applied or discarded
 * @param room taken by the arena where it is applied, and given back where it is discarded
 * @param record submits what is left to do
 */
export function preparedBatch(
  scratch: Scratch,
  outcome: Pick<PreparedBatch, 'codes' | 'change'>,
  room: SortedRoom | undefined,
  record?: () => void,
): PreparedBatch {
  const ended = (task: () => void) => () => {
    try {
      task()
    } finally {
      scratch.release()
    }
  }
  const apply = () => {
    record?.()
    room?.take()
  }
  return { ...outcome, apply: ended(apply), discard: ended(() => room?.giveBack()) }
}

/** A tree's tuples in ascending key order, and what to go on recording with. */
export interface TupleOrder {
  readonly recorder: Recorder
  readonly tuples: DeviceMemory
}

/**
 * Finds the order of the `count` tuples that are in a tree. May submit what is recorded.
 * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
 */
export type FindOrder = (
  recorder: Recorder,
  scratch: Scratch,
  arena: ArenaContent,
  count: number,
) => Promise<TupleOrder>
