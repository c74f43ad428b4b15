import t, { type Test } from 'tap'
import { prefixTrees, type StructureFactory } from '../../../src/engine/structures.js'
import { modelStructures } from '../../model-structure.js'
import { start } from '../../src/server/start.js'
import { type Cli, cliOf } from './run-cli.js'

const directory = t.testdir({ models: {}, trees: {} })

async function open(t: Test, name: string, structures: StructureFactory): Promise<Cli> {
  const server = await start(t, { directory: `${directory}/${name}` }, { structures })
  return cliOf({ WARPDEX_URL: server.url })
}

t.test('layouts, traversals and explanations', async (t) => {
  const cli = await open(t, 'models', modelStructures)
  const done = async (args: string, out: string | RegExp) =>
    t.match(await cli(args.split(' ')), { code: 0, out, err: '' }, args)
  const wrong = async (args: string, err: RegExp) =>
    t.match(await cli(args.split(' ')), { code: 2, out: '', err }, args)

  const create = 'create paths --key string --payload u32 --unique'
  await wrong(`${create} --layout wide`, /warpdex: .*layout.*"wide".*"compact", "full"/)
  await wrong(`${create} --allocation coalesced`, /warpdex: .*needs layout full/)
  await wrong(
    `${create} --partition-levels few`,
    /--partition-levels is "few"; it must be a whole number, auto or none/,
  )
  await wrong(`${create} --partition-levels 65`, /from 1 to 64/)
  await done(`${create} --layout full --allocation coalesced --partition-levels 3 --linked`, 'created\n')
  await wrong(
    create,
    /INDEX_EXISTS: .*unique, full layout, coalesced allocation, partition levels 3, linked;/,
  )
  await done('create plain --key u32 --payload u32', 'created\n')
  const words = 'unique, full layout, coalesced allocation, partition levels 3, linked'
  await done('list', new RegExp(`paths +string +u32 +${words}\\n`))
  await done('list', /plain +u32 +u32 +CSS-tree\n/)
  await done('stats', new RegExp(`paths +string → u32, ${words} `))
  await done('stats paths', /\nlayout +full\nallocation +coalesced\npartition levels +3\nlinked +true\n/)

  await done('put paths a/b 7', 'inserted\n')
  await done('get paths a/b --strategy directed --resolution reversed', 'a/b\t7\n')
  await wrong('get paths a/b --strategy directed --all', /--all takes no --strategy/)
  await wrong('get paths a/b --strategy fast', /"sequential", "speculative"/)
  await wrong('get paths a/b --resolution serial', /a resolution needs a strategy/)

  await done(
    'explain get paths a/b x --strategy hierarchical --resolution serial',
    `strategy    hierarchical
resolution  serial
reason      the request names it
keys        2 of at most 6 digits
partitions  1,004 of 3 levels

strategy     resolution  estimate
sequential               1.3 µs
speculative  reversed    1,234 µs

Results of the partitions for a/b
Sub-Tree  Result
1         4
2         Payload
3         NULL
4         Payload

The same reversed
Sub-Tree  Result  Payload
1         NULL    NULL
2         NULL    payload
3         NULL    NULL
4         1       payload

1,000 more rows were left out, those that are all NULL first.
Partition 4 holds the answer.
`,
  )
  await done(
    'explain get paths x',
    /\n4 +NULL\n[\s\S]*\nNo partition holds the answer: the index does not have/,
  )
  await done(
    'explain get paths --hex 612f62',
    /Results of the partitions for 0x612f62\n[\s\S]*Partition 4 holds/,
  )
  const { out } = await cli(['explain', 'get', 'paths', 'a/b', '--json'])
  t.match(JSON.parse(out), { strategy: 'sequential', batch: 1, tables: { omitted: 1000, answer: 4 } })
  await done(
    'explain get plain 5',
    'strategy    sequential\nresolution  none\nreason      a model has no choice\nkeys        1 of at most 8 digits\npartitions  none\n',
  )
  await wrong('explain', /warpdex: what to explain is missing: get/)
  await wrong('explain scan plain', /warpdex: .*scan/)
  await wrong('explain get plain', /warpdex: /)
  await wrong('explain get plain x', /warpdex: "x"/)
  t.match(await cli(['explain', 'get', '--help']), {
    code: 0,
    out: /explain get <index> <keys\.\.>[\s\S]*Examples:/,
  })
})

t.test('on the device', async (t) => {
  const cli = await open(t, 'trees', prefixTrees)
  t.match(await cli(['create', 'towns', '--key', 'i32', '--payload', 'u32']), { code: 0 })
  t.match(await cli(['put', 'towns', '-5', '50']), { code: 0 })
  const get = ['get', 'towns', '-5', '--strategy']
  t.match(await cli([...get, 'sequential']), { code: 0, out: '-5\t50\n' })
  t.match(await cli([...get, 'directed']), { code: 2, err: /warpdex: the index has no partitions/ })
  t.match(await cli(['explain', 'get', 'towns', '-5']), { code: 0, out: /^strategy +sequential\n/ })
  t.match(await cli(['explain', 'get', 'towns', '--json', '--', '-5']), { code: 0, out: /"batch":1/ })

  t.match(await cli(['create', 'ports', '--key', 'i32', '--payload', 'u32', '--linked']), { code: 0 })
  for (const [key, payload] of [
    ['7', '70'],
    ['-5', '50'],
    ['3', '30'],
  ] as const) {
    t.match(await cli(['put', 'ports', key, payload]), { code: 0 })
  }
  t.match(await cli(['entries', 'ports']), { code: 0, out: '-5\t50\n3\t30\n7\t70\n' })
  t.match(await cli(['entries', 'ports', '--reverse', '--limit', '2']), { code: 0, out: '7\t70\n3\t30\n' })
})
