import type { AdapterChoice } from '../gpu/device/adapter.js'
import { Device } from '../gpu/device/device.js'
import { KeyNormaliser, type NormalKeys } from '../gpu/keys/normalise.js'
import { KeyRestorer } from '../gpu/keys/restore.js'
import { RecordSort } from '../gpu/keys/sort-records.js'
import { Primitives } from '../gpu/primitives/primitives.js'
import { measureApart, measureForParent } from './apart.js'
import { type KeyBlob, urlKeys, uuidKeys } from './keys.js'
import { REPEATS, seconds } from './primitives.js'
import { median, type Row } from './report.js'

/** Logarithms of the numbers of keys that are measured. */
const LOGARITHMS = { hardware: [12, 16, 20], software: [12, 16] }

const KEYS: Readonly<Record<string, (count: number) => KeyBlob>> = {
  'URLs of 60 bytes': urlKeys,
  '16 random bytes': uuidKeys,
}

interface Subjects {
  readonly normaliser: KeyNormaliser
  readonly restorer: KeyRestorer
  readonly sort: RecordSort
}

/**
 * Times what is done to keys of variable length that lie on the device: into their normal form, back from it, and sorted by
 * their records, with the sort's own round trips. `MB/s` are bytes of keys as on the wire. All of it is measured in a process of
 * its own.
 */
export async function benchVariableKeys(adapter: AdapterChoice): Promise<Row[]> {
  return (await measureApart<AdapterChoice, Row[]>(import.meta.url, adapter)) ?? []
}

async function measure(adapter: AdapterChoice): Promise<Row[]> {
  const device = await Device.open(adapter)
  const primitives = await Primitives.create(device)
  const subjects = {
    normaliser: new KeyNormaliser(device, primitives, 'terminated'),
    restorer: new KeyRestorer(device, primitives, 'terminated'),
    sort: new RecordSort(device, primitives),
  }
  const rows: Row[] = []
  for (const logarithm of device.facts.software ? LOGARITHMS.software : LOGARITHMS.hardware) {
    for (const [name, make] of Object.entries(KEYS)) {
      const keys = make(2 ** logarithm)
      rows.push(...(await benchKeys(device, subjects, keys, `${name}, 2^${logarithm}`)))
    }
  }
  device.destroy()
  return rows
}

async function benchKeys(
  device: Device,
  { normaliser, restorer, sort }: Subjects,
  { offsets, bytes }: KeyBlob,
  name: string,
): Promise<Row[]> {
  const count = offsets.length - 1
  const column = {
    offsets: await device.allocate(offsets.byteLength, 'offsets'),
    bytes: await device.allocate(Math.ceil(bytes.byteLength / 4) * 4, 'keys'),
  }
  device.upload(column.offsets, new Uint8Array(offsets.buffer))
  device.upload(column.bytes, bytes)
  const wireKeys = { ...column, count, byteLength: bytes.byteLength }

  const scratch = device.scratch()
  const recorder = device.record()
  const normal = normaliser.record(recorder, scratch, wireKeys)
  recorder.submit()
  const taken = {
    normalise: await seconds(device, (r, s) => normaliser.record(r, s, wireKeys)),
    restore: await seconds(device, (r, s) => restorer.record(r, s, normal, count, bytes.byteLength)),
    sort: await sortSeconds(device, sort, normal, count),
  }
  scratch.release()
  column.offsets.destroy()
  column.bytes.destroy()
  return Object.entries(taken).map(([step, time]) => ({
    name: `${step}, ${name}`,
    figures: { ms: time * 1e3, 'M/s': count / time / 1e6, 'MB/s': bytes.byteLength / time / 1e6 },
  }))
}

async function sortSeconds(
  device: Device,
  sort: RecordSort,
  normal: NormalKeys,
  count: number,
): Promise<number> {
  const taken: number[] = []
  for (let repeat = 0; repeat <= REPEATS; repeat++) {
    const scratch = device.scratch()
    const start = performance.now()
    await sort.sort(device.record(), scratch, normal, count)
    if (repeat > 0) taken.push((performance.now() - start) / 1e3)
    scratch.release()
  }
  return median(taken)
}

await measureForParent(import.meta.url, measure)
