// Lets Node run the TypeScript of tests and of what they test: `--import` it. Sources become JavaScript by `transpiler.cjs`, which keeps what it
// made, so that a process spends its time on the tests. tap's own loader does the same and takes a second longer for each process.
import { register } from 'node:module'
import { fileURLToPath } from 'node:url'
import { assemble } from '../assemble.mjs'

register('./typescript-hooks.mjs', import.meta.url)
await assemble(fileURLToPath(new URL('../persistence', import.meta.url)))
