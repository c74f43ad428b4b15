import { type ChildProcess, fork } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ERROR_CODES, WarpdexError } from '../../protocol/errors.js'
import type { ChildNews, ChildOrder } from './child.js'
import type { DriverResult } from './driver.js'
import type { LoadTestOptions } from './options.js'
import type { IntervalPart } from './recorder.js'

/** Milliseconds until a measurement begins, for all processes to hear of it. */
const HEAD_START = 100

/** The child processes of a load test. */
export class Processes {
  readonly #children: readonly Child[]

  /** Starts them; they connect and warm up. */
  constructor(options: LoadTestOptions) {
    this.#children = Array.from({ length: options.processes }, (_, i) => new Child(options, i))
  }

  /** @throws WarpdexError that a process has failed with */
  async warm(): Promise<void> {
    await Promise.all(this.#children.map((child) => child.warm))
  }

  /** @param interval milliseconds */
  async measure(interval: number, onInterval: (part: IntervalPart) => void): Promise<DriverResult[]> {
    const at = Date.now() + HEAD_START
    return Promise.all(
      this.#children.map((child) => child.measure({ order: 'measure', at, interval }, onInterval)),
    )
  }

  /** Has them end what they do, as soon as their requests are answered. */
  stop(): void {
    for (const child of this.#children) child.tell({ order: 'stop' })
  }

  /** Ends those that have not ended by themselves. */
  kill(): void {
    for (const child of this.#children) child.kill()
  }
}

class Child {
  readonly warm: Promise<void>
  readonly #process: ChildProcess
  readonly #done: Promise<DriverResult>
  #onInterval: (part: IntervalPart) => void = () => {}

  constructor(options: LoadTestOptions, process: number) {
    const self = fileURLToPath(import.meta.url)
    const child = fork(fileURLToPath(new URL(`./child${extname(self)}`, import.meta.url)))
    this.#process = child
    let warm: () => void = () => {}
    let fail: (error: WarpdexError) => void = () => {}
    const failed = new Promise<never>((_, reject) => {
      fail = reject
    })
    this.warm = Promise.race([
      failed,
      new Promise<void>((resolve) => {
        warm = resolve
      }),
    ])
    this.#done = Promise.race([
      failed,
      new Promise<DriverResult>((resolve) => {
        child.on('message', (news: ChildNews) => {
          if (news.news === 'warm') warm()
          else if (news.news === 'interval') this.#onInterval(news.part)
          else if (news.news === 'done') resolve(news.result)
          else fail(errorOf(news.code, news.message))
        })
      }),
    ])
    // Whoever waits for the one hears of the failure.
    this.warm.catch(() => {})
    this.#done.catch(() => {})
    child.once('exit', (code, signal) => {
      fail(new WarpdexError('INTERNAL', `process ${process} of the load test ended with ${code ?? signal}`))
    })
    this.tell({ order: 'open', options, process })
  }

  measure(order: ChildOrder, onInterval: (part: IntervalPart) => void): Promise<DriverResult> {
    this.#onInterval = onInterval
    this.tell(order)
    return this.#done
  }

  tell(order: ChildOrder): void {
    if (this.#process.connected) this.#process.send(order, () => {})
  }

  kill(): void {
    this.#process.kill('SIGKILL')
  }
}

function errorOf(code: string, message: string): WarpdexError {
  return new WarpdexError(ERROR_CODES.find((known) => known === code) ?? 'INTERNAL', message)
}
