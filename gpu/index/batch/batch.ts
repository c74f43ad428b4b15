import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { ArenaContent } from '../arena.js'

/** How a batch changes what the tree holds. */
export interface WriteEffect {
  readonly tuplesCreated: number
  readonly tuplesRemoved: number
  readonly payloadsAdded: number
  readonly payloadsRemoved: number
  readonly garbageBytes: number
}

/** A batch that is settled but not applied. Its scratch buffers live until it is applied or discarded. */
export interface PreparedBatch {
  readonly codes: Uint8Array
  readonly effect: WriteEffect
  /** Changes the tree; reads submitted later see the whole batch. */
  apply(): void
  discard(): void
}

/**
 * A batch that has been settled.
 * @param scratch given back once it is applied or discarded
 * @param giveBack gives back what else was taken for it, where it is discarded
 */
export function preparedBatch(
  scratch: Scratch,
  outcome: Pick<PreparedBatch, 'codes' | 'effect'>,
  apply: () => void,
  giveBack: () => void,
): PreparedBatch {
  const ended = (task: () => void) => () => {
    try {
      task()
    } finally {
      scratch.release()
    }
  }
  return { ...outcome, apply: ended(apply), discard: ended(giveBack) }
}

/** A tree's tuples in ascending key order, and what to go on recording with. */
export interface TupleOrder {
  readonly recorder: Recorder
  readonly tuples: GPUBuffer
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
