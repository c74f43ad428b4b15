import { LIMITS } from '../../protocol/limits.js'
import type { Command } from './command-recorder.js'
import { type Room, type Slice, SlicedLane, type SlicedOperation } from './lane.js'
import { LoopTurns } from './loop-turns.js'
import { type Bounds, Rates } from './rates.js'
import type { DirectRecorder } from './recorder.js'

/** A slice is this part of what may be under way, so that the device has the next one at hand when it has done one. */
const SLICE_PART = 1 / 2

/** What turns need of their device. */
export interface TurnsDevice {
  readonly facts: { readonly software: boolean }
  record(): DirectRecorder
  workDone(): Promise<void>
}

/**
 * Shares a device among operations with much work and everybody else. Each operation has a lane. What is recorded in it goes to the queue in slices, lanes by
 * turns, each when what is under way leaves room for it. A slice is what is expected to take half of `queryUnderWayMilliseconds`, by what others took
 * (`rates.ts`); a dispatch that takes longer is divided. Little work goes at once where nothing else is under way, and somebody waits for it.
 */
export class Turns {
  readonly #device: TurnsDevice
  readonly #groupsPerDimension: number
  readonly #adapter: 'hardware' | 'software'
  readonly #rates: Rates
  /** Lanes with work, in the order of their turns. */
  readonly #waiting: SlicedLane[] = []
  /** Of each slice that is submitted and not yet done: milliseconds that are expected of each kind of work. */
  readonly #underWay = new Set<ReadonlyMap<object, number>>()
  readonly #loop = new LoopTurns(() => this.#underWay.size > 0)

  /** @param groupsPerDimension workgroups that a dimension of a dispatch holds */
  constructor(device: TurnsDevice, groupsPerDimension: number) {
    this.#device = device
    this.#groupsPerDimension = groupsPerDimension
    this.#adapter = device.facts.software ? 'software' : 'hardware'
    this.#rates = new Rates(this.#adapter)
  }

  /** A lane for an operation, which stops it when it is over. */
  lane(operation: SlicedOperation): SlicedLane {
    const enter = (lane: SlicedLane) => {
      if (!this.#waiting.includes(lane)) this.#waiting.push(lane)
      this.#goOn()
    }
    const expected = ({ kind, weight, count }: Command) => this.#rates.of(kind) * weight * count
    return new SlicedLane({ enter, expected }, operation)
  }

  #goOn(): void {
    for (let lane = this.#waiting[0]; lane !== undefined; lane = this.#waiting[0]) {
      if (!this.#begin(lane)) return
      this.#waiting.shift()
      if (lane.isWaiting) this.#waiting.push(lane)
    }
  }

  /** @returns whether the lane has had its turn; else there is no room for it */
  #begin(lane: SlicedLane): boolean {
    const room = this.#room()
    let slice: Slice | undefined
    let failure: unknown
    try {
      slice = lane.next(room)
      if (slice.parts.length > 0) this.#submit(slice, room.expected)
    } catch (thrown) {
      failure = thrown
      lane.stop(thrown)
    }
    for (const settle of slice?.settles ?? []) settle(failure)
    return slice?.parts.length !== 0 || !lane.isWaiting
  }

  #room(): SliceRoom {
    const { queryUnderWayMilliseconds, softwareUnderWayMilliseconds } = LIMITS
    const most = this.#adapter === 'software' ? softwareUnderWayMilliseconds : queryUnderWayMilliseconds
    const slice = most * SLICE_PART
    const left = Math.min(slice, most - this.#expected())
    return new SliceRoom(this.#rates, left, left >= slice, this.#groupsPerDimension)
  }

  #submit({ parts }: Slice, expected: ReadonlyMap<object, number>): void {
    const recorder = this.#device.record()
    for (const { command, range } of parts) command.record(recorder, range)
    const submitted = performance.now()
    this.#underWay.add(expected)
    this.#loop.watch()
    const noticed = (): Bounds => ({
      least: Math.max(submitted, this.#loop.since),
      most: performance.now(),
    })
    let begun: Bounds = { least: submitted, most: submitted }
    // What was submitted before, by others too, is not the slice's.
    this.#whenDone(() => {
      begun = noticed()
    })
    try {
      recorder.submit()
    } finally {
      this.#whenDone(() => {
        this.#underWay.delete(expected)
        const done = noticed()
        const least = Math.max(0, done.least - begun.most)
        this.#rates.learn(expected, { least, most: done.most - begun.least })
        this.#goOn()
      })
    }
  }

  /** Calls back when all that was submitted is done. */
  #whenDone(call: () => void): void {
    this.#device.workDone().then(call, call)
  }

  /** Milliseconds of all that is under way. */
  #expected(): number {
    let sum = 0
    for (const slice of this.#underWay) for (const milliseconds of slice.values()) sum += milliseconds
    return sum
  }
}

/** What a slice has room for, beside what is under way. */
class SliceRoom implements Room {
  readonly expected = new Map<object, number>()
  readonly #rates: Rates
  readonly #groupsPerDimension: number
  readonly #divides: boolean
  #left: number

  /**
   * @param left milliseconds
   * @param divides whether it is all that a slice may be, so that a dispatch for which that is too little is divided
   */
  constructor(rates: Rates, left: number, divides: boolean, groupsPerDimension: number) {
    this.#rates = rates
    this.#left = left
    this.#divides = divides
    this.#groupsPerDimension = groupsPerDimension
  }

  /** What does not fit begins a slice of its own, and is divided where that is too small for it. */
  take({ kind, weight, divides }: Command, count: number): number {
    const each = this.#rates.of(kind) * weight
    let taken = count
    if (each * count > this.#left) {
      if (!this.#divides || this.expected.size > 0) return 0
      if (divides) taken = this.#foldable(Math.max(1, Math.floor(this.#left / each)), count)
    }
    this.#left -= each * taken
    addTo(this.expected, [[kind, each * taken]])
    return taken
  }

  /** More than a dimension holds are a multiple of that, unless they are all. */
  #foldable(taken: number, count: number): number {
    const most = this.#groupsPerDimension
    if (taken >= count || taken <= most) return Math.min(taken, count)
    return taken - (taken % most)
  }
}

function addTo(sums: Map<object, number>, more: Iterable<readonly [object, number]>): void {
  for (const [kind, milliseconds] of more) sums.set(kind, (sums.get(kind) ?? 0) + milliseconds)
}
