import type { Device } from '../../../gpu/device/device.js'
import { Arena } from '../../../gpu/index/arena.js'
import { treeShape } from '../../../gpu/index/layout.js'
import type { TraversalPlan } from '../../../gpu/index/partitions/locator.js'
import { partsFor } from '../../../gpu/index/parts.js'
import type { Get } from '../../../gpu/index/read/get.js'
import type { TreeWriter } from '../../../gpu/index/write/tree-writer.js'
import type { IndexShape } from '../../../gpu/index-structure.js'
import { TRAVERSALS, type Traversal, type TreeLayout } from '../../../protocol/traversal.js'
import { WriteOp } from '../../../protocol/types.js'
import { type KeyBlob, numberedPayloads } from '../../keys.js'
import { type DeviceStructure, type DeviceTools, LoadedDevice } from './device-subject.js'
import type { Loaded, Subject } from './subject.js'

/** A prefix tree on the device, and how keys are found in it. */
export interface TreeCase {
  readonly name: string
  readonly layout: TreeLayout
  readonly traversal: Traversal
}

const FULL: TreeLayout = { layout: 'full' }
const COALESCED: TreeLayout = { layout: 'full', allocation: 'coalesced' }
const COMPACT: TreeLayout = { layout: 'compact', partitionLevels: 'auto' }

/** Every traversal that is measured. Those that go down partitions are also measured with partitions of other heights. */
export const CASES: readonly TreeCase[] = [
  ...TRAVERSALS.map((traversal) => ({
    name: [traversal.strategy, traversal.resolution].filter((part) => part !== undefined).join(' '),
    layout: FULL,
    traversal,
  })),
  {
    name: 'speculative reversed, coalesced',
    layout: COALESCED,
    traversal: { strategy: 'speculative', resolution: 'reversed' },
  },
  {
    name: 'hierarchical serial, coalesced',
    layout: COALESCED,
    traversal: { strategy: 'hierarchical', resolution: 'serial' },
  },
  { name: 'sequential, compact', layout: COMPACT, traversal: { strategy: 'sequential' } },
  {
    name: 'directed reversed, compact',
    layout: COMPACT,
    traversal: { strategy: 'directed', resolution: 'reversed' },
  },
]

/** Every layout whose memory is measured. */
export const LAYOUTS: readonly Omit<TreeCase, 'traversal'>[] = [
  { name: 'full, on demand', layout: FULL },
  { name: 'full, coalesced', layout: COALESCED },
  { name: 'compact', layout: { layout: 'compact' } },
]

export const SHAPE: IndexShape = { keyType: 'string', payloadBytes: 4, unique: true, matchFrom: 0 }

/** A prefix tree of one layout with one traversal. */
export class TreeSubject implements Subject {
  readonly name: string
  readonly #tools: DeviceTools
  readonly #shape: IndexShape
  readonly #traversal: Traversal

  constructor(tools: DeviceTools, { name, layout, traversal }: TreeCase) {
    this.name = name
    this.#tools = tools
    this.#shape = { ...SHAPE, ...layout }
    this.#traversal = traversal
  }

  async load(keys: KeyBlob): Promise<Loaded> {
    const { device } = this.#tools
    const { reads, writer, locator } = await partsFor(device, this.#shape)
    const arena = await insertedArena(device, this.#shape, writer, keys)
    try {
      const plan =
        this.#traversal.strategy === 'sequential' ? undefined : await locator?.plan(arena, this.#traversal)
      return new LoadedDevice(this.#tools, this.#structure(reads.get, arena, plan))
    } catch (error) {
      arena.destroy()
      throw error
    }
  }

  #structure(get: Get, arena: Arena, plan: TraversalPlan | undefined): DeviceStructure {
    return {
      bytes: arena.usedBytes,
      recordGet: (recorder, scratch, { records, heap }, { found, payloads }, count) => {
        const queries = { keys: records, heap }
        get.record({ recorder, scratch, arena }, { queries, found, payloads, count }, plan)
      },
      destroy: () => arena.destroy(),
    }
  }
}

/** An arena with a set of keys, each with its number as payload. */
export async function insertedArena(
  device: Device,
  shape: IndexShape,
  writer: TreeWriter,
  keys: KeyBlob,
): Promise<Arena> {
  const room = { nodes: 1, tuples: 1, extentWords: 1, keyWords: 1 }
  const arena = await Arena.create(device, treeShape(shape), room)
  try {
    const payloads = { bytes: numberedPayloads(1, 0, keys.offsets.length - 1), width: 4 }
    const prepared = await writer.prepare(arena, { ops: WriteOp.insert, keys, payloads })
    prepared.apply()
    return arena
  } catch (error) {
    arena.destroy()
    throw error
  }
}
