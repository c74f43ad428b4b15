import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { exclusionsIn } from '../../../protocol/changes.js'
import { aligned, type Column, columnOf, countOf, valueAt } from '../../../protocol/columns.js'
import { LIMITS } from '../../../protocol/limits.js'
import { type IndexDefinition, WriteOp } from '../../../protocol/types.js'
import type { ChangePage } from '../../../src/engine/change-feed.js'
import type { Engine, Index } from '../../../src/engine/index.js'
import { Random, seedOfRun } from '../../random.js'
import { HandClock } from './hand-clock.js'
import { openEngine } from './open-engine.js'

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)
const random = new Random(seed)

const DEFINITIONS: readonly IndexDefinition[] = [
  { name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: true },
  { name: 'lists', keyType: 'u32', payloadKind: 'u32', unique: false },
  { name: 'texts', keyType: 'string', payloadKind: 'bytes', unique: true },
  { name: 'text lists', keyType: 'string', payloadKind: 'text', unique: false },
]
const KEYS = 40
/** Of a log that no test fills. */
const AMPLE = 2 ** 40

/** The payloads of each key, both as text. */
type Content = Map<string, string[]>

const isText = ({ keyType }: IndexDefinition) => keyType === 'string'

function columnFor(definition: IndexDefinition, numbers: readonly number[]): Column {
  const values = numbers.map((number) =>
    isText(definition)
      ? Buffer.from(String(number).padStart(3, '0'))
      : Uint8Array.of(number, number >> 8, 0, 0),
  )
  return columnOf(values, isText(definition) ? undefined : 4)
}

function textsOf(column: Column): string[] {
  return Array.from({ length: countOf(column) }, (_, i) => {
    const value = valueAt(column, i)
    return column.offsets === undefined
      ? String(aligned(value, Uint32Array)[0])
      : Buffer.from(value).toString()
  })
}

/** What an index holds. */
async function contentOf(index: Index, version?: Parameters<Index['read']>[3]): Promise<Content> {
  const scan = { op: 'scan', ranges: 1, limit: LIMITS.scanEntries } as const
  const { keys, payloads } = await index.read(scan, {}, undefined, version)
  const content: Content = new Map()
  const texts = textsOf(payloads)
  textsOf(keys).forEach((key, i) => {
    content.set(key, [...(content.get(key) ?? []), texts[i]!])
  })
  return content
}

const asLines = (content: Content) => [...content].map(([key, payloads]) => `${key}: ${payloads}`).sort()

/** Whoever follows an index from a position on, by what the feed says alone. */
class Follower {
  readonly content: Content
  position: number

  constructor(position = 0, content: Content = new Map()) {
    this.position = position
    this.content = content
  }

  /** Takes one page. @returns whether there was anything */
  async take(index: Index, limit: number): Promise<boolean> {
    const page = await index.feed.read(this.position, limit)
    const batches = page.offsets.length - 1
    for (let batch = 0; batch < batches; batch++) this.#apply(page, batch)
    this.position += batches
    return batches > 0
  }

  async takeAll(index: Index): Promise<void> {
    while (await this.take(index, random.pick([1, 2, 1000])));
  }

  #apply(page: ChangePage, batch: number): void {
    const kinds = valueAt(page.ops, batch)
    const exclusions = exclusionsIn(kinds[0])
    if (exclusions !== undefined) {
      this.#deleteRange(page, exclusions)
      return
    }
    const keys = textsOf(page.keys)
    const payloads = page.payloads && textsOf(page.payloads)
    for (let i = page.offsets[batch]!; i < page.offsets[batch + 1]!; i++) {
      const kind = kinds.length === 1 ? kinds[0] : kinds[i - page.offsets[batch]!]
      const [key, payload] = [keys[i]!, payloads?.[i] ?? '']
      const there = this.content.get(key) ?? []
      if (kind === WriteOp.insert) this.content.set(key, [...there, payload])
      else if (kind === WriteOp.replace) this.content.set(key, [payload])
      else if (kind === WriteOp.deleteKey) this.content.delete(key)
      else {
        const left = there.filter((other) => other !== payload)
        if (left.length === there.length) throw new Error(`${key} has no ${payload}`)
        if (left.length > 0) this.content.set(key, left)
        else this.content.delete(key)
      }
    }
  }

  #deleteRange({ range }: ChangePage, exclusions: NonNullable<ReturnType<typeof exclusionsIn>>): void {
    const [from, to] = [range?.from, range?.to].map((end) => end && Buffer.from(end).toString())
    for (const key of [...this.content.keys()]) {
      const isBehind = from === undefined || key > from || (key === from && !exclusions.fromExclusive)
      const isBefore = to === undefined || key < to || (key === to && !exclusions.toExclusive)
      if (isBehind && isBefore) this.content.delete(key)
    }
  }
}

