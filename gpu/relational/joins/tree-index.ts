import type { Column } from '../../../protocol/columns.js'
import type { Recorder } from '../../device/recorder.js'
import type { DeviceReads, DividedKeys, TreeReads } from '../../device-reads.js'
import type { KeyColumn } from '../../keys/key-column.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { DeviceWork } from '../query/device-work.js'
import type { Matches } from './matches.js'
import type { Tallies, Tally } from './tally.js'

/** What is looked for in an index of the server. */
export interface TreeProbe {
  /** Keys as the index has them on the wire, one a probe; or, with `strings`, numbers of those. */
  readonly keys: GPUBuffer
  readonly count: number
  /** The row number of each probe; their positions if absent. */
  readonly rows?: GPUBuffer
  /** The keys of probes, each once, where they have a variable length: the index is asked for each of these. */
  readonly strings?: { readonly keys: Column; readonly count: number } | undefined
}

/** What indexes of the server are looked into with. */
export interface TreeParts {
  readonly primitives: Primitives
  readonly tallies: Tallies
}

/** Keys that one tree is asked for: neighbours among all that are looked for, from number `first` on. */
interface Share {
  /** Undefined of a tree without keys. */
  readonly reads: TreeReads | undefined
  readonly keys: KeyColumn
  readonly first: number
  readonly count: number
}

/** Bytes that the widest column has for a key or for a match, and which must be bound at once. */
const ENTRY_BYTES = 8

/** Matches for each row and each probe past which an index is not used: the same rows come again and again, and each takes memory. */
const MOST_REPEATS = 2

/** Matches past which an index over so many rows is not used, once they are counted, for so many keys that are looked for. */
export function mostMatches(rows: number, asked: number): number {
  return MOST_REPEATS * (rows + asked)
}

/**
 * The rows of a relation in whose index, a prefix tree or CSS-tree of the server, each probe is found. Payloads are row numbers of 32 bits.
 */
export class TreeIndex {
  readonly #reads: DeviceReads

  constructor(reads: DeviceReads) {
    this.#reads = reads
  }

  /**
   * Counts the rows that each probe matches, then gathers them, in order of the probes, or of the shards that they belong to.
   * @returns undefined where they are more than there is room for
   */
  async match(
    parts: TreeParts,
    work: DeviceWork,
    scratch: Scratch,
    probe: TreeProbe,
  ): Promise<Matches | undefined> {
    const { trees } = this.#reads
    const asked = probe.strings?.count ?? probe.count
    const most = Math.floor(work.device.facts.bindingBytes / ENTRY_BYTES)
    if (Math.max(probe.count, asked) > most) return undefined
    const keys = this.#keysOf(work, scratch, probe)
    const isOne = trees.length === 1 || trees.every((tree) => tree === undefined)
    // Keys are divided by work of its own, behind what was recorded.
    if (!isOne) work.submit()
    const divided = isOne ? undefined : await this.#reads.divide(scratch, keys, asked)
    const shares = await this.#shares(work, scratch, keys, asked, divided)
    const found = scratch.words(asked)
    for (const { reads, keys, first, count } of shares) {
      const own = shares.length === 1 ? found : scratch.words(count)
      if (reads === undefined) work.recorder.clear(own, 0, 4 * count)
      else reads.count(work.recorder, keys, own, count)
      if (own !== found) work.recorder.copy(own, 0, found, 4 * first, 4 * count)
    }
    const places = { primitives: parts.primitives, scratch, probe, asked, divided }
    const counts = ofProbes(places, work.recorder, found)
    const [tally, ...sums] = await parts.tallies.read(work, scratch, [
      { counts, count: probe.count },
      ...shares.map(({ first, count }) => ({ counts: found, first, count })),
    ])
    const rows = trees.reduce((sum, tree) => sum + (tree?.payloads ?? 0), 0)
    const gathered = sums.reduce((total, { sum }) => total + sum, 0)
    if (gathered > Math.min(most, mostMatches(rows, asked))) return undefined
    const { firsts, payloads } = gather(parts, work.recorder, scratch, shares, sums, asked)
    return {
      algorithm: 'inlj',
      probes: probe.count,
      counts,
      firsts: ofProbes(places, work.recorder, firsts),
      rows: { probe: rowsOf(places, work.recorder), build: payloads },
      tally: tally!,
    }
  }

