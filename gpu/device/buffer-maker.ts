import { WarpdexError } from '../../protocol/errors.js'
import { DeviceFull, noRoom } from './device-full.js'

/** Makes the buffers of a device, and keeps what the device reports: WebGPU tells nobody in particular. */
export class BufferMaker {
  readonly #gpu: GPUDevice
  readonly #givingUp = new Set<() => void>()
  #reported: WarpdexError | undefined
  #creations = 0

  constructor(gpu: GPUDevice) {
    this.#gpu = gpu
    gpu.addEventListener('uncapturederror', (event) => {
      const { error } = event
      const message = `the device reported: ${error.message}`
      this.#reported ??=
        error instanceof GPUOutOfMemoryError ? new DeviceFull(message) : new WarpdexError('INTERNAL', message)
    })
  }

  /** Buffers that were made so far. */
  get creations(): number {
    return this.#creations
  }

  /** The first that was reported since this was asked last. */
  takeReported(): WarpdexError | undefined {
    const reported = this.#reported
    this.#reported = undefined
    return reported
  }

  /**
   * A buffer that the device has room for; another one would fail whoever gets it.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  create(size: number, usage: GPUBufferUsageFlags, label: string, mapped = false): GPUBuffer {
    const descriptor = { size, usage, label, mappedAtCreation: mapped }
    let buffer = this.tryCreate(descriptor)
    if (buffer === undefined) {
      // What is kept for later is worth less than what is needed now.
      this.makeRoom()
      buffer = this.tryCreate(descriptor)
    }
    if (buffer !== undefined) return buffer
    throw noRoom(size, label)
  }

  /** As `create`, but nothing makes room for it. Dawn reports what is wrong with a buffer before it returns it. */
  tryCreate(descriptor: GPUBufferDescriptor): GPUBuffer | undefined {
    const before = this.takeReported()
    const buffer = this.#gpu.createBuffer(descriptor)
    this.#creations++
    const failed = this.#reported !== undefined
    this.#reported = before
    if (!failed) return buffer
    buffer.destroy()
    return undefined
  }

  /** As `Device.onShortage`. */
  onShortage(giveUp: () => void): () => void {
    this.#givingUp.add(giveUp)
    return () => void this.#givingUp.delete(giveUp)
  }

  /** Has everybody give up what is kept for later; first those who came last, since what they have goes to those before them. */
  makeRoom(): void {
    for (const giveUp of [...this.#givingUp].reverse()) giveUp()
  }
}
