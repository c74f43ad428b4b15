import { setTimeout } from 'node:timers/promises'
import { FrameClient } from '../frame-client.js'
import { type Batches, TWINS } from './batches.js'
import { askWell, bigIn, numbersIn, type Workload } from './workload.js'

/** Batches of one reply. */
const LIMIT = 16
/** Milliseconds between two looks where there was nothing. */
const PAUSE = 5

/** A feed of what the batches write to one of their indexes, which goes on over all kills from the position of the last change seen. */
export class Feeds implements Workload {
  readonly acknowledged = 0
  readonly #batches: Batches
  /** The last position, and the last number, that were seen. */
  #position = 0
  #seen = 0

  constructor(batches: Batches) {
    this.#batches = batches
  }

  /** Whatever was acknowledged is told, once and in order. */
  async check(client: FrameClient): Promise<void> {
    while ((await this.#read(client)) === true);
    if (this.#seen < this.#batches.acknowledged)
      throw new Error(`of ${this.#batches.acknowledged} batches a feed has told ${this.#seen}`)
  }

  async work(url: string): Promise<void> {
    const client = await FrameClient.connect(url, 'feed')
    for (let more: boolean | undefined = true; more !== undefined; more = await this.#read(client))
      if (!more) await setTimeout(PAUSE)
  }

  /** Reads what comes next. @returns whether there was anything; undefined when the connection has ended */
  async #read(client: FrameClient): Promise<boolean | undefined> {
    const request = {
      id: client.nextId(),
      op: 'watch',
      index: TWINS[0],
      limit: LIMIT,
      position: this.#position,
    }
    const reply = await askWell(client, request)
    if (reply === undefined) return undefined
    const position = bigIn(reply.sections, 'position')
    if (position !== this.#position)
      throw new Error(`a feed from position ${this.#position} begins at ${position}`)
    for (const number of numbersIn(reply.sections, 'payloads')) {
      if (number !== this.#seen + 1) throw new Error(`a feed tells batch ${number} after ${this.#seen}`)
      this.#seen = number
    }
    const batches = numbersIn(reply.sections, 'offsets').length - 1
    this.#position += batches
    return batches > 0
  }
}
