import type { Lane } from '../device/lane.js'
import type { Recorder } from '../device/recorder.js'
import type { BufferPool } from './buffer-pool.js'
import type { DeviceMemory } from './page-run.js'

/** What is held by those who share it. */
interface Account {
  /** Of buffers that are held, or were given back and wait for the work that uses them to be submitted. */
  bytes: number
  /** Of those that wait. */
  waiting: number
  /** The bytes of each that is held. */
  readonly buffers: Map<GPUBuffer, number>
}

/** Storage buffers that one operation needs for its duration, given back together, and recorders for what it does with them. */
export class Scratch {
  readonly #pool: BufferPool
  readonly #lane: Lane
  readonly #admit: ((bytes: number) => void) | undefined
  readonly #account: Account
  #buffers: GPUBuffer[] = []

  /**
   * @param lane by which the operation's work gets to the device
   * @param admit is told the bytes that would be held with the next buffer, and throws where they are too many
   */
  constructor(
    pool: BufferPool,
    lane: Lane,
    admit?: (bytes: number) => void,
    account: Account = { bytes: 0, waiting: 0, buffers: new Map() },
  ) {
    this.#pool = pool
    this.#lane = lane
    this.#admit = admit
    this.#account = account
  }

  /** Another one for a part of the operation: given back on its own, but what it holds counts with what this one holds. */
  part(): Scratch {
    return new Scratch(this.#pool, this.#lane, this.#admit, this.#account)
  }

  /** A recorder for the operation's work. */
  record(): Recorder {
    return this.#lane.record()
  }

  /** Settles when all of the operation's work that was submitted is in the device's queue: what is submitted by others then comes after it. */
  submitted(): Promise<void> {
    return this.#lane.submitted()
  }

  /** A storage buffer of at least this many bytes with undefined content. */
  bytes(bytes: number): GPUBuffer {
    const account = this.#account
    const size = this.#pool.sizeOf(bytes)
    this.#admit?.(account.bytes + size)
    const buffer = this.#pool.acquire(size)
    account.bytes += size
    account.buffers.set(buffer, size)
    this.#buffers.push(buffer)
    return buffer
  }

  /** A storage buffer of at least this many 32-bit words with undefined content. */
  words(words: number): GPUBuffer {
    return this.bytes(words * 4)
  }

  /** Bytes of all buffers that are held, parts included. */
  get heldBytes(): number {
    return this.#account.bytes
  }

  /** Bytes that were given back, and wait for the work that uses them to be submitted. */
  get waitingBytes(): number {
    return this.#account.waiting
  }

  /** The buffers that are held at the moment. */
  get held(): ReadonlySet<GPUBuffer> {
    return new Set(this.#buffers)
  }

  /**
   * Gives buffers back. Call it once the work that uses them is submitted.
   * @param kept what later steps of the operation still need
   */
  release(kept?: ReadonlySet<DeviceMemory>): void {
    const held = this.#buffers
    this.#buffers = []
    if (kept !== undefined) this.#buffers = held.filter((buffer) => kept.has(buffer))
    this.#giveBack(held, kept)
  }

  /** Has what a part holds as its own from now on. */
  takeOver(part: Scratch): void {
    this.#buffers.push(...part.#buffers.splice(0))
  }

  /** Gives back what all parts hold, too: the operation is over, however it came to its end. */
  end(): void {
    this.#giveBack(this.#account.buffers.keys())
  }

  #giveBack(buffers: Iterable<GPUBuffer>, kept?: ReadonlySet<DeviceMemory>): void {
    const account = this.#account
    const released = new Map<GPUBuffer, number>()
    for (const buffer of buffers) {
      // At the end of the operation those of parts may have been given back.
      const size = kept?.has(buffer) ? undefined : account.buffers.get(buffer)
      if (size === undefined) continue
      account.buffers.delete(buffer)
      account.waiting += size
      released.set(buffer, size)
    }
    if (released.size === 0) return
    this.#lane.whenSubmitted(() => {
      for (const [buffer, size] of released) {
        account.bytes -= size
        account.waiting -= size
        this.#pool.release(buffer)
      }
    })
  }
}
