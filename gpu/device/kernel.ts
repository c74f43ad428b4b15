import { WarpdexError } from '../../protocol/errors.js'
import { type Access, type Binding, interfaceOf, type KernelInterface } from './kernel-interface.js'
import type { ModuleDescription, Shader } from './shaders.js'

export type { Access }

/** A binding that several kernels have under one number, whatever other bindings they have. */
export type NumberedBinding = readonly [number: number, access: Access]

/** A kernel whose buffers and parameters are told by their places. */
export interface KernelDescription extends ModuleDescription {
  readonly entryPoint: string
  /** Access of each binding of group 0, from `firstBinding` on. */
  readonly bindings: readonly Access[]
  /** Number of the first binding: 0 unless said otherwise. */
  readonly firstBinding?: number
  /** Bindings with numbers of their own; their buffers come after the others, in this order. */
  readonly further?: readonly NumberedBinding[]
  /** Number of u32 words in the kernel's `var<immediate>` block; 15 at most. */
  readonly params: number
}

/** The buffers of a dispatch by the names that the kernel has for them, whatever others there are beside; or in the order of a description. */
export type Buffers = Readonly<Record<string, GPUBuffer | undefined>> | readonly GPUBuffer[]

/** The parameters of a dispatch: those members of `Params` that the kernel looks at, whatever others there are beside; or in the order of a description. */
export type Params = Readonly<Record<string, number>> | readonly number[]

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

  /** The bind group over whole buffers. Making one costs more than a dispatch, so they are kept. */
  #bindGroup(given: Buffers): GPUBindGroup {
    const bindings = this.#bindings
    if (Array.isArray(given) && given.length !== bindings.length) {
      throw this.#refusal(`takes ${bindings.length} buffers, not ${given.length}`)
    }
    const buffers = given as Named<GPUBuffer>
    let key = ''
    for (const { name } of bindings) {
      const buffer = buffers[name]
      if (buffer === undefined) throw this.#refusal(`needs the buffer ${name}`)
      key += `${bufferNumber(buffer)},`
    }
    const made = this.#bindGroups.get(key)
    if (made !== undefined) return made
    const entries = bindings.map(({ number, name }) => ({
      binding: number,
      resource: { buffer: buffers[name]! },
    }))
    const group = this.#device.createBindGroup({ layout: this.#layout, entries })
    if (this.#bindGroups.size >= BIND_GROUPS_KEPT) this.#bindGroups.clear()
    this.#bindGroups.set(key, group)
    return group
  }

  #paramBlock(given: Params, first: number): Uint32Array<ArrayBuffer> {
    const params = given as Named<number>
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

/** What is told by its place has that for its name. */
type Named<T> = Readonly<Record<string, T | undefined>>

/** Far more than the buffers that a steady state cycles through; past it the cache starts afresh. */
const BIND_GROUPS_KEPT = 256

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

/** What a kernel needs: as its description says, if there is one, or else its code. */
export function kernelInterface(
  { code, divides }: Shader,
  entryPoint: string,
  described?: KernelDescription,
): KernelInterface {
  if (described === undefined) {
    const found = interfaceOf(code, entryPoint)
    return divides ? { ...found, params: found.params.slice(0, -1) } : found
  }
  const { bindings, firstBinding = 0, further = [], params } = described
  const numbered = [...bindings.map((access, i) => [firstBinding + i, access] as const), ...further]
  return {
    bindings: numbered.map(([number, access], i) => ({ number, access, name: String(i) })),
    params: Array.from({ length: params }, (_, i) => String(i)),
    needed: new Set(),
  }
}

/** `GPUShaderStage.COMPUTE`; the globals of WebGPU exist only once an adapter was asked for. */
const COMPUTE_STAGE = 4
