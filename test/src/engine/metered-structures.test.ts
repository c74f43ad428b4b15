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
  const structure = { read: recording('read'), prepare: recording('prepare') } as unknown as IndexStructure
  let computed = 0
  const meter = { ...NO_ENGINE_METER, computed: () => computed++ }
  const factory = { create: async () => structure, restore: async () => structure }
  const shape = {} as IndexStructure['shape']
  const metered = await meteredStructures(factory, meter).create({} as never, shape)
  const keys = { bytes: new Uint8Array(4), offsets: new Uint32Array(2) }
  const get = { op: 'get', traversal: { strategy: 'sequential' }, memory: OWN_MEMORY } as const
  t.equal(await metered.read(get, { keys }), answer)
  const scan = { op: 'scan', ranges: 1, limit: 5, memory: OWN_MEMORY } as const
  await metered.read(scan, { from: keys })
  await metered.read({ op: 'explain' }, { keys })
  const batch = { ops: 0, keys: keys.bytes, goesOn: true } as const
  await metered.prepare(batch)
  t.same(calls, [
    ['read', get, { keys }],
    ['read', scan, { from: keys }],
    ['read', { op: 'explain' }, { keys }],
    ['prepare', batch],
  ])
  t.equal(computed, 3, 'an explanation is no work')
})
