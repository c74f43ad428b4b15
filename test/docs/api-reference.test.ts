import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../compiled.js'

t.test('the API reference can be made, and describes every type that it mentions', async (t) => {
  const program = join(ROOT, 'node_modules/.bin/typedoc')
  const { status, stdout, stderr } = spawnSync(program, ['--emit', 'none'], { cwd: ROOT, encoding: 'utf8' })
  t.equal(status, 0, stdout + stderr)
})
