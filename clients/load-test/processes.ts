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
  readonly warm: Promise<unknown>
  readonly #process: ChildProcess
  readonly #number: number
  readonly #done: Promise<NewsOf<'done'>>

  constructor(options: LoadTestOptions, process: number) {
    const self = fileURLToPath(import.meta.url)
    this.#process = fork(fileURLToPath(new URL(`./child${extname(self)}`, import.meta.url)))
    this.#number = process
    this.warm = this.#news('warm')
    this.#done = this.#news('done')
    this.tell({ order: 'open', options, process })
  }

  /** Waits for news of a kind. @throws WarpdexError when it fails before */
  #news<K extends ChildNews['news']>(kind: K): Promise<NewsOf<K>> {
    const news = new Promise<NewsOf<K>>((resolve, reject) => {
      this.#process.on('message', (message: ChildNews) => {
        if (isNews(message, kind)) resolve(message)
        else if (message.news === 'failed') reject(errorOf(message))
      })
      this.#process.once('exit', (code, signal) => {
        const message = `process ${this.#number} of the load test ended with ${code ?? signal}`
        reject(new WarpdexError('INTERNAL', message))
      })
    })
    // Whoever waits for the one hears of the failure.
    news.catch(() => {})
    return news
  }

  async measure(order: ChildOrder, onInterval: (part: IntervalPart) => void): Promise<DriverResult> {
    this.#process.on('message', (message: ChildNews) => {
      if (message.news === 'interval') onInterval(message.part)
    })
    this.tell(order)
    const { result } = await this.#done
    return result
  }

  tell(order: ChildOrder): void {
    if (this.#process.connected) this.#process.send(order, () => {})
  }

  kill(): void {
    this.#process.kill('SIGKILL')
  }
}

type NewsOf<K extends ChildNews['news']> = Extract<ChildNews, { readonly news: K }>

function isNews<K extends ChildNews['news']>(message: ChildNews, kind: K): message is NewsOf<K> {
  return message.news === kind
}

function errorOf({ code, message }: NewsOf<'failed'>): WarpdexError {
  return new WarpdexError(ERROR_CODES.find((known) => known === code) ?? 'INTERNAL', message)
}
