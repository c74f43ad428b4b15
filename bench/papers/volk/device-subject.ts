import type { Device } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import { KeyNormaliser, type NormalKeys, type WireKeys } from '../../../gpu/keys/normalise.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import { Primitives } from '../../../gpu/primitives/primitives.js'
import { WarmDevice } from '../../../gpu/primitives/warm-device.js'
import { asBytes } from '../../../protocol/columns.js'
import { KernelTimer } from '../../kernel-time.js'
import type { KeyBlob } from '../../keys.js'
import { sliceKeys } from './data-sets.js'
import { StageTimer } from './stages.js'
import type { Loaded, Run, Stages } from './subject.js'

/** What all subjects on a device work with. */
export interface DeviceTools {
  readonly device: Device
  readonly primitives: Primitives
  readonly normaliser: KeyNormaliser
  readonly warm: WarmDevice
}

export async function createTools(device: Device): Promise<DeviceTools> {
  const primitives = await Primitives.create(device)
  const normaliser = new KeyNormaliser(device, primitives, 'terminated')
  return { device, primitives, normaliser, warm: new WarmDevice(device, primitives) }
}

/** Where the answers to a batch go. */
export interface Answers {
  /** A bit a key. */
  readonly found: DeviceMemory
  /** A word a key: its number where it was found. */
  readonly payloads: DeviceMemory
}

/** An index on the device, of keys of variable length and payloads of one word. */
export interface DeviceStructure {
  readonly bytes: number
  /** Records a get of `count` keys that are on the device in their normal form. */
  recordGet(recorder: Recorder, scratch: Scratch, queries: NormalKeys, answers: Answers, count: number): void
  destroy(): void
}

/** Measures the gets of an index on the device. */
export class LoadedDevice implements Loaded {
  readonly #tools: DeviceTools
  readonly #structure: DeviceStructure

  constructor(tools: DeviceTools, structure: DeviceStructure) {
    this.#tools = tools
    this.#structure = structure
  }

  get bytes(): number {
    return this.#structure.bytes
  }

  async answers(queries: KeyBlob): Promise<Uint32Array> {
    const { device } = this.#tools
    const count = queries.offsets.length - 1
    const scratch = device.scratch()
    try {
      const recorder = device.record()
      const answers = this.#recordWhole(recorder, scratch, uploadKeys(device, scratch, queries))
      const [found, payloads] = await device.submitAndRead(recorder, [
        { buffer: answers.found, bytes: Math.ceil(count / 8) },
        { buffer: answers.payloads, bytes: count * 4 },
      ])
      const numbers = new Uint32Array(payloads.buffer, payloads.byteOffset, count)
      return numbers.map((number, i) => ((found[i >> 3]! >> (i & 7)) & 1 ? number + 1 : 0))
    } finally {
      scratch.release()
    }
  }

  timing(queries: KeyBlob, count: number): Run<number> {
    const { device, normaliser, warm } = this.#tools
    const kept = device.scratch()
    const batches: NormalKeys[] = []
    try {
      const recorder = device.record()
      for (let first = 0; first + 1 < queries.offsets.length; first += count) {
        const wire = uploadKeys(device, kept, sliceKeys(queries, first, first + count))
        batches.push(normaliser.record(recorder, kept, wire))
      }
      recorder.submit()
    } catch (error) {
      kept.release()
      throw error
    }
    const answers = answerBuffers(kept, count)
    const timer = new KernelTimer(device)
    const time = (repeat: number) =>
      timer.time((recorder, scratch) => {
        const keys = batches.at(repeat % batches.length)!
        this.#structure.recordGet(recorder, scratch, keys, answers, count)
      })
    return {
      clock: timer.clock,
      once: (repeat) =>
        warm.run(async () => {
          // A lookup that follows others finds in the caches what they have in common.
          if (warm.isNeeded) await time(repeat - 1)
          return time(repeat)
        }),
      release: () => {
        timer.destroy()
        kept.release()
      },
    }
  }

  staging(queries: KeyBlob): Run<Stages> {
    const { device, warm } = this.#tools
    const count = queries.offsets.length - 1
    const foundBytes = Math.ceil(count / 32) * 4
    const timer = new StageTimer(device, {
      replyBytes: foundBytes + count * 4,
      upload: (scratch) => uploadKeys(device, scratch, queries),
      record: (recorder, scratch, wire: WireKeys) => {
        const { found, payloads } = this.#recordWhole(recorder, scratch, wire)
        return [
          { buffer: found, bytes: foundBytes },
          { buffer: payloads, bytes: count * 4 },
        ]
      },
    })
    return {
      clock: timer.clock,
      once: () =>
        warm.run(async () => {
          if (warm.isNeeded) await timer.time()
          return timer.time()
        }),
      release: () => timer.destroy(),
    }
  }

  destroy(): void {
    this.#structure.destroy()
  }

  /** Records all that the device does for keys as they come off the wire. */
  #recordWhole(recorder: Recorder, scratch: Scratch, wire: WireKeys): Answers {
    const queries = this.#tools.normaliser.record(recorder, scratch, wire)
    const answers = answerBuffers(scratch, wire.count)
    this.#structure.recordGet(recorder, scratch, queries, answers, wire.count)
    return answers
  }
}

function answerBuffers(scratch: Scratch, count: number): Answers {
  return { found: scratch.bytes(Math.ceil(count / 32) * 4), payloads: scratch.words(count) }
}

function uploadKeys(device: Device, scratch: Scratch, { offsets, bytes }: KeyBlob): WireKeys {
  const wire = {
    offsets: scratch.bytes(offsets.byteLength),
    bytes: scratch.bytes(bytes.byteLength),
    count: offsets.length - 1,
    byteLength: bytes.byteLength,
  }
  device.upload(wire.offsets, asBytes(offsets))
  device.upload(wire.bytes, bytes)
  return wire
}
