import type { Device } from '../../gpu/device/device.js'
import type { Recorder } from '../../gpu/device/recorder.js'
import type { Scratch } from '../../gpu/memory/scratch.js'
import type { Algebra } from '../../gpu/relational/algebra/algebra.js'
import { layOut } from '../../gpu/relational/algebra/attributes.js'
import { planProjection } from '../../gpu/relational/algebra/project.js'
import type { SetOperation } from '../../gpu/relational/algebra/set-operators.js'
import type { Tuples } from '../../gpu/relational/algebra/tuples.js'
import {
  ascendingKeys,
  checkTuples,
  type HostPair,
  type HostTuples,
  halfMatchingPair,
  numbersWhere,
  pick,
  uploadTuples,
} from './host-tuples.js'

/** An operator over relations that lie on the device. */
export interface Step {
  readonly name: string
  /** Bytes of all tuples that go in and come out, each counted once. */
  readonly bytes: number
  /** Tuples of one input; of PRODUCT, which has small ones, of the result. */
  readonly tuples: number
  readonly record: (recorder: Recorder, scratch: Scratch) => void
  /** Throws if the result is not what a plain loop gives. */
  readonly check: () => Promise<void>
}

/** A step whose result lies densely. */
export function denseStep(
  device: Device,
  step: Omit<Step, 'check' | 'record'>,
  record: (recorder: Recorder, scratch: Scratch) => Tuples,
  wanted: HostTuples,
): Step {
  const check = async () => {
    const scratch = device.scratch()
    const recorder = device.record()
    const found = record(recorder, scratch)
    recorder.submit()
    await checkTuples(device, step.name, found, wanted)
    scratch.release()
  }
  return { ...step, record, check }
}

/** What steps are made with. */
export interface Bench {
  readonly device: Device
  readonly algebra: Algebra
  /** Holds the inputs. */
  readonly inputs: Scratch
  /** Tuples of a relation. */
  readonly count: number
}

const BYTES = { true: 8, false: 4 } as const
const SHARES = [10, 50, 90]

/** All operators on relations of `count` tuples (Diamos Figure 9). */
export async function* operatorSteps(bench: Bench): AsyncGenerator<Step> {
  yield* unarySteps(bench)
  yield* productSteps(bench)
  for (const withPayloads of [false, true]) {
    const pair = halfMatchingPair(bench.count, withPayloads)
    yield* setSteps(bench, pair, withPayloads)
  }
}

async function* unarySteps({ device, algebra, inputs, count }: Bench): AsyncGenerator<Step> {
  const keys = ascendingKeys(count)
  const payloads = keys.map((key, i) => Math.imul(key ^ i, 0x9e3779b1) >>> 0)
  const fields = 'abcd'.split('').map((name) => ({ name, bits: 8 }))
  for (const withPayloads of [false, true]) {
    const host: HostTuples = { keys, payloads: withPayloads ? [payloads] : [] }
    const tuples = uploadTuples(device, inputs, host)
    const { shape } = tuples
    const kind = withPayloads ? 'u32 + u32' : 'u32'
    const bytes = BYTES[`${withPayloads}`]
    const select = await algebra.select(shape)
    const values = (withPayloads ? ['e', 'f'] : []).map((name) => ({ name, bits: 16 }))
    const layout = layOut(fields, values)
    for (const share of SHARES) {
      // The lowest bits of the keys are as good as random.
      const limit = Math.round((256 * share) / 100)
      const chosen = numbersWhere(count, (i) => (keys[i]! & 255) < limit)
      const name = `SELECT ${share} %, ${kind}`
      yield denseStep(
        device,
        { name, tuples: count, bytes: bytes * (count + chosen.length) },
        (recorder, scratch) =>
          select.record(recorder, scratch, tuples, layout, [
            { attribute: 'd', operator: '<', constant: limit },
          ]),
        pick(host, chosen),
      )
    }
    const projection = {
      key: 'abc'.split('').map((from) => ({ from })),
      values: values.map(({ name }) => ({ from: name })).reverse(),
    }
    const plan = planProjection(layout, projection)
    const project = await algebra.project(shape, plan.to.shape)
    yield denseStep(
      device,
      { name: `PROJECT, ${kind}`, tuples: count, bytes: 2 * bytes * count },
      (recorder, scratch) => project.record(recorder, scratch, tuples, plan),
      {
        keys: keys.map((key) => key >>> 8),
        payloads: host.payloads.map((column) => column.map((word) => (word << 16) | (word >>> 16))),
      },
    )
    if (withPayloads) continue
    const turned = planProjection(layout, { key: 'dcba'.split('').map((from) => ({ from })) })
    yield denseStep(
      device,
      { name: 'PROJECT and sort, u32', tuples: count, bytes: 2 * bytes * count },
      (recorder, scratch) => project.record(recorder, scratch, tuples, turned),
      { keys: keys.map(turnedBytes).sort(), payloads: [] },
    )
  }
}

