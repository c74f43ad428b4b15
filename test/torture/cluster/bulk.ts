import type { Client, Index } from '../../../clients/sdk/index.js'
import type { SpreadKeys } from './keys.js'

const PAYLOAD_BYTES = 64 * 1024
/** Of each replica set: more than nodes have set aside on disk. */
const PAYLOADS = 40

/** Makes a write to a key. @returns whether it was acknowledged */
type Attempt = (key: number, write: () => Promise<unknown>) => Promise<boolean>

/** Large payloads, each under a key of its own. */
export class Bulk {
  readonly #index: Index<'u32', 'bytes'>
  readonly #keys: SpreadKeys
  readonly #acknowledged: number[] = []
  #next = 0
  #isGrowing = false

  private constructor(index: Index<'u32', 'bytes'>, keys: SpreadKeys) {
    this.#index = index
    this.#keys = keys
  }

  static async create(client: Client, keys: SpreadKeys): Promise<Bulk> {
    const definition = { name: 'bulk', keyType: 'u32', payloadKind: 'bytes', unique: true } as const
    return new Bulk(await client.createIndex(definition, { splitAt: keys.splitAt }), keys)
  }

  /** Writes more of them, unless it still does: the log must reach back to what a node has that was away for long. */
  async grow(sets: number, attempt: Attempt): Promise<void> {
    if (this.#isGrowing) return
    this.#isGrowing = true
    for (let left = PAYLOADS * sets; left > 0; left--) {
      const key = this.#keys.keyOf(this.#next++)
      const payload = new Uint8Array(PAYLOAD_BYTES).fill(key)
      if (await attempt(key, () => this.#index.put(key, payload))) this.#acknowledged.push(key)
    }
    this.#isGrowing = false
  }

  /** @throws Error that says what is lacking */
  async check(): Promise<void> {
    for (const key of this.#acknowledged) {
      const payload = await this.#index.get(key)
      const isRight = payload?.length === PAYLOAD_BYTES && payload.every((byte) => byte === (key & 255))
      if (!isRight) throw new Error(`the large payload of ${key} is not there, though it was acknowledged`)
    }
  }
}
