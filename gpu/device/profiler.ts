import type { Kernel } from './kernel.js'

/** What one kernel took of profiled work. */
export interface KernelTime {
  /** Its module and entry point, e.g. `primitives/sort scatter_tiles`. */
  readonly kernel: string
  readonly dispatches: number
  readonly microseconds: number
}

/** The most that WebGPU allows in a query set. */
const QUERIES = 4096

/** A query set and the kernels that took its stamps: two for each, at its begin and at its end. */
interface Page {
  readonly querySet: GPUQuerySet
  readonly kernels: Kernel[]
}

/**
 * Takes the device's time at the begin and the end of each dispatch that recorders make. A dispatch
 * is a compute pass of its own then, which makes the whole slower; the single kernels take what they take.
 */
export class Profiler {
  readonly #device: GPUDevice
  readonly #pages: Page[] = []

  constructor(device: GPUDevice) {
    this.#device = device
  }

  /** The stamps of the next dispatch's pass. */
  passOf(kernel: Kernel): GPUComputePassTimestampWrites {
    let page = this.#pages.at(-1)
    if (page === undefined || page.kernels.length * 2 === QUERIES) {
      page = { querySet: this.#device.createQuerySet({ type: 'timestamp', count: QUERIES }), kernels: [] }
      this.#pages.push(page)
    }
    const { querySet, kernels } = page
    const beginningOfPassWriteIndex = kernels.push(kernel) * 2 - 2
    return { querySet, beginningOfPassWriteIndex, endOfPassWriteIndex: beginningOfPassWriteIndex + 1 }
  }

  /** Sums what was stamped by kernel, in the order of their first dispatches. All of it must have been submitted. */
  async read(): Promise<KernelTime[]> {
    const times = new Map<string, KernelTime>()
    // A pass may be taken to begin while the one before it still runs.
    let lastEnd = 0n
    for (const { querySet, kernels } of this.#pages) {
      const points = await this.#resolve(querySet, kernels.length * 2)
      for (const [i, { label: kernel }] of kernels.entries()) {
        const begin = points[2 * i]! > lastEnd ? points[2 * i]! : lastEnd
        lastEnd = points[2 * i + 1]!
        const { dispatches, microseconds } = times.get(kernel) ?? { dispatches: 0, microseconds: 0 }
        times.set(kernel, {
          kernel,
          dispatches: dispatches + 1,
          microseconds: microseconds + Number(lastEnd - begin) / 1e3,
        })
      }
    }
    return [...times.values()]
  }

  destroy(): void {
    for (const { querySet } of this.#pages) querySet.destroy()
  }

  async #resolve(querySet: GPUQuerySet, count: number): Promise<BigUint64Array> {
    const { QUERY_RESOLVE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage
    const size = count * 8
    const resolved = this.#device.createBuffer({ size, usage: QUERY_RESOLVE | COPY_SRC })
    const staging = this.#device.createBuffer({ size, usage: COPY_DST | MAP_READ })
    const encoder = this.#device.createCommandEncoder()
    encoder.resolveQuerySet(querySet, 0, count, resolved, 0)
    encoder.copyBufferToBuffer(resolved, 0, staging, 0, size)
    this.#device.queue.submit([encoder.finish()])
    await staging.mapAsync(GPUMapMode.READ)
    const points = new BigUint64Array(staging.getMappedRange().slice(0))
    staging.destroy()
    resolved.destroy()
    return points
  }
}
