// Has all devices that a test's process opens share one of Dawn's, with what it has compiled: SwiftShader takes longer to compile kernels than most tests
// take otherwise, and a device for each subtest has it compile the same ones again. `run.mjs` preloads it; `separate-devices.ts` does without.
import { isMainThread } from 'node:worker_threads'

/** Of Dawn's device. */
let compiled
/** Devices of tests that are not destroyed. */
const live = new Set()
/** The one for which a buffer is being made; Dawn reports what is wrong with it meanwhile. */
let making

if (isMainThread) {
  const { prototype } = (await import('webgpu')).globals.GPUAdapter
  const { requestDevice } = prototype
  prototype.requestDevice = async function (descriptor) {
    if (process.env.TEST_DEVICES === 'separate') return requestDevice.call(this, descriptor)
    const device = compiled === undefined ? await requestDevice.call(this, descriptor) : undefined
    compiled ??= new Compiled(device)
    return new OwnDevice(compiled)
  }
  process.on('exit', () => compiled?.device.destroy())
}

/** Makes whatever has the same description once. */
function once(make) {
  const made = new Map()
  return (key, ...args) => {
    if (!made.has(key)) made.set(key, make(...args))
    return made.get(key)
  }
}

/** Dawn's device, and what of it all others may have as well. */
class Compiled {
  #numbers = new Map()
  module = once((descriptor) => this.device.createShaderModule(descriptor))
  groupLayout = once((descriptor) => this.device.createBindGroupLayout(descriptor))
  layout = once((descriptor) => this.device.createPipelineLayout(descriptor))
  pipeline = once((descriptor) => this.device.createComputePipeline(descriptor))
  pipelineAsync = once((descriptor) => this.device.createComputePipelineAsync(descriptor))

  constructor(device) {
    this.device = device
    device.addEventListener('uncapturederror', (event) => {
      for (const own of making ? [making] : live) own.report(event)
    })
  }

  /** What tells a description from others: objects in it go by their number. */
  key(descriptor) {
    return JSON.stringify(descriptor, (_name, value) => {
      if (!/^GPU/.test(value?.constructor?.name)) return value
      if (!this.#numbers.has(value)) this.#numbers.set(value, this.#numbers.size)
      return `#${this.#numbers.get(value)}`
    })
  }
}

/** What a test has for its device. Its buffers end with it. */
class OwnDevice {
  #compiled
  #device
  #buffers = new Set()
  #listeners = []
  #end

  constructor(compiled) {
    this.#compiled = compiled
    this.#device = compiled.device
    this.lost = new Promise((resolve) => {
      this.#end = resolve
    })
    for (const name of ['adapterInfo', 'features', 'limits', 'queue']) this[name] = this.#device[name]
    live.add(this)
  }

  addEventListener(_type, listener) {
    this.#listeners.push(listener)
  }

  report(event) {
    for (const listener of this.#listeners) listener(event)
  }

  createBuffer(descriptor) {
    making = this
    try {
      const buffer = this.#device.createBuffer(descriptor)
      this.#buffers.add(buffer)
      return buffer
    } finally {
      making = undefined
    }
  }

  createBindGroup(descriptor) {
    return this.#device.createBindGroup(descriptor)
  }

  createCommandEncoder(descriptor) {
    return this.#device.createCommandEncoder(descriptor)
  }

  createQuerySet(descriptor) {
    return this.#device.createQuerySet(descriptor)
  }

  createShaderModule(descriptor) {
    return this.#compiled.module(this.#compiled.key(descriptor), descriptor)
  }

  createBindGroupLayout(descriptor) {
    return this.#compiled.groupLayout(this.#compiled.key(descriptor), descriptor)
  }

  createPipelineLayout(descriptor) {
    return this.#compiled.layout(this.#compiled.key(descriptor), descriptor)
  }

  createComputePipeline(descriptor) {
    return this.#compiled.pipeline(this.#compiled.key(descriptor), descriptor)
  }

  createComputePipelineAsync(descriptor) {
    return this.#compiled.pipelineAsync(this.#compiled.key(descriptor), descriptor)
  }

  destroy() {
    for (const buffer of this.#buffers) buffer.destroy()
    this.#buffers.clear()
    live.delete(this)
    this.#end({ reason: 'destroyed', message: 'it was destroyed' })
  }
}
