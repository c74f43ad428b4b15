import { WarpdexError } from '../../protocol/errors.js'
import type { Device } from '../device/device.js'
import type { DeviceMemory, PageRun } from '../memory/page-run.js'
import { Region, regionBytes } from '../memory/region.js'
import type { SlabSort } from '../memory/slab.js'
import { EXTENT_HEADER, FIXED_HEAD_WORDS, HEAD_WORDS, LINK_WORDS, SLOTS, type TreeShape } from './layout.js'
import { MergeRooms } from './main/merge-rooms.js'
import { SortedPart } from './main/sorted-part.js'
import type { PartitionTable } from './partitions/partitions.js'

/** What something may take of the device's memory. */
export interface Allowance {
  /** How many bytes it may have at the moment. */
  readonly bytes: () => number
  /** Runs a task that takes some when no other one does that takes of the same. */
  readonly inTurn: <T>(task: () => Promise<T>) => Promise<T>
}

/** How many records of each role something takes. Extents and keys are counted in words, since they differ in size. */
export interface ArenaNeed {
  readonly nodes: number
  readonly tuples: number
  readonly extentWords: number
  /** Only where keys have a variable length. */
  readonly keyWords?: number
  /** Tuples of the sorted part that a CSS-tree is to have, unless it stays as it is. */
  readonly sorted?: number
  /** Whether no more room is made than needed, since what there is is merged elsewhere at once. */
  readonly isTight?: boolean
}

/** The buffers of an arena by the names that kernels have for them; also by those of kernels that see some as vectors or atomics. */
export type ArenaBindings = Readonly<Record<string, DeviceMemory | undefined>>

/** What the content of an arena is read from: the arena itself, or a copy of it. */
export interface ArenaContent {
  /** Bytes of device memory that an arena with this content may take. */
  readonly allowance: Allowance
  /** The buffers by the names that kernels have for them. */
  readonly bindings: ArenaBindings
  readonly tuples: { readonly buffer: DeviceMemory; readonly records: number }
  /** The keys of tuples, where they have a variable length. */
  readonly heap: { readonly buffer: DeviceMemory } | undefined
  /** Of a CSS-tree its sorted part. */
  readonly sorted: Pick<SortedPart, 'tuples' | 'hasRemoved'> | undefined
}

/** The regions of an arena; `Arena` says what they hold. */
interface Regions {
  readonly nodes: Region
  readonly tuples: Region
  readonly extents: Region
  readonly heap?: Region
  readonly heads?: Region
  readonly links?: Region
}

/** A region that trees of a shape have, words of its records, and how many of them something takes. */
interface Role {
  readonly name: keyof Regions
  readonly sort: SlabSort
  readonly label: string
  readonly words: number
  readonly records: number
}

function rolesOf({ tupleStride, conditions }: TreeShape, need: ArenaNeed): readonly Role[] {
  const { variable, headed, linked } = conditions
  const { nodes, tuples, extentWords, keyWords = 0 } = need
  const headWords = variable ? HEAD_WORDS : FIXED_HEAD_WORDS
  return [
    { name: 'nodes', sort: 'tree', label: 'tree nodes', words: SLOTS, records: nodes },
    { name: 'tuples', sort: 'tree', label: 'tuples', words: tupleStride, records: tuples },
    { name: 'extents', sort: 'tree', label: 'payload extents', words: 1, records: extentWords },
    ...(variable
      ? [{ name: 'heap', sort: 'keys', label: 'keys', words: 1, records: keyWords } as const]
      : []),
    ...(headed
      ? [{ name: 'heads', sort: 'tree', label: 'node heads', words: headWords, records: nodes } as const]
      : []),
    ...(linked
      ? [{ name: 'links', sort: 'derived', label: 'links', words: LINK_WORDS, records: tuples } as const]
      : []),
  ]
}

/** Room for a sorted part that is to come. */
export interface SortedRoom {
  /** Bytes that it takes beyond what the present one has. */
  readonly bytes: number
  /** Puts it in the place of the present one. */
  take(): void
  giveBack(): void
}

/** Where the first digits of keys lead in a tree (`top.wesl`). */
export interface Top {
  readonly digits: number
  /** 16 ^ `digits` words. */
  readonly buffer: PageRun
}

/**
 * The device memory of one index: a region for each role, and of a CSS-tree its sorted part. It starts with the root node and nothing
 * else.
 */
