import { setTimeout } from 'node:timers/promises'
import type { Random } from '../../random.js'
import { FrameClient } from '../frame-client.js'
import { askWell, numbers, scanNumbers, type Workload } from './workload.js'

/** Indexes whose names are swapped, each of which holds one key that tells which one it was at first. */
const SWAPPED = ['left', 'right'] as const
const DEFINITION = { keyType: 'u32', payloadKind: 'u32', unique: false }
/** Keys that are written begin here. */
const FIRST_KEY = 1000
/** Milliseconds between two swaps at most. */
const PAUSE = 8

/** Two indexes whose names are swapped again and again, while a client writes to whichever has one of the names. */
export class Swaps implements Workload {
  readonly #random: Random
  /** Swaps that were acknowledged; one more may be made. */
  #swaps = 0
  /** Writes that were acknowledged, each of a key; one more may be made. */
  #writes = 0
  #isPrepared = false

  constructor(random: Random) {
    this.#random = random
  }

  get acknowledged(): number {
    return this.#writes
  }

  /** Both are there, and have been swapped as often as was acknowledged, or once more; each swap is a generation. */
  async check(client: FrameClient): Promise<void> {
    if (!this.#isPrepared) await prepare(client)
    this.#isPrepared = true
    const generations = new Set<number>()
    const written: number[] = []
    for (const [key, index] of SWAPPED.entries()) {
      const opened = await client.ask({ id: client.nextId(), op: 'open', index })
      const swaps = Number(opened?.header.generation) - 1
      generations.add(swaps)
      const expected = swaps % 2 === 0 ? key : 1 - key
      const entries = (await scanNumbers(client, { index })) ?? []
      if (entries[0]?.[0] !== expected || (entries[1]?.[0] ?? FIRST_KEY) < FIRST_KEY)
        throw new Error(`index ${index} has the key ${entries[0]?.[0]} after ${swaps} swaps, not ${expected}`)
      written.push(...entries.slice(1).map(([key]) => key - FIRST_KEY))
    }
    const [swaps, ...others] = generations
    if (others.length > 0 || (swaps !== this.#swaps && swaps !== this.#swaps + 1))
      throw new Error(`${this.#swaps} swaps were acknowledged, and made are ${[...generations]}`)
    this.#swaps = swaps
    this.#checkWrites(written.sort((a, b) => a - b))
  }

  /** Each is in one of the two, once. */
  #checkWrites(written: readonly number[]): void {
    const strange = written.findIndex((number, i) => number !== i)
    const isMore = written.length > this.#writes + 1
    if (strange === -1 && !isMore && written.length >= this.#writes) return
    throw new Error(
      `of ${this.#writes} writes to swapped indexes ${written.length} are there, the first wrong one at ${strange}`,
    )
  }

  async work(url: string): Promise<void> {
    await Promise.all([this.#swap(url), this.#write(url)])
  }

  async #swap(url: string): Promise<void> {
    const client = await FrameClient.connect(url, 'swapper')
    const [index, other] = SWAPPED
    for (;;) {
      const reply = await askWell(client, { id: 1, op: 'swapIndexes', index, with: other })
      if (reply === undefined) return
      this.#swaps++
      await setTimeout(this.#random.below(PAUSE))
    }
  }

  /** Writes to whichever index has the name; what has changed its name meanwhile is opened again. */
  async #write(url: string): Promise<void> {
    const client = await FrameClient.connect(url, 'swapped-writer')
    for (;;) {
      const column = numbers(FIRST_KEY + this.#writes)
      const request = { id: client.nextId(), op: 'insert', index: SWAPPED[0], writeId: this.#writes + 1 }
      const reply = await client.ask(request, { keys: column, payloads: column })
      if (reply === undefined) return
      const { code, message } = Object(reply.header.error)
      if (code === 'INDEX_CHANGED') {
        client.forget(SWAPPED[0])
        continue
      }
      // It was made before, to the index that had the name then.
      const wasMade = code === 'BAD_REQUEST' && /was used for a write to another index/.test(message)
      if (reply.header.ok !== true && !wasMade) throw new Error(`a write failed: ${message}`)
      this.#writes++
    }
  }
}

async function prepare(client: FrameClient): Promise<void> {
  for (const [key, index] of SWAPPED.entries()) {
    await client.ask({ id: client.nextId(), op: 'createIndex', ...DEFINITION, index })
    const item = numbers(key)
    await client.ask({ id: client.nextId(), op: 'insert', index }, { keys: item, payloads: item })
  }
}
