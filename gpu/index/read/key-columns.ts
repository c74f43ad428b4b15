import type { CutColumn } from '../../../protocol/columns.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { LIMITS } from '../../../protocol/limits.js'
import type { DeviceColumn } from '../../device/device.js'
import type { KeyRestorer } from '../../keys/restore.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import { type EntryColumn, type ReadContext, type ReadWork, words } from './read-context.js'

/** Bytes of keys that are read back together with the rest of a result. */
const EAGER_BYTES = 64 * 1024

/** Keys of a result, by their records in the index's heap. */
export interface FoundKeys {
  readonly restorer: KeyRestorer
  readonly heap: DeviceMemory
  readonly records: DeviceMemory
  /** How many there are at most. */
  readonly most: number
  /** How many there are, where only the device knows. */
  readonly live: DeviceWord | undefined
}

/** The columns that `restoredKeys` takes once they are read. */
export interface RecordedKeys {
  /** Bytes of all keys, and the first of them. */
  readonly known: readonly [DeviceColumn, DeviceColumn]
  /** Where each key begins. */
  readonly starts: EntryColumn
}

/** Records the restoring of keys of variable length for a result. */
export function recordKeys({ recorder, scratch }: ReadWork, found: FoundKeys): RecordedKeys {
  const { restorer, most, live } = found
  const { offsets, bytes } = restorer.record(recorder, scratch, found, most, EAGER_BYTES, live)
  return {
    known: [
      { buffer: offsets, offset: 4 * most, bytes: 4 },
      { buffer: bytes, bytes: EAGER_BYTES },
    ],
    starts: { buffer: offsets, entryBytes: 4 },
  }
}

/**
 * The keys as a column. Where they are longer than what came with the rest, the heap is read once more, so it
 * must be as it was until this settles.
 * @throws WarpdexError `TOO_LARGE`
 */
export async function restoredKeys(
  { device }: ReadContext,
  { scratch }: ReadWork,
  found: FoundKeys,
  [length, first]: readonly [Uint8Array, Uint8Array],
  starts: Uint8Array,
): Promise<CutColumn> {
  const begins = words(starts)
  const bytes = words(length)[0]!
  // The sum of all lengths may also have wrapped around, be it at the last key.
  const wrapped = begins.some((begin, i) => (begins[i + 1] ?? bytes) < begin)
  if (bytes > LIMITS.frameBytes || wrapped) {
    throw new WarpdexError(
      'TOO_LARGE',
      `the keys of the result have more than ${LIMITS.frameBytes} bytes; ask for fewer at a time`,
    )
  }
  const offsets = new Uint32Array(starts.byteLength / 4 + 1)
  offsets.set(begins)
  offsets[offsets.length - 1] = bytes
  if (bytes <= EAGER_BYTES) return { bytes: first.subarray(0, bytes), offsets }
  const recorder = device.record()
  const { bytes: buffer } = found.restorer.record(recorder, scratch, found, found.most, bytes, found.live)
  const [keys] = await device.submitAndRead(recorder, [{ buffer, bytes }])
  return { bytes: keys!, offsets }
}
