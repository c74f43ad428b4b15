import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { hostRelation } from '../query/host-relation.js'
import { SqlBed } from './sql-bed.js'

const MOST_KILOBYTES = 256 * 1024
const tall = (depth: number, open: string, close: string) =>
  `select ${open.repeat(depth)}1${close.repeat(depth)} from r`

const STATEMENTS: Readonly<Record<string, string>> = {
  'a file of JSON': "select * from read_json('/etc/passwd')",
  'a file of text': "select * from read_text('/etc/passwd')",
  'a file as a table': "select * from '/etc/passwd.csv'",
  'a pattern of files': "select * from glob('/etc/*')",
  'a copy to a file': "copy r to '/tmp/warpdex-hostile.csv'",
  'a copy to a program': "copy (select 1) to '/dev/null'",
  attach: "attach '/tmp/warpdex-hostile.duckdb' as other",
  install: 'install httpfs',
  load: "load '/tmp/x.duckdb_extension'",
  'a setting': "set memory_limit = '100GB'",
  'access, again': 'set enable_external_access = true',
  'a lock that is lifted': 'reset lock_configuration',
  pragma: 'pragma threads = 64',
  'a table': 'create table x as select 1',
  'rows that are added': 'insert into r values (1)',
  'several statements': 'select * from r; select * from r',
  'a statement behind another': 'select * from r; drop view r',
  'no statement': '  -- nothing\n',
  'settings of the process': 'select * from duckdb_settings()',
  'what relations are called there': 'select sql from duckdb_views()',
  'a large constant': "select repeat('a', 500000000) from r",
  'a large list': 'select list_sum(range(1000000000)) from r',
  'a large text, often': "select length(repeat(repeat('abcdefgh', 100000), 10000)) from r",
  'rows without end': 'select * from range(1000000000000) t, r',
  'recursion without end': 'with recursive x(n) as (select 1 union all select n + 1 from x) select * from x',
  'thousands of parentheses': tall(5000, '(', 'a)'),
  'thousands of negations': tall(5000, '- ', ' + a'),
  'thousands of calls': tall(2000, 'abs(', ')'),
  'thousands of subqueries': tall(1000, '(select ', ')'),
  'thousands of cases': tall(1500, 'case when true then ', ' end'),
  'a long chain': `select ${Array.from({ length: 40_000 }, () => 'a').join(' + ')} from r`,
  'a huge list': `select * from r where a + a in (${Array.from({ length: 40_000 }, (_, i) => i).join()})`,
  'many joins': `select count(*) from ${Array.from({ length: 60 }, (_, i) => `r r${i}`).join()} where ${Array.from({ length: 59 }, (_, i) => `r${i}.a = r${i + 1}.a`).join(' and ')}`,
  'a text that does not end': "select 'a",
  'too long a text': `select '${'x'.repeat(300_000)}' from r`,
}

/** Peak memory of the processes that this one has started. */
function peakKilobytes(): number {
  const children = readdirSync('/proc/self/task').flatMap((task) =>
    readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  )
  const peaks = children.map((child) =>
    Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child}/status`, 'utf8'))?.[1] ?? 0),
  )
  return Math.max(0, ...peaks)
}

t.test('hostile statements are refused', async (t) => {
  const bed = await SqlBed.open(t, [
    hostRelation('r', [{ name: 'a', type: 'i32', nullable: false, cells: [1, 2, 3] }]),
  ])
  await bed.plan('select 1')
  let peak = 0
  const timer = setInterval(() => {
    peak = Math.max(peak, peakKilobytes())
  }, 20)
  t.teardown(() => clearInterval(timer))
  for (const [name, text] of Object.entries(STATEMENTS)) {
    const result = await bed.refusal(text)
    t.ok(result?.startsWith('BAD_REQUEST: sql: '), `${name}: ${result}`)
  }
  t.ok(peak < MOST_KILOBYTES, `at most ${peak} kilobytes`)
  const { query } = await bed.plan('select a from r')
  t.ok(query, 'afterwards statements are planned')
})
