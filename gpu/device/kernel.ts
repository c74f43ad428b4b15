import { WarpdexError } from '../../protocol/errors.js'
import type { Creations } from './creations.js'
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
  readonly #creations: Creations
  readonly #bindGroups = new Map<string, GPUBindGroup>()
  readonly #description: () => GPUComputePipelineDescriptor
  #pipeline: GPUComputePipeline | undefined
  #isCounted = false

  /**
   * @param creations counts its pipeline and its bind groups
   * @param onDemand whether its pipeline is made, in this thread, when it is first dispatched
   */
  constructor(
    device: GPUDevice,
    shader: MadeShader,
    entryPoint: string,
    { bindings, params, needed }: KernelInterface,
    creations: Creations,
    onDemand: boolean,
  ) {
    const label = `${shader.name} ${entryPoint}`
    this.label = label
    this.divides = shader.divides && params.length > 0
    this.#device = device
    this.#bindings = bindings
    this.#params = params
    this.#needed = needed
    this.#creations = creations
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
        immediateSize: 4 * this.immediates,
      }),
      compute: { module: shader.module(), entryPoint },
    })
    this.compiled = onDemand ? Promise.resolve() : this.#compile()
  }

  /** Words of the `var<immediate>` block: the parameters, and behind them the number of the first workgroup. */
  get immediates(): number {
    return this.#params.length + (this.divides ? 1 : 0)
  }

  get pipeline(): GPUComputePipeline {
    this.#pipeline ??= this.#device.createComputePipeline(this.#description())
    if (!this.#isCounted) this.#creations.pipelines++
    this.#isCounted = true
    return this.#pipeline
  }

  /** What fails for want of memory may succeed when it is dispatched, and says so if not. */
  async #compile(): Promise<void> {
    try {
      const pipeline = await this.#device.createComputePipelineAsync(this.#description())
      this.#pipeline ??= pipeline
    } catch {}
  }

  /** The bind group over whole buffers. Making one costs more than a dispatch, so they are kept. */
  bindGroup(given: Buffers): GPUBindGroup {
    const buffers = this.#inOrder(given)
    const key = buffers.map(bufferNumber).join()
    let group = this.#bindGroups.get(key)
    if (group === undefined) {
      if (this.#bindGroups.size >= BIND_GROUPS_KEPT) this.#bindGroups.clear()
      group = this.#device.createBindGroup({
        layout: this.#layout,
        entries: this.#bindings.map(({ number }, i) => ({
          binding: number,
          resource: { buffer: buffers[i]! },
        })),
      })
      this.#creations.bindGroups++
      this.#bindGroups.set(key, group)
    }
    return group
  }

  /** @param first number of the first workgroup */
  paramBlock(params: Params, first: number): Uint32Array<ArrayBuffer> {
    const block = new Uint32Array(this.immediates)
    if (isPlaced(params)) block.set(params)
    else this.#setNamed(block, params)
    if (this.divides) block[block.length - 1] = first
    return block
  }

  #setNamed(block: Uint32Array, params: Readonly<Record<string, number>>): void {
    const names = this.#params
    for (let i = 0; i < names.length; i++) {
      const value = params[names[i]!]
      if (value === undefined && this.#needed.has(names[i]!)) {
        throw this.#refusal(`needs the parameter ${names[i]}`)
      }
      block[i] = value ?? 0
    }
  }

  #inOrder(given: Buffers): readonly GPUBuffer[] {
    const bindings = this.#bindings
    if (isPlaced(given)) {
      if (given.length === bindings.length) return given
      throw this.#refusal(`takes ${bindings.length} buffers, not ${given.length}`)
    }
    return bindings.map(({ name }) => {
      const buffer = given[name]
      if (buffer === undefined) throw this.#refusal(`needs the buffer ${name}`)
      return buffer
    })
  }

  #refusal(what: string): WarpdexError {
    return new WarpdexError('INTERNAL', `${this.label} ${what}`)
  }
}

function isPlaced<T>(
  given: Readonly<Record<string, T>> | readonly Exclude<T, undefined>[],
): given is readonly Exclude<T, undefined>[] {
  return Array.isArray(given)
}

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
    bindings: numbered.map(([number, access]) => ({ number, access, name: '' })),
    params: Array.from({ length: params }, String),
    needed: new Set(),
  }
}

/** `GPUShaderStage.COMPUTE`; the globals of WebGPU exist only once an adapter was asked for. */
const COMPUTE_STAGE = 4
