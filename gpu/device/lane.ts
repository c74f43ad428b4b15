import { WarpdexError } from '../../protocol/errors.js'
import { type Command, CommandRecorder, type CommandTaker, type Settle } from './command-recorder.js'
import type { GroupRange, Recorder } from './recorder.js'

/** Less work than what is expected to take so long is held back until somebody waits for it: what follows goes to the device with it. */
const HELD_MS = 0.5

/** How the work of one operation gets to the device's queue. */
export interface Lane {
  record(): Recorder
  /** Calls back when all that was submitted is in the queue, or never will be. */
  whenSubmitted(call: () => void): void
  /**
   * Has all that was submitted go to the queue, and settles when it is there.
   * @throws WarpdexError what the operation was stopped by
   */
  submitted(): Promise<void>
}

/** Work that is submitted at one time. */
export interface Slice {
  readonly parts: readonly { readonly command: Command; readonly range: GroupRange }[]
  /** What is to be called then. */
  readonly settles: readonly Settle[]
}

/** How much of a command a slice has room for. */
export interface Room {
  /** @returns of so many units of a command; none where it has to wait for the next slice */
  take(command: Command, count: number): number
}

/** Whose work goes in slices. */
export interface SlicedOperation {
  /** Throws where it is not to go on; asked before each slice. */
  readonly refuse: () => void
  /** Told of each slice. */
  readonly onSlice?: (() => void) | undefined
}

/** What lanes get their turns from. */
export interface TurnGiver {
  /** The lane has work that is to go to the queue. */
  enter(lane: SlicedLane): void
  /** Milliseconds that a command is expected to take. */
  expected(command: Command): number
}

/** A lane whose work goes to the queue in slices, when it is its turn (`turns.ts`): in order, and not before it is worth a submission, or waited for. */
export class SlicedLane implements Lane, CommandTaker {
  readonly #turns: TurnGiver
  readonly #operation: SlicedOperation
  #work: (Command | Settle)[] = []
  /** Milliseconds that what was held back is expected to take. */
  #held = 0
  /** Units of the first command that were taken already. */
  #begun = 0
  #failure: unknown

  constructor(turns: TurnGiver, operation: SlicedOperation) {
    this.#turns = turns
    this.#operation = operation
  }

  record(): Recorder {
    return new CommandRecorder(this)
  }

  take(work: readonly (Command | Settle)[]): void {
    if (this.#failure !== undefined) {
      settle(work, this.#failure)
      throw this.#failure
    }
    for (const each of work) {
      this.#work.push(each)
      if (typeof each !== 'function') this.#held += this.#turns.expected(each)
    }
    if (this.#held < HELD_MS) return
    this.#goOn()
    // What was submitted at once may have failed at once.
    if (this.#failure !== undefined) throw this.#failure
  }

  get isWaiting(): boolean {
    return this.#work.length > 0
  }

  pending(): Promise<void> | undefined {
    this.#goOn()
    return this.isWaiting || this.#failure !== undefined ? this.submitted() : undefined
  }

  whenSubmitted(call: () => void): void {
    if (this.isWaiting) this.#work.push(() => call())
    else call()
  }

  async submitted(): Promise<void> {
    this.#goOn()
    if (this.#failure !== undefined) throw this.#failure
    if (!this.isWaiting) return
    await new Promise<void>((resolve, reject) => {
      this.#work.push((failure) => (failure === undefined ? resolve() : reject(failure)))
    })
  }

  /**
   * What comes next. It is waiting no more afterwards, unless there is no room for all of it.
   * @throws WarpdexError what the operation refuses it with
   */
  next(room: Room): Slice {
    this.#operation.refuse()
    const parts: Slice['parts'][number][] = []
    const settles: Settle[] = []
    let taken = 0
    for (const each of this.#work) {
      if (typeof each === 'function') {
        settles.push(each)
      } else {
        const left = each.count - this.#begun
        const count = room.take(each, left)
        if (count > 0) parts.push({ command: each, range: { first: this.#begun, count } })
        this.#begun = count < left ? this.#begun + count : 0
        if (count < left) break
      }
      taken++
    }
    this.#work = this.#work.slice(taken)
    if (parts.length > 0) this.#operation.onSlice?.()
    return { parts, settles }
  }

  #goOn(): void {
    this.#held = 0
    if (this.isWaiting) this.#turns.enter(this)
  }

  /** Drops what waits. Whatever is submitted later fails. */
  stop(failure: unknown = new WarpdexError('CANCELLED', 'the operation is over')): void {
    this.#failure ??= failure
    settle(this.#work.splice(0), this.#failure)
  }
}

function settle(work: readonly (Command | Settle)[], failure: unknown): void {
  for (const each of work) if (typeof each === 'function') each(failure)
}
