import t from 'tap'
import type { IndexStructure } from '../../../gpu/index-structure.js'
import { OWN_MEMORY } from '../../../gpu/memory/result-memory.js'
import { meteredStructures } from '../../../src/engine/metered-structures.js'
import { NO_ENGINE_METER } from '../../../src/observe/meter.js'

t.test('a metered structure hands on everything that it is given', async (t) => {
  const calls: unknown[][] = []
  const answer = { found: new Uint8Array(1), payloads: new Uint8Array(4) }
  const recording =
    (name: string) =>
    async (...given: unknown[]) => {
      calls.push([name, ...given])
      return answer
    }
  const reads = ['get', 'getAll', 'count', 'scan', 'getNext', 'explain', 'prepare'] as const
  const structure = Object.fromEntries(
    reads.map((name) => [name, recording(name)]),
  ) as unknown as IndexStructure
  let computed = 0
  const meter = { ...NO_ENGINE_METER, computed: () => computed++ }
  const factory = { create: async () => structure, restore: async () => structure }
  const shape = {} as IndexStructure['shape']
  const metered = await meteredStructures(factory, meter).create({} as never, shape)
  const keys = new Uint8Array(4)
  const offsets = new Uint32Array(2)
  t.equal(await metered.get(keys, offsets, { strategy: 'sequential' }, OWN_MEMORY), answer)
  await metered.getAll(keys, 7, offsets)
  await metered.count(keys, offsets)
  await metered.scan({ ranges: 1, limit: 5, memory: OWN_MEMORY })
  await metered.getNext({ keys })
  await metered.explain(keys, offsets, { strategy: 'sequential' })
  await metered.prepare({ ops: 0, keys, goesOn: true })
  t.same(calls, [
    ['get', keys, offsets, { strategy: 'sequential' }, OWN_MEMORY],
    ['getAll', keys, 7, offsets],
    ['count', keys, offsets],
    ['scan', { ranges: 1, limit: 5, memory: OWN_MEMORY }],
    ['getNext', { keys }],
    ['explain', keys, offsets, { strategy: 'sequential' }],
    ['prepare', { ops: 0, keys, goesOn: true }],
  ])
  t.equal(computed, 6, 'an explanation is no work')
})
