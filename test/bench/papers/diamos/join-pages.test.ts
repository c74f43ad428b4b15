import t from 'tap'
import { JoinPages, type PageOptions, readPages } from '../../../../bench/papers/diamos/join-pages.js'
import { ONE_STRATEGY, type Run, same, withEachStrategy } from '../../../gpu/primitives/bed.js'
import { type HostTuples, joined, pairsOfTuples, upload } from './model.js'

async function inPages(
  run: Run,
  first: HostTuples,
  second: HostTuples,
  options: PageOptions,
): Promise<HostTuples> {
  let found: HostTuples | undefined
  await run(async (bed) => {
    const { device, scratch } = bed
    const recorder = device.record()
    const join = new JoinPages(device, 'network')
    const list = join.record(recorder, scratch, upload(bed, first), upload(bed, second), options)
    recorder.submit()
    found = await readPages(device, list)
    return []
  })
  return found!
}

t.test('JOIN into pages, which may be too few', (t) =>
  withEachStrategy(
    t,
    async (t, run) => {
      for (const [first, second] of pairsOfTuples()) {
        const wanted = joined(first, second)
        const rows = wanted.keys.length
        for (const pageRows of [64, 100]) {
          // A page of each workgroup, one for each tile here, may have room left.
          const pages =
            Math.ceil(rows / pageRows) + Math.ceil((first.keys.length + second.keys.length) / 2048)
          const found = await inPages(run, first, second, { pageRows, pages })
          same(found.keys, wanted.keys)
          same(found.payloads, wanted.payloads)
        }
        if (rows <= 64) continue
        await t.rejects(inPages(run, first, second, { pageRows: 64, pages: 1 }), {
          message: /pages were taken of 1/,
        })
      }
    },
    ONE_STRATEGY,
  ),
)
