// Lets Node run the TypeScript of tests and of what they test: `--import` it. tap's own loader does the same and takes seconds longer for each process.
import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import { compile } from './compile.mjs'

if (isMainThread) await compile()
register('./typescript-hooks.mjs', import.meta.url)
