import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { ScanResult } from '../../../../gpu/index-structure.js'
import { type Column, columnOf, valueAt } from '../../../../protocol/columns.js'
import { tokenWidth } from '../../../../protocol/types.js'
import { batch } from './batch-operations.js'
import type { KnownIndex } from './known-index.js'
import type { KnownRelation } from './known-relation.js'
import { append, createRelation, dropRelation, newAppend, readRows } from './relation-operations.js'
import { unlessDropped, untilAnswered } from './waiting.js'
import { seenBy, type World } from './world.js'
import { deleteRange, load, newWrite, resend, write } from './write-operations.js'

/** One kind of what is done to an engine. */
interface Operation {
  /** How often it is chosen, beside the others. */
  readonly weight: number
  /** Whether nothing else may be under way. */
  readonly isAlone?: boolean
  run(world: World): Promise<void> | void
}

const MOST_INDEXES = 5
const MOST_OVER_COLUMNS = 3
const MOST_VERSIONS = 5
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'] as const
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
  append: { weight: 8, run: append },
  readRows: { weight: 6, run: readRows },
  create: { weight: 3, run: create },
  createRelation: { weight: 3, run: createRelation },
  createIndexOver: { weight: 3, run: createIndexOver },
  drop: { weight: 1, run: drop },
  dropRelation: { weight: 1, run: dropRelation },
  rename: { weight: 2, run: rename },
  swap: { weight: 4, run: swap },
  snapshot: { weight: 2, run: snapshot },
  passTime: { weight: 4, isAlone: true, run: passTime },
  settle: { weight: 6, isAlone: true, run: (world) => world.checkAll() },
  restart: { weight: 1, isAlone: true, run: restart },
  loseDevice: { weight: 1, isAlone: true, run: loseDevice },
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
  world.follow(unlessDropped(known.index, follow()))
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
  world.engine.openVersion(id, VERSION_SECONDS)
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

async function createIndexOver(world: World): Promise<void> {
  const free = NAMES.filter((name) => !world.indexes.has(name))
  const over = world.pickRelation()
  const derived = world.indexes.size - world.writable().length
  if (over === undefined || derived === MOST_OVER_COLUMNS) return
  await world.createIndexOver(world.random.pick(free), over)
}

/** What feeds tell makes what there is. */
async function feed(world: World): Promise<void> {
  for (const known of world.writable()) await world.catchUp(known)
}

async function create(world: World): Promise<void> {
  const free = NAMES.filter((name) => !world.indexes.has(name))
  if (world.writable().length < MOST_INDEXES && free.length > 0)
    await world.createIndex(world.random.pick(free))
}

function drop(world: World): void {
  const name = world.pickName()
  const known = name === undefined ? undefined : world.indexes.get(name)
  if (name === undefined || known === undefined || world.indexes.size < 3) return
  world.note(`drop ${name}`)
  world.expect(world.engine.dropIndex(name), true, 'a drop')
  world.indexes.delete(name)
  for (const { over } of world.relations.values()) over.delete(known)
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
  const relation = world.pickRelation()
  if (relation !== undefined && world.random.chance(0.3)) {
    world.follow(unlessDropped(relation.relation, relation.relation.snapshot()))
    return
  }
  const known = world.pickIndex()
  if (known !== undefined) world.follow(unlessDropped(known.index, known.index.snapshot()))
}

function passTime(world: World): void {
  world.passTime(world.random.pick([1, 30, 61]))
  const now = world.clock.now()
  for (const [number, { lastUse, seconds }] of world.versions) {
    const isOpen = now < lastUse + seconds * 1000
    world.compare(world.engine.versions.has(world.idOf(number)), isOpen, 'whether a version is open')
    if (!isOpen) world.versions.delete(number)
  }
}

async function restart(world: World): Promise<void> {
  await world.engine.close()
  world.passTime(world.random.pick([0, 0, 20]))
  await world.openEngine()
  world.loseVersions()
  await world.checkAll()
}

/** Writes that are under way when the device is lost are done once, sent again until they are answered. */
async function loseDevice(world: World): Promise<void> {
  const working = [
    ...world.writable().map((known) => writeMeanwhile(world, known)),
    ...[...world.relations.values()].map((known) => appendMeanwhile(world, known)),
  ]
  await setTimeout(world.random.below(5))
  const { device } = world
  device.gpu.destroy()
  await device.lost
  await Promise.all(working)
  world.loseVersions()
  await world.checkAll()
}

async function writeMeanwhile(world: World, known: KnownIndex): Promise<void> {
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
}

async function appendMeanwhile(world: World, known: KnownRelation): Promise<void> {
  const { rows } = known
  const { write } = newAppend(world, known)
  const sending = untilAnswered(write.send)
  const { total } = await untilAnswered(() => known.relation.read({ columns: [], from: 0, limit: 1 }))
  world.compare([rows, known.rows].includes(total), true, 'whether a read saw an append as a whole')
  world.expect(sending, write.answer, 'an append while the device is lost')
  await sending
}

function isOneOf(answer: unknown, answers: readonly unknown[]): boolean {
  return answers.some((each) => isDeepStrictEqual(answer, each))
}
