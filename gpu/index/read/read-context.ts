import { asBytes, type Column, countOf } from '../../../protocol/columns.js'
import type { KeyType } from '../../../protocol/types.js'
import type { Device, DeviceColumn, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Conditions } from '../../device/shaders.js'
import type { IndexShape } from '../../index-structure.js'
import type { KeyColumn } from '../../keys/key-column.js'
import { KeyNormaliser } from '../../keys/normalise.js'
import { KeyRestorer } from '../../keys/restore.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { ResultMemory } from '../../memory/result-memory.js'
import type { Scratch } from '../../memory/scratch.js'
import type { DeviceWord, Primitives } from '../../primitives/primitives.js'
import type { Arena, ArenaContent } from '../arena.js'
import { shownBytes, type TreeShape, treeShape } from '../layout.js'
import type { Locator } from '../partitions/locator.js'
import { type Batch, batchOf } from '../partitions/traversal-costs.js'
import { NarrowPayloads } from './narrow-payloads.js'

/** A column with something for each entry of a result. */
export interface EntryColumn {
  readonly buffer: DeviceMemory
  /** Bytes an entry. */
  readonly entryBytes: number
}

/** Where a read is recorded, and what it reads. */
export interface ReadWork<Content extends ArenaContent = Arena> {
  readonly recorder: Recorder
  readonly scratch: Scratch
  readonly arena: Content
}

/** What every read operation of a tree works with. */
export class ReadContext {
  readonly device: Device
  readonly primitives: Primitives
  readonly keyType: KeyType
  readonly tree: TreeShape
  /** Restores keys of variable length; undefined for those of fixed width. */
  readonly restorer: KeyRestorer | undefined
  /** Finds keys by partitions, where trees have any. */
  readonly locator: Locator | undefined
  /** Packs payloads into columns. */
  readonly narrow: NarrowPayloads
  /** Bytes of a key in kernels' results: the key, or the record of one of variable length. */
  readonly keyBytes: number
  /** Bytes of a payload in a column of a result. */
  readonly payloadBytes: number
  /** Bytes of a payload in a column of a write. */
  readonly storedBytes: number
  /** Bytes of a payload in the tree, and in kernels' results. */
  readonly paddedBytes: number
  readonly #normaliser: KeyNormaliser | undefined

  constructor(device: Device, primitives: Primitives, shape: IndexShape, locator?: Locator) {
    const tree = treeShape(shape)
    const { form } = tree
    this.device = device
    this.primitives = primitives
    this.keyType = shape.keyType
    this.tree = tree
    this.restorer = form && new KeyRestorer(device, primitives, form)
    this.locator = locator
    this.narrow = new NarrowPayloads(device, tree.conditions, this.enoughGroups)
    this.keyBytes = 4 * tree.keyWords
    this.payloadBytes = shownBytes(shape)
    this.storedBytes = shape.payloadBytes
    this.paddedBytes = 4 * tree.payloadWords
    this.#normaliser = form && new KeyNormaliser(device, primitives, form)
  }

  /** Workgroups that keep the adapter busy, for kernels that loop over as much work as the device finds. */
  get enoughGroups(): number {
    return this.device.facts.software ? 16 : 512
  }

  /** Entries of a result that the device can hold. */
  get mostEntries(): number {
    return Math.floor(this.device.facts.bindingBytes / Math.max(HIT_BYTES, this.paddedBytes))
  }

  /** Kernels of this folder. */
  kernels<Name extends string>(
    name: string,
    entryPoints: readonly Name[],
    conditions: Conditions = {},
  ): Kernels<Name> {
    return this.device.kernels(`index/read/${name}`, entryPoints, { ...this.tree.conditions, ...conditions })
  }

  /** How many keys a column has, and how long they are. */
  batch(keys: Column): Batch {
    return batchOf(this.tree, keys)
  }

