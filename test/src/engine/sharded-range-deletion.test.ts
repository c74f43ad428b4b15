import t from 'tap'
import type { IndexStructure } from '../../../gpu/index-structure.js'
import { type Column, columnOf, valueAt, valuesOf } from '../../../protocol/columns.js'
import { LIMITS } from '../../../protocol/limits.js'
import { type IndexDefinition, type KeyType, keyWidth, WriteOp } from '../../../protocol/types.js'
import type { Engine, StructureFactory } from '../../../src/engine/index.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { expectEqual } from '../../differential.js'
import { openSharedDevice } from '../../gpu/open-device.js'
import { OrderedModel } from '../../ordered-model.js'
import { everyOther, Random, seedOfRun } from '../../random.js'
import { openEngine } from './open-engine.js'

/** Few, so that there are many shards. */
const REGION_BYTES = 32 * 1024
const KEYS = 5000
const BATCH = 1500
const PAYLOAD_BYTES = 16
const DELETIONS = 16
// So that a range of several shards takes several slices.
Object.assign(LIMITS, { scanEntries: 512 })

const device = await openSharedDevice(t)
device.regionBytes = REGION_BYTES

type Bound = Uint8Array | undefined

interface Range {
  readonly from: Bound
  readonly to: Bound
  readonly fromExclusive?: boolean
  readonly toExclusive?: boolean
}

/** Keys of one type: key `i` of `KEYS`. */
const KEYS_OF = {
  i64: (i: number) => new Uint8Array(BigInt64Array.of(BigInt(i - KEYS / 2) << 33n).buffer),
  string: (i: number) => Buffer.from(`${'abcdefgh'[i % 8]}/${i % 90}/${i}`),
} as const satisfies Partial<Record<KeyType, (i: number) => Uint8Array>>

/** Makes structures of which the newest is at hand. */
class SeenStructures implements StructureFactory {
  #newest: IndexStructure | undefined

  create: StructureFactory['create'] = async (device, shape) =>
    this.#seen(await prefixTrees.create(device, shape))
  restore: StructureFactory['restore'] = async (device, shape, image) =>
    this.#seen(await prefixTrees.restore(device, shape, image))

  /** The keys at which the shards of the newest meet. */
  async pivots(): Promise<readonly Uint8Array[]> {
    const { shards } = (await this.#newest?.image()) ?? {}
    return shards === undefined ? [] : valuesOf(shards.boundaries)
  }

  #seen(structure: IndexStructure): IndexStructure {
    this.#newest = structure
    return structure
  }
}

/** An index that lies in several shards, and what it must hold. */
class Subject {
  readonly #model: OrderedModel
  readonly #random: Random
  readonly #keyOf: (i: number) => Uint8Array
  readonly #width: number | undefined
  engine: Engine

  constructor(engine: Engine, keyType: keyof typeof KEYS_OF, random: Random) {
    this.engine = engine
    this.#random = random
    this.#keyOf = KEYS_OF[keyType]
    this.#width = keyWidth(keyType)
    this.#model = new OrderedModel({ keyType, payloadBytes: PAYLOAD_BYTES, unique: true, matchFrom: 0 })
  }

