import type { Device } from '../../device/device.js'
import type { Kernel, KernelDescription } from '../../device/kernel.js'

/** A kernel with a generated part. */
export type GeneratedDescription = KernelDescription & Required<Pick<KernelDescription, 'generated'>>

/** Far more shapes than the queries of a server usually have; each kernel is some 100 KB of the driver's memory. */
const KERNELS_KEPT = 512

/** Kernels by what they are made of, of which those are kept that were used last. */
export class GeneratedKernels {
  readonly #device: Device
  readonly #most: number
  /** The one that was used last comes last. */
  readonly #kernels = new Map<string, Promise<Kernel>>()

  constructor(device: Device, most = KERNELS_KEPT) {
    this.#device = device
    this.#most = most
  }

  /** How many are kept. */
  get size(): number {
    return this.#kernels.size
  }

  get(description: GeneratedDescription): Promise<Kernel> {
    const { module, entryPoint, conditions, generated } = description
    const key = JSON.stringify([module, entryPoint, conditions, generated])
    const kernel = this.#kernels.get(key) ?? this.#make(key, description)
    this.#kernels.delete(key)
    this.#kernels.set(key, kernel)
    if (this.#kernels.size > this.#most) this.#kernels.delete(this.#kernels.keys().next().value!)
    return kernel
  }

  #make(key: string, description: GeneratedDescription): Promise<Kernel> {
    const kernel = this.#device.kernel(description)
    // What failed for want of memory may succeed later.
    kernel.catch(() => {
      if (this.#kernels.get(key) === kernel) this.#kernels.delete(key)
    })
    return kernel
  }
}
