import t from 'tap'
import { openLog } from '../../../src/observe/log.js'

t.test('lines for programs and for people', async (t) => {
  const lines: string[] = []
  const write = (line: string) => lines.push(line)
  openLog({ level: 'info', format: 'json', write }).warn({ port: 7070 }, 'something')
  const { time, ...rest } = JSON.parse(lines[0]) as { time: string }
  t.match(time, /^\d{4}-\d\d-\d\dT.*Z$/)
  t.same(rest, { level: 'warn', pid: process.pid, port: 7070, msg: 'something' })
  const text = openLog({ level: 'info', format: 'text', write })
  text.info({ adapter: 'a GPU', indexes: 3 }, 'ready')
  t.match(lines[1], /^\S+Z INFO {2}ready adapter="a GPU" indexes=3\n$/)
  text.error({ stack: 'Error: x\n    at y' }, 'failed')
  t.match(lines[2], /^\S+Z ERROR failed\n {4}Error: x\n {8}at y\n$/)
  text.debug({}, 'too quiet')
  openLog({ level: 'silent', format: 'json', write }).error({}, 'not at all')
  t.equal(lines.length, 3)
})
