import { readFileSync } from 'node:fs'
import t from 'tap'
import { VERSION } from '../../src/version.js'

t.test('the version is that of the package', async (t) => {
  const file = new URL('../../package.json', import.meta.url)
  t.equal(VERSION, JSON.parse(readFileSync(file, 'utf8')).version)
})