  /** Puts keys there, of which some are there already. */
  async put(count: number): Promise<void> {
    const numbers = Array.from({ length: count }, () => this.#random.below(KEYS))
    const keys = columnOf(numbers.map(this.#keyOf), this.#width)
    const payloads = columnOf(
      numbers.map(() => this.#random.bytes(PAYLOAD_BYTES)),
      PAYLOAD_BYTES,
    )
    const batch = { ops: WriteOp.insert, keys, payloads }
    const planned = this.#model.plan(batch)
    planned.apply()
    expectEqual(
      Uint8Array.from(await this.engine.index('a').write(batch)),
      planned.codes,
      'codes of an insert',
    )
  }

  /** Deletes a range, and compares the count and all that is left. @returns how many went */
  async delete(range: Range): Promise<number> {
    const { fromExclusive, toExclusive } = range
    const [from, to] = [range.from, range.to].map((end) => end && columnOf([end], this.#width))
    const ends = { from: from?.bytes, fromOffsets: from?.offsets, to: to?.bytes, toOffsets: to?.offsets }
    const gone = this.#model.deleteRange({ ...ends, fromExclusive, toExclusive })
    const what = `${Buffer.from(range.from ?? []).toString('hex')} to ${Buffer.from(range.to ?? []).toString('hex')}`
    expectEqual(await this.engine.index('a').deleteRange(range), gone, `the count of ${what}`)
    const count = { op: 'countRanges', ranges: 1, fromExclusive, toExclusive } as const
    expectEqual(
      [...(await this.engine.index('a').read(count, { from, to }))],
      [0n],
      `what is left of ${what}`,
    )
    await this.check(`after ${what}`)
    return gone
  }

  async check(what: string): Promise<void> {
    const all = { op: 'scan', ranges: 1, limit: KEYS + 1 } as const
    const { tokens: _, ...found } = await this.engine.index('a').read(all, {})
    const { tokens: __, ...expected } = this.#model.answer(all, {})
    expectEqual(found.offsets, expected.offsets, what)
    expectEqual(hex(found.keys), hex(expected.keys), what)
    expectEqual(hex(found.payloads), hex(expected.payloads), what)
  }

  /** A range at random about where shards meet. */
  randomRange(pivots: readonly Uint8Array[]): Range {
    const random = this.#random
    const exclusions = { fromExclusive: random.chance(0.5), toExclusive: random.chance(0.5) }
    const [one, other] = [random.below(pivots.length), random.below(pivots.length)].sort((a, b) => a - b)
    const [low, high] = [pivots[one!]!, pivots[other!]!]
    switch (random.below(this.#width === undefined ? 6 : 4)) {
      case 0:
        // Up to a pivot or behind it.
        return { from: this.#neighbour(low, 40, true), to: low, ...exclusions }
      case 1:
        // From a pivot on.
        return { from: high, to: this.#neighbour(high, 40, false), ...exclusions }
      case 2:
        // On both sides of one pivot or of several, a few keys each.
        return { from: this.#neighbour(low, 30, true), to: this.#neighbour(high, 30, false), ...exclusions }
      case 3:
        // Whole shards, or no key, or one.
        return { from: low, to: random.chance(0.2) ? undefined : high, ...exclusions }
      case 4:
        return prefix(`${random.pick(['a', 'b', 'c', 'd', 'h'])}/${random.below(90)}`)
      default:
        return random.chance(0.3) ? prefix(random.pick(['b/', 'g', 'z'])) : this.#commonPrefix(low)
    }
  }

  /** All that begin as a pivot does. */
  #commonPrefix(pivot: Uint8Array): Range {
    return prefix(Buffer.from(pivot.subarray(0, 3)).toString())
  }

  /** The key so many places before a key or after it, as far as there are. */
  #neighbour(key: Uint8Array, most: number, reverse: boolean): Bound {
    const limit = 1 + this.#random.below(most)
    const bound = columnOf([key], this.#width)
    const ends = reverse ? { to: bound } : { from: bound }
    const { keys, offsets } = this.#model.answer({ op: 'scan', ranges: 1, limit, reverse }, ends)
    return offsets[1] === 0 ? undefined : valueAt(keys, offsets[1]! - 1).slice()
  }
}

function hex(column: Column): string[] {
  return valuesOf(column).map((value) => Buffer.from(value).toString('hex'))
}

/** All keys that begin so, none of which ends with the greatest byte. */
function prefix(text: string): Range {
  const from = Buffer.from(text)
  const to = Uint8Array.from(from)
  to[to.length - 1]!++
  return { from, to, toExclusive: true }
}

const seed = seedOfRun()

for (const [i, keyType] of (['string', 'i64'] as const).entries()) {
  for (const structure of everyOther(['css', 'prefix'] as const, seed + i)) {
    t.test(`ranges over several shards of ${structure} trees: ${keyType}`, async (t) => {
      t.comment(`TEST_SEED=${seed}`)
      const random = new Random(seed + i)
      const structures = new SeenStructures()
      const options = { structures, directory: t.testdir(), openDevice: async () => device }
      const definition: IndexDefinition = {
        ...{ name: 'a', keyType, payloadKind: `fixed(${PAYLOAD_BYTES})`, unique: true },
        structure,
      }
      const subject = new Subject(await openEngine(t, options), keyType, random)
      await subject.engine.createIndex(definition)
      for (let batch = 0; batch < 8; batch++) await subject.put(BATCH)
      let gone = 0
      let deleting = 0
      for (let step = 0; step < DELETIONS; step++) {
        if (random.chance(0.3)) await subject.put(BATCH)
        const pivots = await structures.pivots()
        const own = await subject.delete(subject.randomRange(pivots))
        gone += own
        deleting += Number(own > 0)
      }
      t.ok(deleting > DELETIONS / 4, `${gone} entries in ${deleting} deletions`)
      t.ok(subject.engine.index('a').stats().shards > 3, 'it is in several shards to the end')
      await subject.engine.close()
      subject.engine = await openEngine(t, options)
      await subject.check('after a restart')
      t.ok((await subject.delete({ from: undefined, to: undefined })) > 0)
    })
  }
}
