import type { IndexShape } from '../../gpu/index-structure.js'
import { Arena } from '../../gpu/prefix-tree/arena.js'
import { treeShape } from '../../gpu/prefix-tree/layout.js'
import { TreeReader } from '../../gpu/prefix-tree/read/tree-reader.js'
import { type Items, uploadItems } from '../../gpu/prefix-tree/write/items.js'
import { TreeWriter } from '../../gpu/prefix-tree/write/tree-writer.js'
import type { Traversal, TreeLayout } from '../../protocol/traversal.js'
import { WriteOp } from '../../protocol/types.js'
import { type KeyBlob, numberedPayloads } from '../keys.js'
import { type DeviceStructure, type DeviceTools, LoadedDevice } from './device-subject.js'
import type { Loaded, Subject } from './subject.js'

/** A prefix tree on the device, and how keys are found in it. */
export interface TreeCase {
  readonly name: string
  readonly layout: TreeLayout
  readonly traversal: Traversal
}

/** Every traversal that is measured. Those that go down partitions are also measured with partitions of other heights. */
export const TRAVERSALS: readonly TreeCase[] = [
  { name: 'sequential, compact', layout: { layout: 'compact' }, traversal: { strategy: 'sequential' } },
]

/** Every layout whose memory is measured. */
export const LAYOUTS: readonly Omit<TreeCase, 'traversal'>[] = [
  { name: 'compact', layout: { layout: 'compact' } },
]

const SHAPE: IndexShape = { keyType: 'string', payloadBytes: 4, unique: true, matchFrom: 0 }

/** A prefix tree of one layout with one traversal. */
export class TreeSubject implements Subject {
  readonly name: string
  readonly #tools: DeviceTools
  readonly #shape: IndexShape

  constructor(tools: DeviceTools, { name, layout }: TreeCase) {
    this.name = name
    this.#tools = tools
    this.#shape = { ...SHAPE, ...layout }
  }

  async load(keys: KeyBlob): Promise<Loaded> {
    const { device, primitives } = this.#tools
    const [writer, reader, arena] = await Promise.all([
      TreeWriter.create(device, primitives, this.#shape),
      TreeReader.create(device, primitives, this.#shape),
      Arena.create(device, treeShape(this.#shape), { nodes: 1, tuples: 1, extentWords: 1, keyWords: 1 }),
    ])
    try {
      await this.#insert(writer, arena, keys)
      return new LoadedDevice(this.#tools, this.#structure(reader, arena))
    } catch (error) {
      arena.destroy()
      throw error
    }
  }

  async #insert(writer: TreeWriter, arena: Arena, { bytes, offsets }: KeyBlob): Promise<void> {
    const { device } = this.#tools
    const count = offsets.length - 1
    const scratch = device.scratch()
    const columns = { keys: bytes, keyOffsets: offsets, payloads: numberedPayloads(1, 0, count) }
    let items: Items
    try {
      items = uploadItems(device, scratch, this.#shape, { ops: WriteOp.insert, ...columns }, count)
    } catch (error) {
      scratch.release()
      throw error
    }
    const prepared = await writer.prepareItems(arena, scratch, items)
    prepared.apply()
  }

  #structure(reader: TreeReader, arena: Arena): DeviceStructure {
    return {
      bytes: arena.usedBytes,
      recordGet: (recorder, _, { records, heap }, { found, payloads }, count) =>
        reader.recordGet(recorder, arena, { keys: records, heap }, found, payloads, count),
      destroy: () => arena.destroy(),
    }
  }
}
