import t from 'tap'
import { parseCsv } from '../../../clients/cli/import/csv.js'
import { Random, seedOfRun } from '../../random.js'

async function linesOf(
  text: string,
  size = text.length,
): Promise<readonly (readonly [number, ...string[]])[]> {
  async function* pieces() {
    for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size)
  }
  const found: [number, ...string[]][] = []
  for await (const { line, record } of parseCsv(pieces(), ',')) found.push([line, ...record])
  return found
}

t.test('records come with the lines in which they begin', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  for (let round = 0; round < 200; round++) {
    const end = random.pick(['\n', '\r\n'])
    let text = ''
    const expected: [number, ...string[]][] = []
    for (let i = 0; i < 6; i++) {
      // Empty lines before the first record would have the parser guess at line ends.
      if (i > 0) text += end.repeat(random.below(3))
      const cells = Array.from({ length: 2 }, () => random.pick(['a', 'b b', `c${end}d`, `"${end}${end}`]))
      expected.push([text.split('\n').length, ...cells])
      text += cells.map((cell) => (/["\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')
      text += end
    }
    if (random.chance(0.5)) text = text.slice(0, -end.length)
    t.same(await linesOf(text, 1 + random.below(20)), expected, JSON.stringify(text))
  }
})

t.test('faults are named with the line where they begin', async (t) => {
  const cases: [string, RegExp][] = [
    ['a,b\n1,"x\n3,4\n5,6\n', /line 2: a quote that opens/],
    ['a,b\r\n"m\r\nn",1\r\n\r\n2,"x\r\n3,4\r\n', /line 5: a quote that opens/],
    ['"a,b\n1,2\n', /line 1: a quote that opens/],
    ['a,b\r\n"m\r\nn",1\r\n3,x"y\r\n', /line 4: a quote stands inside a field/],
    ['a,b\n1,2\n3,"x"y\n5,6\n', /line 3: behind a closing quote/],
  ]
  for (const [text, message] of cases) {
    await t.rejects(linesOf(text), { code: 'BAD_REQUEST', message }, JSON.stringify(text))
  }
})

t.test('what is wrong with the pieces is thrown as it is', async (t) => {
  const fault = new Error('no more')
  async function* pieces() {
    yield 'a,b\n1,2\n'
    throw fault
  }
  await t.rejects(async () => {
    for await (const _ of parseCsv(pieces(), ','));
  }, fault)
})
