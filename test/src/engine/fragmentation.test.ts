import t from 'tap'
import { Device } from '../../../gpu/device/device.js'
import { SORTS } from '../../../gpu/memory/slab.js'
import { asBytes } from '../../../protocol/columns.js'
import { WriteOp } from '../../../protocol/types.js'
import type { Engine } from '../../../src/engine/index.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { Random, seedOfRun } from '../../random.js'
import { reads } from '../../reads.js'
import { writeTo } from '../../writes.js'
import { appendRelation, appendRows } from '../query/append-relation.js'
import { hostRelation, rowsOf } from '../query/host-relation.js'
import { openEngine, values } from './open-engine.js'

const STEPS = 144
/** Steps after which all that is held is compared. */
const STEPS_AT_ONCE = 12
const MOST_NAMES = 24
const MOST_ADDED = 12_000
/** Live pages and those scattered among them, at most, as a share of the live ones. */
const MOST = 1.3
/** Bytes beside that: fewer of a sort are not worth moving anything. */
const MOST_BESIDE = SORTS.length * 64 * 1024
/** How often the device gets to the end of its work, requests or not, before free pages are together again. */
const TURNS = 4
const READER = { cancelled: false }

/** Bytes of pages that are live, and of free ones scattered among them. */
function figuresOf({ pages }: Device) {
  const all = pages.figures()
  return {
    live: all.reduce((sum, { bytes, freeBytes }) => sum + bytes - freeBytes, 0),
    scattered: all.reduce((sum, { scatteredBytes }) => sum + scatteredBytes, 0),
  }
}

function isTogether(device: Device): boolean {
  const { live, scattered } = figuresOf(device)
  return live + scattered <= MOST * live + MOST_BESIDE
}

/** How often the device gets to the end of its work before free pages are together. */
async function turnsUntilTogether(device: Device): Promise<number> {
  let turns = 0
  for (; turns <= TURNS && !isTogether(device); turns++) await device.workDone()
  return turns
}

/** Indexes, relations and kept results that grow and go by chance, with the numbers that they hold. */
class Soak {
  readonly #engine: Engine
  readonly #random: Random
  readonly #held = new Map<
    string,
    { readonly kind: 'index' | 'relation' | 'kept'; readonly numbers: number[] }
  >()
  #made = 0

  constructor(engine: Engine, random: Random) {
    this.#engine = engine
    this.#random = random
  }

  async step(): Promise<void> {
    const random = this.#random
    const name = this.#held.size === 0 ? undefined : random.pick([...this.#held.keys()])
    if (name === undefined || (this.#held.size < MOST_NAMES && random.chance(0.3))) await this.#create()
    else if (random.chance(0.25)) await this.#drop(name)
    else await this.#grow(name)
  }

  /** Whether everything holds what it was given. */
  async compare(): Promise<boolean> {
    for (const [name, { kind, numbers }] of this.#held) {
      const found = kind === 'index' ? await this.#payloads(name, numbers) : await this.#rows(name)
      if (found.length !== numbers.length || found.some((number, i) => number !== numbers[i])) return false
    }
    return true
  }

  async #create(): Promise<void> {
    const [random, engine] = [this.#random, this.#engine]
    const name = `s${this.#made++}`
    const kind = random.pick(['index', 'index', 'relation', 'kept'] as const)
    const source = [...this.#held].find(([, { kind }]) => kind === 'relation')
    if (kind === 'index') {
      const structure = random.pick(['css', 'prefix'] as const)
      await engine.createIndex({ name, keyType: 'u32', payloadKind: 'u32', unique: false, structure })
    } else if (kind === 'relation') {
      await appendRelation(engine, this.#relation(name, []))
    } else if (source !== undefined) {
      await engine.queries.keep({ op: 'scan', relation: source[0] }, { name, seconds: 1000 }, READER)
      this.#held.set(name, { kind, numbers: [...source[1].numbers] })
      return
    } else return
    this.#held.set(name, { kind, numbers: [] })
    await this.#grow(name)
  }

  async #grow(name: string): Promise<void> {
    const { kind, numbers } = this.#held.get(name)!
    if (kind === 'kept') return
    const first = numbers.length
    const added = Array.from({ length: 1 + this.#random.below(MOST_ADDED) }, (_, i) => first + i)
    for (const number of added) numbers.push(number)
    if (kind === 'relation') return appendRows(this.#engine, this.#relation(name, added))
    const columns = { keys: keysOf(added), payloads: asBytes(Uint32Array.from(added)) }
    await writeTo(this.#engine.index(name), { ops: WriteOp.insert, ...columns })
  }

  async #drop(name: string): Promise<void> {
    const { kind } = this.#held.get(name)!
    this.#held.delete(name)
    if (kind === 'index') await this.#engine.dropIndex(name)
    else await this.#engine.dropRelation(name)
  }

  #relation(name: string, cells: readonly number[]) {
    return hostRelation(name, [{ name: 'a', type: 'u32', nullable: false, cells }])
  }

  async #payloads(name: string, numbers: readonly number[]): Promise<number[]> {
    return values((await reads(this.#engine.index(name)).get(keysOf(numbers))).payloads)
  }

  async #rows(name: string): Promise<number[]> {
    const { queries } = this.#engine
    let { batch, more, cursor } = await queries.start({ op: 'scan', relation: name }, READER)
    const batches = [batch]
    while (more && cursor !== undefined) {
      ;({ batch, more } = await queries.next(cursor, READER))
      batches.push(batch)
    }
    return rowsOf(batches).map(([number]) => Number(number))
  }
}

/** Keys none of which is near the one before it. */
function keysOf(numbers: readonly number[]): Uint8Array {
  return asBytes(Uint32Array.from(numbers, (number) => Math.imul(number, 0x9e37_79b1)))
}

t.test('whatever grows and goes, free pages come together, and all keeps what it holds', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const device = await Device.open('software')
  const engine = await openEngine(t, { structures: prefixTrees, openDevice: async () => device })
  const soak = new Soak(engine, new Random(seed))
  const turns: number[] = []
  for (let step = 1; step <= STEPS; step++) {
    await soak.step()
    turns.push(await turnsUntilTogether(device))
    if (step % STEPS_AT_ONCE > 0) continue
    const most = Math.max(...turns.splice(0))
    t.ok(most <= TURNS, `${most} turns, with ${figuresOf(device).live} live bytes after step ${step}`)
    t.ok(await soak.compare(), 'and all is there')
  }
})
