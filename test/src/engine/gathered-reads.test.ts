import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { GetResult, ReadColumns, ReadRequest, ScanResult } from '../../../gpu/index-structure.js'
import {
  asBytes,
  blankColumn,
  type Column,
  columnOf,
  countOf,
  valueAt,
  valuesOf,
} from '../../../protocol/columns.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { WriteOp } from '../../../protocol/types.js'
import { GatheredReads, type RunShared, type SharedOp } from '../../../src/engine/gathered-reads.js'
import type { Engine, Index } from '../../../src/engine/index.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { openEngine } from './open-engine.js'

/** Where reads begin that are given keys. */
interface Positions {
  readonly keys: Column
  readonly sequences?: Column | undefined
}

/** Gathers reads of keys that are carried out so. */
function gatheredBy(
  run: (request: ReadRequest<SharedOp>, positions: Positions) => Promise<object>,
): GatheredReads {
  return new GatheredReads(run as RunShared)
}

/** Looks up u32 keys that are all there and are their own payloads; dispatches end when they are told to. */
function openGathered() {
  const dispatches: { keys: number; end: (error?: Error) => Promise<void> }[] = []
  const gathered = gatheredBy(
    (_request, { keys: { bytes: keys } }) =>
      new Promise((resolve, reject) => {
        const count = keys.byteLength / 4
        const found = new Uint8Array(Math.ceil(count / 8)).fill(255)
        const end = (error?: Error) => {
          if (error === undefined) resolve({ found, payloads: { bytes: keys.slice(), width: 4 } })
          else reject(error)
          return setImmediate()
        }
        dispatches.push({ keys: count, end })
      }),
  )
  const get = (keys: Uint8Array) => gathered.read({ op: 'get' }, { keys: { bytes: keys, width: 4 } })
  return { get, dispatches }
}

/** Asks one after the other, so that the first three have the device to themselves. */
async function askApart<T, R>(asked: readonly T[], ask: (one: T) => Promise<R>): Promise<Promise<R>[]> {
  const answers: Promise<R>[] = []
  for (const one of asked) {
    answers.push(ask(one))
    await setImmediate()
  }
  return answers
}

const column = (...keys: number[]) => new Uint8Array(Uint32Array.from(keys).buffer)

t.test('gets that arrive while the device is busy share a dispatch, each with its own answer', async (t) => {
  const { get, dispatches } = openGathered()
  const asked = [
    column(1),
    column(2, 3),
    column(4),
    column(5, 6, 7, 8, 9, 10, 11, 12, 13),
    column(14),
    column(),
  ]
  const answers = await askApart(asked, get)
  t.same(
    dispatches.map(({ keys }) => keys),
    [1, 2, 1],
  )
  await dispatches[0].end()
  t.equal(dispatches.length, 4)
  t.equal(dispatches[3].keys, 16 + 8)
  for (const { end } of dispatches.slice(1)) await end()
  for (const [i, answer] of answers.entries()) {
    const { found, payloads } = await answer
    t.same(payloads.bytes, asked[i])
    const count = asked[i].byteLength / 4
    t.equal(found.byteLength, Math.ceil(count / 8))
    t.equal(
      [...found].reduce((bits, byte) => bits + byte.toString(2).replaceAll('0', '').length, 0),
      dispatches[i]?.keys === count ? found.byteLength * 8 : count,
    )
  }
})

t.test('gets that come at once share a dispatch, also where the device is idle', async (t) => {
  const { get, dispatches } = openGathered()
  const answers = [1, 2, 3].map((key) => get(column(key)))
  await setImmediate()
  t.same(
    dispatches.map(({ keys }) => keys),
    [3 * 8],
  )
  await dispatches[0].end()
  t.same(
    (await Promise.all(answers)).map(({ payloads }) => payloads.bytes[0]),
    [1, 2, 3],
  )
})

t.test('a failure reaches every get that shared the dispatch, and no other', async (t) => {
  const { get, dispatches } = openGathered()
  const answers = await askApart([1, 2, 3, 4, 5], (key) => get(column(key)))
  const settled = Promise.allSettled(answers)
  await dispatches[0].end()
  await dispatches[3].end(new Error('on purpose'))
  await dispatches[2].end()
  await dispatches[1].end()
  t.same(
    (await settled).map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'],
  )
})

t.test('large gets, and those of long keys, go at once', async (t) => {
  let reads = 0
  const create: typeof prefixTrees.create = async (...args) => {
    const structure = await prefixTrees.create(...args)
    const read = structure.read.bind(structure)
    structure.read = (...args) => {
      reads++
      return read(...args)
    }
    return structure
  }
  const engine = await openEngine(t, { structures: { ...prefixTrees, create } })
  const common = { payloadKind: 'u32', unique: false } as const
  await engine.createIndex({ name: 'numbers', keyType: 'u32', ...common })
  await engine.createIndex({ name: 'texts', keyType: 'string', ...common })
  const long = columnOf(Array.from({ length: 100 }, () => new Uint8Array(4096)))
  for (const [name, keys] of [
    ['numbers', blankColumn(5000, 4)],
    ['texts', long],
  ] as const) {
    const before = reads
    const gets = Array.from({ length: 4 }, () => engine.index(name).read({ op: 'get' }, { keys }))
    await setImmediate()
    t.equal(reads - before, 4)
    await Promise.all(gets)
  }
})

