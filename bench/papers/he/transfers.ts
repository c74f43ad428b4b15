import { asBytes } from '../../../protocol/columns.js'
import { scatteredKeys } from '../../keys.js'
import { median, type Row, spreadOf } from '../../report.js'
import { keepWarm } from '../../warm-up.js'
import { isExactly, type PrimitiveBench } from './primitive-bench.js'

/** Bytes that are moved in blocks, as in the paper, and the most blocks of them. */
const MOST_BYTES = 2 ** 28
const MOST_BLOCKS = { up: 4096, down: 64 }
/** Logarithms of the sizes of blocks. */
const SMALLEST = 10
const STEP = { full: 2, quick: 4 }
const ROUNDS = 5

/** He's Figure 6: columns moved to the device, and back, in blocks of several sizes, each of which is waited for on its way back. */
export async function benchTransfers({
  device,
  primitives,
  logarithm,
  quick,
}: PrimitiveBench): Promise<Row[]> {
  const bytes = Math.min(MOST_BYTES, 2 ** (logarithm + 4))
  const column = scatteredKeys(1, 0, bytes / 4)
  const words = new Uint32Array(column.buffer)
  const buffer = await device.allocate(bytes, 'column')
  const rows: Row[] = []
  for (let block = 2 ** SMALLEST; block <= bytes; block *= 2 ** STEP[quick ? 'quick' : 'full']) {
    const moved = {
      up: Math.min(bytes, block * MOST_BLOCKS.up),
      down: Math.min(bytes, block * MOST_BLOCKS.down),
    }
    const ms: Record<'up' | 'down', number[]> = { up: [], down: [] }
    // The first one warms up.
    for (let round = -1; round < ROUNDS; round++) {
      await keepWarm(device, primitives)
      const begin = performance.now()
      for (let at = 0; at < moved.up; at += block) device.upload(buffer, column.subarray(at, at + block), at)
      await device.workDone()
      const between = performance.now()
      for (let at = 0; at < moved.down; at += block) await device.read(buffer, block, at)
      if (round < 0) continue
      ms.up.push(between - begin)
      ms.down.push(performance.now() - between)
    }
    isExactly('column', words.subarray(0, moved.up / 4))(await device.readWords(buffer, moved.up / 4))
    const rate = (direction: 'up' | 'down') => moved[direction] / median(ms[direction]) / 1e6
    const figures = {
      block,
      ...spreadOf('to the device ms', ms.up),
      'to the device GB/s': rate('up'),
      ...spreadOf('back ms', ms.down),
      'back GB/s': rate('down'),
    }
    rows.push({ name: `Figure 6, blocks of ${block}`, figures })
    device.upload(buffer, asBytes(new Uint32Array(bytes / 4)))
  }
  buffer.destroy()
  return rows
}
