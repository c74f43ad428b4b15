import { WarpdexError } from '../../protocol/errors.js'
import { type DeviceMemory, PageRun } from '../memory/page-run.js'
import { interfaceOf, type KernelInterface } from './kernel-interface.js'
import type { Shader } from './shaders.js'

/** The buffers of a dispatch by the names that the kernel has for them, whatever others there are beside. */
export type Buffers = Readonly<Record<string, DeviceMemory | undefined>>

/** The parameters of a dispatch: those members of `Params` that the kernel looks at, whatever others there are beside. */
export type Params = Readonly<Record<string, number>>

/** The buffers and parameters that a kernel looks at in one dispatch. */
export interface BoundKernel {
  /** In the order of its bindings. */
  readonly memory: readonly DeviceMemory[]
  readonly immediates: Uint32Array<ArrayBuffer> | undefined
}

/** Makes a kernel's pipeline when others have had their turn. */
export type InTurn = (make: () => Promise<void>) => Promise<void>

/** What a kernel's code says of it. */
interface Linked extends KernelInterface {
  readonly shader: MadeShader
  /** Whether a part of its workgroups can be dispatched by itself. */
  readonly divides: boolean
  readonly layout: GPUBindGroupLayout
  /** Words of the `var<immediate>` block: the parameters, and behind them the number of the first workgroup. */
  readonly immediates: number
}

/** A linked module that can be made for the device. */
export interface MadeShader extends Shader {
  /** Makes it, once. */
  readonly module: () => GPUShaderModule
}

/** A compute pipeline with an explicit layout and a cache of its bind groups. */
export class Kernel {
  /** Its module and entry point. */
  readonly label: string
  /** Settles, and never rejects, once its pipeline is made, or is to be made when it is first dispatched. */
  readonly compiled: Promise<void>
  readonly #device: GPUDevice
  readonly #entryPoint: string
  readonly #shaderOf: () => MadeShader
  readonly #bindGroups = new Map<string, GPUBindGroup>()
  #made: Linked | undefined
  #pipeline: GPUComputePipeline | undefined

  /**
   * @param module that it is of
   * @param shaderOf links that, which takes milliseconds, so it is done when the kernel is needed
   * @param inTurn has its pipeline made beforehand; else it is made, in this thread, when it is first dispatched
   */
  constructor(
    device: GPUDevice,
    module: string,
    entryPoint: string,
    shaderOf: () => MadeShader,
    inTurn: InTurn | undefined,
  ) {
    this.label = `${module} ${entryPoint}`
    this.#device = device
    this.#entryPoint = entryPoint
    this.#shaderOf = shaderOf
    this.compiled = inTurn === undefined ? Promise.resolve() : inTurn(() => this.#compile())
  }

  /** Whether a part of its workgroups can be dispatched by itself. */
  get divides(): boolean {
    return this.#linked.divides
  }

  /**
   * What a dispatch is recorded with.
   * @param first number of the first workgroup
   */
  bound(buffers: Buffers, params: Params, first: number): BoundKernel {
    const { bindings, immediates } = this.#linked
    const memory = bindings.map(({ name }) => {
      const bound = buffers[name]
      if (bound === undefined) throw this.#refusal(`needs the buffer ${name}`)
      return bound
    })
    return { memory, immediates: immediates > 0 ? this.#paramBlock(params, first) : undefined }
  }

  /** Has the next dispatch of a pass run it. */
  setOn(pass: GPUComputePassEncoder, { memory, immediates }: BoundKernel): void {
    this.#pipeline ??= this.#device.createComputePipeline(this.#description())
    pass.setPipeline(this.#pipeline)
    pass.setBindGroup(0, this.#bindGroup(memory))
    if (immediates !== undefined) pass.setImmediates(0, immediates)
  }

  /** What fails for want of memory may succeed when it is dispatched, and says so if not. */
  async #compile(): Promise<void> {
    if (this.#pipeline !== undefined) return
    try {
      const pipeline = await this.#device.createComputePipelineAsync(this.#description())
      this.#pipeline ??= pipeline
    } catch {}
  }

  get #linked(): Linked {
    this.#made ??= this.#link()
    return this.#made
  }

  #link(): Linked {
    const shader = this.#shaderOf()
    const found = kernelInterface(shader, this.#entryPoint)
    const divides = shader.divides && found.params.length > 0
    const layout = this.#device.createBindGroupLayout({
      label: this.label,
      entries: found.bindings.map(({ number, access }) => ({
        binding: number,
        visibility: COMPUTE_STAGE,
        buffer: { type: access === 'read' ? 'read-only-storage' : 'storage' },
      })),
    })
    return { ...found, shader, divides, layout, immediates: found.params.length + (divides ? 1 : 0) }
  }

  #description(): GPUComputePipelineDescriptor {
    const { label } = this
    const { shader, layout, immediates } = this.#linked
    const layouts = { label, bindGroupLayouts: [layout], immediateSize: 4 * immediates }
    const compute = { module: shader.module(), entryPoint: this.#entryPoint }
    return { label, layout: this.#device.createPipelineLayout(layouts), compute }
  }

  /** The bind group over memory, where that is at the moment. Making one costs more than a dispatch, so they are kept. */
  #bindGroup(memory: readonly DeviceMemory[]): GPUBindGroup {
    const { bindings, layout } = this.#linked
    let key = ''
    for (const [i, bound] of memory.entries()) {
      if (bound instanceof PageRun) {
        if (bindings[i]!.access !== 'read') bound.noteWrite()
        key += `${bound.key},`
      } else {
        key += `${bufferNumber(bound)},`
      }
    }
    const made = this.#bindGroups.get(key)
    if (made !== undefined) return made
    const entries = bindings.map(({ number }, i) => ({ binding: number, resource: resourceOf(memory[i]!) }))
    const group = this.#device.createBindGroup({ layout, entries })
    if (this.#bindGroups.size >= BIND_GROUPS_KEPT) this.#bindGroups.clear()
    this.#bindGroups.set(key, group)
    return group
  }

  #paramBlock(params: Params, first: number): Uint32Array<ArrayBuffer> {
    const { params: names, needed, immediates, divides } = this.#linked
    const block = new Uint32Array(immediates)
    for (let i = 0; i < names.length; i++) {
      const value = params[names[i]!]
      if (value === undefined && needed.has(names[i]!)) {
        throw this.#refusal(`needs the parameter ${names[i]}`)
      }
      block[i] = value ?? 0
    }
    if (divides) block[block.length - 1] = first
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
function kernelInterface({ code, divides }: Shader, entryPoint: string): KernelInterface {
  const found = interfaceOf(code, entryPoint)
  return divides ? { ...found, params: found.params.slice(0, -1) } : found
}

/** `GPUShaderStage.COMPUTE`; the globals of WebGPU exist only once an adapter was asked for. */
const COMPUTE_STAGE = 4
