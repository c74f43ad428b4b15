import t from 'tap'
import { Algebra } from '../../../../gpu/relational/algebra/algebra.js'
import type { CtaJoin } from '../../../../gpu/relational/algebra/join-kernels.js'
import { PAGE_WORDS, type PageList } from '../../../../gpu/relational/algebra/page-list.js'
import {
  type Bed,
  makeSimilarTuples,
  makeTuples,
  sameTuples,
  U32,
  U32_U32,
  U64_U64,
  withBothForms,
  withOneForm,
} from './bed.js'
import { join, type Tuple } from './model.js'

const NONE = 0xffff_ffff

/** Throws unless links lead through the pages in the order of the list, and their tuples are counted. */
async function checkLinks({ device }: Bed, list: PageList, rows: number): Promise<void> {
  const [pages] = await device.readWords(list.pages.buffer, 1, list.pages.index * 4)
  const order = await device.readWords(list.pageOrder, pages!)
  const table = await device.readWords(list.table, PAGE_WORDS * list.capacity)
  let page = pages === 0 ? NONE : order[0]!
  const linked: number[] = []
  let counted = 0
  while (page !== NONE) {
    linked.push(page)
    counted += table[PAGE_WORDS * page + 1]!
    page = table[PAGE_WORDS * page]!
  }
  if (linked.join() !== [...order].join()) throw new Error(`links lead to ${linked}, not to ${[...order]}`)
  if (counted !== rows) throw new Error(`pages have ${counted} tuples instead of ${rows}`)
}

interface PagedJoin {
  readonly pageRows: number
  readonly pages?: number
  readonly ctaJoin?: CtaJoin
}

async function joinedTuples(
  bed: Bed,
  [first, second]: readonly [readonly Tuple[], readonly Tuple[]],
  { ctaJoin, ...options }: PagedJoin,
) {
  const { algebra, scratch, upload, recorder } = bed
  const part = await algebra.joinIntoPages(U32_U32, U32_U32, ctaJoin)
  const list = await part.run(scratch, upload(first, U32_U32), upload(second, U32_U32), options)
  await checkLinks(bed, list, join(first, second, 1).length)
  return (await algebra.pageLists(list.shape)).recordToDense(recorder, scratch, list)
}

t.test('JOIN into pages, which may not be enough', (t) =>
  withBothForms(t, async (t, run) => {
    const similar = [
      makeSimilarTuples(5, 6000, 5000, U32_U32),
      makeSimilarTuples(6, 5000, 5000, U32_U32),
    ] as const
    const skewed = [makeTuples('few', 3, 80, U32_U32), makeTuples('mostlyEqual', 4, 120, U32_U32)] as const
    const cases: readonly PagedJoin[] = [
      { pageRows: 64, pages: 1 },
      { pageRows: 100, pages: 40 },
      { pageRows: 4096 },
      ...(t.name === 'serial' ? [] : ([{ pageRows: 64, pages: 3, ctaJoin: 'network' }] as const)),
    ]
    for (const options of cases) {
      for (const pair of [similar, skewed]) {
        const found = await run((bed) => joinedTuples(bed, pair, options))
        sameTuples(found, join(...pair, 1), { keyWords: 1, payloadWords: 2 })
      }
    }
    const none = await run((bed) => joinedTuples(bed, [[], similar[0]], { pageRows: 64 }))
    t.same(none, [])
    const apart = similar[0].map(({ key, payload }) => ({ key: key + 9000n, payload }))
    t.same(await run((bed) => joinedTuples(bed, [similar[1], apart], { pageRows: 64 })), [])
  }),
)

t.test('dense tuples to pages and back', (t) =>
  withOneForm(t, async (_t, run) => {
    for (const [i, shape] of [U32, U32_U32, U64_U64].entries()) {
      for (const count of [0, 1, 99, 100, 101, 1000]) {
        const tuples = makeTuples('random', count + 1, count, shape)
        const found = await run(async (bed) => {
          const { algebra, recorder, scratch, upload } = bed
          const lists = await algebra.pageLists(shape)
          const list = lists.recordFromDense(recorder, scratch, upload(tuples, shape, { live: i === 1 }), 100)
          return lists.recordToDense(recorder, scratch, list)
        })
        sameTuples(found, tuples, shape)
      }
    }
  }),
)

t.test('pages that would take more memory than they may', (t) =>
  withBothForms(t, async (t, run, device, { primitives, strategy }) => {
    const bounded = await Algebra.create(device, primitives, { strategy, mostBytes: 100_000 })
    const tuples = makeTuples('equal', 1, 200, U32)
    await run(async ({ scratch, upload }) => {
      const part = await bounded.joinIntoPages(U32, U32)
      const small = part.run(scratch, upload(tuples, U32), upload(tuples, U32), { pageRows: 64, pages: 2 })
      await t.rejects(small, { code: 'OUT_OF_DEVICE_MEMORY' })
      return upload([], U32)
    })
  }),
)
