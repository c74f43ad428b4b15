import { type DeviceReads, type DividedKeys, payloadsOf, type TreeReads } from '../../device-reads.js'
import type { KeyColumn } from '../../keys/key-column.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import type { DeviceWork } from '../query/device-work.js'
import type { StringDictionary } from '../string-dictionary.js'
import type { Matches } from './matches.js'
import type { Tallies, Tally } from './tally.js'

/** What is looked for in an index of the server. */
export interface TreeProbe {
  /** Keys as the index has them on the wire, one a probe; or, with `strings`, numbers of those. */
  readonly keys: DeviceMemory
  readonly count: number
  /** The row number of each probe; their positions if absent. */
  readonly rows?: DeviceMemory
  /** The keys of probes, each once, where they have a variable length: the index is asked for each of these. */
  readonly strings?: StringDictionary | undefined
}

/** All that is looked for, in the order in which trees are asked. */
interface AskedKeys {
  readonly count: number
  /** Undefined where one tree is asked for all. */
  readonly divided: DividedKeys | undefined
  readonly shares: readonly Share[]
}

/** Keys that one tree is asked for: neighbours among all, from number `first` on. */
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
 * The rows of a relation in whose index, a prefix tree or CSS-tree of the server, each probe is found: counts them, then gathers them. Payloads are row numbers
 * of 32 bits.
 * @returns undefined where they are more than there is room for
 */
export async function matchInIndex(
  work: DeviceWork,
  scratch: Scratch,
  tallies: Tallies,
  index: DeviceReads,
  probe: TreeProbe,
): Promise<Matches | undefined> {
  const { count: probes, rows } = probe
  const count = probe.strings?.size ?? probes
  const most = Math.floor(work.device.facts.bindingBytes / ENTRY_BYTES)
  if (Math.max(probes, count) > most) return undefined
  const asked = await askedKeys(work, scratch, index, probe, count)
  const found = scratch.words(count)
  work.recorder.clear(found, 0, 4 * count)
  for (const { reads, keys, first, count } of asked.shares) {
    const own = scratch.words(count)
    reads?.count(work.recorder, keys, own, count)
    if (reads !== undefined) work.recorder.copy(own, 0, found, 4 * first, 4 * count)
  }
  const counts = ofProbes(work, scratch, asked, probe, found)
  const [tally, ...sums] = await tallies.read(work, scratch, [
    { counts, count: probes },
    ...asked.shares.map(({ first, count }) => ({ counts: found, first, count })),
  ])
  const total = sums.reduce((all, { sum }) => all + sum, 0)
  if (total > Math.min(most, mostMatches(payloadsOf(index), count))) return undefined
  const { firsts, payloads } = gather(work, scratch, asked, sums)
  return {
    algorithm: 'inlj',
    probes,
    counts,
    firsts: ofProbes(work, scratch, asked, probe, firsts),
    rows: { probe: rows, build: payloads },
    tally: tally!,
  }
}

async function askedKeys(
  work: DeviceWork,
  scratch: Scratch,
  index: DeviceReads,
  { keys, strings }: TreeProbe,
  count: number,
): Promise<AskedKeys> {
  const { trees } = index
  const some = trees.find((tree) => tree !== undefined)
  const queries = strings && some ? some.queries(work.recorder, scratch, strings) : { keys, heap: undefined }
  if (trees.length === 1 || some === undefined) {
    return { count, divided: undefined, shares: [{ reads: some, keys: queries, first: 0, count }] }
  }
  // Keys are divided by work of its own, behind what was recorded.
  work.submit()
  const divided = await index.divide(scratch, queries, count)
  const { starts } = divided
  const shares: Share[] = []
  for (const [tree, reads] of trees.entries()) {
    const [first, end] = [starts[tree]!, starts[tree + 1]!]
    if (first === end) continue
    const keys = await index.part(work.recorder, scratch, divided, tree)
    shares.push({ reads, keys, first, count: end - first })
  }
  return { count, divided, shares }
}

/** The payloads of all that is looked for, and where those of each begin. */
function gather(
  work: DeviceWork,
  scratch: Scratch,
  { count: asked, shares }: AskedKeys,
  sums: readonly Tally[],
): { readonly firsts: DeviceMemory; readonly payloads: DeviceMemory } {
  const { recorder, kernels } = work
  const firsts = scratch.words(asked)
  const payloads = scratch.words(sums.reduce((all, { sum }) => all + sum, 0))
  let before = 0
  for (const [i, { reads, keys, first, count }] of shares.entries()) {
    const { sum } = sums[i]!
    if (reads === undefined || sum === 0) continue
    const { positions, payloads: column } = reads.getAll(recorder, scratch, keys, count, sum)
    const moved = scratch.words(count)
    kernels.primitives.map(recorder, positions, moved, count, { multiplier: 1, addend: before })
    recorder.copy(moved, 0, firsts, 4 * first, 4 * count)
    recorder.copy(column.buffer, 0, payloads, 4 * before, 4 * sum)
    before += sum
  }
  return { firsts, payloads }
}

/** From words of what trees were asked for to words of probes, of which several may have one string. */
function ofProbes(
  { recorder, kernels: { primitives } }: DeviceWork,
  scratch: Scratch,
  { count: asked, divided }: AskedKeys,
  { keys, count, strings }: TreeProbe,
  words: DeviceMemory,
): DeviceMemory {
  let inOrder = words
  if (divided !== undefined) {
    inOrder = scratch.words(asked)
    primitives.scatter(recorder, words, divided.positions, inOrder, asked, 1)
  }
  if (strings === undefined) return inOrder
  const expanded = scratch.words(count)
  primitives.gather(recorder, inOrder, keys, expanded, count, 1)
  return expanded
}