  /** Keys as they came off the wire, ready for kernels. */
  queries(recorder: Recorder, scratch: Scratch, keys: Column): KeyColumn {
    const { bytes, offsets } = keys
    if (this.#normaliser === undefined || offsets === undefined) {
      return { keys: this.upload(scratch, bytes, recorder), heap: undefined }
    }
    const wire = {
      offsets: this.upload(scratch, asBytes(offsets), recorder),
      bytes: this.upload(scratch, bytes, recorder),
      count: countOf(keys),
      byteLength: bytes.byteLength,
    }
    const { records, heap } = this.#normaliser.record(recorder, scratch, wire)
    return { keys: records, heap }
  }

  /**
   * The column of `count` payloads as a result has them, of `live` where the device knows that there are fewer.
   * @param isWhole whether they are to have when they expire
   */
  payloadColumn(
    work: Pick<ReadWork, 'recorder' | 'scratch'>,
    padded: DeviceMemory,
    count: number,
    live?: DeviceWord,
    isWhole = false,
  ): DeviceMemory {
    const hidden = isWhole ? 0 : this.tree.hiddenWords
    return this.narrow.record(work, padded, count, this.widthOf(isWhole), live, hidden)
  }

  /** Bytes of a payload in a column of a result. */
  widthOf(isWhole: boolean): number {
    return isWhole ? this.storedBytes : this.payloadBytes
  }

  /**
   * A column on the device; without one a buffer that stands in where a kernel does not look.
   * @param recorder see `Device.upload`
   */
  upload(scratch: Scratch, column: Uint8Array | undefined, recorder?: Recorder): DeviceMemory {
    const buffer = scratch.bytes(column?.byteLength ?? 0)
    if (column !== undefined) this.device.upload(buffer, column, 0, recorder)
    return buffer
  }

  /** Does a read whose scratch memory stays until it has settled; the task is begun at once. */
  read<T>(arena: Arena, task: (work: ReadWork) => Promise<T>): Promise<T> {
    const { device } = this
    return device.withScratch((scratch) => task({ recorder: device.record(), scratch, arena }))
  }

  /**
   * Records, submits and reads back in one round trip; all is submitted when it returns its promise.
   * @param memory where the columns go; memory of their own without it
   */
  async run(
    record: (recorder: Recorder, scratch: Scratch) => readonly DeviceColumn[],
    memory?: ResultMemory,
  ): Promise<Uint8Array[]> {
    const scratch = this.device.scratch()
    let columns: Promise<Uint8Array[]>
    try {
      const recorder = this.device.record()
      columns = this.device.submitAndRead(recorder, record(recorder, scratch), memory)
    } finally {
      scratch.release()
    }
    return columns
  }

  /**
   * Submits and reads a result whose size only the device knows: columns of known length and columns of entries. Small results
   * come in one round trip, larger ones bring their size first. What was recorded is submitted when it returns its promise;
   * the columns must not be reused before it settles.
   * @param most entries that there are at most
   * @param total the number of entries, from the columns of known length
   */
  async readEntries(
    recorder: Recorder,
    known: readonly DeviceColumn[],
    columns: readonly EntryColumn[],
    most: number,
    total: (known: readonly Uint8Array[]) => number,
    memory?: ResultMemory,
  ): Promise<{ known: Uint8Array[]; entries: Uint8Array[] }> {
    const slices = (count: number) => {
      return columns.map(({ buffer, entryBytes }) => ({ buffer, bytes: count * entryBytes }))
    }
    const eager = Math.min(EAGER_ENTRIES, most)
    const first = await this.device.submitAndRead(recorder, [...known, ...slices(eager)], memory)
    const sizes = first.slice(0, known.length)
    const count = total(sizes)
    const entries =
      count <= eager
        ? first.slice(known.length)
        : await this.device.submitAndRead(this.device.record(), slices(count), memory)
    return {
      known: sizes,
      entries: entries.map((bytes, i) => bytes.subarray(0, count * columns[i].entryBytes)),
    }
  }
}

/** Bytes of a hit in `cursor.wesl`. */
const HIT_BYTES = 8

/** Entries that are read back together with the sizes. */
const EAGER_ENTRIES = 4096

/** The words of a column. */
export function words(column: Uint8Array): Uint32Array {
  return new Uint32Array(column.buffer, column.byteOffset, column.byteLength / 4)
}

/** Bytes of a bitmap of n bits. */
export function bitmapBytes(bits: number): number {
  return Math.ceil(bits / 8)
}
