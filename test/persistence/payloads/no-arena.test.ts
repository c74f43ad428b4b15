import { execFileSync } from 'node:child_process'
import t from 'tap'
import { childProgram } from '../../../bench/child-program.js'
import { Store } from '../../../persistence/store.js'
import { batch, definition, hex, segmentOf, temporaryDirectory } from '../store-helpers.js'

const PROGRAM = childProgram('test/persistence/payloads/read-payloads')
/** KiB: enough for a process without WebAssembly, whose memory takes ten gibibytes of addresses. */
const ADDRESS_SPACE = 7 * 2 ** 20

t.test(
  'payloads are read without the arena where there are no addresses for it',
  { skip: process.platform === 'win32' },
  async (t) => {
    const directory = temporaryDirectory(t)
    const payloads = Array.from({ length: 500 }, (_, i) => new Uint8Array(i).fill(i))
    const expected = segmentOf(0, payloads)
    const store = await Store.open(directory)
    const { id } = await store.createIndex(definition('a'))
    await store.log.append(id, { ...batch(0, 1), segment: expected })
    await store.close()
    const read = (limit: string) =>
      JSON.parse(
        execFileSync(
          'sh',
          [
            '-c',
            `ulimit -v ${limit} && exec "$@"`,
            'sh',
            process.execPath,
            ...process.execArgv,
            PROGRAM,
            directory,
            String(payloads.length),
          ],
          { encoding: 'utf8' },
        ),
      )
    const bounded = read(String(ADDRESS_SPACE))
    for (const offsets of bounded.offsets) t.strictSame(offsets, [...expected.offsets])
    for (const bytes of bounded.bytes) t.equal(bytes, hex(expected.bytes))
    t.equal(bounded.warnings.length, 1, 'one warning for three reads')
    t.match(bounded.warnings[0], /kept in memory.*WebAssembly/)
    t.equal(bounded.cached, 0)
    const free = read('unlimited')
    t.strictSame([free.offsets, free.bytes], [bounded.offsets, bounded.bytes])
    t.strictSame(free.warnings, [])
    t.ok(free.cached > expected.bytes.length)
  },
)
