import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { childProgram } from '../child-program.js'
import type { Target } from './targets.js'

/** What each process of a load does. */
export interface LoadTask {
  readonly target: Target
  /** Keys of the index: those with numbers below this, with their numbers as payloads. */
  readonly bound: number
  /** Keys of a request. */
  readonly batch: number
  /** Requests under way on each connection. */
  readonly depth: number
  readonly connections: number
  readonly warmUpMs: number
  readonly measuredMs: number
}

/** What a process says of it. */
export interface LoadReport {
  readonly keys: number
  readonly seconds: number
  /** Milliseconds of each request. */
  readonly latencies: Float64Array
}

/** What came out of a load. */
export interface LoadResult {
  /** A second, of all processes. */
  readonly keys: number
  readonly p50: number
  readonly p99: number
}

/** Processes that make requests; each opens its connections anew for every measurement. */
export class LoadProcesses {
  readonly #children: ChildProcess[] = []
  readonly #coresOf: (process: number) => string | undefined

  /** @param coresOf cores that a process may run on, as `0-4`; by default all */
  constructor(coresOf: (process: number) => string | undefined = () => undefined) {
    this.#coresOf = coresOf
  }

  /** Lets some processes make requests at the same time. @param taskOf what each of them does */
  async run(taskOf: LoadTask | ((process: number) => LoadTask), processes: number): Promise<LoadResult> {
    while (this.#children.length < processes) {
      const cores = this.#coresOf(this.#children.length)
      const [execPath, ...execArgv] = [...pinnedTo(cores), process.execPath, ...process.execArgv]
      const program = childProgram('bench/door/load-process')
      this.#children.push(fork(program, { serialization: 'advanced', execPath, execArgv }))
    }
    const children = this.#children.slice(0, processes)
    for (const [i, child] of children.entries()) child.send(typeof taskOf === 'function' ? taskOf(i) : taskOf)
    await Promise.all(children.map(nextMessage))
    const reports = children.map(nextMessage)
    for (const child of children) child.send('go')
    return resultOf((await Promise.all(reports)) as LoadReport[])
  }

  async stop(): Promise<void> {
    const exits = this.#children.map((child) => once(child, 'exit'))
    for (const child of this.#children) child.disconnect()
    await Promise.all(exits)
  }
}

/** What a command begins with that is to run on some cores only. */
export function pinnedTo(cores: string | undefined): readonly string[] {
  return cores === undefined ? [] : ['taskset', '--cpu-list', cores]
}

async function nextMessage(child: ChildProcess): Promise<unknown> {
  const gone = new AbortController()
  const exit = once(child, 'exit', { signal: gone.signal }).then(([code]) => {
    throw new Error(`a process of the load ended with ${code}`)
  })
  try {
    const [message] = await Promise.race([once(child, 'message', { signal: gone.signal }), exit])
    return message
  } finally {
    exit.catch(() => {})
    gone.abort()
  }
}

function resultOf(reports: readonly LoadReport[]): LoadResult {
  const sorted = Float64Array.from(reports.flatMap(({ latencies }) => [...latencies])).sort()
  return {
    keys: reports.reduce((sum, { keys, seconds }) => sum + keys / seconds, 0),
    p50: sorted[Math.floor(sorted.length * 0.5)]!,
    p99: sorted[Math.floor(sorted.length * 0.99)]!,
  }
}
