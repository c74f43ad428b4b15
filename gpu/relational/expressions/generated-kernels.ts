import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { GeneratedModule, ModuleDescription } from '../../device/shaders.js'

/** A module with a generated part. */
export interface GeneratedDescription extends ModuleDescription {
  readonly generated: GeneratedModule
}

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

  /** A kernel whose buffers and parameters are told by name, compiled. */
  get(description: GeneratedDescription, entryPoint: string): Promise<Kernel> {
    const { module, conditions, generated } = description
    const key = [module, entryPoint, JSON.stringify(conditions), generated.module, generated.text].join('\n')
    const kernel = this.#kernels.get(key) ?? this.#make(key, description, entryPoint)
    this.#kernels.delete(key)
    this.#kernels.set(key, kernel)
    if (this.#kernels.size > this.#most) this.#kernels.delete(this.#kernels.keys().next().value!)
    return kernel
  }

  #make(key: string, description: GeneratedDescription, entryPoint: string): Promise<Kernel> {
    const kernel = this.#device.generatedKernel(description, entryPoint)
    // What failed for want of memory may succeed later.
    kernel.catch(() => {
      if (this.#kernels.get(key) === kernel) this.#kernels.delete(key)
    })
    return kernel
  }
}
