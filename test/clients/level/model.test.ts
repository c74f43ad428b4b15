import type { AbstractIterator, AbstractLevel, AbstractSnapshot, AbstractSublevel } from 'abstract-level'
import t, { type Test } from 'tap'
import { WarpdexLevel } from '../../../clients/level/index.js'
import { Random, seedOfRun } from '../../random.js'
import { start } from '../../src/server/start.js'

const KEYS = 1000
const STEPS = 400

type Stored = ReadonlyMap<string, string>
type Entry = [key: string, value: string]
type Sublevel = AbstractSublevel<WarpdexLevel, Uint8Array, string, string>

interface Range {
  readonly gt?: string
  readonly gte?: string
  readonly lt?: string
  readonly lte?: string
  readonly reverse: boolean
  readonly limit: number
}

/** The database or a sublevel of it, and what its keys begin with in the database. */
interface Level {
  readonly of: AbstractLevel<Uint8Array, string, string>
  readonly prefix: string
}

/** A snapshot, and what was stored then. */
interface Taken {
  readonly snapshot: AbstractSnapshot
  readonly stored: Stored
}

/** An iterator that is read now and then. */
interface Opened {
  readonly iterator: AbstractIterator<unknown, string, string>
  readonly range: Range
  readonly maySeek: boolean
  /** All that lies in its range. */
  readonly all: readonly Entry[]
  /** What comes next, as far as there is no limit. */
  rest: readonly Entry[]
  given: number
}

function isWithin(key: string, { gt, gte, lt, lte }: Range): boolean {
  const isAbove = gte === undefined ? gt === undefined || key > gt : key >= gte
  return isAbove && (lte === undefined ? lt === undefined || key < lt : key <= lte)
}

/** What lies in a range of a level, in order, without regard to the limit. */
function entriesOf(stored: Stored, { prefix }: Level, range: Range): Entry[] {
  const all = [...stored].flatMap(([key, value]): Entry[] =>
    key.startsWith(prefix) ? [[key.slice(prefix.length), value]] : [],
  )
  const found = all.filter(([key]) => isWithin(key, range)).sort(([a], [b]) => (a < b ? -1 : 1))
  return range.reverse ? found.reverse() : found
}

/** A program of Level, beside a model of what it has stored. */
class Program {
  readonly #t: Test
  readonly #random: Random
  readonly #database: WarpdexLevel
  readonly #levels: readonly Level[]
  readonly #stored = new Map<string, string>()
  #taken: Taken[] = []
  #opened: Opened[] = []

