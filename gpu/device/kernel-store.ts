import { Kernel, kernelInterface, type MadeShader } from './kernel.js'
import { linkShader, type ModuleDescription } from './shaders.js'

/** The kernels of a device and the linked modules that they share, each made once but for those with a generated part. */
export class KernelStore {
  readonly #device: GPUDevice
  readonly #onDemand: boolean
  readonly #shaders = new Map<string, MadeShader>()
  readonly #kernels = new Map<string, Kernel>()
  readonly #compiling = new Set<Promise<void>>()

  /** @param onDemand as `Kernel` takes it */
  constructor(device: GPUDevice, onDemand: boolean) {
    this.#device = device
    this.#onDemand = onDemand
  }

  kernel(description: ModuleDescription, entryPoint: string): Kernel {
    const { module, conditions, generated } = description
    const key = JSON.stringify([module, entryPoint, conditions])
    return this.#kept(this.#kernels, key, generated === undefined, () => {
      const shader = this.#shader(description)
      const needs = kernelInterface(shader, entryPoint)
      // Whoever has a kernel generated dispatches it next.
      const onDemand = this.#onDemand && generated === undefined
      const kernel = new Kernel(this.#device, shader, entryPoint, needs, onDemand)
      this.#compiling.add(kernel.compiled)
      void kernel.compiled.then(() => this.#compiling.delete(kernel.compiled))
      return kernel
    })
  }

  /** Settles once all kernels that were made so far are compiled. */
  async compiled(): Promise<void> {
    await Promise.all(this.#compiling)
  }

  #shader(description: ModuleDescription): MadeShader {
    const { module, conditions, generated } = description
    return this.#kept(this.#shaders, JSON.stringify([module, conditions]), generated === undefined, () => {
      const { label, code, ...linked } = linkShader(description)
      let made: GPUShaderModule | undefined
      const shaderModule = () => {
        made ??= this.#device.createShaderModule({ label, code })
        return made
      }
      return { ...linked, label, code, module: shaderModule }
    })
  }

  #kept<T>(things: Map<string, T>, key: string, isKept: boolean, make: () => T): T {
    const thing = (isKept ? things.get(key) : undefined) ?? make()
    if (isKept) things.set(key, thing)
    return thing
  }
}
