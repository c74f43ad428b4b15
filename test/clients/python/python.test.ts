import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { serve } from '../cli/run-cli.js'

/** As Debian has it: its packages are not seen by other Pythons that a machine may have. */
const PYTHON = '/usr/bin/python3'
const ROOT = process.cwd()
const CLIENT = join(ROOT, 'clients/python')

/** Why tests that need these modules are left out, if they are. */
function lacks(modules: string, packages: string): string | false {
  const { status } = spawnSync(PYTHON, ['-c', `import ${modules}`])
  return status === 0 ? false : `tests of the Python client need ${PYTHON} with ${packages}`
}

/** Runs Python, whose output the test shows. @returns its exit code */
async function python(
  t: Test,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<number> {
  const PYTHONPATH = join(CLIENT, 'src')
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH, ...environment }
  const child = spawn(PYTHON, args, { cwd: CLIENT, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  const [code] = await once(child, 'close')
  for (const line of output.trimEnd().split('\n')) t.comment(line)
  return code
}

// `.ci/run` sees to it that these are there.
const needed = lacks('msgpack, numpy, websockets', 'python3-numpy, python3-websockets and python3-msgpack')

t.test('the Python client', { skip: needed }, async (t) => {
  const { url } = await serve(t, t.testdir())
  const args = ['-W', 'error', '-m', 'unittest', 'discover', '-v', '-s', join(ROOT, 'test/clients/python')]
  t.equal(await python(t, args, { WARPDEX_URL: url }), 0, 'all of its tests pass')
})

t.test('its types', { skip: needed || lacks('mypy', 'python3-mypy') }, async (t) => {
  t.equal(await python(t, ['-m', 'mypy', '--cache-dir', t.testdir(), 'src']), 0, 'mypy finds no fault')
})
