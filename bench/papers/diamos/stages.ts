import type { Scratch } from '../../../gpu/memory/scratch.js'
import { scattered } from '../../keys.js'
import type { Row } from '../../report.js'
import { BlockStreaming } from './block-streaming.js'
import type { SortedKeys } from './cut.js'
import { uploadColumn } from './host-tuples.js'
import { PAIR_WORDS, RecursivePartition } from './recursive-partition.js'
import { besideCopy, type Setting } from './timing.js'

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
export async function benchStages(setting: Setting, logarithm: number): Promise<Row[]> {
  const [divisions, streams]: [Row[], Row[]] = [[], []]
  for (const [name, draw] of Object.entries(DISTRIBUTIONS)) {
    const [first, second] = [1, 2].map((seed) => sortedKeys(draw, seed, 2 ** logarithm))
    const { divided, streamed } = await setting.device.withScratch((inputs) =>
      measureStages(setting, inputs, first!, second!),
    )
    divisions.push({ name: `partition, ${name}, 2^${logarithm}`, figures: divided })
    streams.push({ name: `stream blocks, ${name}, 2^${logarithm}`, figures: streamed })
  }
  return [...divisions, ...streams]
}

async function measureStages(
  setting: Setting,
  inputs: Scratch,
  firstKeys: Uint32Array,
  secondKeys: Uint32Array,
): Promise<Readonly<Record<'divided' | 'streamed', Row['figures']>>> {
  const { device } = setting
  const tuples = firstKeys.length + secondKeys.length
  const [first, second] = [firstKeys, secondKeys].map((keys): SortedKeys => {
    return { keys: uploadColumn(device, inputs, keys), count: keys.length }
  }) as [SortedKeys, SortedKeys]
  const fans = device.facts.software ? FANS.software : FANS.hardware
  const number = fans.reduce((product, fan) => product * fan)
  const partition = new RecursivePartition(device)
  const recorder = device.record()
  const pairs = partition.record(recorder, inputs, first, second, fans)
  recorder.submit()
  const {
    µs,
    'µs, least': least,
    'µs, most': most,
  } = await besideCopy(setting, {
    bytes: 4 * tuples,
    time: (timer) => timer.time((r, scratch) => void partition.record(r, scratch, first, second, fans)),
  })
  const lengths = pairLengths(await device.readWords(pairs, PAIR_WORDS * number))
  const held = lengths.reduce((sum, length) => sum + length, 0)
  const streaming = new BlockStreaming(device)
  const results = inputs.words(2 * number)
  const streamed = await besideCopy(setting, {
    bytes: 4 * held,
    time: (timer) => timer.time((r) => streaming.record(r, first, second, pairs, number, results)),
  })
  const words = await device.readWords(results, 2 * number)
  const discarded = words.reduce((sum, word, i) => (i % 2 === 0 ? sum + word : sum), 0)
  return {
    divided: {
      µs: µs!,
      'µs, least': least!,
      'µs, most': most!,
      ...spread(lengths.filter((length) => length > 0)),
      'discarded %': 100 * (1 - held / tuples),
    },
    streamed: { ...streamed, 'discarded %': (100 * discarded) / tuples },
  }
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