t.test('keys of variable length are padded with empty ones', async (t) => {
  const dispatches: Column[] = []
  const ends: (() => void)[] = []
  const gathered = gatheredBy((_request, { keys }) => {
    dispatches.push(keys)
    const count = countOf(keys)
    const payloads = Uint8Array.from({ length: count }, (_, i) => valueAt(keys, i).length)
    const found = new Uint8Array(Math.ceil(count / 8)).fill(255)
    return new Promise((resolve) =>
      ends.push(() => resolve({ found, payloads: { bytes: payloads, width: 1 } })),
    )
  })
  const asked = [['a'], ['bb'], [''], ['ccc', '', 'd'], Array.from({ length: 9 }, (_, i) => 'e'.repeat(i))]
  const answers = await askApart(asked, (texts) =>
    gathered.read({ op: 'get' }, { keys: columnOf(texts.map((text) => Buffer.from(text))) }),
  )
  ends[0]()
  await setImmediate()
  t.equal(countOf(dispatches[3]), 8 + 16)
  t.equal(dispatches[3].bytes.byteLength, 4 + 36)
  for (const end of ends.slice(1)) end()
  for (const [i, answer] of answers.entries()) {
    t.same(
      [...(await answer).payloads.bytes],
      asked[i].map(({ length }) => length),
    )
  }
})

interface Walk {
  readonly op: 'get' | 'getNext'
  readonly withSequences?: boolean
  readonly reverse?: boolean
}

/** Finds behind each u32 key the next number, with its sequence number plus 10; dispatches end at once, once `free` is called. */
function openWalks(refuse: (keys: number) => boolean = () => false) {
  const dispatches: (Walk & { readonly keys: number; readonly within: boolean })[] = []
  let free = () => {}
  const busy = new Promise<void>((resolve) => {
    free = resolve
  })
  const gathered = gatheredBy(async (request, { keys, sequences }) => {
    const count = countOf(keys)
    dispatches.push({ ...(request as Walk), keys: count, within: sequences !== undefined })
    await busy
    if (refuse(count)) throw new WarpdexError('TOO_LARGE', 'on purpose')
    const plus = (column: Column, more: number) => {
      const words = new Uint32Array(column.bytes.slice().buffer)
      return { bytes: asBytes(words.map((word) => word + more)), width: 4 }
    }
    return {
      found: new Uint8Array(Math.ceil(count / 8)).fill(255),
      ...(request.op === 'getNext' && { keys: plus(keys, 1) }),
      payloads: plus(keys, 100),
      sequences: plus(sequences ?? blankColumn(count, 4), 10),
    }
  })
  const walk = (
    request: Walk,
    keys: number[],
    sequences?: number[],
  ): Promise<GetResult & { readonly keys?: Column }> =>
    gathered.read<'get' | 'getNext'>(request, {
      keys: { bytes: column(...keys), width: 4 },
      sequences: sequences && { bytes: column(...sequences), width: 4 },
    })
  return { walk, dispatches, free: () => free() }
}

const words = (found: Column | undefined) => found && [...new Uint32Array(found.bytes.slice().buffer)]

t.test('walks share dispatches with those that ask alike', async (t) => {
  const { walk, dispatches, free } = openWalks()
  const kinds = [
    [{ op: 'get', withSequences: true }, false],
    [{ op: 'getNext' }, true],
    [{ op: 'getNext', reverse: true }, true],
    [{ op: 'getNext', reverse: false }, false],
  ] as const
  const answers = await askApart([1, 2, 3, 4, 5], (round) =>
    Promise.all(
      kinds.map(([request, within], kind) =>
        walk(request, [1000 * kind + round, 1000 * kind + 500], within ? [round, 7] : undefined),
      ),
    ),
  )
  t.equal(dispatches.length, 3 * kinds.length, 'three of each kind are under way')
  free()
  for (const [i, answer] of answers.entries()) {
    for (const [kind, { keys, payloads, sequences }] of (await answer).entries()) {
      const base = 1000 * kind
      t.same(words(keys), kinds[kind]![0].op === 'get' ? undefined : [base + i + 2, base + 501])
      t.same(words(payloads), [base + i + 101, base + 600])
      t.same(words(sequences), kinds[kind]![1] ? [i + 11, 17] : [10, 10])
    }
  }
  t.match(
    dispatches.slice(3 * kinds.length),
    kinds.map(([request, within]) => ({ ...request, within, keys: 16 })),
  )
})

