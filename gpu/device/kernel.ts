import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { CompositeResolver, link, type ModuleResolver, RecordResolver } from 'wesl'
import { WarpdexError } from '../../protocol/errors.js'
import type { Creations } from './creations.js'
import { divisible } from './divide.js'

/** How a kernel uses a binding: `read` is `var<storage, read>`, `write` is `var<storage, read_write>`. */
export type Access = 'read' | 'write'

/** A binding that several kernels have under one number, whatever other bindings they have. */
export type NumberedBinding = readonly [number: number, access: Access]

/** A module that no file has: its text is made for one kernel, and linked beside the files. */
export interface GeneratedModule {
  /** Path below `gpu/` by which the kernel's modules import it. */
  readonly module: string
  readonly text: string
}

export interface KernelDescription {
  /** Path of the `.wesl` module below `gpu/`, without its ending, e.g. `primitives/prefix-scan`. */
  readonly module: string
  /** A folder outside `gpu/` that the module's path starts from; modules of both can be imported. */
  readonly folder?: URL
  readonly entryPoint: string
  /** Access of each binding of group 0, from `firstBinding` on. */
  readonly bindings: readonly Access[]
  /** Number of the first binding: 0 unless said otherwise. */
  readonly firstBinding?: number
  /** Bindings with numbers of their own; their buffers come after the others, in this order. */
  readonly further?: readonly NumberedBinding[]
  /** Number of u32 words in the kernel's `var<immediate>` block; 15 at most. */
  readonly params: number
  /** Values of `@if` conditions in the module. */
  readonly conditions?: Readonly<Record<string, boolean>>
  /** Nobody keeps kernels with a generated part but who asks for them. */
  readonly generated?: GeneratedModule
}

/** A compute pipeline with an explicit layout and a cache of its bind groups. */
export class Kernel {
  readonly description: KernelDescription
  /** Whether a part of its workgroups can be dispatched by itself. */
  readonly divides: boolean
  readonly #device: GPUDevice
  readonly #layout: GPUBindGroupLayout
  readonly #bindings: readonly NumberedBinding[]
  readonly #creations: Creations
  readonly #bindGroups = new Map<string, GPUBindGroup>()
  #pipeline: GPUComputePipeline | undefined
  readonly #createPipeline: () => GPUComputePipeline

  /** @param createPipeline makes the pipeline, when it is first asked for */
  constructor(
    device: GPUDevice,
    description: KernelDescription,
    divides: boolean,
    createPipeline: () => GPUComputePipeline,
    layout: GPUBindGroupLayout,
    creations: Creations,
  ) {
    this.#device = device
    this.description = description
    this.divides = divides
    this.#createPipeline = createPipeline
    this.#layout = layout
    this.#bindings = numberedBindings(description)
    this.#creations = creations
  }

  /** Words of the `var<immediate>` block: the parameters, and behind them the number of the first workgroup. */
  get immediates(): number {
    return immediatesOf(this.description, this.divides)
  }

  get pipeline(): GPUComputePipeline {
    if (this.#pipeline === undefined) {
      this.#pipeline = this.#createPipeline()
      this.#creations.pipelines++
    }
    return this.#pipeline
  }

  /** The bind group over whole buffers, in binding order. Making one costs more than a dispatch, so they are kept. */
  bindGroup(buffers: readonly GPUBuffer[]): GPUBindGroup {
    const { module, entryPoint } = this.description
    const bindings = this.#bindings
    if (buffers.length !== bindings.length) {
      throw new WarpdexError(
        'INTERNAL',
        `${module} ${entryPoint} takes ${bindings.length} buffers, not ${buffers.length}`,
      )
    }
    const key = buffers.map(bufferNumber).join()
    let group = this.#bindGroups.get(key)
    if (group === undefined) {
      if (this.#bindGroups.size >= BIND_GROUPS_KEPT) this.#bindGroups.clear()
      group = this.#device.createBindGroup({
        layout: this.#layout,
        entries: bindings.map(([binding], i) => ({ binding, resource: { buffer: buffers[i]! } })),
      })
      this.#creations.bindGroups++
      this.#bindGroups.set(key, group)
    }
    return group
  }
}

/** Far more than the buffers that a steady state cycles through; past it the cache starts afresh. */
const BIND_GROUPS_KEPT = 256

