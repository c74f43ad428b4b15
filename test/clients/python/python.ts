import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ROOT } from '../../compiled.js'

/** As Debian has it: its packages are not seen by other Pythons that a machine may have. */
export const PYTHON = '/usr/bin/python3'

/** Where Python finds the client. */
export const PYTHON_PATH = join(ROOT, 'clients/python/src')

/** Modules, and the packages of Debian that have them. */
export interface Modules {
  readonly modules: string
  readonly packages: string
}

/** What the client needs; `.ci/run` sees to it that it is there. */
export const WANTED: Modules = {
  modules: 'msgpack, numpy, websockets',
  packages: 'python3-numpy, python3-websockets and python3-msgpack',
}

/** Why tests that need these modules are left out, if they are. */
export function lacks({ modules, packages }: Modules): string | false {
  const { status } = spawnSync(PYTHON, ['-c', `import ${modules}`])
  return status === 0 ? false : `tests of the Python client need ${PYTHON} with ${packages}`
}
