import { WarpdexError } from '../../../protocol/errors.js'
import type { Device } from '../../device/device.js'
import type { Scratch } from '../../memory/scratch.js'
import type { PrefixTree } from '../../prefix-tree/prefix-tree.js'
import type { KeyWords } from '../../primitives/primitives.js'
import type { JoinSide } from './join-types.js'
import type { Matches } from './matches.js'
import type { Tallies } from './tally.js'

/** Key types whose keys are on the wire what they are in joins: unsigned numbers. */
const KEY_WORDS: Readonly<Record<string, KeyWords>> = { u32: 1, u64: 2 }

/**
 * A prefix tree or CSS-tree of the server as the index of an INLJ by equal keys. Its payloads are row numbers of 32 bits, of the rows
 * that the side has.
 */
export class TreeIndex {
  readonly keyWords: KeyWords
  readonly #tree: PrefixTree

  /** @throws WarpdexError `BAD_REQUEST` for keys that are no unsigned numbers, or payloads that are no row numbers */
  constructor(tree: PrefixTree) {
    const { keyType, payloadBytes } = tree.shape
    const keyWords = KEY_WORDS[keyType]
    if (keyWords === undefined || payloadBytes !== 4) {
      throw new WarpdexError(
        'BAD_REQUEST',
        `an index of ${keyType} with ${payloadBytes} bytes of payload cannot be joined with: it takes u32 or u64 and row numbers of 4 bytes`,
      )
    }
    this.keyWords = keyWords
    this.#tree = tree
  }

  /** Finds and counts the rows that each probe matches: counts them, then gathers them, in order of the probes. */
  match(device: Device, tallies: Tallies, scratch: Scratch, probe: JoinSide): Promise<Matches> {
    const { keys, count } = probe
    const queries = { keys, heap: undefined }
    return this.#tree.duringReads(async (reads): Promise<Matches> => {
      const counts = scratch.words(count)
      const counting = device.record()
      if (reads === undefined) counting.clear(counts, 0, 4 * count)
      else reads.count(counting, queries, counts, count)
      const [tally] = await tallies.submit(counting, scratch, [{ counts, count }])
      const common = { algorithm: 'inlj', probes: count, counts, period: count, tally: tally! } as const
      if (reads === undefined || tally!.sum === 0) {
        return { ...common, firsts: counts, rows: { probe: probe.rows, build: undefined } }
      }
      const gathering = device.record()
      const { positions, payloads } = reads.getAll(gathering, scratch, queries, count, tally!.sum)
      gathering.submit()
      return { ...common, firsts: positions, rows: { probe: probe.rows, build: payloads.buffer } }
    })
  }
}
