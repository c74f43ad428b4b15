import { setImmediate } from 'node:timers/promises'
import { type InTurn, Kernel, type MadeShader } from './kernel.js'
import { linkShader, type ModuleDescription } from './shaders.js'

/** The kernels of a device and the linked modules that they share, each made once but for those with a generated part. */
export class KernelStore {
  readonly #device: GPUDevice
  readonly #onDemand: boolean
  readonly #shaders = new Map<string, MadeShader>()
  readonly #kernels = new Map<string, Kernel>()
  readonly #compiling = new Set<Promise<void>>()
  #lastTurn: Promise<void> = Promise.resolve()
  #isOver = false

  /** @param onDemand whether pipelines are made when kernels are first dispatched, but for generated ones */
  constructor(device: GPUDevice, onDemand: boolean) {
    this.#device = device
    this.#onDemand = onDemand
  }

  kernel(description: ModuleDescription, entryPoint: string): Kernel {
    const { module, conditions, generated } = description
    const key = JSON.stringify([module, entryPoint, conditions])
    return this.#kept(this.#kernels, key, generated === undefined, () => {
      // Whoever has a kernel generated dispatches it next.
      const onDemand = this.#onDemand && generated === undefined
      const inTurn = onDemand ? undefined : this.#inTurn
      const kernel = new Kernel(this.#device, module, entryPoint, () => this.#shader(description), inTurn)
      this.#compiling.add(kernel.compiled)
      void kernel.compiled.then(() => this.#compiling.delete(kernel.compiled))
      return kernel
    })
  }

  /** Settles once all kernels that were made so far are compiled. */
  async compiled(): Promise<void> {
    await Promise.all(this.#compiling)
  }

  /** No more pipelines are made beforehand. */
  end(): void {
    this.#isOver = true
  }

  /** One kernel a turn of the event loop: linking takes milliseconds, for which requests would wait. */
  readonly #inTurn: InTurn = async (make) => {
    this.#lastTurn = this.#lastTurn.then(() => setImmediate())
    await this.#lastTurn
    if (!this.#isOver) await make()
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
