import { asBytes } from '../../../protocol/columns.js'
import { type Row, spreadOf } from '../../report.js'
import { type CheckedWork, checkedTimes, isExactly, type PrimitiveBench } from '../he/primitive-bench.js'
import { halfMatchingPair } from './host-tuples.js'
import {
  BLOCKINGS,
  fits,
  type JoinShape,
  REPEATED_JOINS,
  RepeatedJoin,
  type RepeatedJoinAlgorithm,
  resultsOf,
  THREADS,
} from './repeated-join.js'

/** A workgroup alone, for what one join takes, and as many as keep the whole device busy. */
const LOADS = {
  hardware: { alone: { groups: 1, rounds: 256 }, all: { groups: 4096, rounds: 16 } },
  software: { alone: { groups: 1, rounds: 4 }, all: { groups: 4, rounds: 1 } },
}

type Bench = Pick<PrimitiveBench, 'device' | 'primitives' | 'quick'>

/** A kernel under a load, and what it found in a round. */
interface Measurement {
  readonly work: CheckedWork
  readonly joins: number
  readonly outputs: number
}

/**
 * Diamos' Table 3 as the paper's microbenchmark, and the sweep behind it: each CTA join of two ranges in workgroup memory, half of whose keys match, by workgroups
 * of several sizes and several tuples an invocation; finding matches alone, and with the prefix sum over them. The paper's own rows are of 512
 * threads, with 1 tuple (binary search), 2 (brute force) or 4 (the others).
 * @param mostInputs tuples of a range
 */
export async function benchTable3(bench: Bench, mostInputs: number): Promise<Row[]> {
  const rows: Row[] = []
  for (const threads of THREADS) {
    for (const blocking of BLOCKINGS) {
      const shape = { threads, blocking }
      if (threads * blocking <= mostInputs && fits(bench.device, shape))
        rows.push(...(await rowsOf(bench, shape)))
    }
  }
  return rows
}

/** All algorithms, which take turns. */
async function rowsOf(bench: Bench, shape: JoinShape): Promise<Row[]> {
  const { device } = bench
  const inputs = shape.threads * shape.blocking
  const pair = halfMatchingPair(inputs, false)
  const sides = [pair.first[0]!, pair.second[0]!] as const
  const { alone, all } = LOADS[device.facts.software ? 'software' : 'hardware']
  return device.withScratch(async (scratch) => {
    const keys = [scratch.words(inputs), scratch.words(inputs)] as const
    for (const [i, side] of sides.entries()) device.upload(keys[i]!, asBytes(side))
    const digests = scratch.words(all.groups)
    const measurementOf = (
      algorithm: RepeatedJoinAlgorithm,
      prefixSum: boolean,
      { groups, rounds }: (typeof LOADS)['hardware']['alone'],
    ): Measurement => {
      const name = `${algorithm}, ${shape.threads} × ${shape.blocking}`
      const join = new RepeatedJoin(device, algorithm, shape, prefixSum)
      const { outputs, digest } = resultsOf(...sides, shape, prefixSum)
      const record: CheckedWork['record'] = (recorder) => {
        join.record(recorder, keys, digests, groups, rounds)
        return digests
      }
      const wanted = new Uint32Array(groups).fill(Math.imul(rounds, digest))
      const check = isExactly(name, wanted)
      return {
        work: { name, record, check, words: groups, output: digests },
        joins: groups * rounds,
        outputs,
      }
    }
    const measurements = REPEATED_JOINS.flatMap((algorithm) => [
      measurementOf(algorithm, false, alone),
      measurementOf(algorithm, true, alone),
      measurementOf(algorithm, true, all),
    ])
    const taken = await checkedTimes(
      bench,
      measurements.map(({ work }) => work),
    )
    /** Nanoseconds of a join. */
    const times = measurements.map(({ joins }, i) =>
      taken[i]!.map((microseconds) => (1e3 * microseconds) / joins),
    )
    return REPEATED_JOINS.map((algorithm, i) => {
      const [matching, whole, busy] = [times[3 * i]!, times[3 * i + 1]!, times[3 * i + 2]!]
      const { outputs } = measurements[3 * i]!
      const each = (ns: readonly number[]) => ns.map((one) => one / outputs)
      const figures = {
        inputs,
        outputs,
        ...spreadOf('matching, ns a result', each(matching)),
        ...spreadOf('with prefix sum, ns a result', each(whole)),
        ...spreadOf('device busy, ns a result', each(busy)),
      }
      return { name: `Table 3, ${algorithm}, ${shape.threads} × ${shape.blocking}`, figures }
    })
  })
}
