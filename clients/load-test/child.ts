// One process of a load test: told what to do by the process that forked it, and tells it what it measured.
import { toWarpdexError } from '../../protocol/errors.js'
import { Driver, type DriverResult } from './driver.js'
import type { LoadTestOptions } from './options.js'
import type { IntervalPart } from './recorder.js'

/** What a process is told, in this order; `stop` at any time. */
export type ChildOrder =
  | { readonly order: 'open'; readonly options: LoadTestOptions; readonly process: number }
  /** @see Driver.measure; `at` is a time of `Date.now()`, which processes share */
  | { readonly order: 'measure'; readonly at: number; readonly interval: number }
  | { readonly order: 'stop' }

/** What it says. */
export type ChildNews =
  | { readonly news: 'warm' }
  | { readonly news: 'interval'; readonly part: IntervalPart }
  | { readonly news: 'done'; readonly result: DriverResult }
  | { readonly news: 'failed'; readonly code: string; readonly message: string }

let driver: Driver | undefined

function say(news: ChildNews): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) return resolve()
    process.send(news, undefined, undefined, () => resolve())
  })
}

async function follow(order: ChildOrder): Promise<void> {
  if (order.order === 'open') {
    driver = await Driver.open(order.options, order.process)
    await driver.warmUp()
    await say({ news: 'warm' })
  } else if (order.order === 'measure' && driver !== undefined) {
    const start = performance.now() + order.at - Date.now()
    const result = await driver.measure(start, order.interval, (part) => void say({ news: 'interval', part }))
    driver.close()
    await say({ news: 'done', result })
    process.disconnect()
  } else {
    driver?.stop()
  }
}

process.on('message', (order: ChildOrder) => {
  follow(order).catch(async (error: unknown) => {
    const { code, message } = toWarpdexError(error)
    await say({ news: 'failed', code, message })
    process.exit(1)
  })
})
// Ctrl-C goes to all processes of a terminal: the first one says when to stop, so that what was measured is reported.
process.on('SIGINT', () => {})
// Without its first process nobody would hear of what this one measures.
process.on('disconnect', () => process.exit())
