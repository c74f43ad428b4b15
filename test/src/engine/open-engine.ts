import root, { type Test } from 'tap'
import { Device } from '../../../gpu/device/device.js'
import { Engine, type EngineOptions } from '../../../src/engine/index.js'
import { modelStructures } from '../../model-structure.js'

let shared: Promise<Device> | undefined

/** The device of all engines of a test file, one after another or at once: they would else make the same pipelines again. */
function sharedDevice(): Promise<Device> {
  shared ??= Device.open('software').then((device) => {
    const destroy = device.destroy.bind(device)
    root.teardown(destroy)
    // Closing an engine destroys its device.
    device.destroy = () => {}
    return device
  })
  return shared
}

/** An engine over models of structures, closed when the test is over. */
export async function openEngine(t: Test, options: Partial<EngineOptions> = {}): Promise<Engine> {
  const engine = await Engine.open({
    structures: modelStructures,
    openDevice: sharedDevice,
    onWarning: (message) => t.comment(message),
    ...options,
    directory: options.directory ?? t.testdir(),
  })
  t.teardown(() => engine.close())
  return engine
}

/** A column of u32 values as bytes. */
export function u32(...values: number[]): Uint8Array {
  return new Uint8Array(Uint32Array.from(values).buffer)
}

/** A column of u32 values from its bytes. */
export function values(column: Uint8Array): number[] {
  return [...new Uint32Array(new Uint8Array(column).buffer)]
}

/** Payloads of kind `bytes`. */
export function blobs(...texts: string[]): { bytes: Uint8Array; offsets: Uint32Array } {
  const parts = texts.map((text) => Buffer.from(text))
  const offsets = new Uint32Array(parts.length + 1)
  parts.forEach(({ length }, i) => {
    offsets[i + 1] = offsets[i] + length
  })
  return { bytes: Buffer.concat(parts), offsets }
}

/** The texts of payloads of kind `bytes`. */
export function texts(columns: { payloads: Uint8Array; payloadOffsets?: Uint32Array | undefined }): string[] {
  const { payloads, payloadOffsets = Uint32Array.of(0) } = columns
  return Array.from({ length: payloadOffsets.length - 1 }, (_, i) =>
    Buffer.from(payloads.subarray(payloadOffsets[i], payloadOffsets[i + 1])).toString(),
  )
}
