import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { ScanResult } from '../../../../gpu/index-structure.js'
import { type Column, columnOf, concatenate, valueAt, valuesOf } from '../../../../protocol/columns.js'
import { WarpdexError } from '../../../../protocol/errors.js'
import { Condition, tokenWidth } from '../../../../protocol/types.js'
import { randomBatch } from '../../../differential.js'
import type { Random } from '../../../random.js'
import type { KnownIndex } from './known-index.js'
import { type SentWrite, seenBy, type World } from './world.js'

/** One kind of what is done to an engine. */
interface Operation {
  /** How often it is chosen, beside the others. */
  readonly weight: number
  /** Whether nothing else may be under way. */
  readonly isAlone?: boolean
  run(world: World): Promise<void> | void
}

const MOST_INDEXES = 5
const MOST_VERSIONS = 5
/** Items of a batch at most. */
const MOST_ITEMS = 300
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g'] as const
const VERSION_SECONDS = 60

/** All kinds. Whoever adds one to the engine adds it here. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  write: { weight: 30, run: write },
  deleteRange: { weight: 5, run: deleteRange },
  load: { weight: 3, run: load },
  batch: { weight: 8, run: batch },
  resend: { weight: 4, run: resend },
  read: { weight: 20, run: readSome },
  scan: { weight: 8, run: scanPages },
  openVersion: { weight: 6, run: openVersion },
  closeVersion: { weight: 3, run: closeVersion },
  readVersion: { weight: 15, run: readVersion },
  feed: { weight: 4, isAlone: true, run: feed },
  create: { weight: 3, run: create },
  drop: { weight: 1, run: drop },
  rename: { weight: 2, run: rename },
  swap: { weight: 4, run: swap },
  snapshot: { weight: 2, run: snapshot },
  passTime: { weight: 1, isAlone: true, run: passTime },
  settle: { weight: 6, isAlone: true, run: (world) => world.checkAll() },
  restart: { weight: 1, isAlone: true, run: restart },
  loseDevice: { weight: 1, isAlone: true, run: loseDevice },
}

/** A batch for an index, which its model has taken. */
function newWrite(world: World, known: KnownIndex): { readonly write: SentWrite; readonly isNamed: boolean } {
  const { random } = world
  const batch = randomBatch(random, known.model.shape, known.keySpace, MOST_ITEMS, 0.4)
  const columns = known.columnsOf(batch)
  const isNamed = random.chance(0.5)
  const id = isNamed ? world.newId() : undefined
  const planned = known.model.plan(batch)
  planned.apply()
  const send = async () => Uint8Array.from(await known.index.write(columns, id))
  return { write: { about: [known], send, answer: planned.codes }, isNamed }
}

function write(world: World): void {
  const known = world.pickIndex()
  if (known === undefined) return
  const { write, isNamed } = newWrite(world, known)
  world.write(write, isNamed)
}

function deleteRange(world: World): void {
  const { random } = world
  const known = world.pickIndex()
  if (known === undefined) return
  const bound = () => (random.chance(0.2) ? undefined : known.keySpace.bounds(1))
  const [from, to] = [bound(), bound()]
  const exclusions = { fromExclusive: random.chance(0.3), toExclusive: random.chance(0.3) }
  const ends = { from: from?.bytes, to: to?.bytes }
  const offsets = { fromOffsets: from?.offsets, toOffsets: to?.offsets }
  const answer = known.model.deleteRange({ ...ends, ...offsets, ...exclusions })
  const id = random.chance(0.5) ? world.newId() : undefined
  const send = () => known.index.deleteRange({ ...ends, ...exclusions }, id)
  world.write({ about: [known], send, answer }, id !== undefined)
}

/** A load in a few parts, each of which names the one before it. */
function load(world: World): void {
  const known = world.pickIndex()
  if (known === undefined) return
  let after: number | undefined
  for (let part = 0; part < 3; part++) {
    const batch = randomBatch(world.random, known.model.shape, known.keySpace, MOST_ITEMS, 1)
    const columns = known.columnsOf(batch)
    const planned = known.model.plan(batch)
    planned.apply()
    const id = world.newId()
    const before = after
    const send = async () => {
      const { inserted, existing } = await known.index.load(columns, { after: before }, id)
      return [inserted, existing]
    }
    const answer = [0, 2].map((code) => planned.codes.filter((given) => given === code).length)
    world.write({ about: [known], send, answer }, true)
    after = id.number
  }
}