t.test('what is too large together is asked for one by one', async (t) => {
  const { walk, dispatches, free } = openWalks((keys) => keys > 2)
  const answers = [[1], [2, 3], [4, 5, 6]].map((keys) => walk({ op: 'getNext' }, keys))
  free()
  const settled = await Promise.allSettled(answers)
  t.same(
    settled.map((answer) => (answer.status === 'fulfilled' ? words(answer.value.keys) : answer.reason.code)),
    [[2], [3, 4], 'TOO_LARGE'],
  )
  t.same(
    dispatches.map(({ keys }) => keys),
    [24, 1, 2, 3],
  )
})

/** An engine with an index of texts, of which every third has two payloads, that counts what its structure is asked for. */
async function openTexts(t: Test) {
  const asked: { readonly ranges: number; readonly limit: number }[] = []
  const create: typeof prefixTrees.create = async (...args) => {
    const structure = await prefixTrees.create(...args)
    const read = structure.read.bind(structure)
    structure.read = (request, columns) => {
      if ('limit' in request && 'ranges' in request) asked.push(request)
      return read(request, columns)
    }
    return structure
  }
  const engine = await openEngine(t, { structures: { ...prefixTrees, create } })
  const index = await createTexts(engine)
  return { index, asked }
}

async function createTexts(engine: Engine): Promise<Index> {
  await engine.createIndex({ name: 'texts', keyType: 'string', payloadKind: 'u32', unique: false })
  const index = engine.index('texts')
  const numbers = Array.from({ length: 500 }, (_, i) => (i < 400 ? i : 3 * (i - 400)))
  const keys = columnOf(numbers.map((i) => Buffer.from(String(i))))
  const payloads = { bytes: asBytes(Uint32Array.from(numbers, (_, i) => i)), width: 4 }
  await index.write({ ops: WriteOp.insert, keys, payloads })
  return index
}

/** Columns of ranges, by what texts their keys begin with and where they go on. */
function textRanges(prefixes: readonly string[], tokens?: readonly Uint8Array[]): ReadColumns {
  return {
    from: columnOf(prefixes.map((prefix) => Buffer.from(prefix))),
    to: columnOf(prefixes.map((prefix) => Buffer.from(`${prefix}~`))),
    tokens: tokens && columnOf(tokens),
  }
}

const plain = ({ offsets, keys, payloads, more, tokens }: ScanResult) => ({
  offsets: [...offsets],
  keys: valuesOf(keys).map(String),
  payloads: valuesOf(payloads).map((row) => Buffer.from(row).readUInt32LE()),
  more: [...more],
  tokens: valuesOf(tokens).map((token) => Buffer.from(token).toString('hex')),
})

t.test('short scans share dispatches with those that ask alike, each with what it has alone', async (t) => {
  const { index, asked } = await openTexts(t)
  const first = await index.read({ op: 'scan', ranges: 2, limit: 3 }, textRanges(['1', '2']))
  const tokens = valuesOf(first.tokens)
  const scans: readonly [ReadRequest<'scan'>, ReadColumns][] = [
    [{ op: 'scan', ranges: 2, limit: 3 }, textRanges(['1', '39'])],
    [{ op: 'scan', ranges: 1, limit: 3 }, textRanges(['x'])],
    [{ op: 'scan', ranges: 3, limit: 3 }, textRanges(['399', '2', '30'])],
    [{ op: 'scan', ranges: 1, limit: 4 }, textRanges(['2'])],
    [{ op: 'scan', ranges: 1, limit: 3, reverse: true }, textRanges(['2'])],
    [{ op: 'scan', ranges: 2, limit: 3, reverse: true }, textRanges(['27', '1'])],
    [{ op: 'scan', ranges: 2, limit: 3 }, textRanges(['1', '2'], tokens)],
    [{ op: 'scan', ranges: 1, limit: 3 }, textRanges(['2'], tokens.slice(1))],
    [{ op: 'scan', ranges: 1, limit: 3, withoutKeys: true }, textRanges(['1'])],
    [{ op: 'scan', ranges: 1, limit: 3, withoutKeys: true }, textRanges(['2'])],
    [{ op: 'scan', ranges: 1, limit: 3, withoutPayloads: true }, textRanges(['1'])],
    [{ op: 'scan', ranges: 1, limit: 3, withoutPayloads: true }, textRanges(['2'])],
    [{ op: 'scan', ranges: 1, limit: 3 }, {}],
    [{ op: 'scan', ranges: 1, limit: 3 }, {}],
  ]
  const alone: ScanResult[] = []
  for (const scan of scans) alone.push(await index.read(...scan))
  asked.length = 0
  const together = await Promise.all(scans.map((scan) => index.read(...scan)))
  t.same(together.map(plain), alone.map(plain))
  t.same(
    asked.map(({ ranges }) => ranges).sort((a, b) => a - b),
    [1, 2, 2, 2, 3, 3, 6],
  )
})

t.test('long scans go by themselves', async (t) => {
  const { index, asked } = await openTexts(t)
  const scan = { op: 'scan', ranges: 1, limit: 4097 } as const
  await Promise.all([index.read(scan, textRanges(['1'])), index.read(scan, textRanges(['2']))])
  t.same(
    asked.map(({ ranges }) => ranges),
    [1, 1],
  )
})
