import type { Lane } from '../device/lane.js'
import type { Recorder } from '../device/recorder.js'
import type { BufferPool } from './buffer-pool.js'

/** What is held by those who share it. */
interface Account {
  /** Of buffers that are held, or were given back and wait for the work that uses them to be submitted. */
  bytes: number
  readonly buffers: Set<GPUBuffer>
}

/** Storage buffers that one operation needs for its duration, given back together, and recorders for what it does with them. */
export class Scratch {
  readonly #pool: BufferPool
  readonly #lane: Lane
  readonly #admit: (bytes: number) => void
  readonly #account: Account
  #buffers: GPUBuffer[] = []

  /**
   * @param lane by which the operation's work gets to the device
   * @param admit is told the bytes that would be held with the next buffer, and throws where they are too many
   */
  constructor(
    pool: BufferPool,
    lane: Lane,
    admit: (bytes: number) => void = () => {},
    account: Account = { bytes: 0, buffers: new Set() },
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
    const size = this.#pool.sizeOf(bytes)
    this.#admit(this.#account.bytes + size)
    const buffer = this.#pool.acquire(bytes)
    this.#account.bytes += size
    this.#account.buffers.add(buffer)
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

  /** The buffers that are held at the moment. */
  get held(): ReadonlySet<GPUBuffer> {
    return new Set(this.#buffers)
  }

  /** Gives every buffer back. Call it once the work that uses them is submitted. */
  release(): void {
    this.releaseAllBut(new Set())
  }

  /** The same, for an operation of several steps: what later ones still need stays. */
  releaseAllBut(kept: ReadonlySet<GPUBuffer>): void {
    this.#giveBack(this.#buffers.filter((buffer) => !kept.has(buffer)))
    this.#buffers = this.#buffers.filter((buffer) => kept.has(buffer))
  }

  /** Gives back what all parts hold, too: the operation is over, however it came to its end. */
  end(): void {
    this.#giveBack([...this.#account.buffers])
  }

  #giveBack(buffers: readonly GPUBuffer[]): void {
    // At the end of the operation those of parts may have been given back.
    const released = buffers.filter((buffer) => this.#account.buffers.delete(buffer))
    if (released.length === 0) return
    this.#lane.whenSubmitted(() => {
      for (const buffer of released) {
        this.#account.bytes -= this.#pool.bytesOf(buffer)
        this.#pool.release(buffer)
      }
    })
  }
}
