import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'

/** A batch grouped by key. Items are in key order, those of one key in the order of the batch: a run. */
export interface Runs {
  /** Ordered keys, sorted. */
  readonly keys: GPUBuffer
  /** Where they lie, if they have a variable length. */
  readonly heap: GPUBuffer | undefined
  /** Number in the batch of each sorted item. */
  readonly order: GPUBuffer
  /** Run of each sorted item. */
  readonly runsOf: GPUBuffer
  /** First sorted item of each run, and the number of items after the last. */
  readonly starts: GPUBuffer
  /** Slot and depth at which each run's key leaves the tree. */
  readonly places: GPUBuffer
  /** Tuple of each run's key, if it is in the tree. */
  readonly residents: GPUBuffer
}

/** What is to be done for each run; `actions.wesl` defines the actions. */
export interface Plan {
  readonly actions: GPUBuffer
  /** Created tuples before each run; one word more than there are items. */
  readonly createRanks: GPUBuffer
  /** Words of new extents before each run. */
  readonly extentOffsets: GPUBuffer
  readonly longMoves: GPUBuffer
}

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

/** A tree's tuples in ascending key order, and what to go on recording with. */
export interface TupleOrder {
  readonly recorder: Recorder
  readonly tuples: GPUBuffer
}

/** Finds the order of a tree's tuples. May submit what is recorded. */
export type FindOrder = (recorder: Recorder, scratch: Scratch) => Promise<TupleOrder>
