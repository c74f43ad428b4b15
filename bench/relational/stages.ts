import type { Device } from '../../gpu/device/device.js'
import type { Scratch } from '../../gpu/memory/scratch.js'
import type { Primitives } from '../../gpu/primitives/primitives.js'
import { BlockStreaming } from '../../gpu/relational/algebra/block-streaming.js'
import { PAIR_WORDS, RecursivePartition } from '../../gpu/relational/algebra/recursive-partition.js'
import { scattered } from '../keys.js'
import type { Row } from '../report.js'
import { kernelTime } from '../speculation/kernel-time.js'
import type { Effort } from '../speculation/subject.js'
import { warmUp } from '../warm-up.js'
import type { CopyRates } from './copy-rates.js'
import { uploadTuples } from './host-tuples.js'

/** Parts on each level: the paper has 14,336, one for each workgroup and two levels within it. */
const FANS = { hardware: [56, 16, 16], software: [8, 8] }

/** Keys of a distribution from two numbers between 0 and 1. */
const DISTRIBUTIONS: Readonly<Record<string, (u: number, v: number) => number>> = {
  uniform: (u) => u * 2 ** 32,
  normal: (u, v) => 2 ** 31 + 2 ** 28 * Math.sqrt(-2 * Math.log(1 - u)) * Math.cos(2 * Math.PI * v),
  'Pareto, shape 1': (u) => 1024 / (1 - u),
  'Pareto, shape 3': (u) => 2 ** 24 * (1 / (1 - u) ** (1 / 3) - 1),
}

/**
 * The first two stages of Diamos §5.1 by themselves: recursive partitioning (Figures 10 to 14: how long the pairs get, what is
 * discarded, how long it takes) and the streaming of blocks (Figures 15 and 16).
 */
export async function benchStages(
  device: Device,
  primitives: Primitives,
  copies: CopyRates,
  effort: Effort,
  logarithm: number,
): Promise<Row[]> {
  const partition = await RecursivePartition.create(device, 1)
  const streaming = await BlockStreaming.create(device)
  const fans = device.facts.software ? FANS.software : FANS.hardware
  const number = fans.reduce((product, fan) => product * fan)
  const [divisions, streams]: [Row[], Row[]] = [[], []]
  const count = 2 ** logarithm
  for (const [name, draw] of Object.entries(DISTRIBUTIONS)) {
    const inputs = device.scratch()
    const [first, second] = [1, 2].map((seed) =>
      uploadTuples(device, inputs, { keys: sortedKeys(draw, seed, count), payloads: [] }),
    ) as [ReturnType<typeof uploadTuples>, ReturnType<typeof uploadTuples>]
    const recorder = device.record()
    const pairs = partition.record(recorder, inputs, first, second, fans)
    recorder.submit()
    const results = inputs.words(2 * number)
    await warmUp(device, primitives)
    const divided = await kernelTime(
      device,
      effort,
      (r, s: Scratch) => void partition.record(r, s, first, second, fans),
    )
    const lengths = pairLengths(await device.readWords(pairs, PAIR_WORDS * number))
    divisions.push({
      name: `partition, ${name}, 2^${logarithm}`,
      figures: {
        µs: divided.microseconds,
        ...spread(lengths.filter((length) => length > 0)),
        'discarded %': 100 * (1 - lengths.reduce((sum, length) => sum + length, 0) / (2 * count)),
      },
    })
    await warmUp(device, primitives)
    const streamed = await kernelTime(device, effort, (r) =>
      streaming.record(r, first, second, pairs, number, results),
    )
    const words = await device.readWords(results, 2 * number)
    const discarded = words.reduce((sum, word, i) => (i % 2 === 0 ? sum + word : sum), 0)
    const bytes = 4 * lengths.reduce((sum, length) => sum + length, 0)
    const rate = bytes / streamed.microseconds / 1e3
    streams.push({
      name: `stream blocks, ${name}, 2^${logarithm}`,
      figures: {
        µs: streamed.microseconds,
        'GB/s': rate,
        '% of copy': (100 * rate) / (await copies.rate(Math.max(bytes, 64))),
        'discarded %': (100 * discarded) / (2 * count),
      },
    })
    inputs.release()
  }
  return [...divisions, ...streams]
}

function sortedKeys(draw: (u: number, v: number) => number, seed: number, count: number): Uint32Array {
  const keys = new Uint32Array(count)
  for (let i = 0; i < count; i++) {
    const [u, v] = [scattered(2 * i + seed * 0x1234567), scattered(2 * i + 1 + seed * 0x1234567)]
    keys[i] = Math.min(2 ** 32 - 1, Math.max(0, Math.floor(draw(u / 2 ** 32, v / 2 ** 32))))
  }
  return keys.sort()
}

/** Tuples of both relations in each pair. */
function pairLengths(pairs: Uint32Array): number[] {
  return Array.from({ length: pairs.length / PAIR_WORDS }, (_, i) => {
    const at = PAIR_WORDS * i
    return pairs[at + 1]! - pairs[at]! + pairs[at + 3]! - pairs[at + 2]!
  })
}

function spread(lengths: readonly number[]): Row['figures'] {
  const mean = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length)
  const variance =
    lengths.reduce((sum, length) => sum + (length - mean) ** 2, 0) / Math.max(1, lengths.length)
  return {
    pairs: lengths.length,
    mean,
    least: lengths.reduce((least, length) => Math.min(least, length), Number.POSITIVE_INFINITY),
    most: lengths.reduce((most, length) => Math.max(most, length), 0),
    'deviation %': (100 * Math.sqrt(variance)) / mean,
  }
}