  /** What is looked for, ready for the trees. */
  #keysOf({ recorder }: DeviceWork, scratch: Scratch, { keys, strings }: TreeProbe): KeyColumn {
    const reads = this.#reads.trees.find((tree) => tree !== undefined)
    if (strings === undefined || reads === undefined) return { keys, heap: undefined }
    return reads.queries(recorder, scratch, strings.keys)
  }

  async #shares(
    { recorder }: DeviceWork,
    scratch: Scratch,
    keys: KeyColumn,
    count: number,
    divided: DividedKeys | undefined,
  ): Promise<readonly Share[]> {
    const { trees } = this.#reads
    if (divided === undefined) return [{ reads: trees[0], keys, first: 0, count }]
    const shares: Share[] = []
    for (const [tree, reads] of trees.entries()) {
      const first = divided.starts[tree]!
      const count = divided.starts[tree + 1]! - first
      if (count === 0) continue
      const own = await this.#reads.part(recorder, scratch, divided, tree)
      shares.push({ reads, keys: own, first, count })
    }
    return shares
  }
}

/** The payloads of all that is looked for, and where those of each begin. */
function gather(
  { primitives }: TreeParts,
  recorder: Recorder,
  scratch: Scratch,
  shares: readonly Share[],
  sums: readonly Tally[],
  asked: number,
): { readonly firsts: GPUBuffer; readonly payloads: GPUBuffer } {
  const total = sums.reduce((all, { sum }) => all + sum, 0)
  const firsts = scratch.words(asked)
  const payloads = scratch.words(total)
  let before = 0
  shares.forEach(({ reads, keys, first, count }, i) => {
    const { sum } = sums[i]!
    if (reads === undefined || sum === 0) return
    const { positions, payloads: column } = reads.getAll(recorder, scratch, keys, count, sum)
    const moved = scratch.words(count)
    primitives.map(recorder, positions, moved, count, { multiplier: 1, addend: before })
    recorder.copy(moved, 0, firsts, 4 * first, 4 * count)
    recorder.copy(column.buffer, 0, payloads, 4 * before, 4 * sum)
    before += sum
  })
  return { firsts, payloads }
}

/** How probes belong to what is looked for. */
interface ProbePlaces {
  readonly primitives: Primitives
  readonly scratch: Scratch
  readonly probe: TreeProbe
  readonly asked: number
  readonly divided: DividedKeys | undefined
}

/** From words of what is looked for to words of probes: several may have one string. */
function ofProbes(
  { primitives, scratch, probe, asked, divided }: ProbePlaces,
  recorder: Recorder,
  words: GPUBuffer,
): GPUBuffer {
  const { keys, count, strings } = probe
  if (strings === undefined) return words
  let inOrder = words
  if (divided !== undefined) {
    inOrder = scratch.words(asked)
    primitives.scatter(recorder, words, divided.positions, inOrder, asked, 1)
  }
  const expanded = scratch.words(count)
  primitives.gather(recorder, inOrder, keys, expanded, count, 1)
  return expanded
}

/** Row numbers in the order in which `ofProbes` has the probes. */
function rowsOf(
  { primitives, scratch, probe, divided }: ProbePlaces,
  recorder: Recorder,
): GPUBuffer | undefined {
  const { rows, count, strings } = probe
  if (divided === undefined || strings !== undefined) return rows
  if (rows === undefined) return divided.positions
  const moved = scratch.words(count)
  primitives.gather(recorder, rows, divided.positions, moved, count, 1)
  return moved
}
