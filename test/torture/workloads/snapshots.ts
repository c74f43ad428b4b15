import { setTimeout } from 'node:timers/promises'
import type { Random } from '../../random.js'
import { FrameClient } from '../frame-client.js'
import type { Workload } from './workload.js'

/** Milliseconds between two snapshots at most. */
const PAUSE = 60

/** Has snapshots taken of all that there is. */
export class Snapshots implements Workload {
  readonly #random: Random
  readonly acknowledged = 0

  constructor(random: Random) {
    this.#random = random
  }

  async check(): Promise<void> {}

  async work(url: string): Promise<void> {
    const client = await FrameClient.connect(url, 'keeper')
    for (;;) {
      await setTimeout(this.#random.below(PAUSE))
      if ((await client.ask({ id: 1, op: 'snapshot' })) === undefined) return
    }
  }
}
