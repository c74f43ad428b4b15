import type { SortedTuples } from '../../../../bench/papers/diamos/cut.js'
import { type Bed, randomWords } from '../../../gpu/primitives/bed.js'

/** Sorted keys with a payload each, which is the number of the tuple. */
export interface HostTuples {
  readonly keys: Uint32Array
  readonly payloads: Uint32Array
}

export function tuplesOf(keys: Uint32Array): HostTuples {
  return { keys: keys.slice().sort(), payloads: Uint32Array.from(keys, (_, i) => i) }
}

/** As many tuples with random keys below `range`. */
export function randomTuples(seed: number, count: number, range: number): HostTuples {
  return tuplesOf(randomWords(seed, count).map((word) => word % range))
}

export function upload({ upload }: Bed, { keys, payloads }: HostTuples): SortedTuples {
  return { keys: upload(keys), payloads: upload(payloads), count: keys.length }
}

/** Pairs of tuples with equal keys: the key, and the second's payload before the first's. */
export function joined(first: HostTuples, second: HostTuples): HostTuples {
  const matches = new Map<number, number[]>()
  for (const [i, key] of second.keys.entries()) {
    const found = matches.get(key)
    if (found === undefined) matches.set(key, [second.payloads[i]!])
    else found.push(second.payloads[i]!)
  }
  const keys: number[] = []
  const payloads: number[] = []
  for (const [i, key] of first.keys.entries()) {
    for (const payload of matches.get(key) ?? []) {
      keys.push(key)
      payloads.push(payload, first.payloads[i]!)
    }
  }
  return { keys: Uint32Array.from(keys), payloads: Uint32Array.from(payloads) }
}

/** Pairs of relations that the join has trouble with. */
export function pairsOfTuples(): (readonly [HostTuples, HostTuples])[] {
  const even = tuplesOf(Uint32Array.from({ length: 3000 }, (_, i) => 2 * i))
  const odd = tuplesOf(even.keys.map((key) => key + 1))
  const some = tuplesOf(even.keys.slice(0, 5))
  const none = tuplesOf(new Uint32Array())
  const run = (count: number) => tuplesOf(Uint32Array.from([4, ...new Array<number>(count).fill(5), 6]))
  return [
    [none, none],
    [none, even],
    [even, none],
    [even, odd],
    [even, even],
    [some, even],
    [even, some],
    // Longer than a tile.
    [run(3), run(5000)],
    [run(5000), run(3)],
    [randomTuples(1, 80, 4), randomTuples(2, 120, 4)],
    [randomTuples(3, 6000, 5000), randomTuples(4, 5000, 5000)],
    [randomTuples(5, 100, 2 ** 32), randomTuples(6, 9000, 2 ** 32)],
  ]
}
