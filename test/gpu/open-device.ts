import type { Test } from 'tap'
import { Device } from '../../gpu/device/device.js'

/** A device for one test file, destroyed when its tests are over. */
export async function openDevice(t: Test): Promise<Device> {
  const device = await Device.open('auto')
  t.comment(`adapter: ${device.facts.name}`)
  t.teardown(() => device.destroy())
  return device
}

/** A device on the CPU for several engines of one test file, one after the other: they do not destroy it, its tests do. */
export async function openSharedDevice(t: Test): Promise<Device> {
  const device = await Device.open('software')
  t.teardown(device.destroy.bind(device))
  device.destroy = () => {}
  return device
}
