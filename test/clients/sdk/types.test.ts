import t from 'tap'
import { type Client, connect, type Index, type JsonValue, type Payload } from '../../../clients/sdk/index.js'
import { FakeServer } from './fake-server.js'

/** Whether two types are the same, which the compiler answers. */
type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false

t.test('an index has the types of its definition', async (t) => {
  const server = new FakeServer()
  await server.start()
  const client = await connect(server.url)
  t.teardown(async () => {
    await client.close()
    await server.stop()
  })
  const prices = await client.createIndex({
    name: 'prices',
    keyType: 'u64',
    payloadKind: 'u32',
    unique: true,
  })
  await prices.put(7n, 70)
  const price: number | undefined = await prices.get(7n)
  t.equal(price, 70)
  const definition = { name: 'prices', keyType: 'u64', payloadKind: 'u32', unique: true } as const
  t.equal(client.index(definition), prices)
  for await (const { key, payload } of client.index(definition).entries()) {
    const entry: readonly [bigint, number] = [key, payload]
    t.strictSame(entry, [7n, 70])
  }
})

/** Compiled, and not run: what is marked must not compile. */
export async function wrongTypes(client: Client): Promise<void> {
  const common = { name: 'x', unique: false } as const
  const numbers = await client.createIndex({ ...common, keyType: 'u32', payloadKind: 'u32' })
  const texts = await client.createIndex({ ...common, keyType: 'string', payloadKind: 'bytes' })
  const pairs = await client.createIndex({
    ...common,
    keyType: 'tuple(u32,string)',
    payloadKind: 'fixed(16)',
  })
  const right: readonly [
    Same<typeof numbers, Index<'u32', 'u32'>>,
    Same<typeof pairs, Index<'tuple(u32,string)', 'fixed(16)'>>,
    Same<Awaited<ReturnType<typeof texts.get>>, Payload<'bytes'> | undefined>,
  ] = [true, true, true]
  await pairs.put([1, 'a'], new Uint8Array(16))
  await pairs
    .entries({ prefix: [1] })
    .pages()
    .next()

  const notes = await client.createIndex({ ...common, keyType: 'u32', payloadKind: 'text' })
  const note: string | undefined = await notes.get(1)
  const settings = await client.createIndex({ ...common, keyType: 'u32', payloadKind: 'json' })
  const setting: JsonValue | undefined = await settings.get(1)
  await settings.put(1, { note: note ?? null, setting: setting ?? [1] })

  // @ts-expect-error bytes as a text
  await notes.put(1, new Uint8Array(1))
  // @ts-expect-error a part of a tuple is misspelt
  await client.createIndex({ ...common, keyType: 'tuple(u32,strng)', payloadKind: 'u32' })
  // @ts-expect-error a tuple has two parts at least
  await client.createIndex({ ...common, keyType: 'tuple(u32)', payloadKind: 'u32' })
  // @ts-expect-error no payloads have so many bytes beside the key
  await client.createIndex({ ...common, keyType: 'u32', payloadKind: 'fixed(99)' })
  // @ts-expect-error no kind of payloads
  await client.createIndex({ ...common, keyType: 'u32', payloadKind: 'text16' })
  // @ts-expect-error a text as a key of numbers
  await numbers.get('a')
  // @ts-expect-error a list where a single key is right
  await numbers.get([1])
  // @ts-expect-error a text as a payload of numbers
  await numbers.put(1, 'a')
  // @ts-expect-error texts as payloads of numbers
  await numbers.insertMany([1], ['a'])
  // @ts-expect-error a column of another type
  await numbers.getMany(new Float32Array(1))
  // @ts-expect-error a column of payloads of another kind
  await numbers.putMany([1], new BigUint64Array(1))
  // @ts-expect-error a number as a payload of bytes
  await texts.batch().put('a', 1)
  const [codes, rows] = await client.write([texts.batch().put('a', 'b'), client.relation('r').batch({})])
  void [codes.length, rows.first]
  // @ts-expect-error rows get places, not codes
  void rows.length
  // @ts-expect-error an expectation of a payload of another kind
  await texts.batch().expect('a', { payload: 1 })
  // @ts-expect-error a payload of another kind
  await texts.delete('a', { payload: 5 })
  // @ts-expect-error payloads of another kind
  await texts.bulkLoad({ keys: ['a'], payloads: [1] })
  // @ts-expect-error parts of other types
  await pairs.put(['a', 1], new Uint8Array(16))
  // @ts-expect-error numbers have no prefix
  numbers.entries({ prefix: 1 })
  void right
}
