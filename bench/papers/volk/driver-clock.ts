import type { Device } from '../../../gpu/device/device.js'

type Method = (this: unknown, ...args: unknown[]) => unknown

/**
 * How long Dawn's calls take, of all that is done to record and submit; the rest is the own layer's. Each call is timed on its own, by
 * methods that stand in for Dawn's meanwhile; putting them there and reading the clock counts as the own layer's.
 */
export class DriverClock {
  readonly #methods: { readonly owner: object; readonly name: string; readonly method: Method }[] = []

  constructor({ gpu }: Device) {
    const encoder = gpu.createCommandEncoder()
    const pass = encoder.beginComputePass()
    pass.end()
    encoder.finish()
    for (const part of [gpu, gpu.queue, encoder, pass]) {
      const owner: object = Object.getPrototypeOf(part)
      for (const [name, { value, writable }] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
        if (name === 'constructor' || typeof value !== 'function' || !writable) continue
        this.#methods.push({ owner, name, method: value })
      }
    }
  }

  /** Microseconds of Dawn's calls in `work`, which must not wait for anything. */
  time(work: () => void): number {
    let milliseconds = 0
    for (const { owner, name, method } of this.#methods) {
      const timed: Method = function (...args) {
        const start = performance.now()
        try {
          return method.apply(this, args)
        } finally {
          milliseconds += performance.now() - start
        }
      }
      Object.assign(owner, { [name]: timed })
    }
    try {
      work()
    } finally {
      for (const { owner, name, method } of this.#methods) Object.assign(owner, { [name]: method })
    }
    return milliseconds * 1e3
  }
}
