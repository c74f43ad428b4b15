import koffi from 'koffi'
import { create, globals } from 'webgpu'
import { WarpdexError } from '../../protocol/errors.js'
import { unpackSoftwareVulkan } from './software-vulkan.js'

/** Which adapter to take: `auto` prefers hardware and falls back to software. */
export type AdapterChoice = 'auto' | 'hardware' | 'software'

/** What of an adapter matters to the rest. */
export interface AdapterFacts {
  readonly name: string
  /** The driver and its version, in its own words; costs that were measured hold for it only. */
  readonly driver: string
  /** True where the CPU does the work: correct, and slow. */
  readonly software: boolean
  /** Bytes of the largest storage binding, hence of the largest buffer that a kernel can use. */
  readonly bindingBytes: number
}

export interface FoundAdapter {
  /** Must stay referenced until the last of its devices is gone: collecting it kills the process. */
  readonly gpu: GPU
  readonly adapter: GPUAdapter
  readonly name: string
  /** The driver and its version, in its own words. */
  readonly driver: string
  readonly software: boolean
}

/**
 * Zero-filling workgroup memory makes pipeline creation on SwiftShader take seconds, so every kernel initialises its own;
 * quantised timestamps are too coarse for kernel times.
 */
const DAWN_OPTIONS = [
  'enable-dawn-features=disable_workgroup_init',
  'disable-dawn-features=timestamp_quantization',
]

/** One instance for each way of finding adapters, kept for the life of the process. */
const instances = new Map<'system' | 'software', GPU>()

Object.assign(globalThis, globals)

/**
 * Finds an adapter: hardware where there is one, else SwiftShader.
 * @throws WarpdexError `NO_ADAPTER` with what to install.
 */
export async function findAdapter(choice: AdapterChoice): Promise<FoundAdapter> {
  if (choice !== 'software') {
    const found = hasVulkanLoader() ? await requestAdapter('system') : undefined
    if (found !== undefined && !found.software) return found
    if (choice === 'hardware') {
      throw new WarpdexError(
        'NO_ADAPTER',
        'no GPU was found; install its driver with Vulkan support (on Debian: libvulkan1 and the vendor driver), or allow the software adapter (--adapter auto)',
      )
    }
  }
  return findSoftwareAdapter()
}

/** Asked first, because Dawn prints a warning of its own where the loader is missing. Other systems than Linux need none. */
function hasVulkanLoader(): boolean {
  if (process.platform !== 'linux') return true
  try {
    koffi.load('libvulkan.so.1')
    return true
  } catch {
    return false
  }
}

async function findSoftwareAdapter(): Promise<FoundAdapter> {
  const { driverDescription, loader } = await unpackSoftwareVulkan()
  const previous = process.env.VK_ICD_FILENAMES
  const previousDrivers = process.env.VK_DRIVER_FILES
  process.env.VK_ICD_FILENAMES = driverDescription
  process.env.VK_DRIVER_FILES = driverDescription
  try {
    // Dawn opens the loader by name; a library opened before under that name is the one that it gets, so that a machine
    // without any Vulkan needs none.
    koffi.load(loader)
    const found = await requestAdapter('software')
    if (found !== undefined) return found
  } finally {
    restore('VK_ICD_FILENAMES', previous)
    restore('VK_DRIVER_FILES', previousDrivers)
  }
  throw new WarpdexError(
    'NO_ADAPTER',
    `the software adapter at ${loader} did not start; is its folder mounted noexec?`,
  )
}

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}

async function requestAdapter(kind: 'system' | 'software'): Promise<FoundAdapter | undefined> {
  let gpu = instances.get(kind)
  if (gpu === undefined) {
    gpu = create(DAWN_OPTIONS)
    instances.set(kind, gpu)
  }
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' })
  if (adapter === null) return undefined
  const { description, device, vendor, architecture, isFallbackAdapter } = adapter.info
  const software = isFallbackAdapter || /swiftshader|llvmpipe/i.test(`${device} ${architecture}`)
  // A GPU is known by its model; of a CPU the driver says more.
  const name = (software ? description : device) || description || `${vendor} ${architecture}`
  return { gpu, adapter, name, driver: description, software }
}