export class Arena implements ArenaContent {
  readonly nodes: Region
  tuples: Region
  readonly extents: Region
  /** The keys of tuples, where they have a variable length. */
  readonly heap: Region | undefined
  /** A head for each node, where the shape is `headed`. */
  readonly heads: Region | undefined
  /** The neighbours of each tuple in key order, where the shape is `linked`. */
  readonly links: Region | undefined
  /** The tuples that lie in key order, from tuple 0 on; only of CSS-trees, which start without any. */
  sorted: SortedPart | undefined
  /** Whether a merge in the background reads the sorted part, which must stay then. */
  isBeingMerged = false
  /** Room for what is merged with the sorted part at once. */
  readonly merges: MergeRooms
  /** Only of large trees; see `top.ts`. */
  top: Top | undefined
  /** The tree's partitions, once they are asked for; see `partitions/partitions.ts`. */
  partitions: PartitionTable | undefined
  /** Bytes of device memory that it may take; whoever owns it may lower them. */
  allowance: Allowance
  readonly #device: Device
  readonly #shape: TreeShape
  #comingBytes = 0
  #users = 0
  #onUnused: (() => void) | undefined

  private constructor(device: Device, shape: TreeShape, regions: Regions, sorted: SortedPart | undefined) {
    this.#device = device
    this.#shape = shape
    this.allowance = allowanceOf(device)
    this.nodes = regions.nodes
    this.tuples = regions.tuples
    this.extents = regions.extents
    this.heap = regions.heap
    this.heads = regions.heads
    this.links = regions.links
    this.sorted = sorted
    this.merges = new MergeRooms(device, shape, this)
    this.takeNodes(shape.rootNodes)
    // A link of 0 means that there is no extent, so none may start there.
    this.extents.take(EXTENT_HEADER)
  }

  /**
   * @param mostBytes bytes of device memory that it may take
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  static async create(
    device: Device,
    shape: TreeShape,
    need: ArenaNeed,
    mostBytes = device.structureBytes,
  ): Promise<Arena> {
    const { nodes, extentWords, sorted = 0 } = need
    const first = { ...need, nodes: nodes + shape.rootNodes, extentWords: extentWords + EXTENT_HEADER }
    const roles = rolesOf(shape, first)
    const { css } = shape.conditions
    const sizes = roles.map(({ words, records }) => regionBytes(device, words, records))
    refusePast(mostBytes, sum(sizes) + (css ? SortedPart.bytesFor(device, shape, sorted) : 0))
    const regions: Partial<Record<keyof Regions, Region>> = {}
    try {
      for (const { name, sort, label, words, records } of roles) {
        regions[name] = await Region.create(device, sort, label, words, records)
      }
      const part = css ? await SortedPart.create(device, shape, sorted) : undefined
      return new Arena(device, shape, regions as Regions, part)
    } catch (error) {
      for (const region of Object.values(regions)) region.destroy()
      throw error
    }
  }

  get bindings(): ArenaBindings {
    const { nodes, tuples, extents, heap, heads, links, sorted, top } = this
    return {
      nodes: nodes.buffer,
      nodeQuads: nodes.buffer,
      tuples: tuples.buffer,
      quads: tuples.buffer,
      tuplePairs: tuples.buffer,
      newTuples: tuples.buffer,
      newQuads: tuples.buffer,
      extents: extents.buffer,
      heap: heap?.buffer,
      heads: heads?.buffer,
      nodeHeads: heads?.buffer,
      links: links?.buffer,
      orderLinks: links?.buffer,
      directory: sorted?.directory,
      top: top?.buffer,
      removed: sorted?.removed?.buffer,
    }
  }

  /** Whether all payloads lie in the sorted part, one a tuple, and none has left it. */
  get isContiguous(): boolean {
    const { sorted, tuples, extents } = this
    if (sorted === undefined || sorted.hasRemoved) return false
    return tuples.records === sorted.tuples && extents.records === EXTENT_HEADER
  }

  /** All regions, by the names that images have for them. */
  get regions(): ReadonlyMap<string, Region> {
    const { nodes, tuples, extents, heap, heads, links, sorted } = this
    const all = Object.entries({ nodes, tuples, extents, heap, heads, links, removed: sorted?.removed })
    return new Map(all.flatMap(([name, region]) => (region === undefined ? [] : [[name, region]])))
  }

  /** All pages that it has. */
  get runs(): readonly PageRun[] {
    const { regions, sorted, top, partitions, merges } = this
    const derived = [sorted?.directory, top?.buffer].filter((run) => run !== undefined)
    const own = [...regions.values()].map(({ buffer }) => buffer)
    return [...own, ...derived, ...(partitions?.runs ?? []), ...merges.runs]
  }

  get bytes(): number {
    const regions = sum([...this.regions.values()].map(({ bytes }) => bytes))
    return regions + this.#derivedBytes + this.#comingBytes + this.merges.bytes
  }

