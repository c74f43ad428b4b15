import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Arena } from '../arena.js'
import type { Runs } from '../batch/batch.js'
import type { Items } from '../batch/items.js'
import { newTupleConditions, newTuples } from '../batch/new-tuple.js'
import type { TreeShape } from '../layout.js'
import type { Outcome } from './resolve.js'

/** Writes the tuples of batches in which every run creates one with a single payload; only where keys have a fixed width. */
export class NewTupleWriter {
  readonly #shape: TreeShape
  readonly #payloadBytes: number
  readonly #kernels: Kernels<'write_new_tuples'>

  constructor(device: Device, shape: TreeShape, payloadBytes: number) {
    const conditions = newTupleConditions(shape, payloadBytes)
    this.#shape = shape
    this.#payloadBytes = payloadBytes
    this.#kernels = device.kernels('index/write/new-tuples', ['write_new_tuples'], conditions)
  }

  record(
    recorder: Recorder,
    arena: Arena,
    items: Items,
    runs: Runs,
    outcome: Outcome,
    { runs: count, firstTuple }: { readonly runs: number; readonly firstTuple: number },
  ): void {
    const buffers = {
      ...newTuples(arena.tuples.buffer),
      keys: runs.keys,
      starts: runs.starts,
      order: runs.order,
      payloadColumn: items.payloads,
      payloadPairs: items.payloads,
      aliveRanks: outcome.aliveRanks,
      residents: runs.residents,
    }
    const params = { count, shape: this.#shape.word, payloadBytes: this.#payloadBytes, firstTuple }
    recorder.dispatch(this.#kernels.write_new_tuples, buffers, params, count)
  }
}
