import type { Recorder } from '../../gpu/device/recorder.js'
import type { Scratch } from '../../gpu/memory/scratch.js'
import { CTA_JOINS, type CtaJoin, joinShape } from '../../gpu/relational/algebra/join-kernels.js'
import { tupleBytes } from '../../gpu/relational/algebra/tuples.js'
import {
  ascendingKeys,
  type HostPair,
  type HostTuples,
  halfMatchingPair,
  numbersWhere,
  pick,
  uploadTuples,
} from './host-tuples.js'
import { type Bench, denseStep, type Step } from './operators.js'

/** JOIN of relations of which half of the keys match, and of one with itself, where all do; into columns and into pages. */
export async function* joinSteps(bench: Bench): AsyncGenerator<Step> {
  for (const withPayloads of [false, true]) {
    const half = halfMatchingPair(bench.count, withPayloads)
    const kind = withPayloads ? 'u32 + u32' : 'u32'
    yield await joinStep(bench, `JOIN, half match, ${kind}`, half)
    yield await pagesStep(bench, `JOIN into pages, half match, ${kind}`, half)
    const every = numbersWhere(bench.count, () => true)
    const aligned = { first: half.first, second: half.first, matched: { first: every, second: every } }
    yield await joinStep(bench, `JOIN, all match, ${kind}`, aligned)
    yield await pagesStep(bench, `JOIN into pages, all match, ${kind}`, aligned)
  }
  yield* repeatedKeySteps(bench)
}

/** Tuples that share a key. */
const REPEATS = 4

/** JOIN of a relation each key of which comes several times with one that has each key once, in both orders; of keys alone. */
async function* repeatedKeySteps(bench: Bench): AsyncGenerator<Step> {
  const every = numbersWhere(bench.count, () => true)
  const places = every.map((i) => Math.floor(i / REPEATS))
  const once: HostTuples = { keys: ascendingKeys(Math.ceil(bench.count / REPEATS)), payloads: [] }
  const repeated = pick(once, places)
  const inFirst = { first: repeated, second: once, matched: { first: every, second: places } }
  const inSecond = { first: once, second: repeated, matched: { first: places, second: every } }
  yield await joinStep(bench, `JOIN, each key ${REPEATS} times in the first, u32`, inFirst)
  yield await joinStep(bench, `JOIN, each key ${REPEATS} times in the second, u32`, inSecond)
}

/** JOIN by each way in which a workgroup may join two ranges (Diamos Table 3). */
export async function* ctaJoinSteps(bench: Bench): AsyncGenerator<Step> {
  const pair = halfMatchingPair(bench.count, true)
  for (const ctaJoin of CTA_JOINS) yield await joinStep(bench, `JOIN by ${ctaJoin}, u32 + u32`, pair, ctaJoin)
}

async function joinStep(bench: Bench, name: string, pair: HostPair, ctaJoin?: CtaJoin): Promise<Step> {
  const { device, algebra } = bench
  const { first, second, wanted, bytes } = inputsOf(bench, pair)
  const join = await algebra.join(first.shape, second.shape, ctaJoin)
  // How many results there are is known here, so that nothing has to be read back in between.
  const window = { start: 0, rows: wanted.keys.length, parts: 1 }
  return denseStep(
    device,
    { name, tuples: bench.count, bytes },
    (recorder, scratch) =>
      join.recordWrite(recorder, scratch, join.recordCount(recorder, scratch, first, second), window),
    wanted,
  )
}

async function pagesStep(bench: Bench, name: string, pair: HostPair): Promise<Step> {
  const { device, algebra } = bench
  const { first, second, wanted, bytes } = inputsOf(bench, pair)
  const join = await algebra.joinIntoPages(first.shape, second.shape)
  const lists = await algebra.pageLists(joinShape(first.shape, second.shape))
  const { check } = denseStep(
    device,
    { name, tuples: bench.count, bytes },
    (recorder, scratch) =>
      lists.recordToDense(recorder, scratch, join.record(recorder, scratch, first, second)),
    wanted,
  )
  const record = (recorder: Recorder, scratch: Scratch) => void join.record(recorder, scratch, first, second)
  return { name, tuples: bench.count, bytes, record, check }
}

function inputsOf({ device, inputs }: Bench, pair: HostPair) {
  const first = uploadTuples(device, inputs, pair.first)
  const second = uploadTuples(device, inputs, pair.second)
  const wanted = joined(pair)
  const result = tupleBytes(joinShape(first.shape, second.shape)) * wanted.keys.length
  return {
    first,
    second,
    wanted,
    bytes: first.rows * tupleBytes(first.shape) + second.rows * tupleBytes(second.shape) + result,
  }
}

function joined({ first, second, matched }: HostPair): HostTuples {
  const { keys, payloads } = pick(first, matched.first)
  return { keys, payloads: [...pick(second, matched.second).payloads, ...payloads] }
}
