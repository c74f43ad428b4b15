import t, { type Test } from 'tap'
import type { ScanResult } from '../../../gpu/index-structure.js'
import { type Column, columnOf, valueAt } from '../../../protocol/columns.js'
import { LIMITS } from '../../../protocol/limits.js'
import { type IndexDefinition, WriteOp } from '../../../protocol/types.js'
import type { Engine, Index } from '../../../src/engine/index.js'
import {
  type OpenVersion,
  ReadVersions,
  VersionCopies,
  type VersionId,
} from '../../../src/engine/read-versions.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { Random, seedOfRun } from '../../random.js'
import { HandClock } from './hand-clock.js'
import { openEngine, u32, values } from './open-engine.js'

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)
const random = new Random(seed)

const id = (number: number) => ({ client: 'a', number })

/** What an index holds: the payloads of each key, keys by their text. */
type Model = ReadonlyMap<string, readonly string[]>

const DEFINITIONS: readonly IndexDefinition[] = [
  { name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: true },
  { name: 'lists', keyType: 'u32', payloadKind: 'u32', unique: false },
  { name: 'texts', keyType: 'string', payloadKind: 'bytes', unique: true },
  { name: 'prefix', keyType: 'string', payloadKind: 'bytes', unique: false, structure: 'prefix' },
]

const KEYS = 60

/** Keys, or payloads, of numbers as an index has them. */
function columnFor(definition: IndexDefinition, numbers: readonly number[]): Column {
  if (definition.keyType === 'u32') return { bytes: u32(...numbers), width: 4 }
  return columnOf(numbers.map((number) => Buffer.from(`${number} of them`)))
}

function textsOf(column: Column): string[] {
  if (column.offsets === undefined) return values(column.bytes).map(String)
  return Array.from({ length: column.offsets.length - 1 }, (_, i) =>
    String(Number.parseInt(Buffer.from(valueAt(column, i)).toString(), 10)),
  )
}

/** Writes some keys, and tells what there is then. */
function writeSome(
  definition: IndexDefinition,
  index: Index,
  model: Model,
): { after: Model; done: Promise<unknown> } {
  const after = new Map(model)
  const keys = Array.from({ length: 1 + random.below(20) }, () => random.below(KEYS))
  const payloads = keys.map(() => random.below(1000))
  const op = random.pick([WriteOp.insert, WriteOp.replace, WriteOp.deleteKey])
  keys.forEach((key, i) => {
    const before = after.get(String(key)) ?? []
    const payload = String(payloads[i])
    if (op === WriteOp.deleteKey) after.delete(String(key))
    else if (op === WriteOp.replace) after.set(String(key), [payload])
    else if (before.length === 0 || !definition.unique) after.set(String(key), [...before, payload])
  })
  const columns = { ops: op, keys: columnFor(definition, keys) }
  const done = index.write(
    op === WriteOp.deleteKey ? columns : { ...columns, payloads: columnFor(definition, payloads) },
  )
  return { after, done }
}

/** Deletes the keys of a range, and tells what there is then. */
function deleteSome(
  definition: IndexDefinition,
  index: Index,
  model: Model,
): { after: Model; done: Promise<unknown> } {
  const bytesOf = (key: number) => columnFor(definition, [key]).bytes
  // Numbers travel little-endian; texts are ordered by their bytes.
  const order = (key: number) =>
    definition.keyType === 'u32' ? Buffer.from(bytesOf(key)).reverse() : Buffer.from(bytesOf(key))
  const from = random.below(KEYS)
  const to = random.below(KEYS)
  const isKept = (key: number) => order(key).compare(order(from)) < 0 || order(key).compare(order(to)) > 0
  const after = new Map([...model].filter(([key]) => isKept(Number(key))))
  return { after, done: index.deleteRange({ from: bytesOf(from), to: bytesOf(to) }) }
}

/** All entries of an index as of a version. */
async function contentOf(index: Index, version: OpenVersion): Promise<Model> {
  const page = await index.read({ op: 'scan', ranges: 1, limit: 10_000 }, {}, undefined, version)
  return contentOfPages([page])
}

function contentOfPages(pages: readonly ScanResult[]): Model {
  const content = new Map<string, string[]>()
  for (const { keys, payloads } of pages) {
    const texts = textsOf(payloads)
    textsOf(keys).forEach((key, i) => {
      content.set(key, [...(content.get(key) ?? []), texts[i]!])
    })
  }
  return content
}