/** Writes to several indexes, if conditions on some hold: all or none. */
function batch(world: World): void {
  const { random } = world
  const some = () => [...world.indexes.values()].filter(() => random.chance(0.5))
  const to = some()
  const expected = some().map((known) => randomConditions(random, known))
  const failed = expected.flatMap(({ holds }) => holds).indexOf(false)
  const batches = to.map((known) => randomBatch(random, known.model.shape, known.keySpace, MOST_ITEMS, 0.4))
  const columns = to.map((known, i) => known.columnsOf(batches[i]!))
  const id = random.chance(0.5) ? world.newId() : undefined
  const send = async () => {
    const writes = to.map(({ index }, i) => ({ index, columns: columns[i]! }))
    const conditions = expected.map(({ known, ...rest }) => ({ index: known.index, ...rest }))
    return Uint8Array.from((await world.engine.writeBatch({ writes, appends: [], conditions }, id)).codes)
  }
  if (failed >= 0) {
    const failure = { code: 'CONDITION_FAILED', item: failed }
    world.expect(failureOf(send()), failure, 'a batch whose conditions do not hold')
    return
  }
  const planned = to.map((known, i) => known.model.plan(batches[i]!))
  for (const { apply } of planned) apply()
  const answer = concatenate(planned.map(({ codes }) => codes))
  const about = [...to, ...expected.map(({ known }) => known)]
  world.write({ about, send, answer }, id !== undefined && to.length > 0)
}

/** Conditions on an index, and which of them hold. */
function randomConditions(random: Random, known: KnownIndex) {
  const keys = known.keySpace.column(random.pick([1, 3]))
  const { found, payloads } = known.model.answer({ op: 'get' }, { keys })
  const isFound = valuesOf(keys).map((_, i) => ((found[i >> 3]! >> (i & 7)) & 1) === 1)
  const kinds = isFound.map((is) => {
    if (random.chance(0.1)) return random.pick([Condition.absent, Condition.present])
    return is ? random.pick([Condition.present, Condition.payload]) : Condition.absent
  })
  const holds = kinds.map((kind, i) => isFound[i] === (kind !== Condition.absent))
  return {
    known,
    keys,
    holds,
    conditions: { kinds: Uint8Array.from(kinds), payloads: known.payloadsOf(payloads), sequences: undefined },
  }
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    ({ code, item }: WarpdexError) => ({ code, item }),
  )
}

/** A write that was done is answered as it was at first. */
function resend(world: World): void {
  if (world.sent.length === 0) return
  const { about, send, answer } = world.random.pick(world.sent)
  const known = [...world.indexes.values()]
  if (about.every((each) => known.includes(each))) world.expect(send(), answer, 'a write that is sent again')
}

function readSome(world: World): void {
  const known = world.pickIndex()
  if (known !== undefined) world.read(known, known.randomRead(world.random))
}

/** A scan page by page, which sees one moment whatever is written meanwhile. */
function scanPages(world: World): void {
  const { random } = world
  const known = world.pickIndex()
  if (known === undefined) return
  const ranges = random.pick([1, 3])
  const bound = () => (random.chance(0.5) ? undefined : known.keySpace.bounds(ranges))
  const order = {
    reverse: random.chance(0.5),
    fromExclusive: random.chance(0.3),
    toExclusive: random.chance(0.3),
  }
  const request = { op: 'scan', ranges, limit: random.pick([1, 7, 50]), ...order } as const
  const ends = { from: bound(), to: bound() }
  const seen = known.model.copied()
  const id = world.newId()
  const first = known.index.readAndOpen(id, request, ends)
  const next = async (tokens: Column) =>
    known.index.read(request, { ...ends, tokens }, undefined, world.engine.versions.use(id))
  const follow = async () => {
    let ours = await first
    let theirs = seen.answer(request, ends)
    for (let page = 0; ; page++) {
      const what = `page ${page} of ${JSON.stringify(request)} of ${JSON.stringify(known.definition)}`
      world.compare(known.comparable(ours), known.comparable(theirs), what)
      if (page === 5 || !theirs.more.includes(1)) break
      ours = await next(unfinished(ours, known))
      theirs = seen.answer(request, { ...ends, tokens: unfinished(theirs, known) })
    }
    world.engine.versions.close(id)
  }
  world.follow(unlessDropped(known, follow()))
}

function unfinished({ tokens, more }: ScanResult, { definition }: KnownIndex): Column {
  const width = tokenWidth(definition.keyType)
  const none = new Uint8Array(width ?? 4).fill(255)
  return columnOf(
    Array.from(more, (flag, i) => (flag === 1 ? valueAt(tokens, i) : none)),
    width,
  )
}

