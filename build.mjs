// Second half of `npm run build`: puts the kernels (*.wesl) and the WebAssembly (*.wat) beside the compiled modules that load them, and the
// status page's files beside its modules; and makes the command line executable, which npm does only once.
import { chmodSync, cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

for (const folder of ['gpu', 'persistence', 'bench']) {
  for (const name of readdirSync(folder, { recursive: true })) {
    if (/\.(wesl|wat)$/.test(name)) cpSync(join(folder, name), join('dist', folder, name))
  }
}

const page = join('src', 'http', 'page')
for (const name of readdirSync(page)) {
  if (/\.(html|css|svg)$/.test(name)) cpSync(join(page, name), join('dist', page, name))
}

chmodSync(join('dist', 'clients', 'cli', 'main.js'), 0o755)
