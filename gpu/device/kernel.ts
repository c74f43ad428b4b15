import { WarpdexError } from '../../protocol/errors.js'
import { type DeviceMemory, PageRun } from '../memory/page-run.js'
import { type Binding, interfaceOf, type KernelInterface } from './kernel-interface.js'
import type { Shader } from './shaders.js'

/** The buffers of a dispatch by the names that the kernel has for them, whatever others there are beside. */
export type Buffers = Readonly<Record<string, DeviceMemory | undefined>>

/** The parameters of a dispatch: those members of `Params` that the kernel looks at, whatever others there are beside. */
export type Params = Readonly<Record<string, number>>

/** A linked module that can be made for the device. */
export interface MadeShader extends Shader {
  /** Makes it, once. */
  readonly module: () => GPUShaderModule
}

/** A compute pipeline with an explicit layout and a cache of its bind groups. */
export class Kernel {
  /** Its module and entry point. */
  readonly label: string
  /** Whether a part of its workgroups can be dispatched by itself. */
  readonly divides: boolean
  /** Settles, and never rejects, once its pipeline is made, or is to be made when it is first dispatched. */
  readonly compiled: Promise<void>
  readonly #device: GPUDevice
  readonly #layout: GPUBindGroupLayout
  readonly #bindings: readonly Binding[]
  readonly #params: readonly string[]
  readonly #needed: ReadonlySet<string>
  /** Words of the `var<immediate>` block: the parameters, and behind them the number of the first workgroup. */
  readonly #immediates: number
  readonly #bindGroups = new Map<string, GPUBindGroup>()
  readonly #description: () => GPUComputePipelineDescriptor
  #pipeline: GPUComputePipeline | undefined

  /** @param onDemand whether its pipeline is made, in this thread, when it is first dispatched */
  constructor(
    device: GPUDevice,
    shader: MadeShader,
    entryPoint: string,
    { bindings, params, needed }: KernelInterface,
    onDemand: boolean,
  ) {
    const label = `${shader.name} ${entryPoint}`
    this.label = label
    this.divides = shader.divides && params.length > 0
    this.#device = device
    this.#bindings = bindings
    this.#params = params
    this.#needed = needed
    this.#immediates = params.length + (this.divides ? 1 : 0)
    this.#layout = device.createBindGroupLayout({
      label,
      entries: bindings.map(({ number, access }) => ({
        binding: number,
        visibility: COMPUTE_STAGE,
        buffer: { type: access === 'read' ? 'read-only-storage' : 'storage' },
      })),
    })
    this.#description = () => ({
      label,
      layout: device.createPipelineLayout({
        label,
        bindGroupLayouts: [this.#layout],
        immediateSize: 4 * this.#immediates,
      }),
      compute: { module: shader.module(), entryPoint },
    })
    this.compiled = onDemand ? Promise.resolve() : this.#compile()
  }

  /**
   * Has the next dispatch of a pass run it.
   * @param first number of the first workgroup
   */
  setOn(pass: GPUComputePassEncoder, buffers: Buffers, params: Params, first: number): void {
    this.#pipeline ??= this.#device.createComputePipeline(this.#description())
    pass.setPipeline(this.#pipeline)
    pass.setBindGroup(0, this.#bindGroup(buffers))
    if (this.#immediates > 0) pass.setImmediates(0, this.#paramBlock(params, first))
  }

  /** What fails for want of memory may succeed when it is dispatched, and says so if not. */
  async #compile(): Promise<void> {
    try {
      const pipeline = await this.#device.createComputePipelineAsync(this.#description())
      this.#pipeline ??= pipeline
    } catch {}
  }

  /** The bind group over buffers. Making one costs more than a dispatch, so they are kept. */
  #bindGroup(buffers: Buffers): GPUBindGroup {
    const bindings = this.#bindings
    let key = ''
    for (const { name } of bindings) {
      const memory = buffers[name]
      if (memory === undefined) throw this.#refusal(`needs the buffer ${name}`)
      key += `${memory instanceof PageRun ? memory.key : bufferNumber(memory)},`
    }
    const made = this.#bindGroups.get(key)
    if (made !== undefined) return made
    const entries = bindings.map(({ number, name }) => ({
      binding: number,
      resource: resourceOf(buffers[name]!),
    }))
    const group = this.#device.createBindGroup({ layout: this.#layout, entries })
    if (this.#bindGroups.size >= BIND_GROUPS_KEPT) this.#bindGroups.clear()
    this.#bindGroups.set(key, group)
    return group
  }

  #paramBlock(params: Params, first: number): Uint32Array<ArrayBuffer> {
    const names = this.#params
    const block = new Uint32Array(this.#immediates)
    for (let i = 0; i < names.length; i++) {
      const value = params[names[i]!]
      if (value === undefined && this.#needed.has(names[i]!)) {
        throw this.#refusal(`needs the parameter ${names[i]}`)
      }
      block[i] = value ?? 0
    }
    if (this.divides) block[block.length - 1] = first
    return block
  }

  #refusal(what: string): WarpdexError {
    return new WarpdexError('INTERNAL', `${this.label} ${what}`)
  }
}

/** Far more than the buffers that a steady state cycles through; past it the cache starts afresh. */
const BIND_GROUPS_KEPT = 256

function resourceOf(memory: DeviceMemory): GPUBufferBinding {
  if (!(memory instanceof PageRun)) return { buffer: memory }
  const { buffer, offset, size } = memory
  return { buffer, offset, size }
}

const bufferNumbers = new WeakMap<GPUBuffer, number>()
let buffersNumbered = 0

function bufferNumber(buffer: GPUBuffer): number {
  let number = bufferNumbers.get(buffer)
  if (number === undefined) {
    number = buffersNumbered++
    bufferNumbers.set(buffer, number)
  }
  return number
}

/** What a kernel needs: as its code says, but for the word that divides dispatches. */
export function kernelInterface({ code, divides }: Shader, entryPoint: string): KernelInterface {
  const found = interfaceOf(code, entryPoint)
  return divides ? { ...found, params: found.params.slice(0, -1) } : found
}

/** `GPUShaderStage.COMPUTE`; the globals of WebGPU exist only once an adapter was asked for. */
const COMPUTE_STAGE = 4
