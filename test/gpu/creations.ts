import type { Device } from '../../gpu/device/device.js'

/** What takes the host as long to make as many dispatches, by the device's methods that make it. */
const MAKERS = [
  'createBuffer',
  'createBindGroup',
  'createComputePipeline',
  'createComputePipelineAsync',
] as const

/** How many objects a device makes from here on. */
export function countCreations({ gpu }: Device): Readonly<Record<(typeof MAKERS)[number], number>> {
  const made = {
    createBuffer: 0,
    createBindGroup: 0,
    createComputePipeline: 0,
    createComputePipelineAsync: 0,
  }
  for (const maker of MAKERS) {
    const make = gpu[maker].bind(gpu) as (descriptor: never) => unknown
    Object.assign(gpu, {
      [maker]: (descriptor: never) => {
        made[maker]++
        return make(descriptor)
      },
    })
  }
  return made
}
