import t, { type Test } from 'tap'
import type { Device } from '../../../gpu/device/device.js'
import type { IndexShape } from '../../../gpu/index-structure.js'
import { PrefixTree } from '../../../gpu/prefix-tree/prefix-tree.js'
import { rowCount, rowsOf } from '../../../protocol/rows.js'
import { TRAVERSALS } from '../../../protocol/traversal.js'
import { WriteOp } from '../../../protocol/types.js'
import { runProgram } from '../../differential.js'
import { openKeySpace, VARIABLE_KEY_TYPES } from '../../key-space.js'
import { freshSeed, Random } from '../../random.js'
import { openDevice } from '../open-device.js'
import { treeSubject } from './tree-subject.js'

const LANES = 16
const SLOTS = 16
const NODE = 0x40000000
const TUPLE = 0x80000000
const TAG = 0xc0000000
const REFERENCE = 0x3fffffff

const SEED = Number(process.env.WARPDEX_SEED ?? freshSeed())

let device: Device
t.before(async () => {
  device = await openDevice(t)
})

function coalesced(keyType: IndexShape['keyType'], partitionLevels?: number): IndexShape {
  const layout = { layout: 'full', allocation: 'coalesced', partitionLevels } as const
  return { keyType, payloadBytes: 4, unique: false, matchFrom: 0, ...layout }
}

/** A tree's nodes, read back. */
class Nodes {
  readonly count: number
  readonly #words: Uint32Array
  readonly #levels: number

  private constructor(words: Uint32Array, levels: number) {
    this.#words = words
    this.#levels = levels
    this.count = words.length / SLOTS
  }

  static async of(tree: PrefixTree, levels: number): Promise<Nodes> {
    const { parts, release } = await tree.image()
    const chunks: Uint8Array[] = []
    for await (const chunk of parts.find(({ name }) => name === 'nodes')!.chunks) chunks.push(chunk)
    release()
    return new Nodes(new Uint32Array(Buffer.concat(chunks).buffer.slice(0)), levels)
  }

  /** What the 16 lanes of a node have in the slot of a digit. */
  lanes(node: number, digit: number): Uint32Array {
    const first = (node / LANES) * LANES * SLOTS + digit * LANES
    return this.#words.subarray(first, first + LANES)
  }

  /**
   * Goes through all groups, level by level, and checks that lanes differ in leaf slots and tuples only.
   * @returns lanes in use of the groups of each level of partitions, by the number of the group's root
   */
  check(t: Test): number[][] {
    const levels: number[][] = []
    let seen = 0
    let lanes = new Map([[0, new Set([0])]])
    while (lanes.size > 0) {
      const below = new Map<number, Set<number>>()
      const groups = [...lanes].toSorted(([one], [other]) => one - other)
      for (const [root, used] of groups) {
        seen += this.#checkGroup(t, root, 0, used, below)
        t.strictSame(
          [...used].toSorted((a, b) => a - b),
          [...used.keys()].map((_, i) => i),
          'lanes fill in order',
        )
      }
      levels.push(groups.map(([, used]) => used.size))
      lanes = below
    }
    t.equal(seen * LANES, this.count, 'every node that was taken is in the tree, once')
    for (const level of levels) {
      t.ok(
        level.slice(0, -1).every((used) => used === LANES),
        `full groups but for the last: ${level}`,
      )
    }
    return levels
  }

  #checkGroup(
    t: Test,
    node: number,
    depth: number,
    used: Set<number>,
    below: Map<number, Set<number>>,
  ): number {
    let seen = 1
    for (let digit = 0; digit < SLOTS; digit++) {
      const entries = this.lanes(node, digit)
      const isLeaf = depth + 1 === this.#levels
      const pointers = new Set<number>()
      for (const [lane, entry] of entries.entries()) {
        const tag = (entry & TAG) >>> 0
        if (tag !== 0 && (isLeaf || tag === TUPLE) && !used.has(lane))
          t.fail('a lane that is not in use has a leaf')
        if (tag === TUPLE) continue
        if (!isLeaf) pointers.add(tag === NODE ? entry - lane : entry)
        else if (tag === NODE) addLane(below, entry & REFERENCE)
        else if (entry !== 0) t.fail(`${entry} in a slot`)
      }
      if (pointers.size > 1) t.fail(`lanes differ: ${entries}`)
      const [pointer = 0] = pointers
      if (pointer !== 0) seen += this.#checkGroup(t, pointer & REFERENCE, depth + 1, used, below)
    }
    return seen
  }
}

function addLane(groups: Map<number, Set<number>>, node: number): void {
  const root = node - (node % LANES)
  groups.set(root, (groups.get(root) ?? new Set()).add(node % LANES))
}

async function insert(
  tree: PrefixTree,
  keys: readonly Uint8Array[],
  op: WriteOp = WriteOp.insert,
): Promise<void> {
  const { bytes, offsets } = rowsOf(keys)
  const payloads = new Uint8Array(4 * keys.length)
  const prepared = await tree.prepare({ ops: op, keys: bytes, keyOffsets: offsets, payloads })
  prepared.apply()
}

t.test('partitions of a level are filled together', async (t) => {
  t.comment(`WARPDEX_SEED=${SEED}`)
  const random = new Random(SEED)
  for (const keyType of VARIABLE_KEY_TYPES) {
    const levels = random.pick([1, 2, 3, 5, 16])
    t.comment(`${keyType}, ${levels} levels`)
    const tree = await PrefixTree.create(device, coalesced(keyType, levels))
    const keys = openKeySpace(random, keyType, 16)
    for (let batch = 0; batch < 4; batch++) {
      const { bytes, offsets: keyOffsets } = keys.column(random.pick([1, 20, 150]))
      const payloads = new Uint8Array(4 * rowCount({ bytes, offsets: keyOffsets }, undefined))
      const ops = batch === 2 ? WriteOp.deleteKey : WriteOp.insert
      const prepared = await tree.prepare({ ops, keys: bytes, keyOffsets, payloads })
      prepared.apply()
      if (tree.stats().usedBytes > 0) (await Nodes.of(tree, levels)).check(t)
    }
    await tree.compact()
    if (tree.stats().keys > 0) (await Nodes.of(tree, levels)).check(t)
    tree.destroy()
  }
})