/** A write of some items, which do what they do to a key in any order. */
function writeSome(definition: IndexDefinition, index: Index): Promise<unknown> {
  if (isText(definition) && random.below(12) === 0) {
    const end = () => columnFor(definition, [random.below(KEYS)]).bytes
    const open = random.below(4)
    return index.deleteRange({
      from: open === 0 ? undefined : end(),
      to: open === 1 ? undefined : end(),
      fromExclusive: random.below(2) === 0,
      toExclusive: random.below(2) === 0,
    })
  }
  const count = 1 + random.below(20)
  const some = (below: number) => Array.from({ length: count }, () => random.below(below))
  const kinds = [
    WriteOp.insert,
    WriteOp.replace,
    WriteOp.insertIfAbsent,
    WriteOp.deleteKey,
    WriteOp.deletePair,
  ]
  const op = random.pick(kinds)
  const ops = random.below(3) === 0 ? Uint8Array.from({ length: count }, () => random.pick(kinds)) : op
  const keys = columnFor(definition, some(KEYS))
  return index.write(
    op === WriteOp.deleteKey && ops === op
      ? { ops, keys }
      : { ops, keys, payloads: columnFor(definition, some(4)) },
  )
}

t.test('who follows the feeds of indexes has what they have, over snapshots and restarts', async (t) => {
  const directory = t.testdir()
  const options = { directory, feedBytes: AMPLE, snapshotLogBytes: 4096 }
  let engine = await openEngine(t, options)
  for (const definition of DEFINITIONS) await engine.createIndex(definition)
  const followers = DEFINITIONS.map(() => Array.from({ length: 3 }, () => new Follower()))
  for (let round = 0; round < 12; round++) {
    for (const [i, definition] of DEFINITIONS.entries()) {
      const index = engine.index(definition.name)
      const writing = Array.from({ length: 20 }, () => writeSome(definition, index))
      await followers[i]![round % 3]!.take(index, 5)
      await Promise.all(writing)
      if (round % 4 === 1) await index.snapshot()
    }
    if (round % 3 !== 2) continue
    await engine.close()
    engine = await openEngine(t, options)
  }
  for (const [i, definition] of DEFINITIONS.entries()) {
    const index = engine.index(definition.name)
    const content = asLines(await contentOf(index))
    for (const follower of followers[i]!) {
      await follower.takeAll(index)
      t.equal(follower.position, await index.feed.position())
      t.same(asLines(follower.content), content, definition.name)
    }
  }
})

t.test('a follower that begins with a read version misses nothing and has nothing twice', async (t) => {
  const engine = await openEngine(t, { feedBytes: AMPLE })
  for (const definition of DEFINITIONS) {
    await engine.createIndex(definition)
    const index = engine.index(definition.name)
    for (let i = 0; i < 8; i++) {
      const id = { client: definition.name, number: i }
      const writing = [writeSome(definition, index), writeSome(definition, index)]
      engine.versions.open(id, 60)
      // The position may be asked for before anything is written, and after.
      if (i % 2 === 0) writing.push(writeSome(definition, index))
      const version = engine.versions.use(id)
      const position = await index.feed.position(version)
      writing.push(writeSome(definition, index))
      const follower = new Follower(position, await contentOf(index, version))
      await Promise.all(writing)
      t.equal(await index.feed.position(version), position, 'it stays what it was')
      await follower.takeAll(index)
      t.same(asLines(follower.content), asLines(await contentOf(index)), definition.name)
    }
  }
})

/** Writes until the log begins behind its first record. */
async function fillUntilTrimmed(engine: Engine, index: Index): Promise<void> {
  for (let i = 0; i < 3; i++) {
    const [keys, payloads] = [[i], [i]].map((numbers) => columnFor(index.definition, numbers))
    await index.write({ ops: WriteOp.insert, keys: keys!, payloads })
    await engine.snapshot(index.definition.name)
  }
}

