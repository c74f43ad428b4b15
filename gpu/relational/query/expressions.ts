import type { DeviceWork } from './device-work.js'
import type { RowNumbers } from './fetch.js'

/** The positions of the flags that are not 0, ascending, and how many they are. */
export async function selectFlagged(
  work: DeviceWork,
  flags: GPUBuffer,
  count: number,
): Promise<{ readonly numbers: RowNumbers; readonly count: number }> {
  const buffer = work.words(count)
  const total = { buffer: work.words(1), index: 0 }
  work.kernels.primitives.compact(work.recorder, work.scratch, flags, count, buffer, total)
  const [selected] = await work.read([total])
  return { numbers: { buffer, outer: false, ascending: true }, count: selected! }
}
