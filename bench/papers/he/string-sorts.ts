import type { Device } from '../../../gpu/device/device.js'
import { KeyNormaliser, type NormalKeys, type WireKeys } from '../../../gpu/keys/normalise.js'
import { RecordSort } from '../../../gpu/keys/sort-records.js'
import { asBytes } from '../../../protocol/columns.js'
import { type KeyBlob, scattered } from '../../keys.js'
import { profiled } from '../../profiled.js'
import { median, type Row, spreadOf } from '../../report.js'
import { keepWarm, warmUp } from '../../warm-up.js'
import { isExactly, type PrimitiveBench } from './primitive-bench.js'

/** Average lengths in bytes; the paper varies them over four million strings. */
const LENGTHS = { full: [8, 16, 32, 64], quick: [8, 32] }
/** Logarithm of the most strings. */
const MOST = 22
/** Up to so many strings the host's sort runs twice: it is compiled while it runs first, which takes a share of a short run. */
const FEW = 2 ** 18
const REPEATS = { full: 5, quick: 1 }

/** Bytes that all strings of the second kind begin with: the heads of none of them differ before. */
const COMMON = 'https://www.example.com/'
const KINDS = { 'random letters': '', 'behind 24 common bytes': COMMON }

/**
 * He's Figure 15: sorting records of strings by heads and ties on the device, and numbers of strings by comparing them on the host, for
 * strings of different average lengths, which vary the more the longer they are. `wall ms` has the round trips that the sort
 * makes by itself; strings lie on the device in their normal form.
 */
export async function benchStringSorts(bench: PrimitiveBench): Promise<Row[]> {
  const { device, primitives, logarithm, quick } = bench
  const effort = quick ? 'quick' : 'full'
  const count = 2 ** Math.min(MOST, logarithm)
  const normaliser = new KeyNormaliser(device, primitives, 'terminated')
  const sort = new RecordSort(device, primitives)
  const rows: Row[] = []
  for (const [kind, prefix] of Object.entries(KINDS)) {
    for (const length of LENGTHS[effort]) {
      const strings = randomStrings(count, length, prefix)
      const host = hostOrder(strings)
      const scratch = device.scratch()
      const recorder = device.record()
      const wire = await uploadStrings(device, strings)
      const normal = normaliser.record(recorder, scratch, wire)
      recorder.submit()
      await checkOrder(device, sort, normal, host.order)
      await warmUp(device, primitives)
      const { walls, kernels } = await timeSort(bench, sort, normal, count, REPEATS[effort])
      const wall = median(walls)
      scratch.release()
      for (const buffer of [wire.offsets, wire.bytes]) buffer.destroy()
      const figures = {
        bytes: length,
        'host ms': host.ms,
        ...spreadOf('wall ms', walls),
        ...(kernels.length === 0 ? { 'kernels ms': 'no timestamps' } : spreadOf('kernels ms', kernels)),
        'M strings/s': count / wall / 1e3,
        'times as fast': host.ms / wall,
      }
      rows.push({ name: `Figure 15, ${kind}, ${length} on average, ${count}`, figures })
    }
  }
  return rows
}

/** Strings as on the wire, and as the host compares them. */
interface Strings extends KeyBlob {
  readonly texts: readonly string[]
}

/** Strings of letters behind a prefix, which have between 1 and twice the average length of letters. */
function randomStrings(count: number, average: number, prefix: string): Strings {
  const offsets = new Uint32Array(count + 1)
  for (let i = 0; i < count; i++) {
    offsets[i + 1] = offsets[i]! + prefix.length + 1 + (scattered(i ^ 0x2545f491) % (2 * average - 1))
  }
  const bytes = Buffer.alloc(offsets[count]!)
  const texts = Array.from({ length: count }, (_, i) => {
    const [start, end] = [offsets[i]!, offsets[i + 1]!]
    bytes.write(prefix, start, 'latin1')
    for (let at = start + prefix.length; at < end; at++) bytes[at] = 97 + (scattered(at) % 26)
    return bytes.toString('latin1', start, end)
  })
  return { offsets, bytes, texts }
}

/** The stable order of strings by the host's own sort, and the least time that it took. */
function hostOrder({ texts }: Strings): { readonly order: Uint32Array; readonly ms: number } {
  let order = new Uint32Array(0)
  let ms = Number.POSITIVE_INFINITY
  for (let repeat = texts.length > FEW ? 1 : 0; repeat < 2; repeat++) {
    const begin = performance.now()
    order = Uint32Array.from(texts.keys()).sort((a, b) => {
      const [first, second] = [texts[a]!, texts[b]!]
      return first < second ? -1 : first > second ? 1 : a - b
    })
    ms = Math.min(ms, performance.now() - begin)
  }
  return { order, ms }
}

async function uploadStrings(device: Device, { offsets, bytes }: KeyBlob): Promise<WireKeys> {
  const columns = {
    offsets: await device.allocate(offsets.byteLength, 'offsets'),
    bytes: await device.allocate(Math.ceil(bytes.byteLength / 4) * 4, 'strings'),
  }
  device.upload(columns.offsets, asBytes(offsets))
  device.upload(columns.bytes, bytes)
  return { ...columns, count: offsets.length - 1, byteLength: bytes.byteLength }
}

async function checkOrder(
  device: Device,
  sort: RecordSort,
  normal: NormalKeys,
  wanted: Uint32Array,
): Promise<void> {
  const scratch = device.scratch()
  const order = await sort.sort(device.record(), scratch, normal, wanted.length)
  isExactly('order of strings', wanted)(await device.readWords(order, wanted.length))
  scratch.release()
}

/** Milliseconds of each run of a sort: with its round trips, and of its kernels alone where the device has timestamps. */
async function timeSort(
  { device, primitives }: PrimitiveBench,
  sort: RecordSort,
  normal: NormalKeys,
  count: number,
  repeats: number,
): Promise<{ readonly walls: readonly number[]; readonly kernels: readonly number[] }> {
  const once = async () => {
    const scratch = device.scratch()
    const begin = performance.now()
    await sort.sort(device.record(), scratch, normal, count)
    const taken = performance.now() - begin
    scratch.release()
    return taken
  }
  const walls: number[] = []
  // The first one warms up.
  for (let repeat = -1; repeat < repeats; repeat++) {
    await keepWarm(device, primitives)
    const taken = await once()
    if (repeat >= 0) walls.push(taken)
  }
  const kernels: number[] = []
  for (let repeat = 0; repeat < repeats; repeat++) {
    await keepWarm(device, primitives)
    const byKernel = await profiled(device, async () => void (await once()))
    if (byKernel === undefined) break
    kernels.push(byKernel.reduce((sum, { microseconds }) => sum + microseconds, 0) / 1e3)
  }
  device.check()
  return { walls, kernels }
}
