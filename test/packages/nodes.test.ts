import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { COMPILED } from '../compiled.js'
import { temporaryDirectory } from '../persistence/store-helpers.js'
import { everyOther, seedOfRun } from '../random.js'
import { npm } from './npm.js'

/** Of what is supported beside the oldest, the ones that npm carries the program of: about 55 MB each, which its cache keeps. */
const VERSIONS = ['22.23.5', '24.22.3', '26.12.1']
const ARGUMENTS = [
  join(COMPILED, 'test/packages/smoke.mjs'),
  pathToFileURL(join(COMPILED, 'clients/sdk/index.js')).href,
  join(COMPILED, 'clients/cli/main.js'),
]

/** The program of a version of Node, out of the package that carries it for this platform. */
function fetchNode(t: Test, version: string): string | undefined {
  const folder = temporaryDirectory(t)
  const name = `node-${process.platform}-${process.arch}`
  if (!npm(t, folder, ['pack', `${name}@${version}`])) return undefined
  mkdirSync(join(folder, 'package'))
  execFileSync('tar', ['-xzf', `${name}-${version}.tgz`, 'package/bin/node'], { cwd: folder })
  return join(folder, 'package/bin/node')
}

for (const version of everyOther(VERSIONS, seedOfRun())) {
  t.test(`a server and a client run under Node ${version}`, async (t) => {
    const node = fetchNode(t, version)
    if (node === undefined) return
    const { stdout, stderr } = spawnSync(node, ARGUMENTS, { encoding: 'utf8' })
    t.equal(stdout, `Node ${version}\n`, stderr)
  })
}
