import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { serve } from '../cli/run-cli.js'

/** As Debian has it: its packages are not seen by other Pythons that a machine may have. */
const PYTHON = '/usr/bin/python3'
const ROOT = process.cwd()

const { status } = spawnSync(PYTHON, ['-c', 'import msgpack, numpy, websockets'])
// `.ci/run` sees to it that they are there.
const needed = `tests of the Python client need ${PYTHON}, python3-numpy, python3-websockets and python3-msgpack`

t.test('the Python client', { skip: status === 0 ? false : needed }, async (t) => {
  const { url } = await serve(t, t.testdir())
  const args = ['-W', 'error', '-m', 'unittest', 'discover', '-v', '-s', 'test/clients/python']
  const PYTHONPATH = join(ROOT, 'clients/python/src')
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH, WARPDEX_URL: url }
  const child = spawn(PYTHON, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  const [code] = await once(child, 'close')
  for (const line of output.trimEnd().split('\n')) t.comment(line)
  t.equal(code, 0, 'all of its tests pass')
})
