import fc from 'fast-check'
import t from 'tap'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import { anyLength, anySeed, check, ONE_STRATEGY, randomWords, same, withEachStrategy } from './bed.js'

const anyWord = fc.integer({ min: 0, max: 2 ** 32 - 1 })

t.test('affine map, constant column, row of numbers', (t) =>
  withEachStrategy(
    t,
    (t, run) =>
      check(
        t,
        fc.record({ count: anyLength, seed: anySeed, multiplier: anyWord, addend: anyWord }),
        async ({ count, seed, multiplier, addend }) => {
          const words = randomWords(seed, count)
          const [mapped, filled, numbers] = await run(({ primitives, recorder, upload }) => {
            const outputs = [1, 2, 3].map(() => upload(new Uint32Array(count + 1))) as [
              DeviceMemory,
              DeviceMemory,
              DeviceMemory,
            ]
            primitives.map(recorder, upload(words), outputs[0], count, { multiplier, addend })
            primitives.fill(recorder, outputs[1], count, addend)
            primitives.iota(recorder, outputs[2], count, addend)
            return outputs.map((buffer) => [buffer, count + 1] as const)
          })
          const affine = words.map((word) => Math.imul(word, multiplier) + addend)
          same(mapped!, [...affine, 0])
          same(filled!, [...affine.fill(addend), 0])
          same(numbers!, [...affine.map((_, i) => addend + i), 0])
        },
        20,
      ),
    ONE_STRATEGY,
  ),
)
