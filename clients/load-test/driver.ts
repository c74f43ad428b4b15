import { setImmediate } from 'node:timers/promises'
import { toWarpdexError } from '../../protocol/errors.js'
import { Schedule } from './arrivals.js'
import { Checker, type Verification } from './checker.js'
import { DataSet, FIRST_VERSION } from './data-set.js'
import { chooser } from './distributions.js'
import { Items } from './items.js'
import { KeySpace } from './key-space.js'
import { openTarget } from './open-target.js'
import type { LoadTestOptions } from './options.js'
import { Pacer } from './pacer.js'
import { PayloadSpace } from './payload-space.js'
import { Random } from './random.js'
import { type IntervalPart, type MeasuredPart, Recorder } from './recorder.js'
import { LaneRequests, PreparedItems, type Request } from './requests.js'
import type { Target } from './target.js'
import { has, workload } from './workloads.js'

/** What one process did. */
export interface DriverResult extends MeasuredPart {
  /** Items that it inserted, or tried to. */
  readonly inserted: number
  /** Inserted items that were there already. */
  readonly existing: number
  /** Requests that were due in an open loop, and for which no lane was free before the end. */
  readonly unsent: number
  readonly verification: Verification | undefined
}

/** A stretch of work: the warm-up, or what is measured. */
interface Stretch {
  /** Times of `performance.now()`. */
  readonly start: number
  readonly end: number
  readonly recorder: Recorder | undefined
  readonly schedule: Schedule | undefined
  /** Requests that may still be sent. */
  requests: number
  unsent: number
}

/** Requests under way of a connection have a number each; lanes of all processes have different ones. */
const LANES_PER_PROCESS = 2 ** 22
const PREPARING_LANE = LANES_PER_PROCESS - 1
const ARRIVALS_LANE = LANES_PER_PROCESS - 2

/** Makes the requests of one process: a lane for each that may be under way. */
export class Driver {
  readonly #options: LoadTestOptions
  readonly #process: number
  readonly #data: DataSet
  readonly #items: Items
  readonly #checker: Checker | undefined
  readonly #targets: readonly Target[]
  readonly #lanes: readonly Lane[]
  readonly #pacer = new Pacer()
  #existing = 0
  #updates = 0
  #stopped = false

  /** Connects. @param process number of this process, from 0 */
  static async open(options: LoadTestOptions, process: number): Promise<Driver> {
    const payloads = new PayloadSpace(options.payloadKind, options.payloadBytes)
    const data = new DataSet(new KeySpace(options.keyType, options.seed), payloads)
    const open = async () => {
      const target = await openTarget(options, payloads)
      // What it asks is known from then on, so that no measured request waits for it.
      await target.check()
      return target
    }
    const targets = await Promise.all(Array.from({ length: options.connections }, open))
    return new Driver(options, process, data, targets)
  }

