import { setTimeout } from 'node:timers/promises'
import type { Random } from '../../random.js'
import { FrameClient } from '../frame-client.js'
import { TWINS } from './batches.js'
import { askWell, scanNumbers, type Workload } from './workload.js'

const CLIENT = 'versions'
/** Milliseconds between two reads of a version at most. */
const PAUSE = 30
const READS = 4

/** Read versions of indexes that batches write to: each sees both as they were at one moment, and no version outlives its server. */
export class Versions implements Workload {
  readonly #random: Random
  readonly acknowledged = 0
  /** The last version that was asked for. */
  #last = 0

  constructor(random: Random) {
    this.#random = random
  }

  async check(): Promise<void> {
    // Whoever opened one knows it by its name.
  }

  async work(url: string): Promise<void> {
    const client = await FrameClient.connect(url, CLIENT)
    if (this.#last > 0) {
      const request = { id: client.nextId(), op: 'scan', index: TWINS[0], limit: 1, version: this.#last }
      const gone = await client.ask(request)
      if (gone === undefined) return
      if (Object(gone.header.error).code !== 'VERSION_GONE')
        throw new Error(`read version ${this.#last} has outlived its server: ${JSON.stringify(gone.header)}`)
    }
    while (await this.#readVersion(client));
  }

  /** @returns whether the connection is there still */
  async #readVersion(client: FrameClient): Promise<boolean> {
    const version = ++this.#last
    const opened = await askWell(client, { id: client.nextId(), op: 'openVersion', version })
    let first: string | undefined
    for (let read = 0; opened !== undefined && read < READS; read++) {
      for (const index of TWINS) {
        const entries = await scanNumbers(client, { index, version, limit: this.#random.pick([10, 100]) })
        if (entries === undefined) return false
        const seen = JSON.stringify(entries)
        first ??= seen
        if (seen !== first)
          throw new Error(`read ${read} of a version sees ${seen} of ${index}, not ${first}`)
      }
      await setTimeout(this.#random.below(PAUSE))
    }
    const closed = await askWell(client, { id: client.nextId(), op: 'closeVersion', version })
    if (closed?.header.closed === false) throw new Error('a version has ended while it was used')
    return closed !== undefined
  }
}
