import type { Test } from 'tap'
import type { Device } from '../../../gpu/device/device.js'
import { PrefixTree } from '../../../gpu/index/prefix-tree.js'
import type { IndexShape, WriteBatch } from '../../../gpu/index-structure.js'
import { asBytes, type Column, columnOf } from '../../../protocol/columns.js'
import { WriteOp } from '../../../protocol/types.js'
import { expectEqual } from '../../differential.js'
import { ModelStructure } from '../../model-structure.js'
import type { Random } from '../../random.js'
import { type Readable, reads } from '../../reads.js'

/** Keys that a subject may have. */
const KEYS = 1500

/** A tree, and what it must answer: a plain model and, for positions, the same tree without merges. */
export class MergeSubject {
  readonly tree: PrefixTree
  readonly model: ModelStructure
  readonly unmerged: PrefixTree
  readonly #random: Random

  private constructor(tree: PrefixTree, unmerged: PrefixTree, random: Random) {
    this.tree = tree
    this.unmerged = unmerged
    this.model = new ModelStructure(tree.shape)
    this.#random = random
  }

  /** With keys in order, lone ones and lists in the delta, and garbage. */
  static async open(device: Device, random: Random, shape: IndexShape): Promise<MergeSubject> {
    const trees = [await PrefixTree.create(device, shape), await PrefixTree.create(device, shape)] as const
    const subject = new MergeSubject(...trees, random)
    await subject.write(subject.#batch(500, WriteOp.insert))
    await subject.write(subject.#batch(700, WriteOp.insert))
    await subject.write(subject.#batch(200, WriteOp.deleteKey))
    await subject.writeSome()
    return subject
  }

  async writeSome(): Promise<void> {
    const kinds = Object.values(WriteOp)
    const count = this.#random.pick([1, 20, 300])
    const ops = Uint8Array.from({ length: count }, () => this.#random.pick(kinds))
    await this.write(this.#batch(count, this.#random.chance(0.5) ? ops : this.#random.pick(kinds)))
  }

  async write(batch: WriteBatch): Promise<void> {
    for (const structure of [this.tree, this.unmerged, this.model]) {
      const prepared = await structure.prepare(batch)
      prepared.apply()
    }
  }

  #batch(count: number, ops: WriteBatch['ops']): WriteBatch {
    const { payloadBytes: width } = this.tree.shape
    // Few distinct payloads, so that pairs are met again.
    const payloads = new Uint8Array(count * width).map(() => this.#random.below(2))
    return { ops, keys: this.#column(count), payloads: { bytes: payloads, width } }
  }

  #column(count: number): Column {
    const keys = Array.from({ length: count }, () => this.#random.below(KEYS))
    const { keyType } = this.tree.shape
    if (keyType === 'string') return columnOf(keys.map((key) => Buffer.from(`${key % 7} of ${key}`)))
    return { bytes: asBytes(Uint32Array.from(keys, (key) => key * 2_400_007)), width: 4 }
  }

  /** Compares answers with the model's, also those of another structure with the same content. */
  async compare(t: Test, what: string, tree = this.tree): Promise<void> {
    const { bytes: keys, offsets } = this.#column(100)
    const everything = { ranges: 1, limit: 5000, reverse: this.#random.chance(0.5) }
    const answers = async (structure: Readable) => {
      const { get, getAll, scan } = reads(structure)
      const { tokens: _a, tokenOffsets: _b, ...entries } = await scan(everything)
      return [await get(keys, offsets), await getAll(keys, 5000, offsets), entries]
    }
    expectEqual(await answers(tree), await answers(this.model), what)
    const { keys: count, payloads } = this.model.stats()
    t.match(tree.stats(), { keys: count, payloads }, `${what}: figures`)
  }

  /** Compares positions with those of the tree without merges. */
  async comparePositions(what: string): Promise<void> {
    const { tree, unmerged } = this
    const request = { ranges: 1, limit: 1 + this.#random.below(500), reverse: this.#random.chance(0.5) }
    const first = await reads(unmerged).scan(request)
    expectEqual(await reads(tree).scan(request), first, `${what}: tokens`)
    const { tokens, tokenOffsets } = first
    const rest = { ...request, tokens, tokenOffsets }
    expectEqual(
      await reads(tree).scan(rest),
      await reads(unmerged).scan(rest),
      `${what}: what comes after a token`,
    )
    const { bytes: keys, offsets: keyOffsets } = this.#column(100)
    const next = { keys, keyOffsets }
    expectEqual(await reads(tree).getNext(next), await reads(unmerged).getNext(next), `${what}: sequences`)
  }

  destroy(): void {
    this.tree.destroy()
    this.unmerged.destroy()
  }
}
