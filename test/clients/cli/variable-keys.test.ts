import t from 'tap'
import { prefixTrees } from '../../../src/engine/structures.js'
import { start } from '../../src/server/start.js'
import { cliOf } from './run-cli.js'

t.test('keys that are texts, bytes and tuples', async (t) => {
  const directory = t.testdir({ data: {} })
  const server = await start(t, { directory: `${directory}/data` }, { structures: prefixTrees })
  const cli = cliOf({ WARPDEX_URL: server.url })
  const done = async (args: string[], out: string | RegExp, input = '') =>
    t.match(await cli(args, input), { code: 0, out, err: '' }, args.join(' '))

  await done(['create', 'pages', '--key', 'string', '--payload', 'u32'], 'created\n')
  await done(['create', 'raw', '--key', 'bytes', '--payload', 'bytes'], 'created\n')
  await done(['create', 'sales', '--key', 'tuple(u32, string)', '--payload', 'u32'], 'created\n')
  await done(['list'], /sales +tuple\(u32,string\) +u32/)
  t.match(await cli(['create', 'x', '--key', 'u16', '--payload', 'u32']), {
    code: 2,
    err: /unknown key type "u16"/,
  })

  const rows = 'a/1,x\t1\na/2\t2\n b\t3\nb,c\t4\n'
  await done(['import', 'pages', '-'], /4 inserted/, rows)
  await done(['entries', 'pages'], ' b\t3\na/1,x\t1\na/2\t2\nb,c\t4\n')
  await done(['entries', 'pages', '--prefix', 'a/'], 'a/1,x\t1\na/2\t2\n')
  await done(
    ['entries', 'pages', '--from', 'a/2', '--json'],
    '{"key":"a/2","payload":2}\n{"key":"b,c","payload":4}\n',
  )
  await done(['get', 'pages', 'b,c', '--json'], '{"key":"b,c","payload":4}\n')
  await done(['put', 'pages', '2f', '5', '--hex'], 'inserted\n')
  await done(['get', 'pages', '/'], '/\t5\n')
  await done(['delete', 'pages', 'a/2', '/'], 'a/2\tdeleted\n/\tdeleted\n')
  t.match(await cli(['entries', 'pages', '--prefix', 'a', '--from', 'a']), { code: 2, err: /from/ })

  await done(['put', 'raw', '00ff', '0102', '--hex'], 'inserted\n')
  await done(['put', 'raw', 'text', 'text'], 'inserted\n')
  await done(['entries', 'raw'], '0x00ff\t0x0102\ntext\ttext\n')
  await done(['entries', 'raw', '--hex', '--prefix', '00'], '0x00ff\t0x0102\n')
  const copy = await cli(['entries', 'raw', '--hex'])
  await done(['create', 'copy', '--key', 'bytes', '--payload', 'bytes'], 'created\n')
  await done(['import', 'copy', '-', '--hex'], /2 inserted/, copy.out)
  await done(['entries', 'copy'], '0x00ff\t0x0102\ntext\ttext\n')

  await done(['put', 'sales', '[7,"de"]', '70'], 'inserted\n')
  await done(['import', 'sales', '-'], /2 inserted/, '[7, "a\\tb"]\t71\n[8,""]\t80\n')
  await done(['entries', 'sales', '--prefix', '[7]'], '[7,"a\\tb"]\t71\n[7,"de"]\t70\n')
  await done(['entries', 'sales', '--from', '[7,"b"]', '--to', '[8]'], '[7,"de"]\t70\n[8,""]\t80\n')
  await done(['get', 'sales', '[7,"de"]', '--json'], '{"key":[7,"de"],"payload":70}\n')
  await done(['delete', 'sales', '[8,""]'], '[8,""]\tdeleted\n')
  t.match(await cli(['get', 'sales', '[7]']), { code: 2, err: /JSON array of 2 parts, u32, string/ })
})
