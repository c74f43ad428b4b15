// Runs in a browser.
import { connect, WarpdexError } from '../../../clients/sdk/index.js'

const decode = (bytes: Uint8Array | undefined) => bytes && new TextDecoder().decode(bytes)

/** Does with a server what clients do, and says what came of it in terms of JSON. */
export async function run(url: string, token: string | undefined) {
  const client = await connect(url, { token, reconnect: { attempts: 0 } })
  try {
    await client.createIndex({ name: 'texts', keyType: 'u64', payloadKind: 'bytes', unique: false })
    const texts = client.index<'u64', 'bytes'>('texts')
    const codes = await texts.insertMany(BigUint64Array.of(7n, 2n ** 64n - 1n, 7n), [
      'sieben',
      'groß',
      'seven',
    ])
    const got = await texts.getMany([7n, 8n, 2n ** 64n - 1n])
    const singles = await Promise.all([texts.get(7n), texts.get(8n)])
    const scanned: string[] = []
    for await (const { key, payload } of texts.entries({ reverse: true, pageSize: 2 })) {
      scanned.push(`${key} ${decode(payload)}`)
    }
    const ranges: string[] = []
    for await (const { range, payload } of texts.ranges({ from: [0n, 8n], to: [7n, 9n], pageSize: 1 })) {
      ranges.push(`${range} ${decode(payload)}`)
    }

    await client.createIndex({ name: 'numbers', keyType: 'f64', payloadKind: 'u32', unique: true })
    const numbers = client.index<'f64', 'u32'>('numbers')
    const written = await numbers.batch().insert(-1.5, 1).insert(2.5, 2).insert(2.5, 3).delete(9).write()
    const large = Float64Array.from({ length: 100_000 }, (_, i) => i)
    await numbers.insertMany(large, Uint32Array.from(large))
    const count = (await numbers.countMany(large)).reduce((sum, each) => sum + each, 0)
    const refusal = await client
      .index('none')
      .getMany([1])
      .catch((error: unknown) => error)
    return {
      software: client.server.adapter.software,
      codes: [...codes],
      got: [0, 1, 2].map((i) => decode(got.payload(i)) ?? null),
      singles: singles.map((payload) => decode(payload) ?? null),
      scanned,
      ranges,
      written: [...written],
      count,
      refusal: refusal instanceof WarpdexError ? refusal.code : String(refusal),
    }
  } finally {
    client.close()
  }
}
