import type { Test } from 'tap'
import { Device } from '../../gpu/device/device.js'

/** A device for one test file, destroyed when its tests are over. */
export async function openDevice(t: Test): Promise<Device> {
  const device = await Device.open('auto')
  t.comment(`adapter: ${device.facts.name}`)
  t.teardown(() => device.destroy())
  return device
}
