import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { serve } from '../cli/run-cli.js'
import { lacks, PYTHON, PYTHON_PATH, WANTED } from './python.js'

const ROOT = process.cwd()
const CLIENT = join(ROOT, 'clients/python')

/** Runs Python, whose output the test shows. @returns its exit code */
async function python(
  t: Test,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<number> {
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH: PYTHON_PATH, ...environment }
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

const needed = lacks(WANTED)

t.test('the Python client', { skip: needed }, async (t) => {
  const { url } = await serve(t, t.testdir())
  const args = ['-W', 'error', '-m', 'unittest', 'discover', '-v', '-s', join(ROOT, 'test/clients/python')]
  t.equal(await python(t, args, { WARPDEX_URL: url }), 0, 'all of its tests pass')
})

t.test('its types', { skip: needed || lacks({ modules: 'mypy', packages: 'python3-mypy' }) }, async (t) => {
  t.equal(await python(t, ['-m', 'mypy', '--cache-dir', t.testdir(), 'src']), 0, 'mypy finds no fault')
})
