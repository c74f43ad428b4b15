import t from 'tap'
import type { IndexStructure } from '../gpu/index-structure.js'
import { columnOf } from '../protocol/columns.js'
import { FIXED_KEY_TYPES, WriteOp } from '../protocol/types.js'
import { randomShape, runProgram, type Subject } from './differential.js'
import { VARIABLE_KEY_TYPES } from './key-space.js'
import { ModelStructure } from './model-structure.js'
import { concat } from './plain-bytes.js'
import { Random, seedOfRun } from './random.js'
import { withRead } from './reads.js'
import { prepareBatch } from './writes.js'

const models: Subject = {
  create: async (shape) => new ModelStructure(shape),
  reload: async (structure) => {
    const parts = new Map<string, Uint8Array>()
    for (const { name, chunks } of (await structure.image()).parts) {
      const read: Uint8Array[] = []
      for await (const chunk of chunks) read.push(chunk)
      parts.set(name, concat(read))
    }
    return ModelStructure.restore(structure.shape, parts)
  },
  compact: async () => {},
}

const miscounting: Subject = {
  ...models,
  create: async (shape) => miscount(await models.create(shape)),
  reload: async (structure) => miscount(await models.reload(structure)),
}

function miscount(structure: IndexStructure): IndexStructure {
  return withRead(structure, 'count', async () => new Uint8Array())
}

t.test('programs run on keys of every type, and find a fault', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  for (const [i, keyType] of [...FIXED_KEY_TYPES, ...VARIABLE_KEY_TYPES].entries()) {
    const shape = randomShape(new Random(seed + i), keyType)
    t.ok((await runProgram(models, new Random(seed + i), shape, { steps: 4 })) > 0, keyType)
    const faulty = runProgram(miscounting, new Random(seed + i), shape, { steps: 4 })
    await t.rejects(faulty, { message: /count: length 0/ })
  }
})

/** Each text once, and its place in the list as payload. */
async function modelOf(texts: readonly string[]): Promise<ModelStructure> {
  const model = new ModelStructure({ keyType: 'bytes', payloadBytes: 1, unique: false, matchFrom: 0 })
  const { bytes: keys, offsets: keyOffsets } = column(texts)
  const payloads = Uint8Array.from(texts, (_, i) => i)
  const prepared = await prepareBatch(model, { ops: WriteOp.insert, keys, keyOffsets, payloads })
  prepared.apply()
  return model
}

function column(texts: readonly string[]) {
  return columnOf(texts.map((text) => Buffer.from(text, 'latin1')))
}

t.test('keys of variable length are in the order of their bytes', async (t) => {
  const texts = ['ab', '', 'a', '\xff\xff', 'a\0', '\xff', 'b', 'a\0\xff', '\0', 'ab']
  const model = await modelOf(texts)
  const scan = async (request: object) => [
    ...(await model.scan({ ranges: 1, limit: 100, ...request })).payloads,
  ]
  t.same(await scan({}), [1, 8, 2, 4, 7, 0, 9, 6, 5, 3])
  const bounds = (from: string, to: string) => {
    const [low, high] = [column([from]), column([to])]
    return { from: low.bytes, fromOffsets: low.offsets, to: high.bytes, toOffsets: high.offsets }
  }
  t.same(await scan(bounds('a', 'ab')), [2, 4, 7, 0, 9])
  t.same(await scan({ ...bounds('a', 'ab'), fromExclusive: true, toExclusive: true }), [4, 7])
  t.same(await scan({ ...bounds('', 'a'), reverse: true }), [2, 8, 1])
  const { bytes, offsets } = column(['ab', 'abc', ''])
  t.same([...(await model.getAll(bytes, 9, offsets)).offsets], [0, 2, 2, 3])
  const next = await model.getNext({ keys: bytes, keyOffsets: offsets })
  t.same([next.found[0], ...next.payloads], [7, 6, 6, 8])
  t.same([...next.keyOffsets!], [0, 1, 2, 3])
})

t.test('a token of an empty key is no finished range', async (t) => {
  const model = await modelOf(['', '', 'a'])
  const page = await model.scan({ ranges: 1, limit: 1 })
  t.same([...page.tokenOffsets!], [0, 4])
  const { tokens, tokenOffsets } = page
  t.same([...(await model.scan({ ranges: 1, limit: 5, tokens, tokenOffsets })).payloads], [1, 2])
  const finished = { tokens: new Uint8Array(4).fill(255), tokenOffsets }
  t.same([...(await model.scan({ ranges: 1, limit: 5, ...finished })).payloads], [])
})