function openVersion(world: World): void {
  if (world.versions.size === MOST_VERSIONS) return
  const id = world.newId()
  world.engine.versions.open(id, VERSION_SECONDS)
  const seen = new Map([...world.indexes.values()].map((known) => [known, known.model.copied()]))
  world.versions.set(id.number, { seen, seconds: VERSION_SECONDS, lastUse: world.clock.now() })
}

function closeVersion(world: World): void {
  if (world.versions.size === 0) return
  const number = world.random.pick([...world.versions.keys()])
  world.versions.delete(number)
  world.compare(world.engine.versions.close(world.idOf(number)), true, 'whether a version was open')
}

function readVersion(world: World): void {
  const known = world.pickIndex()
  if (known === undefined || world.versions.size === 0) return
  const [number, version] = world.random.pick([...world.versions])
  world.read(known, known.randomRead(world.random), seenBy(version, known), world.useVersion(number, version))
}

/** What feeds tell makes what there is. */
async function feed(world: World): Promise<void> {
  for (const known of world.indexes.values()) await world.catchUp(known)
}

async function create(world: World): Promise<void> {
  const free = NAMES.filter((name) => !world.indexes.has(name))
  if (world.indexes.size < MOST_INDEXES) await world.createIndex(world.random.pick(free))
}

function drop(world: World): void {
  const name = world.pickName()
  if (name === undefined || world.indexes.size < 3) return
  world.note(`drop ${name}`)
  world.expect(world.engine.dropIndex(name), true, 'a drop')
  world.indexes.delete(name)
}

function rename(world: World): void {
  const name = world.pickName()
  const to = world.random.pick(NAMES.filter((name) => !world.indexes.has(name)))
  const known = name === undefined ? undefined : world.indexes.get(name)
  if (name === undefined || known === undefined) return
  world.note(`rename ${name} to ${to}`)
  world.follow(world.engine.renameIndex(name, to))
  world.indexes.delete(name)
  world.indexes.set(to, known)
}

function swap(world: World): void {
  const [one, other] = [world.pickName(), world.pickName()]
  if (one === undefined || other === undefined || one === other) return
  world.note(`swap ${one} with ${other}`)
  world.follow(world.engine.swapIndexes(one, other))
  const [first, second] = [world.indexes.get(one)!, world.indexes.get(other)!]
  world.indexes.set(one, second)
  world.indexes.set(other, first)
}

function snapshot(world: World): void {
  const known = world.pickIndex()
  if (known !== undefined) world.follow(unlessDropped(known, known.index.snapshot()))
}

function passTime(world: World): void {
  world.clock.pass(world.random.pick([1, 30, 61]))
  const now = world.clock.now()
  for (const [number, { lastUse, seconds }] of world.versions) {
    const isOpen = now < lastUse + seconds * 1000
    world.compare(world.engine.versions.has(world.idOf(number)), isOpen, 'whether a version is open')
    if (!isOpen) world.versions.delete(number)
  }
}

async function restart(world: World): Promise<void> {
  await world.engine.close()
  await world.openEngine()
  world.loseVersions()
  await world.checkAll()
}

/** Writes that are under way when the device is lost are done once, sent again until they are answered. */
async function loseDevice(world: World): Promise<void> {
  const working = [...world.indexes.values()].map(async (known) => {
    const before = known.model.copied()
    const { write } = newWrite(world, known)
    const read = known.randomRead(world.random)
    const answers = [before, known.model].map((model) =>
      known.comparable(model.answer(read.request, read.columns)),
    )
    const sending = untilAnswered(write.send)
    const found = await untilAnswered(() => known.index.read(read.request, read.columns))
    world.compare(isOneOf(known.comparable(found), answers), true, 'whether a read saw a write as a whole')
    world.expect(sending, write.answer, 'a write while the device is lost')
    await sending
  })
  await setTimeout(world.random.below(5))
  const { device } = world
  device.gpu.destroy()
  await device.lost
  await Promise.all(working)
  world.loseVersions()
  await world.checkAll()
}

/** What takes several turns of an index may find it gone. */
async function unlessDropped(known: KnownIndex, work: Promise<unknown>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!known.index.isDropped || !(error instanceof WarpdexError) || error.code !== 'UNKNOWN_INDEX')
      throw error
  }
}

/** Sends a request again and again while the device is lost. */
async function untilAnswered<T>(send: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await send()
    } catch (error) {
      if (!(error instanceof WarpdexError) || error.code !== 'DEVICE_LOST') throw error
    }
  }
}

function isOneOf(answer: unknown, answers: readonly unknown[]): boolean {
  return answers.some((each) => isDeepStrictEqual(answer, each))
}
