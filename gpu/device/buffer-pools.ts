import { LIMITS } from '../../protocol/limits.js'
import { BufferPool } from '../memory/buffer-pool.js'
import { STAGED_PIECE_BYTES } from '../memory/staging.js'
import type { BufferMaker } from './buffer-maker.js'
import type { IdleTime } from './idle-time.js'

/**
 * Bytes of unused buffers of each pool that stay allocated on a GPU, and in the CPU's own memory. They make way where
 * memory runs short.
 */
const KEPT_BYTES = { hardware: 16 * 2 ** 30, software: 512 * 2 ** 20 }

/** Storage buffers that are made ahead of need: as many as a large batch of writes takes. */
const SPARE_BUFFERS = 32

/** Bytes of each, at least, since smaller ones are made in no time, and at most. */
const LEAST_SPARE_BYTES = 2 ** 16
const SPARE_BYTES = { hardware: 2 ** 26, software: 2 ** 18 }

/** What the pools of a device are made of. */
interface PoolsDevice {
  readonly buffers: BufferMaker
  readonly idleTime: IdleTime
  readonly software: boolean
  /** Bytes of the largest binding. */
  readonly bindingBytes: number
  /** Makes a storage buffer. */
  createStored(bytes: number): GPUBuffer
  /** As that, but nothing makes room for it, and its first use is over. */
  createStoredAhead(bytes: number): GPUBuffer | undefined
}

/** Pools of the buffers that operations need for their duration. */
export class BufferPools {
  /** Of storage. */
  readonly scratch: BufferPool
  /** Of what the host maps to read. */
  readonly readback: BufferPool
  /** Of what the host has mapped to write. */
  readonly staging: BufferPool
  readonly #device: PoolsDevice

  constructor(device: PoolsDevice) {
    this.#device = device
    const { buffers, bindingBytes, software } = device
    const { COPY_SRC, COPY_DST, MAP_READ, MAP_WRITE } = GPUBufferUsage
    const pool = (create: (bytes: number) => GPUBuffer) => {
      const made = new BufferPool(create, bindingBytes, software ? KEPT_BYTES.software : KEPT_BYTES.hardware)
      buffers.onShortage(() => made.destroy())
      return made
    }
    this.scratch = pool((bytes) => device.createStored(bytes))
    this.readback = pool((bytes) => buffers.create(bytes, MAP_READ | COPY_DST, 'readback memory'))
    this.staging = pool((bytes) => buffers.create(bytes, MAP_WRITE | COPY_SRC, 'staging memory', true))
  }

  /**
   * Has buffers made ahead of need from now on, in idle time.
   * @param structureBytes bytes that a structure may have
   */
  keepSpares(structureBytes: number): void {
    const { buffers, software, idleTime } = this.#device
    const whenIdle = (call: () => void) => idleTime.whenIdle(call)
    const { size, count } = sparesFor(structureBytes, software)
    this.scratch.keepSpares({ size, count, make: () => this.#device.createStoredAhead(size), whenIdle })
    // Where the CPU is the device nothing is staged.
    if (software) return
    const usage = GPUBufferUsage.MAP_WRITE | GPUBufferUsage.COPY_SRC
    const piece = { size: STAGED_PIECE_BYTES, usage, label: 'staging memory', mappedAtCreation: true }
    this.staging.keepSpares({
      size: STAGED_PIECE_BYTES,
      count: LIMITS.frameBytes / STAGED_PIECE_BYTES,
      make: () => buffers.tryCreate(piece),
      whenIdle,
    })
  }
}

/** The storage buffers that are to be unused where structures may have so many bytes. */
function sparesFor(
  structureBytes: number,
  software: boolean,
): { readonly size: number; readonly count: number } {
  const most = software ? SPARE_BYTES.software : SPARE_BYTES.hardware
  const affordable = 2 ** Math.floor(Math.log2(structureBytes / 16 / SPARE_BUFFERS))
  return { size: Math.min(most, affordable), count: affordable < LEAST_SPARE_BYTES ? 0 : SPARE_BUFFERS }
}
