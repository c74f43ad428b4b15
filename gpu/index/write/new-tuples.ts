import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import type { Items } from './items.js'
import type { Outcome } from './resolve.js'
import type { Runs } from './runs.js'

/** Writes the tuples of batches in which every run creates one with a single payload; only where keys have a fixed width. */
export class NewTupleWriter {
  readonly #shape: TreeShape
  readonly #payloadBytes: number
  readonly #writeNewTuples: Kernel

  private constructor(shape: TreeShape, payloadBytes: number, writeNewTuples: Kernel) {
    this.#shape = shape
    this.#payloadBytes = payloadBytes
    this.#writeNewTuples = writeNewTuples
  }

  static async create(device: Device, shape: TreeShape, payloadBytes: number): Promise<NewTupleWriter> {
    const quads = shape.tupleStride === 4
    const writeNewTuples = await device.kernel({
      module: 'index/write/new-tuples',
      entryPoint: 'write_new_tuples',
      bindings: ['read', 'read', 'read', 'read', 'read', 'write', 'write'],
      params: 4,
      conditions: { ...shape.conditions, quads, paired: quads && payloadBytes === 8 },
    })
    return new NewTupleWriter(shape, payloadBytes, writeNewTuples)
  }

  record(
    recorder: Recorder,
    arena: Arena,
    items: Items,
    runs: Runs,
    outcome: Outcome,
    { runs: count, firstTuple }: { readonly runs: number; readonly firstTuple: number },
  ): void {
    const inputs = [runs.keys, runs.starts, runs.order, items.payloads, outcome.aliveRanks]
    const params = [count, this.#shape.word, this.#payloadBytes, firstTuple]
    recorder.dispatch(this.#writeNewTuples, [...inputs, runs.residents, arena.tuples.buffer], params, count)
  }
}
