import type { Device } from '../gpu/device/device.js'
import type { Primitives } from '../gpu/primitives/primitives.js'
import { WarmDevice } from '../gpu/primitives/warm-device.js'

const warmDevices = new WeakMap<Device, WarmDevice>()

function warmDevice(device: Device, primitives: Primitives): WarmDevice {
  const warm = warmDevices.get(device) ?? new WarmDevice(device, primitives)
  warmDevices.set(device, warm)
  return warm
}

/** Brings a GPU that the host left alone, while it made keys ready, to the clock at which it works under load. */
export function warmUp(device: Device, primitives: Primitives): Promise<void> {
  return warmDevice(device, primitives).warmUp()
}

/** Keeps a GPU at that clock, if it is called before each of many measurements that leave the device idle for most of their time. */
export function keepWarm(device: Device, primitives: Primitives): Promise<void> {
  return warmDevice(device, primitives).keepWarm()
}

/** Runs something that keeps a warm GPU busy all the time, so that it need not be warmed up again behind it, however long that takes. */
export function runWarm<T>(device: Device, primitives: Primitives, once: () => Promise<T>): Promise<T> {
  return warmDevice(device, primitives).run(once)
}
