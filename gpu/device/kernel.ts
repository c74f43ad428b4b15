import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { link } from 'wesl'
import { WarpdexError } from '../../protocol/errors.js'

/** How a kernel uses a binding: `read` is `var<storage, read>`, `write` is `var<storage, read_write>`. */
export type Access = 'read' | 'write'

export interface KernelDescription {
  /** Path of the `.wesl` module below `gpu/`, without its ending, e.g. `primitives/prefix-scan`. */
  readonly module: string
  readonly entryPoint: string
  /** Access of each binding of group 0, by binding number. */
  readonly bindings: readonly Access[]
  /** Number of u32 words in the kernel's `var<immediate>` block; 16 at most. */
  readonly params: number
  /** Values of `@if` conditions in the module. */
  readonly conditions?: Readonly<Record<string, boolean>>
}

/** A compute pipeline of 256 invocations a workgroup with an explicit layout and a cache of its bind groups. */
export class Kernel {
  readonly description: KernelDescription
  readonly pipeline: GPUComputePipeline
  readonly #device: GPUDevice
  readonly #layout: GPUBindGroupLayout
  readonly #bindGroups = new Map<string, GPUBindGroup>()

  constructor(
    device: GPUDevice,
    description: KernelDescription,
    pipeline: GPUComputePipeline,
    layout: GPUBindGroupLayout,
  ) {
    this.#device = device
    this.description = description
    this.pipeline = pipeline
    this.#layout = layout
  }

  /** The bind group over whole buffers, in binding order. Making one costs more than a dispatch, so they are kept. */
  bindGroup(buffers: readonly GPUBuffer[]): GPUBindGroup {
    if (buffers.length !== this.description.bindings.length) {
      const { module, entryPoint, bindings } = this.description
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
        entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })),
      })
      this.#bindGroups.set(key, group)
    }
    return group
  }
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

/** Links a kernel's modules and makes its pipeline. */
export async function createKernel(device: GPUDevice, description: KernelDescription): Promise<Kernel> {
  const { module, entryPoint, bindings, params, conditions = {} } = description
  const label = `${module} ${entryPoint}`
  const linked = await link({
    rootModuleName: moduleName(module),
    weslSrc: kernelSources(),
    conditions: { ...conditions },
  })
  const layout = device.createBindGroupLayout({
    label,
    entries: bindings.map((access, binding) => ({
      binding,
      visibility: COMPUTE_STAGE,
      buffer: { type: access === 'read' ? 'read-only-storage' : 'storage' },
    })),
  })
  const pipeline = await device.createComputePipelineAsync({
    label,
    layout: device.createPipelineLayout({ label, bindGroupLayouts: [layout], immediateSize: params * 4 }),
    compute: { module: device.createShaderModule({ label, code: linked.dest }), entryPoint },
  })
  return new Kernel(device, description, pipeline, layout)
}

/** `GPUShaderStage.COMPUTE`; the globals of WebGPU exist only once an adapter was asked for. */
const COMPUTE_STAGE = 4

let sources: Record<string, string> | undefined

/** The text of every kernel module below `gpu/`, by its path there. */
function kernelSources(): Record<string, string> {
  if (sources === undefined) {
    const root = new URL('../', import.meta.url)
    const names = readdirSync(fileURLToPath(root), { recursive: true, encoding: 'utf8' })
    sources = Object.fromEntries(
      names
        .filter((name) => name.endsWith('.wesl'))
        .map((name) => [moduleName(name), readFileSync(new URL(name, root), 'utf8')]),
    )
  }
  return sources
}

/** WESL names modules by identifiers, so that `prefix-tree/key.wesl` is `package::prefix_tree::key` to those who import it. */
function moduleName(path: string): string {
  return path.replaceAll('\\', '/').replaceAll('-', '_')
}