function immediatesOf({ params }: KernelDescription, divides: boolean): number {
  return divides ? params + 1 : params
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

function numberedBindings({
  bindings,
  firstBinding = 0,
  further = [],
}: KernelDescription): readonly NumberedBinding[] {
  return [...bindings.map((access, i) => [firstBinding + i, access] as const), ...further]
}

/**
 * Makes a kernel.
 * @param creations counts its pipeline and its bind groups
 * @param onDemand whether its pipeline is made, in this thread, when it is first dispatched
 */
export async function createKernel(
  device: GPUDevice,
  description: KernelDescription,
  creations: Creations,
  onDemand: boolean,
): Promise<Kernel> {
  const { module, entryPoint, params, generated } = description
  const label = `${module} ${entryPoint}`
  const layout = device.createBindGroupLayout({
    label,
    entries: numberedBindings(description).map(([binding, access]) => ({
      binding,
      visibility: COMPUTE_STAGE,
      buffer: { type: access === 'read' ? 'read-only-storage' : 'storage' },
    })),
  })
  const shader =
    generated === undefined
      ? await keptShaderModule(device, description)
      : await shaderModule(device, description)
  const divides = shader.divides && params > 0
  const immediateSize = immediatesOf(description, divides) * 4
  const pipelineOf = (): GPUComputePipelineDescriptor => ({
    label,
    layout: device.createPipelineLayout({ label, bindGroupLayouts: [layout], immediateSize }),
    compute: { module: shader.module(), entryPoint },
  })
  const pipeline = onDemand ? undefined : await device.createComputePipelineAsync(pipelineOf())
  return new Kernel(
    device,
    description,
    divides,
    () => pipeline ?? device.createComputePipeline(pipelineOf()),
    layout,
    creations,
  )
}

/** A linked module. */
interface Shader {
  /** Makes it for the device, once. */
  readonly module: () => GPUShaderModule
  readonly divides: boolean
}

const shaderModules = new WeakMap<GPUDevice, Map<string, Promise<Shader>>>()

/** The linked module, which all its entry points share. */
function keptShaderModule(device: GPUDevice, description: KernelDescription): Promise<Shader> {
  const { module, conditions } = description
  const modules = shaderModules.get(device) ?? new Map<string, Promise<Shader>>()
  shaderModules.set(device, modules)
  const key = `${module} ${JSON.stringify(conditions)}`
  const shader = modules.get(key) ?? shaderModule(device, description)
  modules.set(key, shader)
  return shader
}

async function shaderModule(device: GPUDevice, description: KernelDescription): Promise<Shader> {
  const { module, conditions = {} } = description
  const rootModuleName = moduleName(module)
  const resolver = resolverOf(description)
  const { dest } = await link({ rootModuleName, resolver, conditions: { ...conditions } })
  const { code, divides } = divisible(dest)
  const label = `${module} ${JSON.stringify(conditions)}`
  let made: GPUShaderModule | undefined
  return {
    module: () => {
      made ??= device.createShaderModule({ label, code })
      return made
    },
    divides,
  }
}

function resolverOf({ generated, folder }: KernelDescription): ModuleResolver {
  const kernels = sourcesBelow(KERNELS)
  if (generated !== undefined) return new CompositeResolver([recordOf([generated]), kernels])
  return folder === undefined ? kernels : new CompositeResolver([sourcesBelow(folder), kernels])
}

/** `GPUShaderStage.COMPUTE`; the globals of WebGPU exist only once an adapter was asked for. */
const COMPUTE_STAGE = 4

/** The folder `gpu/`. */
const KERNELS = new URL('../', import.meta.url)

const sources = new Map<string, RecordResolver>()

/** Every module below a folder, by its path there, parsed once. */
function sourcesBelow(folder: URL): RecordResolver {
  let found = sources.get(folder.href)
  if (found === undefined) {
    const names = readdirSync(fileURLToPath(folder), { recursive: true, encoding: 'utf8' })
    const modules = names
      .filter((name) => name.endsWith('.wesl'))
      .map((module) => ({ module, text: readFileSync(new URL(module, folder), 'utf8') }))
    found = recordOf(modules)
    sources.set(folder.href, found)
  }
  return found
}

function recordOf(modules: readonly GeneratedModule[]): RecordResolver {
  const texts = modules.map(({ module, text }) => [moduleName(module), text])
  return new RecordResolver(Object.fromEntries(texts), { packageName: 'package' })
}

/** WESL names modules by identifiers, so that `primitives/sort-key.wesl` is `package::primitives::sort_key` to those who import it. */
function moduleName(path: string): string {
  return path.replaceAll('\\', '/').replaceAll('-', '_')
}
