import t from 'tap'
import type { Device } from '../../../gpu/device/device.js'
import { PrefixTree } from '../../../gpu/index/prefix-tree.js'
import type { IndexShape } from '../../../gpu/index-structure.js'
import { blankColumn, type Column, columnOf, countOf } from '../../../protocol/columns.js'
import { TRAVERSALS } from '../../../protocol/traversal.js'
import { WriteOp } from '../../../protocol/types.js'
import { KEY_TYPES, runProgram } from '../../differential.js'
import { openKeySpace } from '../../key-space.js'
import { concat } from '../../plain-bytes.js'
import { everyOther, Random, seedOfRun } from '../../random.js'
import { reads } from '../../reads.js'
import { openDevice } from '../open-device.js'
import { treeSubject } from './tree-subject.js'

const LANES = 16
const SLOTS = 16
const NODE = 0x40000000
const TUPLE = 0x80000000

const SEED = seedOfRun()

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
  readonly #count: number
  readonly #words: Uint32Array
  readonly #levels: number

  private constructor(words: Uint32Array, levels: number) {
    this.#words = words
    this.#levels = levels
    this.#count = words.length / SLOTS
  }

  static async of(tree: PrefixTree, levels: number): Promise<Nodes> {
    const { parts } = await tree.image()
    const chunks: Uint8Array[] = []
    for await (const chunk of parts.find(({ name }) => name === 'nodes')!.chunks) chunks.push(chunk.slice())
    return new Nodes(new Uint32Array(concat(chunks).slice().buffer), levels)
  }

  /**
   * Goes through all groups, level by level.
   * @returns what is wrong with them
   */
  faults(): string[] {
    const faults: string[] = []
    let seen = 0
    let level = new Map([[0, new Set([0])]])
    while (level.size > 0) {
      const below = new Map<number, Set<number>>()
      const groups = [...level].toSorted(([one], [other]) => one - other)
      for (const [i, [root, used]] of groups.entries()) {
        seen += this.#visit(root, 0, used, below, faults)
        const isFilled = i + 1 === groups.length || used.size === LANES
        if (!isFilled || !used.has(used.size - 1)) faults.push(`lanes in use of ${root}: ${[...used]}`)
      }
      level = below
    }
    if (seen * LANES !== this.#count) faults.push(`${seen} nodes of 16 lanes of ${this.#count} numbers`)
    return faults
  }

  /** Goes through the nodes of a group from one on; how many there are. */
  #visit(
    node: number,
    depth: number,
    used: Set<number>,
    below: Map<number, Set<number>>,
    faults: string[],
  ): number {
    let seen = 1
    const isLeaf = depth + 1 === this.#levels
    for (let digit = 0; digit < SLOTS; digit++) {
      const pointers = new Set<number>()
      for (const [lane, entry] of this.#lanes(node, digit).entries()) {
        const isTuple = (entry & TUPLE) !== 0
        const isOwn = isTuple || (isLeaf && entry !== 0)
        if (isOwn && !used.has(lane)) faults.push(`${entry} in lane ${lane} of ${node}, which is not in use`)
        if (!isTuple && isLeaf && entry !== 0) addLane(below, entry - NODE)
        if (!isOwn) pointers.add(entry === 0 ? 0 : entry - NODE - lane)
      }
      if (pointers.size > 1) faults.push(`lanes of ${node} lead to ${[...pointers]}`)
      for (const pointer of pointers) {
        if (pointer > 0) seen += this.#visit(pointer, depth + 1, used, below, faults)
      }
    }
    return seen
  }

  /** What the 16 lanes of a node have in the slot of a digit. */
  #lanes(node: number, digit: number): Uint32Array {
    const first = (node / LANES) * LANES * SLOTS + digit * LANES
    return this.#words.subarray(first, first + LANES)
  }
}

function addLane(groups: Map<number, Set<number>>, node: number): void {
  const root = node - (node % LANES)
  groups.set(root, (groups.get(root) ?? new Set()).add(node % LANES))
}

async function write(tree: PrefixTree, op: WriteOp, keys: Column): Promise<void> {
  const prepared = await tree.prepare({ ops: op, keys, payloads: blankColumn(countOf(keys), 4) })
  prepared.apply()
}

t.test('partitions of a level are filled together, and lanes differ only in leaves and tuples', async (t) => {
  t.comment(`TEST_SEED=${SEED}`)
  const random = new Random(SEED)
  for (const keyType of KEY_TYPES) {
    const levels = random.pick([1, 2, 3, 5, 16])
    const tree = await PrefixTree.create(device, coalesced(keyType, levels))
    const keys = openKeySpace(random, keyType, 16)
    const check = async (what: string) =>
      t.strictSame((await Nodes.of(tree, levels)).faults(), [], `${keyType}, ${levels} levels: ${what}`)
    for (const op of [WriteOp.insert, WriteOp.insert, WriteOp.deleteKey, WriteOp.insert]) {
      await write(tree, op, keys.column(random.pick([1, 20, 150])))
      await check(`op ${op}`)
    }
    await tree.compact()
    await check('compacted')
    tree.destroy()
  }
})

t.test('a tuple in one lane where others have a node', async (t) => {
  // With two bytes a partition, all of these are in one group: the first ends where the second has a node.
  const [ends, goesOn, other] = ['a', 'bc\0d', 'ef\0d'].map((text) => Buffer.from(text))
  const orders: (readonly (readonly [WriteOp, readonly Uint8Array[]])[])[] = [
    [[WriteOp.insert, [ends!, goesOn!]]],
    [
      [WriteOp.insert, [ends!]],
      [WriteOp.insert, [goesOn!]],
    ],
    [
      [WriteOp.insert, [goesOn!]],
      [WriteOp.insert, [ends!, other!]],
    ],
  ]
  for (const order of orders) {
    const tree = await PrefixTree.create(device, coalesced('bytes', 4))
    const steps = [...order, [WriteOp.deleteKey, [ends!]], [WriteOp.insert, [ends!, other!]]] as const
    const present = new Set<Uint8Array>()
    for (const [op, keys] of steps) {
      await write(tree, op, columnOf(keys))
      t.strictSame((await Nodes.of(tree, 4)).faults(), [])
      for (const key of keys) op === WriteOp.insert ? present.add(key) : present.delete(key)
      const all = [ends!, goesOn!, other!]
      const { bytes, offsets } = columnOf(all)
      const { found } = await reads(tree).get(bytes, offsets)
      const bits = all.map((key, i) => (present.has(key) ? 1 << i : 0))
      t.equal(
        found[0],
        bits.reduce((sum, bit) => sum + bit),
      )
    }
    tree.destroy()
  }
})

t.test('answers are those of an ordered map', async (t) => {
  let seed = SEED
  // Of many digits a scan takes long: it goes through all that other lanes have brought.
  const keyTypes = ['u32', 'i64', 'f64', 'string', 'bytes', 'tuple(u32,string)'] as const
  for (const keyType of everyOther(keyTypes, seed)) {
    const random = new Random(seed)
    const shape = {
      ...coalesced(keyType, random.pick([1, 2, 3, 7, 16, undefined])),
      unique: random.chance(0.4),
      linked: random.chance(0.4),
    }
    t.comment(`TEST_SEED=${seed++}: ${JSON.stringify(shape)}`)
    const options = { steps: 3, most: 257, longestPart: 8, traversals: TRAVERSALS }
    await runProgram(treeSubject(device), random, shape, options)
  }
  t.pass('every answer equals the model')
})