/** All entries of an index, page by page, as of the first of them. */
async function scanOf(engine: Engine, index: Index, id: VersionId): Promise<Model> {
  const scan = { op: 'scan', ranges: 1, limit: 7 } as const
  const pages = [await index.readAndOpen(id, scan, {})]
  for (let last = pages[0]!; last.more[0] === 1; last = pages.at(-1)!) {
    pages.push(await index.read(scan, { tokens: last.tokens }, undefined, engine.versions.use(id)))
  }
  engine.versions.close(id)
  return contentOfPages(pages)
}

/** The first payload of every key there may be, as of a version. */
async function firstsOf(definition: IndexDefinition, index: Index, version: OpenVersion): Promise<Model> {
  const keys = columnFor(definition, [...Array(KEYS).keys()])
  const { found, payloads } = await index.read({ op: 'get' }, { keys }, undefined, version)
  const texts = textsOf(payloads)
  const has = (key: number) => ((found[key >> 3]! >> (key & 7)) & 1) === 1
  return new Map([...Array(KEYS).keys()].filter(has).map((key) => [String(key), [texts[key]!]]))
}

function firsts(model: Model): Model {
  return new Map([...model].map(([key, payloads]) => [key, payloads.slice(0, 1)]))
}

function sorted(model: Model): Model {
  return new Map([...model].sort())
}

async function createAll(engine: Engine): Promise<Index[]> {
  for (const definition of DEFINITIONS) await engine.createIndex(definition)
  return DEFINITIONS.map(({ name }) => engine.index(name))
}

t.test('a version goes on seeing all indexes as they were when it was opened', (t) =>
  writesAndReads(t, Number.POSITIVE_INFINITY),
)

t.test('also where there is no room for all of them on the device', (t) => writesAndReads(t, 25_000))

/** Random writes, and reads as of versions, of which many are under way at a time. */
async function writesAndReads(t: Test, deviceMemory: number): Promise<void> {
  const engine = await openEngine(t, { structures: prefixTrees, snapshotLogBytes: 4096, deviceMemory })
  let pagedOut = false
  const notePagedOut = () => {
    pagedOut ||= engine.stats().server.pagedOutIndexes > 0
  }
  const indexes = await createAll(engine)
  let models: readonly Model[] = indexes.map(() => new Map())
  const open = new Map<number, readonly Model[]>()
  const checks: Promise<unknown>[] = []
  let next = 0
  for (let step = 0; step < 120; step++) {
    const which = random.below(indexes.length)
    const index = indexes[which]!
    const definition = DEFINITIONS[which]!
    const [number, seen] = random.pick([...open, [undefined, models] as const])
    switch (random.below(7)) {
      case 0:
        if (open.size > 5) break
        engine.versions.open(id(next), 60)
        open.set(next++, models)
        break
      case 1:
        if (number === undefined) break
        t.ok(engine.versions.close(id(number)))
        open.delete(number)
        break
      case 2: {
        if (number === undefined) break
        const version = engine.versions.use(id(number))
        const expected = seen[which]!
        checks.push(
          contentOf(index, version).then((content) =>
            t.same(sorted(content), sorted(expected), `${definition.name}, ${step}`),
          ),
          firstsOf(definition, index, version).then((content) =>
            t.same(sorted(content), sorted(firsts(expected)), `${definition.name}, ${step}`),
          ),
        )
        break
      }
      case 3: {
        const expected = sorted(models[which]!)
        const scanned = scanOf(engine, index, id(1e6 + step))
        checks.push(
          scanned.then((content) =>
            t.same(sorted(content), expected, `${definition.name}, scanned, ${step}`),
          ),
        )
        break
      }
      default: {
        const change = random.chance(0.15) ? deleteSome : writeSome
        const { after, done } = change(definition, index, models[which]!)
        models = models.toSpliced(which, 1, after)
        checks.push(done.then(notePagedOut))
      }
    }
    // Much is under way at a time, since the order is that of the calls.
    if (random.chance(0.1)) await Promise.all(checks)
    if (random.chance(0.05)) await index.snapshot()
  }
  await Promise.all(checks)
  for (const number of open.keys()) engine.versions.close(id(number))
  await engine.versions.end()
  t.match(engine.versions.figures, { open: 0, copies: 0, bytes: 0 })
  t.equal(pagedOut, Number.isFinite(deviceMemory))
  // Its snapshots are written beside.
  await engine.close()
}