  /** Bytes of what can be made again from the regions. */
  get #derivedBytes(): number {
    return (this.top?.buffer.size ?? 0) + (this.partitions?.bytes ?? 0) + (this.sorted?.derivedBytes ?? 0)
  }

  /** Bytes that a sorted part for which room was made will take beyond the present one. */
  get comingBytes(): number {
    return this.#comingBytes
  }

  get usedBytes(): number {
    return (
      sum([...this.regions.values()].map(({ usedBytes }) => usedBytes)) + (this.sorted?.usedDerivedBytes ?? 0)
    )
  }

  /**
   * Makes room, with regard to the sorted part that is to come if there is one. Where that would be more than the arena may take, regions
   * give back the room that they have beyond it.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, with nothing lost; `ArenaFull` where a region would outgrow a binding
   */
  reserve(need: ArenaNeed): Promise<void> {
    return this.allowance.inTurn(() => this.#reserve(need))
  }

  async #reserve(need: ArenaNeed): Promise<void> {
    const needs = rolesOf(this.#shape, need).map(({ name, records }) => [this[name]!, records] as const)
    for (const [region, records] of needs) refuseUnbindable(this.#device, region, records)
    const others = this.#bytesBeside(need.sorted)
    const reserved =
      others + sum(needs.map(([region, records]) => region.reservedBytes(records, need.isTight)))
    const allowed = this.allowance.bytes()
    const fits = reserved <= allowed
    if (reserved + this.merges.bytes > allowed) this.merges.dropSpare()
    if (!fits) {
      const least = others + sum(needs.map(([region, records]) => region.leastBytes(records)))
      refusePast(allowed, least)
    }
    for (const [region, records] of needs) {
      if (fits) await region.reserve(records, need.isTight)
      else await region.fit(records)
    }
    this.#comingBytes = others - this.#bytesBeside(undefined)
  }

  /**
   * A sorted part of so many tuples for the place of the one that there is, in its buffers if they have room for that. Memory must have
   * been made sure of with regard to it.
   * @param most tuples for which there is to be room
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async roomForSorted(tuples: number, most = tuples): Promise<SortedRoom> {
    const part = this.sorted?.hasRoomFor(tuples)
      ? undefined
      : await SortedPart.create(this.#device, this.#shape, tuples, most)
    return {
      bytes: part?.bytes ?? 0,
      take: () => {
        if (part !== undefined) this.sorted?.destroy()
        this.sorted = part ?? this.sorted?.successor(tuples)
        this.#comingBytes = 0
      },
      giveBack: () => {
        part?.destroy()
        this.#comingBytes = 0
      },
    }
  }

  /** Bytes of what is in no region that `reserve` grows, with a sorted part of so many tuples where that is to come. */
  #bytesBeside(sorted: number | undefined): number {
    const here = this.sorted?.bytes ?? 0
    const coming = sorted === undefined ? here : SortedPart.bytesFor(this.#device, this.#shape, sorted)
    return this.#derivedBytes - (this.sorted?.derivedBytes ?? 0) + coming
  }

  /** Hands out nodes, with their heads where there are any; the first one's number. */
  takeNodes(count: number): number {
    this.heads?.take(count)
    return this.nodes.take(count)
  }

  /** Hands out tuples, with their links where there are any; the first one's number. */
  takeTuples(count: number): number {
    this.links?.take(count)
    return this.tuples.take(count)
  }

  /** Counts a user until it lets go of it. */
  hold(): void {
    this.#users++
  }

  letGo(): void {
    this.#users--
    if (this.#users === 0) this.#onUnused?.()
  }

  /** Runs a task, which begins at once, and counts it as a user until it settles. */
  async during<T>(task: () => Promise<T>): Promise<T> {
    this.hold()
    try {
      return await task()
    } finally {
      this.letGo()
    }
  }

  /** Waits until nobody uses the arena. For one that gets no new users, by whoever is to destroy it. */
  async unused(): Promise<void> {
    if (this.#users > 0) await new Promise<void>((resolve) => (this.#onUnused = resolve))
  }

  destroy(): void {
    for (const region of this.regions.values()) region.destroy()
    this.merges.dropSpare()
    this.sorted?.destroy()
    this.top?.buffer.destroy()
    this.partitions?.destroy()
  }
}

function sum(sizes: readonly number[]): number {
  return sizes.reduce((total, size) => total + size, 0)
}

/** That of a structure which has to share with no other. */
export function allowanceOf(device: Device): Allowance {
  return { bytes: () => device.structureBytes, inTurn: (task) => task() }
}

/** Part of an index is as large as the device can bind: what is written to it must go to several. */
export class ArenaFull extends WarpdexError {
  constructor(message: string) {
    super('OUT_OF_DEVICE_MEMORY', message)
  }
}

function refuseUnbindable(device: Device, region: Region, records: number): void {
  const bytes = region.leastBytes(records)
  if (bytes <= device.regionBytes) return
  throw new ArenaFull(
    `${region.label} would need ${bytes} bytes in one piece; ${device.facts.name} binds at most ${device.regionBytes}`,
  )
}

function refusePast(most: number, bytes: number): void {
  if (bytes <= most) return
  throw new WarpdexError(
    'OUT_OF_DEVICE_MEMORY',
    `the index would need ${bytes} bytes of device memory; one index may have at most ${most}`,
  )
}
