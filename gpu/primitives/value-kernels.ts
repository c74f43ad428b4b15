import type { Device } from '../device/device.js'
import type { Kernel, KernelDescription } from '../device/kernel.js'
import type { Recorder } from '../device/recorder.js'

/** A kernel of sorts twice: one takes a column of values, the other makes the positions of the keys its values. */
export interface ValueKernels {
  readonly given: Kernel
  readonly positions: Kernel
}

/** @param description of a kernel whose bindings begin with 1; its values become binding 0 */
export async function withValues(device: Device, description: KernelDescription): Promise<ValueKernels> {
  const { bindings, conditions } = description
  const [given, positions] = await Promise.all([
    device.kernel({ ...description, bindings: ['read', ...bindings] }),
    device.kernel({ ...description, firstBinding: 1, conditions: { ...conditions, positions: true } }),
  ])
  return { given, positions }
}

/** Dispatches the one that suits; `buffers` are those from binding 1 on. */
export function dispatchWithValues(
  recorder: Recorder,
  { given, positions }: ValueKernels,
  values: GPUBuffer | undefined,
  buffers: readonly GPUBuffer[],
  params: readonly number[],
  groups: number,
): void {
  if (values === undefined) recorder.dispatchGroups(positions, buffers, params, groups)
  else recorder.dispatchGroups(given, [values, ...buffers], params, groups)
}
