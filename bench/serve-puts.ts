import { connect, type Index } from '../clients/sdk/index.js'
import type { AdapterChoice } from '../gpu/device/adapter.js'
import { median, type Row } from './report.js'
import { withServer } from './server-process.js'

const PUTS = 1000
const ROUNDS = 200
/** Rounds before those: kernels are made, and code on the way of a put is compiled. */
const WARM_UP_ROUNDS = 50

type Numbers = Index<'u32', 'u32'>

/**
 * Durable puts of one client: a thousand single ones of one turn, which share a request, and a thousand in one call, by turns over the same keys. What is
 * stored is looked at in the end.
 */
export async function benchPuts(adapter: AdapterChoice): Promise<Row> {
  return withServer(['--adapter', adapter], async ({ url }) => {
    const client = await connect(url)
    try {
      const index = await client.createIndex({
        name: 'puts',
        keyType: 'u32',
        payloadKind: 'u32',
        unique: true,
      })
      const keys = Uint32Array.from({ length: PUTS }, (_, i) => i * 7919)
      const single: number[] = []
      const together: number[] = []
      for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
        const singly = () => timed(() => putSingly(index, keys, round))
        const atOnce = () =>
          timed(() =>
            index.putMany(
              keys,
              keys.map((_, i) => round + i),
            ),
          )
        // Neither always comes after the other.
        const isOdd = round % 2 !== 0
        const first = await (isOdd ? singly() : atOnce())
        const second = await (isOdd ? atOnce() : singly())
        if (round < WARM_UP_ROUNDS) continue
        single.push(isOdd ? first : second)
        together.push(isOdd ? second : first)
      }
      const stored = await index.getMany(keys)
      if (keys.some((_, i) => stored.payload(i) !== WARM_UP_ROUNDS + ROUNDS - 1 + i))
        throw new Error('a put is not there')
      const [singleMs, togetherMs] = [median(single), median(together)]
      return {
        name: `${PUTS} puts: single ones of a turn, and in one call`,
        figures: {
          'single ms': singleMs,
          'one call ms': togetherMs,
          'single / one call': singleMs / togetherMs,
        },
      }
    } finally {
      await client.close({ now: true })
    }
  })
}

async function putSingly(index: Numbers, keys: Uint32Array, payload: number): Promise<void> {
  await Promise.all(Array.from(keys, (key, i) => index.put(key, payload + i)))
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}