function turnedBytes(word: number): number {
  return ((word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)) >>> 0
}

async function* productSteps({ device, algebra, inputs, count }: Bench): AsyncGenerator<Step> {
  const firstCount = 2 ** Math.floor(Math.log2(count) / 2)
  const secondCount = count / firstCount
  const [first, second] = [ascendingKeys(firstCount), ascendingKeys(secondCount)]
  const [a, b] = [first, second].map((keys) => uploadTuples(device, inputs, { keys, payloads: [] })) as [
    Tuples,
    Tuples,
  ]
  const product = await algebra.product(a.shape, b.shape)
  yield denseStep(
    device,
    {
      name: 'PRODUCT, u32 × u32',
      tuples: count,
      bytes: 8 * count + 4 * (firstCount + secondCount),
    },
    (recorder, scratch) => product.record(recorder, scratch, a, b),
    {
      keys: Uint32Array.from({ length: count }, (_, i) => first[Math.floor(i / secondCount)]!),
      payloads: [Uint32Array.from({ length: count }, (_, i) => second[i % secondCount]!)],
    },
  )
}

async function* setSteps(
  { device, algebra, inputs, count }: Bench,
  pair: HostPair,
  withPayloads: boolean,
): AsyncGenerator<Step> {
  const [first, second] = [pair.first, pair.second].map((host) => uploadTuples(device, inputs, host)) as [
    Tuples,
    Tuples,
  ]
  const bytes = BYTES[`${withPayloads}`]
  const results: Readonly<Record<SetOperation, () => HostTuples>> = {
    intersect: () => pick(pair.first, pair.matched.first),
    difference: () => pick(pair.first, numbersWithout(pair.matched.first, count)),
    union: () => unionOf(pair),
  }
  for (const operation of ['union', 'intersect', 'difference'] as const) {
    const operator = await algebra.setOperator({ operation, shape: first.shape, by: 'key' })
    const wanted = results[operation]()
    yield denseStep(
      device,
      {
        name: `${operation.toUpperCase()}, ${withPayloads ? 'u32 + u32' : 'u32'}`,
        tuples: count,
        bytes: bytes * (2 * count + wanted.keys.length),
      },
      (recorder, scratch) => operator.record(recorder, scratch, first, second),
      wanted,
    )
  }
}

/** The numbers below `count` that are not among these ascending ones. */
function numbersWithout(numbers: Uint32Array, count: number): Uint32Array {
  let next = 0
  return numbersWhere(count, (i) => {
    if (numbers[next] !== i) return true
    next++
    return false
  })
}

function unionOf({ first, second, matched }: HostPair): HostTuples {
  const [firsts, seconds] = [first.keys.length, second.keys.length]
  const rows = firsts + seconds - matched.first.length
  const keys = new Uint32Array(rows)
  const payloads = first.payloads.map(() => new Uint32Array(rows))
  let place = 0
  const put = (source: HostTuples, i: number) => {
    keys[place] = source.keys[i]!
    payloads.forEach((column, c) => {
      column[place] = source.payloads[c]![i]!
    })
    place++
  }
  let [a, b, m] = [0, 0, 0]
  while (a < firsts || b < seconds) {
    if (b === seconds || (a < firsts && first.keys[a]! <= second.keys[b]!)) {
      put(first, a++)
    } else if (b === matched.second[m]) {
      b++
      m++
    } else {
      put(second, b++)
    }
  }
  return { keys, payloads }
}
