import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { Random } from '../random.js'
import { FrameClient } from './frame-client.js'
import { Batches } from './workloads/batches.js'
import { Expiring } from './workloads/expiring.js'
import { Feeds } from './workloads/feeds.js'
import { Load } from './workloads/load.js'
import { Snapshots } from './workloads/snapshots.js'
import { Swaps } from './workloads/swaps.js'
import { Versions } from './workloads/versions.js'
import type { Workload } from './workloads/workload.js'
import { Writes } from './workloads/writes.js'

const PATIENCE_MS = 60_000

export interface KillOptions {
  /** Arguments of `node` that start `kill-server`. */
  readonly server: readonly string[]
  readonly structures: 'device' | 'model'
  readonly directory: string
  readonly random: Random
  /** Milliseconds between the first write that a server acknowledges and its end, at most. */
  readonly longest: number
  /** What goes on meanwhile; all but changes of rows unless given, which keep the device too busy for others. */
  readonly workloads?: readonly Workload[]
}

/** All that goes on while servers are killed. */
function workloads(random: Random): readonly Workload[] {
  const batches = new Batches()
  return [
    new Writes(random),
    new Load(),
    batches,
    new Feeds(batches),
    new Expiring(random),
    new Swaps(random),
    new Versions(random),
    new Snapshots(random),
  ]
}

/**
 * Kills servers with `kill -9` at random moments while clients work, and checks after each start
 * that nothing is lost that was acknowledged, that nothing is there by halves, and nothing twice. Clients send again what was
 * not answered, under the number that it had.
 */
export class Killing {
  readonly #options: KillOptions
  readonly #workloads: readonly Workload[]
  kills = 0

  constructor(options: KillOptions) {
    this.#options = options
    this.#workloads = options.workloads ?? workloads(options.random)
  }

  /** What was acknowledged. */
  get acknowledged(): number {
    return this.#workloads.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
  }

  /** Starts a server, checks what it has, has it written to, and kills it. @throws Error that says what is wrong */
  async round(): Promise<void> {
    const { child, url } = await this.#start()
    try {
      await this.#check(url)
      const working = this.#workloads.map((workload) => workload.work(url))
      await this.#progress()
      await setTimeout(this.#options.random.below(this.#options.longest))
      child.kill('SIGKILL')
      await Promise.all(working)
      this.kills++
    } finally {
      await end(child)
    }
  }

  /** Waits until something more is acknowledged. */
  async #progress(): Promise<void> {
    const { acknowledged } = this
    const end = performance.now() + PATIENCE_MS
    while (this.acknowledged === acknowledged) {
      if (performance.now() > end) throw new Error('nothing is acknowledged any more')
      await setTimeout(1)
    }
  }

  /** Starts a server and checks what it has, and that it stops as it should. */
  async finish(): Promise<void> {
    const { child, url } = await this.#start()
    try {
      await this.#check(url)
      child.kill('SIGTERM')
      const [code, signal] = await once(child, 'exit')
      if (code !== 0) throw new Error(`the server ended with ${code ?? signal}`)
    } finally {
      await end(child)
    }
  }

  async #start(): Promise<{ child: ChildProcess; url: string }> {
    const { server, directory, structures } = this.#options
    const child = spawn(process.execPath, [...server, directory, structures], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exit = once(child, 'exit').then(() => undefined)
    const line = await Promise.race([once(child.stdout, 'data'), exit])
    if (line === undefined) throw new Error('the server did not start')
    return { child, url: String(line[0]).trim() }
  }

  async #check(url: string): Promise<void> {
    const client = await FrameClient.connect(url, 'reader')
    for (const workload of this.#workloads) await workload.check(client)
    client.close()
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
