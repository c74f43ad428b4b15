import type { Test } from 'tap'
import { type ConnectOptions, connect } from '../../../../clients/sdk/index.js'
import type { Random } from '../../../random.js'

/** Ends the watching, and says how many rounds there were. */
export type EndOfWatch = () => Promise<number>

/**
 * A client that works on an index of its own while others misbehave, and compares all answers with what they should be: it must
 * notice nothing.
 */
export async function witness(
  t: Test,
  url: string,
  random: Random,
  options: ConnectOptions = {},
): Promise<EndOfWatch> {
  const client = await connect(url, { reconnect: { attempts: 0 }, ...options })
  t.teardown(() => client.close())
  await client.createIndex({ name: 'witness', keyType: 'u32', payloadKind: 'u32', unique: true })
  const index = client.index<'u32', 'u32'>('witness')
  const model = new Map<number, number>()
  let over = false
  let rounds = 0
  const watch = async () => {
    for (; !over || rounds === 0; rounds++) {
      const keys = [...new Set(Array.from({ length: 20 }, () => random.below(500)))]
      const payloads = keys.map(() => random.word())
      await index.putMany(keys, payloads)
      keys.forEach((key, i) => {
        model.set(key, payloads[i])
      })
      const asked = Array.from({ length: 20 }, () => random.below(500))
      const got = await index.getMany(asked)
      asked.forEach((key, i) => {
        if (got.payload(i) !== model.get(key)) t.fail(`round ${rounds}: key ${key} has ${got.payload(i)}`)
      })
    }
    t.equal((await index.stats()).payloads, model.size, 'the witness has all that it wrote')
    return rounds
  }
  const watching = watch()
  watching.catch(() => {})
  return () => {
    over = true
    return watching
  }
}