  private constructor(options: LoadTestOptions, process: number, data: DataSet, targets: readonly Target[]) {
    const { records, processes, connections, depth, prepared, seed, distribution } = options
    this.#options = options
    this.#process = process
    this.#data = data
    this.#items = new Items(records, process, processes)
    this.#checker = options.verify ? new Checker(data, this.#items, records, process, processes) : undefined
    this.#targets = targets
    const first = process * LANES_PER_PROCESS
    const choose = chooser(distribution, records, new Random(seed, first + PREPARING_LANE), seed)
    const pool = prepared === 0 ? undefined : new PreparedItems(data, prepared, choose, this.#items)
    const length = connections * depth
    this.#lanes = Array.from({ length }, (_, lane) => ({
      // Neighbours have different connections, so that few requests in an open loop do not share one.
      target: targets[lane % connections],
      requests: new LaneRequests(options, data, this.#items, first + lane, pool),
      payloads: data.payloads.room(writes(options) ? options.batch : 0),
    }))
  }

  async warmUp(): Promise<void> {
    const start = performance.now()
    const end = start + 1000 * this.#options.warmUp
    await this.#run({ ...this.#loop(start, end), recorder: undefined, requests: Number.POSITIVE_INFINITY })
  }

  /**
   * Measures.
   *
   * @param start when to begin, a time of `performance.now()`
   * @param interval milliseconds
   */
  async measure(
    start: number,
    interval: number,
    onInterval: (part: IntervalPart) => void,
  ): Promise<DriverResult> {
    const { seconds, operations, batch, processes } = this.#options
    const recorder = new Recorder(start, interval, onInterval)
    const requests =
      operations === undefined
        ? Number.POSITIVE_INFINITY
        : share(Math.ceil(operations / batch), this.#process, processes)
    const end = operations === undefined ? start + 1000 * seconds : Number.POSITIVE_INFINITY
    const stretch: Stretch = { ...this.#loop(start, end), recorder, requests }
    await this.#pacer.until(start)
    const timer = setInterval(() => recorder.advance(performance.now()), interval)
    await this.#run(stretch)
    clearInterval(timer)
    return {
      ...recorder.finish(),
      inserted: this.#items.inserted,
      existing: this.#existing,
      unsent: stretch.unsent,
      verification: this.#checker?.verification,
    }
  }

  /** Ends the stretch that is under way, once its requests are answered. */
  stop(): void {
    this.#stopped = true
  }

  close(): void {
    for (const target of this.#targets) target.close()
  }

  #loop(start: number, end: number): Pick<Stretch, 'start' | 'end' | 'schedule' | 'unsent'> {
    const { rate, arrivals, processes, seed } = this.#options
    const random = new Random(seed, this.#process * LANES_PER_PROCESS + ARRIVALS_LANE)
    const schedule =
      rate === undefined ? undefined : new Schedule(rate, arrivals, this.#process, processes, random)
    return { start, end, schedule, unsent: 0 }
  }

  async #run(stretch: Stretch): Promise<void> {
    const { schedule } = stretch
    await Promise.all(
      this.#lanes.map((lane) =>
        schedule === undefined ? this.#closedLoop(lane, stretch) : this.#openLoop(lane, stretch, schedule),
      ),
    )
    if (schedule === undefined || this.#stopped) return
    // A schedule without an end has sent all.
    while (stretch.end < Number.POSITIVE_INFINITY && stretch.start + schedule.next < stretch.end) {
      schedule.take()
      stretch.unsent++
    }
  }

  async #closedLoop(lane: Lane, stretch: Stretch): Promise<void> {
    while (!this.#stopped && performance.now() < stretch.end && stretch.requests-- > 0) {
      const request = lane.requests.next()
      await this.#perform(lane, request, performance.now(), stretch.recorder)
    }
  }

  async #openLoop(lane: Lane, stretch: Stretch, schedule: Schedule): Promise<void> {
    while (!this.#stopped && performance.now() < stretch.end && stretch.requests-- > 0) {
      const due = stretch.start + schedule.next
      if (due >= stretch.end) return
      schedule.take()
      const request = lane.requests.next()
      if (performance.now() < due) {
        await this.#pacer.until(due)
        stretch.recorder?.late(performance.now() - due)
      }
      await this.#perform(lane, request, due, stretch.recorder)
    }
  }

  async #perform(lane: Lane, request: Request, due: number, recorder: Recorder | undefined): Promise<void> {
    try {
      const check = await this.#send(lane, request)
      recorder?.answered(request.operation, request.keys.count, due, performance.now())
      check?.()
    } catch (error) {
      recorder?.failed(toWarpdexError(error).code, performance.now())
      // Calls of a client that has given up fail at once: the event loop must have its turn.
      await setImmediate()
    }
  }

  /** @returns how to check the answer, which is not part of the request's time */
  async #send(lane: Lane, request: Request): Promise<(() => void) | undefined> {
    const { target } = lane
    const { operation, keys } = request
    if (operation === 'update') {
      await this.#update(lane, request)
      return undefined
    }
    if (operation === 'insert') {
      const existing = await target.insert(keys, this.#data.payloadRows(keys, FIRST_VERSION, lane.payloads))
      this.#existing += existing
      this.#items.acknowledge(request.place, keys.count)
      return undefined
    }
    const checker = this.#checker
    if (operation === 'scan' || operation === 'walk') {
      const answer = await target[operation](keys, request.limit)
      return checker && (() => checker.scan(request, answer))
    }
    const floors = checker?.beginRead(request)
    const answer = await target.read(keys)
    if (operation === 'readModifyWrite') await this.#update(lane, request)
    return checker && floors && (() => checker.read(request, answer, floors))
  }

  async #update(lane: Lane, request: Request): Promise<void> {
    const write = this.#checker?.beginWrite()
    const version = write?.version ?? FIRST_VERSION + 1 + this.#updates++
    await lane.target.update(request.keys, this.#data.payloadRows(request.keys, version, lane.payloads))
    if (write !== undefined) this.#checker?.endWrite(write, request)
  }
}

interface Lane {
  readonly target: Target
  readonly requests: LaneRequests
  readonly payloads: Uint8Array
}

/** A process's share of a number of requests. */
function share(requests: number, process: number, processes: number): number {
  return Math.floor(requests / processes) + Number(process < requests % processes)
}

function writes(options: LoadTestOptions): boolean {
  const kinds = workload(options.workload)
  return has(kinds, 'update') || has(kinds, 'insert') || has(kinds, 'readModifyWrite')
}
