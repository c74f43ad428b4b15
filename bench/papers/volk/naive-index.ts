import type { Device, Kernels } from '../../../gpu/device/device.js'
import { GROUP_SIZE, type Recorder } from '../../../gpu/device/recorder.js'
import { KeyNormaliser, type NormalKeys } from '../../../gpu/keys/normalise.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import { Primitives } from '../../../gpu/primitives/primitives.js'
import { asBytes } from '../../../protocol/columns.js'
import { PAPER_KERNELS } from '../kernels.js'

/** Keys of a matrix; `naive-index.wesl` has the same number. */
const MATRIX_KEYS = 512

/** Bytes that end a key in its normal form. */
const TERMINATOR_BYTES = 2

/** Workgroups of one dispatch at most, so that it keeps the device from all else for some tens of milliseconds only. */
const MOST_GROUPS = { hardware: 2 ** 22, software: 2 ** 11 }

/** Which of the keys that are sought are there, and where. */
export interface NaiveResult {
  /** Bit i of byte i >> 3 is set when key i is there. */
  readonly found: Uint8Array
  /** Number of the equal key in the column that the index was made of; 0 where there is none. */
  readonly numbers: Uint32Array
}

/** What all indexes of a device work with. */
interface Parts {
  readonly normaliser: KeyNormaliser
  readonly kernels: Kernels<'fill_matrices' | 'compare_keys'>
}

/**
 * The naive index that Volk et al. compare with (§6, Figure 7): keys lie unsorted in matrices of 512, and for each key that is
 * sought one thread a key compares. Four bytes of a key are one element of a matrix. Keys are strings or bytes, all distinct.
 */
export class NaiveIndex {
  readonly #device: Device
  readonly #parts: Parts
  readonly #matrices: DeviceMemory
  readonly #keys: number
  /** Rows of a matrix. */
  readonly #height: number

  private constructor(device: Device, parts: Parts, matrices: DeviceMemory, keys: number, height: number) {
    this.#device = device
    this.#parts = parts
    this.#matrices = matrices
    this.#keys = keys
    this.#height = height
  }

  /**
   * An index of a column of keys, at least one: key i is bytes offsets[i] to offsets[i + 1].
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  static async create(device: Device, keys: Uint8Array, offsets: Uint32Array): Promise<NaiveIndex> {
    const parts = await createParts(device)
    const count = offsets.length - 1
    const height = mostWords(keys, offsets)
    const matrixBytes = MATRIX_KEYS * height * 4
    const matrices = await device.allocate(Math.ceil(count / MATRIX_KEYS) * matrixBytes, 'matrices of keys')
    const index = new NaiveIndex(device, parts, matrices, count, height)
    const scratch = device.scratch()
    try {
      const recorder = device.record()
      const { records, heap } = index.#normalise(recorder, scratch, keys, offsets)
      const buffers = { filled: matrices, records, heap }
      recorder.dispatch(parts.kernels.fill_matrices, buffers, { keys: count, height }, count)
      recorder.submit()
      return index
    } catch (error) {
      index.destroy()
      throw error
    } finally {
      scratch.release()
    }
  }

  /** Bytes of device memory. */
  get bytes(): number {
    return this.#matrices.size
  }

  /** @throws WarpdexError `DEVICE_LOST`, `OUT_OF_DEVICE_MEMORY` */
  async get(keys: Uint8Array, offsets: Uint32Array): Promise<NaiveResult> {
    const count = offsets.length - 1
    const scratch = this.#device.scratch()
    let reply: Promise<Uint8Array[]>
    try {
      const recorder = this.#device.record()
      const sought = this.#normalise(recorder, scratch, keys, offsets)
      const found = scratch.bytes(count / 8)
      const numbers = scratch.words(count)
      this.recordGet(recorder, sought, found, numbers, count)
      reply = this.#device.submitAndRead(recorder, [
        { buffer: found, bytes: Math.ceil(count / 8) },
        { buffer: numbers, bytes: count * 4 },
      ])
    } finally {
      scratch.release()
    }
    const [found, numbers] = await reply
    return { found, numbers: new Uint32Array(numbers.buffer, numbers.byteOffset, count) }
  }

  /**
   * Records a get of `count` keys that are on the device in their normal form, `terminated`: a bit and a number a key, as
   * `NaiveResult` has them. Large batches are cut.
   */
  recordGet(
    recorder: Recorder,
    { records, heap }: Pick<NormalKeys, 'records' | 'heap'>,
    found: DeviceMemory,
    numbers: DeviceMemory,
    count: number,
  ): void {
    recorder.clear(found, 0, Math.ceil(count / 32) * 4)
    recorder.clear(numbers, 0, count * 4)
    const groupsAQuery = Math.ceil(this.#keys / GROUP_SIZE)
    const most = this.#device.facts.software ? MOST_GROUPS.software : MOST_GROUPS.hardware
    const queries = Math.max(1, Math.floor(most / groupsAQuery))
    for (let first = 0; first < count; first += queries) {
      const end = Math.min(count, first + queries)
      recorder.dispatchGroups(
        this.#parts.kernels.compare_keys,
        { matrices: this.#matrices, records, heap, found, numbers },
        { keys: this.#keys, height: this.#height, first, end },
        (end - first) * groupsAQuery,
      )
    }
  }

  destroy(): void {
    this.#matrices.destroy()
  }

  #normalise(recorder: Recorder, scratch: Scratch, keys: Uint8Array, offsets: Uint32Array): NormalKeys {
    const wire = {
      offsets: scratch.bytes(offsets.byteLength),
      bytes: scratch.bytes(keys.byteLength),
      count: offsets.length - 1,
      byteLength: keys.byteLength,
    }
    this.#device.upload(wire.offsets, asBytes(offsets))
    this.#device.upload(wire.bytes, keys)
    return this.#parts.normaliser.record(recorder, scratch, wire)
  }
}

async function createParts(device: Device): Promise<Parts> {
  const entryPoints = ['fill_matrices', 'compare_keys'] as const
  return {
    normaliser: new KeyNormaliser(device, await Primitives.create(device), 'terminated'),
    kernels: device.kernels('volk/naive-index', entryPoints, {}, PAPER_KERNELS),
  }
}

/** Words of the longest key in its normal form, in which a zero takes two bytes. */
function mostWords(keys: Uint8Array, offsets: Uint32Array): number {
  let most = 0
  for (let i = 1; i < offsets.length; i++) {
    let bytes = offsets[i]! - offsets[i - 1]! + TERMINATOR_BYTES
    for (let at = offsets[i - 1]!; at < offsets[i]!; at++) if (keys[at] === 0) bytes++
    most = Math.max(most, Math.ceil(bytes / 4))
  }
  return most
}
