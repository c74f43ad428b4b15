import { Device } from '../../gpu/device/device.js'
import { WarpdexError } from '../../protocol/errors.js'
import { type IndexDefinition, WriteOp } from '../../protocol/types.js'
import { Engine } from '../../src/engine/index.js'
import { modelStructures } from '../model-structure.js'
import type { Random } from '../random.js'
import { reads } from '../reads.js'
import { writeTo } from '../writes.js'

const WRITERS = 4
const BATCH = 32
const DEFINITION: IndexDefinition = { name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false }

/** How a device is lost again and again. */
export interface LossOptions {
  /** Whether indexes are plain maps in place of structures on the device. */
  readonly models?: boolean
}

/**
 * Loses the device of an engine again and again while it is written to and read: whatever was acknowledged is there afterwards,
 * once, and what was under way is answered, or fails with `DEVICE_LOST` and is not there by halves.
 *
 * @throws Error that says what is wrong
 */
export async function loseDevices(
  directory: string,
  random: Random,
  losses: number,
  { models = false }: LossOptions = {},
): Promise<string> {
  let current: Device | undefined
  const engine = await Engine.open({
    directory,
    ...(models ? { structures: modelStructures } : {}),
    openDevice: async () => {
      current = await Device.open('software')
      return current
    },
  })
  await engine.createIndex(DEFINITION)
  const index = engine.index(DEFINITION.name)
  const stop = new AbortController()
  let acknowledged = 0
  let failed = 0
  const write = async (writer: number): Promise<number> => {
    for (let batch = writer; ; ) {
      if (stop.signal.aborted) return batch
      try {
        const columns = {
          ops: WriteOp.insert,
          keys: keysOf(batch),
          payloads: keysOf(batch),
        }
        await writeTo(index, columns, { client: 'loss', number: batch })
        acknowledged++
        batch += WRITERS
      } catch (error) {
        // The same write again: it is applied once.
        requireLoss(error)
        failed++
      }
    }
  }
  const read = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        const counts = countsOf(await reads(index).count(keysOf(random.below(acknowledged + 1))))
        if (new Set(counts).size > 1 || counts[0] > 1)
          throw new Error(`a batch is there by halves: ${counts}`)
      } catch (error) {
        requireLoss(error)
        failed++
      }
    }
  }
  const working = [read(), ...Array.from({ length: WRITERS }, (_, writer) => write(writer))]
  for (let loss = 0; loss < losses; loss++) {
    const before = acknowledged
    while (acknowledged < before + WRITERS + random.below(20))
      await new Promise((resolve) => setTimeout(resolve, 1))
    const lost = current
    lost?.gpu.destroy()
    await lost?.lost
  }
  const last = acknowledged
  while (acknowledged < last + WRITERS) await new Promise((resolve) => setTimeout(resolve, 1))
  stop.abort()
  const ends = (await Promise.all(working)).slice(1).map(Number)
  for (const end of ends) {
    for (let batch = end % WRITERS; batch < end + WRITERS; batch += WRITERS) {
      const wanted = batch < end ? 1 : 0
      const counts = countsOf(await reads(index).count(keysOf(batch)))
      if (counts.some((count) => count !== wanted))
        throw new Error(`batch ${batch} is there ${counts[0]} times, not ${wanted}`)
    }
  }
  await engine.close()
  return `${losses} devices lost, ${acknowledged} writes acknowledged, ${failed} requests failed with DEVICE_LOST`
}

function keysOf(batch: number): Uint8Array {
  return new Uint8Array(Uint32Array.from({ length: BATCH }, (_, i) => batch * BATCH + i).buffer)
}

function countsOf(column: Uint8Array): number[] {
  return [...new Uint32Array(new Uint8Array(column).buffer)]
}

function requireLoss(error: unknown): void {
  if (!(error instanceof WarpdexError) || error.code !== 'DEVICE_LOST') throw error
}
