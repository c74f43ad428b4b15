// Second half of `npm run build`: puts the kernels (*.wesl) and the WebAssembly beside the compiled modules that load them, and the
// status page's files beside its modules; and makes the command line executable, which npm does only once.
import { chmodSync, cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { assemble } from './assemble.mjs'

for (const folder of ['gpu', 'bench']) {
  for (const name of readdirSync(folder, { recursive: true })) {
    if (name.endsWith('.wesl')) cpSync(join(folder, name), join('dist', folder, name))
  }
}
await assemble('persistence', join('dist', 'persistence'))

const page = join('src', 'http', 'page')
for (const name of readdirSync(page)) {
  if (/\.(html|css|svg)$/.test(name)) cpSync(join(page, name), join('dist', page, name))
}

chmodSync(join('dist', 'clients', 'cli', 'main.js'), 0o755)