t.test('what nobody writes to is not copied, and the rest once for all versions', async (t) => {
  const engine = await openEngine(t)
  const [numbers] = await createAll(engine)
  const write = (value: number) =>
    numbers!.write({
      ops: WriteOp.replace,
      keys: columnFor(DEFINITIONS[0]!, [1]),
      payloads: columnFor(DEFINITIONS[0]!, [value]),
    })
  await write(1)
  engine.versions.open(id(1), 60)
  engine.versions.open(id(2), 60)
  t.match(engine.versions.figures, { open: 2, copies: 0 })
  await write(2)
  await write(3)
  t.match(engine.versions.figures, { open: 2, copies: 1 })
  engine.versions.open(id(3), 60)
  await write(4)
  t.match(engine.versions.figures, { open: 3, copies: 2 })
  const seen = async (number: number) =>
    values(
      (
        await numbers!.read(
          { op: 'get' },
          { keys: columnFor(DEFINITIONS[0]!, [1]) },
          undefined,
          engine.versions.use(id(number)),
        )
      ).payloads.bytes,
    )
  t.same([await seen(1), await seen(2), await seen(3)], [[1], [1], [3]])
  engine.versions.close(id(1))
  t.match(engine.versions.figures, { open: 2 })
  t.same(await seen(2), [1])
  engine.versions.close(id(2))
  t.same(await seen(3), [3])
  await new Promise(setImmediate)
  t.match(engine.versions.figures, { open: 1, copies: 1 })
})

t.test('a scan has its own index copied, no other one, and once', async (t) => {
  const engine = await openEngine(t)
  const [numbers, lists] = await createAll(engine)
  const write = (index: Index, key: number) => {
    const column = columnFor(DEFINITIONS[0]!, [key])
    return index.write({ ops: WriteOp.replace, keys: column, payloads: column })
  }
  for (let key = 0; key < 9; key++) await Promise.all([write(numbers!, key), write(lists!, key)])
  const scan = { op: 'scan', ranges: 1, limit: 5 } as const
  const scanned = numbers!.readAndOpen(id(1), scan, {})
  const written = write(numbers!, 100)
  const { tokens } = await scanned
  await written
  await Promise.all([write(numbers!, 101), write(lists!, 101)])
  t.match(engine.versions.figures, { open: 1, copies: 1 })
  const version = engine.versions.use(id(1))
  const rest = await numbers!.read(scan, { tokens }, undefined, version)
  t.same(values(rest.keys.bytes), [5, 6, 7, 8])
  await t.rejects(lists!.read(scan, {}, undefined, version), { code: 'BAD_REQUEST', message: /by a scan/ })

  engine.versions.open(id(2), 60)
  await Promise.all([write(numbers!, 102), write(lists!, 102)])
  t.match(engine.versions.figures, { open: 2, copies: 3 })
  engine.versions.close(id(1))
  await new Promise(setImmediate)
  t.match(engine.versions.figures, { open: 1, copies: 2 })
})

t.test('versions that nobody uses go, and so do those of a dropped index', async (t) => {
  const clock = new HandClock()
  const engine = await openEngine(t, { clock })
  await createAll(engine)
  engine.versions.open(id(1), 10)
  engine.versions.open(id(1), 10)
  t.equal(engine.versions.figures.open, 1, 'a request that is sent again opens nothing')
  clock.pass(9)
  engine.versions.use(id(1))
  clock.pass(9)
  engine.versions.use(id(1))
  clock.pass(11)
  t.throws(() => engine.versions.use(id(1)), { code: 'VERSION_GONE' })
  t.equal(engine.versions.close(id(1)), false)

  engine.versions.open(id(2), 10)
  const index = engine.index('numbers')
  await index.write({
    ops: WriteOp.insert,
    keys: columnFor(DEFINITIONS[0]!, [1]),
    payloads: columnFor(DEFINITIONS[0]!, [1]),
  })
  const version = engine.versions.use(id(2))
  await engine.dropIndex('numbers')
  t.equal(engine.versions.figures.copies, 0)
  await t.rejects(
    index.read({ op: 'count' }, { keys: columnFor(DEFINITIONS[0]!, [1]) }, undefined, version),
    {
      code: 'UNKNOWN_INDEX',
    },
  )
})

t.test('there is a limit to how many there are, and to what they take', async (t) => {
  const versions = new ReadVersions(new HandClock(), 100)
  for (let number = 0; number < LIMITS.versions; number++) versions.open(id(number), 60)
  t.throws(() => versions.open(id(LIMITS.versions), 60), { code: 'OVERLOADED' })
  const copies = new VersionCopies(versions)
  t.ok(copies.isDue)
  copies.add(async (reserve) => {
    reserve(101)
    throw new Error('it was not refused')
  })
  t.notOk(copies.isDue)
  const copy = copies.of(versions.use(id(0)))
  await t.rejects(
    copy!.use(async () => {}),
    { code: 'VERSION_GONE', message: /101 bytes of the 100/ },
  )
  await versions.end()
})