  constructor(t: Test, random: Random, database: WarpdexLevel) {
    this.#t = t
    this.#random = random
    this.#database = database
    const a = database.sublevel('a')
    this.#levels = [
      { of: database, prefix: '' },
      { of: a, prefix: '!a!' },
      { of: a.sublevel('b'), prefix: '!a!!b!' },
    ]
  }

  /** More than two pages of entries, in one batch. */
  async fill(): Promise<void> {
    await this.#batch(3 * KEYS)
  }

  async step(): Promise<void> {
    const steps = [
      () => this.#put(),
      () => this.#delete(),
      () => this.#batch(20),
      () => this.#clear(),
      () => this.#read(),
      () => this.#iterate(),
      () => this.#open(),
      () => this.#advance(),
      () => this.#advance(),
      () => this.#seek(),
      () => this.#take(),
      () => this.#letGo(),
    ]
    await this.#random.pick(steps)()
    if (this.#random.chance(0.01)) await this.#reopen()
  }

  #key(): string {
    return `${this.#random.below(KEYS)}`.padStart(4, '0')
  }

  #value(): string {
    return this.#random.pick(['', 'ä', `${this.#random.word()}`, 'x'.repeat(this.#random.below(500))])
  }

  #range(): Range {
    const from = this.#random.pick([{}, { gt: this.#key() }, { gte: this.#key() }])
    const to = this.#random.pick([{}, { lt: this.#key() }, { lte: this.#key() }])
    const limit = this.#random.pick([-1, -1, 1 + this.#random.below(50), 300])
    return { ...from, ...to, reverse: this.#random.chance(0.3), limit }
  }

  /** Now, or a snapshot: what a read is given, and what it is to see. */
  #moment(): { readonly at: Partial<Pick<Taken, 'snapshot'>>; readonly stored: Stored } {
    if (this.#taken.length === 0 || this.#random.chance(0.5)) return { at: {}, stored: this.#stored }
    const { snapshot, stored } = this.#random.pick(this.#taken)
    return { at: { snapshot }, stored }
  }

  #put(): Promise<void> {
    const [{ of, prefix }, key, value] = [this.#random.pick(this.#levels), this.#key(), this.#value()]
    this.#stored.set(prefix + key, value)
    return of.put(key, value)
  }

  #delete(): Promise<void> {
    const [{ of, prefix }, key] = [this.#random.pick(this.#levels), this.#key()]
    this.#stored.delete(prefix + key)
    return of.del(key)
  }

  /** Of operations on all levels. */
  #batch(length: number): Promise<void> {
    const batch = this.#database.batch()
    for (let i = 0; i < length; i++) {
      const [{ of, prefix }, key, value] = [this.#random.pick(this.#levels), this.#key(), this.#value()]
      const into = prefix === '' ? {} : { sublevel: of as unknown as Sublevel }
      if (this.#random.chance(0.2)) {
        this.#stored.delete(prefix + key)
        batch.del(key, into)
      } else {
        this.#stored.set(prefix + key, value)
        batch.put(key, value, into)
      }
    }
    return batch.write()
  }

  async #clear(): Promise<void> {
    // Few at a time, lest nothing be left.
    const level = this.#random.pick(this.#levels)
    const from = this.#key()
    const range = {
      ...this.#range(),
      gte: from,
      lt: `${from}~`.slice(0, 3),
      limit: this.#random.pick([-1, 3]),
    }
    const { at, stored } = this.#moment()
    const found = entriesOf(stored, level, range)
    for (const [key] of range.limit === -1 ? found : found.slice(0, range.limit))
      this.#stored.delete(level.prefix + key)
    await level.of.clear({ ...range, ...at })
  }

  async #read(): Promise<void> {
    const { of, prefix } = this.#random.pick(this.#levels)
    const { at, stored } = this.#moment()
    const keys = Array.from({ length: 5 }, () => this.#key())
    const values = keys.map((key) => stored.get(prefix + key))
    const found = values.map((value) => value !== undefined)
    this.#t.strictSame(
      await Promise.all([
        of.get(keys[0], at),
        of.getMany(keys, at),
        of.has(keys[0], at),
        of.hasMany(keys, at),
      ]),
      [values[0], values, found[0], found],
    )
  }

  async #iterate(): Promise<void> {
    const level = this.#random.pick(this.#levels)
    const range = this.#range()
    const { at, stored } = this.#moment()
    const all = entriesOf(stored, level, range)
    const entries = range.limit === -1 ? all : all.slice(0, range.limit)
    const options = { ...range, ...at }
    const { of } = level
    const found = [of.iterator(options).all(), of.keys(options).all(), of.values(options).all()]
    const writing = this.#put()
    const [keys, values] = [entries.map(([key]) => key), entries.map(([, value]) => value)]
    this.#t.strictSame(await Promise.all(found), [entries, keys, values])
    await writing
  }

  /** Opens an iterator, and writes before it can have been read. */
  async #open(): Promise<void> {
    const level = this.#random.pick(this.#levels)
    const range = this.#range()
    const { at, stored } = this.#moment()
    const all = entriesOf(stored, level, range)
    const iterator = level.of.iterator({ ...range, ...at })
    // Where a short one goes on after a seek is left open.
    const maySeek = range.limit === -1 || 'snapshot' in at
    this.#opened.push({ iterator, range, maySeek, all, rest: all, given: 0 })
    await this.#random.pick([() => this.#put(), () => this.#delete(), () => this.#batch(20)])()
  }

  async #advance(): Promise<void> {
    if (this.#opened.length === 0) return
    const opened = this.#random.pick(this.#opened)
    const { iterator, range, rest, given } = opened
    const size = this.#random.pick([1, 10, 1000])
    const found = await iterator.nextv(size)
    const left = range.limit === -1 ? rest.length : Math.min(rest.length, range.limit - given)
    this.#t.strictSame(found, rest.slice(0, found.length))
    this.#t.ok(found.length > 0 ? found.length <= Math.min(size, left) : left === 0)
    opened.rest = rest.slice(found.length)
    opened.given += found.length
  }

  async #seek(): Promise<void> {
    const may = this.#opened.filter(({ maySeek }) => maySeek)
    if (may.length === 0) return
    const opened = this.#random.pick(may)
    const { iterator, range, all } = opened
    const target = this.#key()
    iterator.seek(target)
    const isReached = ([key]: Entry) => (range.reverse ? key <= target : key >= target)
    opened.rest = isWithin(target, range) ? all.filter(isReached) : []
    await this.#advance()
  }

  /** Takes a snapshot, and writes before the server can have answered. */
  #take(): Promise<void> {
    this.#taken.push({ snapshot: this.#database.snapshot(), stored: new Map(this.#stored) })
    return this.#random.pick([() => this.#put(), () => this.#batch(20)])()
  }

  /** Closes the oldest snapshots and iterators, so that they do not become many. */
  async #letGo(): Promise<void> {
    if (this.#opened.length > 5) await this.#opened.shift()?.iterator.close()
    const isUsed = this.#opened.length > 0
    if (this.#taken.length > 5 && !isUsed) await this.#taken.shift()?.snapshot.close()
  }

  async #reopen(): Promise<void> {
    await this.#database.close()
    await this.#database.open()
    for (const { of } of this.#levels) await of.open()
    this.#opened = []
    this.#taken = []
  }
}

const seed = seedOfRun()
t.test(`a program of Level finds what it has stored, seed ${seed}`, async (t) => {
  const { url } = await start(t)
  const database = new WarpdexLevel(url, 'model')
  t.teardown(() => database.close())
  await database.open()
  const program = new Program(t, new Random(seed), database)
  await program.fill()
  for (let i = 0; i < STEPS; i++) await program.step()
})
