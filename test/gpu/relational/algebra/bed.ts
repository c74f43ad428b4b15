import root, { type Test } from 'tap'
import type { Device } from '../../../../gpu/device/device.js'
import type { Recorder } from '../../../../gpu/device/recorder.js'
import type { Scratch } from '../../../../gpu/memory/scratch.js'
import type { Strategy } from '../../../../gpu/primitives/primitives.js'
import { Primitives } from '../../../../gpu/primitives/primitives.js'
import { suitsSubgroups } from '../../../../gpu/primitives/strategy.js'
import { Algebra } from '../../../../gpu/relational/algebra/algebra.js'
import type { Tuples } from '../../../../gpu/relational/algebra/tuples.js'
import type { ColumnShape } from '../../../../gpu/relational/columns.js'
import { openDevice } from '../../open-device.js'
import { same } from '../../primitives/bed.js'
import { type KeyKind, makeColumns, sortedColumns } from '../../primitives/columns.js'
import { byTuple, type Tuple, toColumns, toTuples } from './model.js'

export const U32: ColumnShape = { keyWords: 1, payloadWords: 0 }
export const U32_U32: ColumnShape = { keyWords: 1, payloadWords: 1 }
export const U64_U64: ColumnShape = { keyWords: 2, payloadWords: 2 }

/** What operators are recorded with. */
export interface Bed {
  readonly device: Device
  readonly algebra: Algebra
  readonly recorder: Recorder
  readonly scratch: Scratch
  put(words: Uint32Array): GPUBuffer
  /** Sorted tuples on the device; with `live` the device has their number and there are others behind them. */
  upload(
    tuples: readonly Tuple[],
    shape: ColumnShape,
    options?: { order?: Tuples['order']; live?: boolean },
  ): Tuples
}

/** Records an operator, submits it and reads its result. */
export type Run = (record: (bed: Bed) => Promise<Tuples>) => Promise<Tuple[]>

/** What a test of one form makes its own parts with. */
export interface Form {
  readonly primitives: Primitives
  readonly strategy: Strategy
  readonly algebra: Algebra
}

let opened: Promise<{ device: Device; primitives: Primitives }> | undefined

async function open(): Promise<{ device: Device; primitives: Primitives }> {
  const device = await openDevice(root)
  return { device, primitives: await Primitives.create(device) }
}

/** Runs a test with the kernels for GPUs, with and without subgroups, and with those for CPUs, or only with the latter where they are the same. */
export async function withBothForms(
  t: Test,
  body: (t: Test, run: Run, device: Device, form: Form) => Promise<void>,
  strategies: readonly Strategy[] = ['subgroups', 'cooperative', 'serial'],
): Promise<void> {
  opened ??= open()
  const { device, primitives } = await opened
  for (const strategy of strategies) {
    if (strategy === 'subgroups' && !suitsSubgroups(device)) continue
    const algebra = await Algebra.create(device, primitives, { strategy })
    await t.test(strategy, (t) =>
      body(t, (record) => run(device, algebra, record), device, { primitives, strategy, algebra }),
    )
  }
}

async function run(
  device: Device,
  algebra: Algebra,
  record: (bed: Bed) => Promise<Tuples>,
): Promise<Tuple[]> {
  const scratch = device.scratch()
  const recorder = device.record()
  try {
    const put = (words: Uint32Array) => {
      const buffer = scratch.words(Math.max(1, words.length))
      device.upload(buffer, new Uint8Array(words.buffer, words.byteOffset, words.byteLength))
      return buffer
    }
    const upload: Bed['upload'] = (tuples, shape, options) => uploadTuples(put, tuples, shape, options)
    const result = await record({ device, algebra, recorder, scratch, put, upload })
    return await readTuples(device, recorder, result)
  } finally {
    scratch.release()
  }
}

function uploadTuples(
  put: Bed['put'],
  tuples: readonly Tuple[],
  shape: ColumnShape,
  { order = 'key', live = false }: { order?: Tuples['order']; live?: boolean } = {},
): Tuples {
  const behind = Array.from({ length: live ? 700 : 0 }, (_, i) => ({ key: BigInt(i), payload: 1n }))
  const { keys, payloads } = toColumns([...tuples, ...behind], shape)
  return {
    shape,
    columns: { keys: put(keys), payloads: shape.payloadWords > 0 ? put(payloads) : undefined },
    rows: tuples.length + behind.length,
    order,
    ...(live ? { count: { buffer: put(Uint32Array.of(0, tuples.length)), index: 1 } } : {}),
  }
}

async function readTuples(device: Device, recorder: Recorder, tuples: Tuples): Promise<Tuple[]> {
  const { shape, columns, rows, count } = tuples
  const none = { buffer: columns.keys, bytes: 0 }
  const [keys, payloads, counted] = await device.submitAndRead(recorder, [
    { buffer: columns.keys, bytes: rows * shape.keyWords * 4 },
    columns.payloads === undefined
      ? none
      : { buffer: columns.payloads, bytes: rows * shape.payloadWords * 4 },
    count === undefined ? none : { buffer: count.buffer, bytes: 4, offset: count.index * 4 },
  ])
  const words = (bytes: Uint8Array) => new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
  const found = toTuples({ keys: words(keys!), payloads: words(payloads!) }, shape)
  return found.slice(0, count === undefined ? rows : words(counted!)[0])
}

/** Throws if the tuples differ. */
export function sameTuples(found: readonly Tuple[], wanted: readonly Tuple[], shape: ColumnShape): void {
  const [a, b] = [toColumns(found, shape), toColumns(wanted, shape)]
  same(a.keys, b.keys)
  same(a.payloads, b.payloads)
}

/** Sorted tuples of a kind of keys. */
export function makeTuples(kind: KeyKind, seed: number, count: number, shape: ColumnShape): Tuple[] {
  return toTuples(sortedColumns(makeColumns(kind, seed, count, shape), shape), shape)
}

/** The same in the order of all their words, from few values, so that some come several times. */
export function makeSimilarTuples(seed: number, count: number, range: number, shape: ColumnShape): Tuple[] {
  return toTuples(makeColumns('random', seed, count, shape), shape)
    .map(({ key, payload }) => ({
      key: key % BigInt(range),
      payload: payload % (shape.payloadWords > 0 ? 3n : 1n),
    }))
    .sort(byTuple)
}

export function withOneForm(t: Test, body: Parameters<typeof withBothForms>[1]): Promise<void> {
  return withBothForms(t, body, ['serial'])
}