t.test('what the log has let go cannot be watched from, and what it is told to keep can', async (t) => {
  const directory = t.testdir()
  for (const feedBytes of [0, 160, AMPLE]) {
    const engine = await openEngine(t, {
      feedBytes,
      directory: `${directory}/${feedBytes}`,
    })
    const [definition] = DEFINITIONS
    await engine.createIndex(definition!)
    const index = engine.index(definition!.name)
    await fillUntilTrimmed(engine, index)
    const early = index.feed.read(0, 10)
    if (feedBytes === AMPLE) t.equal((await early).offsets.length - 1, 3)
    else await t.rejects(early, { code: 'POSITION_GONE', message: /goes back to position/ })
    const { logBytes } = engine.stats().server.feeds
    t.equal(logBytes > 0, feedBytes > 0, `${logBytes} bytes are kept with ${feedBytes}`)
    if (feedBytes === 160) t.ok(logBytes <= 160)
    await t.rejects(index.feed.read(4, 10), { code: 'POSITION_GONE', message: /ends at position 3/ })
    t.equal((await index.feed.read(3, 10)).offsets.length - 1, 0)
  }
})

function storedBytes(index: Index): number {
  return (index.stats().storedPayloads as { bytes: number }).bytes
}

const LOGS: readonly (readonly [feedBytes: number, ttl?: number])[] = [[0], [AMPLE], [AMPLE, 3600]]

t.test('payloads that no entry refers to any more are told only where the log is kept', async (t) => {
  const directory = t.testdir()
  for (const [feedBytes, ttl] of LOGS) {
    const engine = await openEngine(t, {
      feedBytes,
      directory: `${directory}/${feedBytes} ${ttl}`,
    })
    const definition: IndexDefinition = { ...DEFINITIONS[2]!, ...(ttl && { ttl }) }
    await engine.createIndex(definition)
    const index = engine.index(definition.name)
    const keys = columnFor(definition, [...Array(KEYS).keys()])
    for (let round = 0; round < 5; round++) {
      const payloads = columnOf(
        Array.from({ length: KEYS }, (_, i) => Buffer.from(`${round} of ${i}`.repeat(99))),
      )
      await index.write({ ops: WriteOp.replace, keys, payloads })
    }
    const before = storedBytes(index)
    await index.snapshot()
    // Room is given back in the background.
    const tries = feedBytes === 0 ? 500 : 20
    for (let i = 0; i < tries && storedBytes(index) === before; i++) await setTimeout(10)
    t.equal(storedBytes(index) < before, feedBytes === 0)
    const early = index.feed.read(0, 1)
    if (feedBytes === 0) await t.rejects(early, { code: 'POSITION_GONE', message: /not kept/ })
    else t.equal(textsOf((await early).payloads!)[3], '0 of 3'.repeat(99))
    const follower = new Follower(4)
    await follower.takeAll(index)
    t.same(follower.content.get('003'), ['4 of 3'.repeat(99)])
  }
})

t.test('who waits for changes is woken by them, and when the index is no more what it was', async (t) => {
  const clock = new HandClock()
  const engine = await openEngine(t, { clock })
  const [definition] = DEFINITIONS
  await engine.createIndex(definition!)
  const index = engine.index(definition!.name)
  const watcher = () => ({ cancelled: false, onCancel: undefined as (() => void) | undefined })
  const wakers: Record<string, (own: ReturnType<typeof watcher>) => unknown> = {
    'a write': () => writeSome(definition!, index),
    'that it gives up': (own) => own.onCancel?.(),
    time: () => clock.pass(LIMITS.watchSeconds),
    'a new name': () => engine.renameIndex(definition!.name, 'renamed'),
    'the end of the index': () => engine.dropIndex('renamed'),
  }
  for (const [name, wake] of Object.entries(wakers)) {
    const [own, other] = [watcher(), watcher()]
    const position = await index.feed.position()
    const waits = [index.feed.changed(position, own), index.feed.changed(position, other)]
    t.equal(engine.stats().server.feeds.waiting, 2)
    const woken = wake(own)
    await waits[0]
    t.equal(engine.stats().server.feeds.waiting, name === 'that it gives up' ? 1 : 0, name)
    if (name === 'that it gives up') other.onCancel?.()
    await Promise.all([...waits, woken])
  }
  t.throws(() => index.feed, { code: 'UNKNOWN_INDEX' })
})
